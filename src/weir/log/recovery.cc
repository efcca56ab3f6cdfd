#include "weir/log/recovery.h"

#include <algorithm>
#include <set>

#include "weir/base/buffer.h"
#include "weir/base/log.h"
#include "weir/log/piece_builder.h"

namespace weir {
namespace {

constexpr size_t kManifestBytesMax = 64 << 20;
constexpr size_t kStatesBytesMax = 4ull << 30;

BucketLog& BucketOf(RecoveredGroup& group, const TableBucket& id) {
  std::shared_ptr<BucketLog>& bucket = group.buckets[id];
  if (!bucket) {
    bucket = std::make_shared<BucketLog>();
    bucket->id = id;
    bucket->max_timestamp = kNoTimestamp;
  }
  return *bucket;
}

void AddFile(RecoveredGroup& group, const std::shared_ptr<DataFile>& file,
             const std::vector<DirectoryEntry>& directory) {
  for (const DirectoryEntry& range : directory)
    BucketOf(group, range.bucket).extents.push_back({file, range});
  group.files.push_back(file);
}

/// One walk over the slots of a journal file.
class JournalFileWalk {
 public:
  JournalFileWalk(const DataFile& file, uint64_t end) : file_(file), end_(end) {}

  uint64_t position() const { return position_; }
  const std::vector<IndexEntry>& entries() const { return entries_; }

  /// Reads one slot; false at the end, or where there is none. Errors: kIo, kCorruptData: the slot
  /// is damaged.
  Result<bool> Next(Slot expected, RecoveredGroup& group) {
    if (position_ + kSlotHeaderBytes > end_) return false;
    std::byte head[kSlotHeaderBytes];
    WEIR_ASSIGN(const size_t read, file_.file->ReadAt(position_, head));
    if (read < kSlotHeaderBytes) return false;
    WEIR_ASSIGN(const SlotHeader header, DecodeSlotHeader(head));
    if (header.journal != file_.header.journal || header.slot != expected) {
      return Fail(ErrorCode::kCorruptData, "another slot is expected: slot={}", expected);
    }
    const uint64_t size = uint64_t{header.data_bytes} +
                          uint64_t{header.entry_count} * kIndexEntryBytes + kSlotTrailerBytes;
    if (size > end_ - position_ - kSlotHeaderBytes) {
      return Fail(ErrorCode::kCorruptData, "slot is cut short: slot={}", expected);
    }
    Buffer body = Buffer::Allocate(size);
    WEIR_TRY(file_.file->ReadAt(position_ + kSlotHeaderBytes, body.mutable_bytes()));
    const Bytes data = body.bytes().first(header.data_bytes);
    WEIR_ASSIGN(std::vector<IndexEntry> entries,
                DecodeSlotIndex(body.bytes().subspan(header.data_bytes), header));
    for (const IndexEntry& entry : entries) WEIR_TRY(CheckPiece(entry, data));
    for (IndexEntry& entry : entries) {
      if (entry.group != group.manifest.group || entry.epoch != group.manifest.epoch) continue;
      Replay(group, entry, data);
      entry.piece.position += position_ + kSlotHeaderBytes;
      entries_.push_back(entry);
    }
    position_ += kSlotHeaderBytes + size;
    group.replayed_bytes += size;
    return true;
  }

 private:
  static Status CheckPiece(const IndexEntry& entry, Bytes data) {
    const Piece& told = entry.piece;
    PieceBuilder found;
    const Bytes bytes = data.subspan(told.position, told.bytes);
    for (LogBatchReader reader(bytes); !reader.at_end();) {
      const uint64_t position = told.position + reader.position();
      WEIR_ASSIGN(const LogBatchView batch, reader.Next());
      WEIR_TRY(CheckLogBatchCrc(batch.bytes, batch.header));
      found.Add(batch.header, batch.bytes, position);
    }
    if (found.pieces().size() != 1 || found.pieces()[0].heads_crc != told.heads_crc ||
        found.pieces()[0].base != told.base || found.pieces()[0].end != told.end) {
      return Fail(ErrorCode::kCorruptData, "batches differ from their index: bucket={}",
                  entry.bucket);
    }
    return Ok();
  }

  static void Replay(RecoveredGroup& group, const IndexEntry& entry, Bytes data) {
    BucketLog& bucket = BucketOf(group, entry.bucket);
    bucket.max_timestamp = std::max(bucket.max_timestamp, entry.piece.max_timestamp);
    for (LogBatchReader reader(data.subspan(entry.piece.position, entry.piece.bytes));
         !reader.at_end();) {
      const Result<LogBatchView> batch = reader.Next();
      const LogBatchHeader& header = batch->header;
      if (header.writer_id == kNoWriterId) continue;
      bucket.writers.Record(header.writer_id,
                            {header.batch_sequence, header.base_offset, header.end_offset()},
                            header.commit_timestamp);
    }
  }

  const DataFile& file_;
  const uint64_t end_;
  uint64_t position_ = kFileHeaderBytes;
  std::vector<IndexEntry> entries_;
};

/// Whether behind `position` there is a slot of this journal that was written when `slot` was known
/// to be durable. Then the slot that cannot be read is damaged, and no torn tail.
Result<bool> IsKnownDurable(const DataFile& file, uint64_t position, uint64_t end, Slot slot) {
  constexpr size_t kWindow = 4 << 20;
  Buffer window = Buffer::Allocate(kWindow);
  while (position + kSlotHeaderBytes <= end) {
    const size_t wanted = std::min<uint64_t>(kWindow, end - position);
    WEIR_ASSIGN(const size_t read,
                file.file->ReadAt(position, window.mutable_bytes().first(wanted)));
    if (read < kSlotHeaderBytes) return false;
    const Bytes bytes = window.bytes().first(read);
    const uint32_t magic = 0x544f4c53;
    for (size_t i = 0; i + kSlotHeaderBytes <= read; ++i) {
      if (LoadLittle<uint32_t>(bytes.data() + i) != magic) continue;
      const Result<SlotHeader> header = DecodeSlotHeader(bytes.subspan(i));
      if (header.ok() && header->journal == file.header.journal && header->durable_below > slot)
        return true;
    }
    if (read < wanted || wanted < kWindow) return false;
    position += read - (kSlotHeaderBytes - 1);
  }
  return false;
}

struct JournalFiles {
  std::string directory;           // below the data directory
  std::vector<std::string> names;  // in order of their slots
};

Result<JournalFiles> ListJournal(FileSystem& files, const std::string& data_dir, JournalId id) {
  JournalFiles found;
  found.directory = "journals/" + ToString(id);
  if (!files.Exists(data_dir + "/" + found.directory)) return found;
  WEIR_ASSIGN(found.names, files.List(data_dir + "/" + found.directory));
  std::erase_if(found.names, [](const std::string& name) { return !name.ends_with(".journal"); });
  std::sort(found.names.begin(), found.names.end());
  return found;
}

/// Walks the owner's journal from the floor on and takes what it finds into `group`.
Status WalkOwnersJournal(FileSystem& files, const std::string& data_dir, RecoveredGroup& group) {
  const Manifest& manifest = group.manifest;
  if (manifest.epoch == Epoch(0)) return Ok();
  WEIR_ASSIGN(const JournalFiles journal, ListJournal(files, data_dir, manifest.owner));
  Slot next = manifest.floor;
  bool is_at_end = false;
  for (const std::string& file_name : journal.names) {
    const std::string name = journal.directory + "/" + file_name;
    const std::string path = data_dir + "/" + name;
    auto file = std::make_shared<DataFile>();
    file->name = name;
    WEIR_ASSIGN(file->file, files.OpenFile(path, FileSystem::Open::kReadWrite));
    WEIR_ASSIGN(const uint64_t size, file->file->Size());
    std::byte head[kFileHeaderBytes] = {};
    WEIR_TRY(file->file->ReadAt(0, head));
    const Result<FileHeader> header = DecodeFileHeader(head);
    if (!header.ok() && header.error().code == ErrorCode::kUnsupported) return header.error();
    if (header.ok() && header->first_slot < manifest.floor) continue;  // one of `files`
    // Behind a torn tail nothing was acknowledged. The same holds for a file that died before its
    // header was whole.
    if (is_at_end || !header.ok() || header->first_slot != next) {
      is_at_end = true;
      if (header.ok() && header->first_slot > next) {
        WEIR_ASSIGN(const bool is_damage, IsKnownDurable(*file, kFileHeaderBytes, size, next));
        if (is_damage) {
          return Fail(ErrorCode::kCorruptData,
                      "a journal file is missing or damaged: slot {} was durable and is not in {}; "
                      "restore the file from a "
                      "backup",
                      next, journal.directory);
        }
      }
      group.cut_bytes += size;
      WEIR_TRY(files.Remove(path));
      continue;
    }
    file->header = *header;

    uint64_t end = size;
    bool was_sealed = false;
    if (size >= kFileHeaderBytes + kFileFooterBytes) {
      std::byte foot[kFileFooterBytes];
      WEIR_TRY(file->file->ReadAt(size - kFileFooterBytes, foot));
      if (const auto footer = DecodeFileFooter(foot); footer.ok()) {
        was_sealed = true;
        end = footer->entries_position;
      }
    }
    JournalFileWalk walk(*file, end);
    while (true) {
      const Result<bool> more = walk.Next(next, group);
      if (more.ok() && *more) {
        next = Slot(next.value + 1);
        continue;
      }
      if (!more.ok() && more.error().code == ErrorCode::kIo) return more.error();
      if (walk.position() == end) break;
      WEIR_ASSIGN(const bool is_damage, IsKnownDurable(*file, walk.position(), size, next));
      if (is_damage || was_sealed) {
        return Fail(ErrorCode::kCorruptData,
                    "a journal file is damaged: file={} position={} slot={} reason={}; restore the "
                    "file from a backup",
                    path, walk.position(), next,
                    more.ok() ? "slot is cut short" : more.error().message);
      }
      is_at_end = true;
      group.cut_bytes += size - walk.position();
      break;
    }
    if (walk.entries().empty()) {
      WEIR_TRY(files.Remove(path));
      continue;
    }
    if (!was_sealed) {
      std::vector<IndexEntry> entries = walk.entries();
      std::stable_sort(
          entries.begin(), entries.end(),
          [](const IndexEntry& a, const IndexEntry& b) { return a.bucket < b.bucket; });
      std::vector<DirectoryEntry> directory;
      const std::string tail = EncodeFileTail(entries, walk.position(), &directory);
      const Bytes bytes = AsBytes(tail);
      WEIR_TRY(file->file->Truncate(walk.position()));
      WEIR_TRY(file->file->WriteAt(walk.position(), {&bytes, 1}));
    }
    WEIR_TRY(file->file->Sync());
    WEIR_ASSIGN(const OpenedFile opened, OpenSealedFile(files, data_dir, name));
    AddFile(group, opened.file, opened.directory);
  }
  return Ok();
}

/// Puts the buckets together from what the files have of them.
Status AssembleBuckets(RecoveredGroup& group) {
  for (auto& [id, bucket] : group.buckets) {
    std::sort(bucket->extents.begin(), bucket->extents.end(),
              [](const Extent& a, const Extent& b) { return a.range.base < b.range.base; });
    LogOffset end = bucket->start;
    for (const Extent& extent : bucket->extents) {
      bucket->max_timestamp = std::max(bucket->max_timestamp, extent.range.max_timestamp);
      if (extent.range.end <= bucket->start) continue;
      if (extent.range.base > end || (extent.range.base < end && end != bucket->start)) {
        return Fail(ErrorCode::kCorruptData,
                    "the log has a hole or an overlap: bucket={} expected={} found={} file={}; "
                    "restore the data directory "
                    "from a backup",
                    id, end, extent.range.base, extent.file->name);
      }
      end = extent.range.end;
    }
    bucket->written_end = end;
    bucket->end = end;
    // States are written while appends are under way; what did not reach the files does not count.
    bucket->writers.ForgetFrom(end);
  }
  return Ok();
}

void RemoveLeftovers(FileSystem& files, const std::string& data_dir, const RecoveredGroup& group) {
  std::set<std::string> known{group.manifest.states};
  for (const auto& file : group.files) known.insert(file->name);
  const std::string directory = fmt::format("groups/{}", group.manifest.group);
  const Result<std::vector<std::string>> names = files.List(data_dir + "/" + directory);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const std::string full = directory + "/" + name;
    if (name == "manifest" || known.contains(full)) continue;
    LogInfo("log", "removing a file that nothing names: file={}", full);
    if (const Status removed = files.Remove(data_dir + "/" + full); !removed.ok()) {
      LogWarn("log", "{}", removed.error().message);
    }
  }
}

}  // namespace

Result<RecoveredGroup> RecoverGroup(FileSystem& files, const std::string& data_dir,
                                    GroupId group_id) {
  RecoveredGroup group;
  group.manifest.group = group_id;
  const std::string path = ManifestPath(data_dir, group_id);
  if (files.Exists(path)) {
    WEIR_ASSIGN(const std::string text, ReadWholeFile(files, path, kManifestBytesMax));
    auto manifest = DecodeManifest(text);
    if (!manifest.ok()) {
      manifest.error().message += fmt::format(": file={}; restore it from a backup", path);
      return std::move(manifest).error();
    }
    group.manifest = *std::move(manifest);
  }
  if (!group.manifest.states.empty()) {
    WEIR_ASSIGN(const std::string bytes,
                ReadWholeFile(files, data_dir + "/" + group.manifest.states, kStatesBytesMax));
    auto states = DecodeBucketStates(bytes);
    if (!states.ok()) {
      states.error().message +=
          fmt::format(": file={}; restore it from a backup", group.manifest.states);
      return std::move(states).error();
    }
    for (auto& [id, state] : *states) {
      BucketLog& bucket = BucketOf(group, id);
      bucket.start = state.start;
      bucket.max_timestamp = state.max_timestamp;
      bucket.writers = std::move(state.writers);
    }
  }
  for (const ManifestFile& named : group.manifest.files) {
    WEIR_ASSIGN(const OpenedFile opened, OpenSealedFile(files, data_dir, named.name));
    opened.file->level = named.level;
    AddFile(group, opened.file, opened.directory);
  }
  WEIR_TRY(WalkOwnersJournal(files, data_dir, group));
  WEIR_TRY(AssembleBuckets(group));
  RemoveLeftovers(files, data_dir, group);
  return group;
}

void RemoveUnnamedJournals(FileSystem& files, const std::string& data_dir,
                           const std::set<std::string>& named) {
  const auto warn = [](const Status& status) {
    if (!status.ok()) LogWarn("log", "{}", status.error().message);
  };
  const Result<std::vector<std::string>> journals = files.List(data_dir + "/journals");
  if (!journals.ok()) return;
  for (const std::string& journal : *journals) {
    const std::string directory = "journals/" + journal;
    const Result<std::vector<std::string>> names = files.List(data_dir + "/" + directory);
    if (!names.ok()) continue;
    bool is_empty = true;
    for (const std::string& name : *names) {
      const std::string full = directory + "/" + name;
      if (named.contains(full)) {
        is_empty = false;
      } else {
        LogInfo("log", "removing a file that nothing names: file={}", full);
        warn(files.Remove(data_dir + "/" + full));
      }
    }
    if (is_empty) warn(files.RemoveTree(data_dir + "/" + directory));
  }
}

}  // namespace weir
