#include "weir/log/compaction.h"

#include "weir/base/buffer.h"
#include "weir/log/piece_builder.h"

namespace weir {
namespace {

// A run of this size is long: it may stay in its journal file.
constexpr uint64_t kLongRunBytes = 8 << 20;
// On average a piece has to be as large as this, or the index is a burden.
constexpr uint64_t kPieceBytesMin = 16 << 10;
// How much is copied at once.
constexpr uint64_t kCopyBytes = 4 << 20;

bool MayStay(const CompactionCandidate& candidate) {
  return candidate.live_bytes >= kLongRunBytes * candidate.buckets &&
         candidate.live_bytes >= kPieceBytesMin * candidate.pieces;
}

/// Writes one segment.
class SegmentWriter {
 public:
  static Result<SegmentWriter> Create(FileSystem& files, const CompactionOutput& output,
                                      const std::string& name) {
    SegmentWriter writer(output);
    WEIR_ASSIGN(writer.file_,
                files.OpenFile(output.data_dir + "/" + name, FileSystem::Open::kCreate));
    writer.buffer_ = EncodeFileHeader({FileKind::kSegment, output.group, JournalId{}, Slot(0)});
    return writer;
  }

  uint64_t position() const { return written_ + buffer_.size(); }

  /// Appends whole batches that continue `bucket`.
  Status Append(const TableBucket& bucket, Bytes batches) {
    if (bucket != bucket_) EndBucket();
    bucket_ = bucket;
    for (LogBatchReader reader(batches); !reader.at_end();) {
      const uint64_t batch_position = position() + reader.position();
      WEIR_ASSIGN(const LogBatchView batch, reader.Next());
      pieces_.Add(batch.header, batch.bytes, batch_position);
    }
    buffer_ += AsText(batches);
    return buffer_.size() >= kCopyBytes ? Flush() : Ok();
  }

  Status Finish() {
    EndBucket();
    std::vector<DirectoryEntry> directory;
    buffer_ += EncodeFileTail(entries_, position(), Slot(0), &directory);
    WEIR_TRY(Flush());
    return file_->Sync();
  }

 private:
  explicit SegmentWriter(const CompactionOutput& output) : output_(&output) {}

  void EndBucket() {
    for (const Piece& piece : pieces_.Take()) {
      entries_.push_back({bucket_, output_->group, output_->epoch, piece});
    }
  }

  Status Flush() {
    const Bytes bytes = AsBytes(buffer_);
    WEIR_TRY(file_->WriteAt(written_, {&bytes, 1}));
    written_ += bytes.size();
    buffer_.clear();
    return Ok();
  }

  const CompactionOutput* output_;
  std::unique_ptr<File> file_;
  uint64_t written_ = 0;
  std::string buffer_;
  TableBucket bucket_;
  PieceBuilder pieces_;
  std::vector<IndexEntry> entries_;
};

/// Checks all of a piece: a copy makes new checksums over the heads, so damage would pass for truth
/// from then on.
Status CheckPiece(const DataFile& file, const Piece& piece, Bytes bytes) {
  auto batches = SplitPiece(piece, bytes);
  Status checked = batches.ok() ? Ok() : Status(std::move(batches).error());
  uint64_t position = piece.position;
  for (size_t i = 0; checked.ok() && i < batches->size(); ++i) {
    checked = CheckStoredBatch((*batches)[i], position);
    position += (*batches)[i].bytes.size();
  }
  if (!checked.ok()) checked.error().message += fmt::format(": file={}", file.name);
  return checked;
}

Status CopyRange(const LiveRange& live, SegmentWriter& writer,
                 const std::atomic<bool>* is_cancelled) {
  const DataFile& file = *live.file;
  WEIR_ASSIGN(const std::vector<IndexEntry> entries,
              ReadEntries(file, live.range.first_entry, live.range.entry_count));
  LogOffset expected = live.range.base;
  for (const IndexEntry& entry : entries) {
    if (entry.bucket != live.range.bucket || entry.piece.base != expected) {
      return Fail(ErrorCode::kCorruptData, "file index is damaged: file={} bucket={} offset={}",
                  file.name, live.range.bucket, expected);
    }
    expected = entry.piece.end;
  }
  for (size_t i = 0; i < entries.size();) {
    if (is_cancelled != nullptr && *is_cancelled) {
      return Fail(ErrorCode::kCancelled, "the server is stopping");
    }
    // Neighbours are read in one go.
    const uint64_t position = entries[i].piece.position;
    uint64_t bytes = 0;
    size_t end = i;
    while (end < entries.size() && entries[end].piece.position == position + bytes &&
           (end == i || bytes + entries[end].piece.bytes <= kCopyBytes)) {
      bytes += entries[end++].piece.bytes;
    }
    Buffer chunk = Buffer::Allocate(bytes);
    WEIR_TRY(ReadExactly(file, position, chunk.mutable_bytes()));
    Bytes rest = chunk.bytes();
    for (; i < end; ++i) {
      WEIR_TRY(CheckPiece(file, entries[i].piece, rest.first(entries[i].piece.bytes)));
      rest = rest.subspan(entries[i].piece.bytes);
    }
    WEIR_TRY(writer.Append(live.range.bucket, chunk.bytes()));
  }
  return Ok();
}

/// `names` has the segments that were begun, also after an error.
Status WriteAll(FileSystem& files, const CompactionOutput& output,
                const std::vector<LiveRange>& ranges, std::vector<std::string>& names) {
  for (size_t i = 0; i < ranges.size();) {
    names.push_back(fmt::format("groups/{}/{}-{:016x}-{}.seg", output.group, output.epoch,
                                output.nonce, names.size()));
    WEIR_ASSIGN(SegmentWriter writer, SegmentWriter::Create(files, output, names.back()));
    while (i < ranges.size() && writer.position() < output.segment_bytes) {
      WEIR_TRY(CopyRange(ranges[i++], writer, output.is_cancelled));
    }
    WEIR_TRY(writer.Finish());
  }
  return files.SyncDirectory(fmt::format("{}/groups/{}", output.data_dir, output.group));
}

}  // namespace

std::vector<size_t> PlanCompaction(const std::vector<CompactionCandidate>& candidates,
                                   const CompactionLimits& limits) {
  const auto is_unsorted = [&](const CompactionCandidate& candidate) {
    return candidate.file->header.kind == FileKind::kJournal && !candidate.file->is_damaged &&
           !MayStay(candidate);
  };
  // Neighbours that are not sorted yet.
  for (size_t i = 0; i < candidates.size();) {
    std::vector<size_t> run;
    uint64_t bytes = 0;
    for (; i < candidates.size() && is_unsorted(candidates[i]) && run.size() < limits.merge_files;
         ++i) {
      run.push_back(i);
      bytes += candidates[i].live_bytes;
    }
    if (!run.empty() && (bytes >= limits.sort_bytes_min || run.size() == limits.merge_files)) {
      return run;
    }
    if (run.empty()) ++i;
  }
  // Neighbours of one level.
  for (size_t i = 0; i < candidates.size();) {
    std::vector<size_t> run;
    const int level = candidates[i].file->level;
    const auto is_alike = [&](const DataFile& file) {
      return file.header.kind == FileKind::kSegment && !file.is_damaged && file.level == level &&
             level < kLevelMax;
    };
    for (;
         i < candidates.size() && is_alike(*candidates[i].file) && run.size() < limits.merge_files;
         ++i) {
      run.push_back(i);
    }
    if (run.size() == limits.merge_files) return run;
    if (run.empty()) ++i;
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    const DataFile& file = *candidates[i].file;
    const bool is_mostly_dead = candidates[i].live_bytes < file.data_bytes / 2;
    if (is_mostly_dead && file.data_bytes >= limits.sort_bytes_min && !file.is_damaged) return {i};
  }
  return {};
}

Result<std::vector<OpenedFile>> WriteSegments(FileSystem& files, const CompactionOutput& output,
                                              const std::vector<LiveRange>& ranges) {
  std::vector<std::string> names;
  std::vector<OpenedFile> opened;
  Status written = WriteAll(files, output, ranges, names);
  for (const std::string& name : names) {
    if (!written.ok()) break;
    auto file = OpenSealedFile(files, output.data_dir, name);
    if (file.ok()) {
      file->file->level = output.level;
      opened.push_back(*std::move(file));
    } else {
      written = std::move(file).error();
    }
  }
  if (written.ok()) return opened;
  opened.clear();
  for (const std::string& name : names) {
    const std::string path = output.data_dir + "/" + name;
    // Of what cannot be removed the next start is told.
    if (files.Exists(path)) (void)files.Remove(path);
  }
  return std::move(written).error();
}

}  // namespace weir
