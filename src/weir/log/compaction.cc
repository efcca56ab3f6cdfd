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
  const uint64_t bytes = candidate.file->data_bytes;
  return bytes >= kLongRunBytes * candidate.buckets && bytes >= kPieceBytesMin * candidate.pieces;
}

/// Writes one segment.
class SegmentWriter {
 public:
  static Result<SegmentWriter> Create(FileSystem& files, const CompactionOutput& output,
                                      size_t number) {
    SegmentWriter writer(output);
    writer.name_ = fmt::format("groups/{}/{}-{:016x}-{}.seg", output.group, output.epoch,
                               output.nonce, number);
    WEIR_ASSIGN(writer.file_,
                files.OpenFile(output.data_dir + "/" + writer.name_, FileSystem::Open::kCreate));
    const std::string header =
        EncodeFileHeader({FileKind::kSegment, output.group, JournalId{}, Slot(0)});
    WEIR_TRY(writer.Write(AsBytes(header)));
    return writer;
  }

  const std::string& name() const { return name_; }
  uint64_t position() const { return position_; }

  /// Appends whole batches that continue `bucket`.
  Status Append(const TableBucket& bucket, Bytes batches) {
    PieceBuilder pieces;
    for (LogBatchReader reader(batches); !reader.at_end();) {
      const uint64_t position = position_ + reader.position();
      WEIR_ASSIGN(const LogBatchView batch, reader.Next());
      pieces.Add(batch.header, batch.bytes, position);
    }
    for (const Piece& piece : pieces.pieces())
      entries_.push_back({bucket, output_->group, output_->epoch, piece});
    return Write(batches);
  }

  Status Finish() {
    std::vector<DirectoryEntry> directory;
    const std::string tail = EncodeFileTail(entries_, position_, &directory);
    WEIR_TRY(Write(AsBytes(tail)));
    return file_->Sync();
  }

 private:
  explicit SegmentWriter(const CompactionOutput& output) : output_(&output) {}

  Status Write(Bytes bytes) {
    WEIR_TRY(file_->WriteAt(position_, {&bytes, 1}));
    position_ += bytes.size();
    return Ok();
  }

  const CompactionOutput* output_;
  std::string name_;
  std::unique_ptr<File> file_;
  uint64_t position_ = 0;
  std::vector<IndexEntry> entries_;
};

Status CheckBatches(Bytes batches, const DataFile& file, const Piece& piece) {
  LogOffset expected = piece.base;
  for (LogBatchReader reader(batches); !reader.at_end();) {
    const size_t position = reader.position();
    const Result<LogBatchView> batch = reader.Next();
    if (!batch.ok() || batch->header.base_offset != expected ||
        !CheckLogBatchCrc(batch->bytes, batch->header).ok()) {
      return Fail(ErrorCode::kCorruptData,
                  "a stored batch is damaged: file={} position={} offset={}", file.name,
                  piece.position + position, expected);
    }
    expected = batch->header.end_offset();
  }
  if (expected != piece.end) {
    return Fail(ErrorCode::kCorruptData, "a stored batch is missing: file={} position={} offset={}",
                file.name, piece.position, expected);
  }
  return Ok();
}

Status CopyRange(const LiveRange& live, SegmentWriter& writer) {
  const DataFile& file = *live.file;
  WEIR_ASSIGN(const std::vector<IndexEntry> entries,
              ReadEntries(file, live.range.first_entry, live.range.entry_count));
  for (size_t i = 0; i < entries.size();) {
    const uint64_t position = entries[i].piece.position;
    uint64_t bytes = 0;
    size_t end = i;
    while (end < entries.size() && entries[end].piece.position == position + bytes &&
           (end == i || bytes + entries[end].piece.bytes <= kCopyBytes)) {
      bytes += entries[end++].piece.bytes;
    }
    Buffer chunk = Buffer::Allocate(bytes);
    WEIR_ASSIGN(const size_t read, file.file->ReadAt(position, chunk.mutable_bytes()));
    if (read != bytes) {
      return Fail(ErrorCode::kCorruptData, "file is cut short: file={} position={}", file.name,
                  position);
    }
    Bytes rest = chunk.bytes();
    for (; i < end; ++i) {
      WEIR_TRY(CheckBatches(rest.first(entries[i].piece.bytes), file, entries[i].piece));
      rest = rest.subspan(entries[i].piece.bytes);
    }
    WEIR_TRY(writer.Append(live.range.bucket, chunk.bytes()));
  }
  return Ok();
}

Status WriteAll(FileSystem& files, const CompactionOutput& output,
                const std::vector<LiveRange>& ranges, std::vector<std::string>& names) {
  for (size_t i = 0; i < ranges.size();) {
    WEIR_ASSIGN(SegmentWriter writer, SegmentWriter::Create(files, output, names.size()));
    names.push_back(writer.name());
    while (i < ranges.size() && writer.position() < output.segment_bytes)
      WEIR_TRY(CopyRange(ranges[i++], writer));
    WEIR_TRY(writer.Finish());
  }
  return files.SyncDirectory(fmt::format("{}/groups/{}", output.data_dir, output.group));
}

}  // namespace

std::vector<size_t> PlanCompaction(const std::vector<CompactionCandidate>& candidates,
                                   const CompactionLimits& limits) {
  const auto unsorted = [&](size_t i) {
    return candidates[i].file->header.kind == FileKind::kJournal && !MayStay(candidates[i]);
  };
  // Neighbours that are not sorted yet.
  for (size_t i = 0; i < candidates.size();) {
    std::vector<size_t> run;
    uint64_t bytes = 0;
    for (; i < candidates.size() && unsorted(i) && run.size() < limits.merge_files; ++i) {
      run.push_back(i);
      bytes += candidates[i].live_bytes;
    }
    if (bytes >= limits.sort_bytes_min || run.size() == limits.merge_files) return run;
    if (run.empty()) ++i;
  }
  // Neighbours of one level.
  for (size_t i = 0; i < candidates.size();) {
    std::vector<size_t> run;
    const int level = candidates[i].file->level;
    for (;
         i < candidates.size() && candidates[i].file->header.kind == FileKind::kSegment &&
         candidates[i].file->level == level && level < kLevelMax && run.size() < limits.merge_files;
         ++i) {
      run.push_back(i);
    }
    if (run.size() == limits.merge_files) return run;
    if (run.empty()) ++i;
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    const uint64_t bytes = candidates[i].file->data_bytes;
    if (bytes >= limits.sort_bytes_min && candidates[i].live_bytes < bytes / 2) return {i};
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
  for (const std::string& name : names) (void)files.Remove(output.data_dir + "/" + name);
  return std::move(written).error();
}

}  // namespace weir
