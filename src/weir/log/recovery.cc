#include "weir/log/recovery.h"

#include <algorithm>
#include <tuple>

#include "weir/base/buffer.h"
#include "weir/base/log.h"
#include "weir/log/journal_scan.h"

namespace weir {
namespace {

constexpr size_t kManifestBytesMax = 64 << 20;
constexpr size_t kStatesBytesMax = 4ull << 30;
// How much of a journal file is written anew at once.
constexpr size_t kRewriteBytes = 4 << 20;

Error AboutFile(Error error, const std::string& path) {
  error.message += fmt::format(": file={}", path);
  if (error.code == ErrorCode::kCorruptData) error.message += "; restore it from a backup";
  return error;
}

class Recovery {
 public:
  Recovery(FileSystem& files, const std::string& data_dir, GroupId group_id)
      : files_(files), data_dir_(data_dir) {
    group_.manifest.group = group_id;
  }

  Result<RecoveredGroup> Run() {
    WEIR_TRY(ReadManifest());
    WEIR_TRY(ReadStates());
    WEIR_TRY(OpenNamedFiles());
    JournalScan scan;
    if (group_.manifest.epoch != Epoch(0)) {
      WEIR_ASSIGN(scan, ScanJournal(files_, data_dir_, group_.manifest.owner, group_.manifest.floor,
                                    group_.manifest.group, group_.manifest.epoch));
    }
    for (const ScannedFile& scanned : scan.files) TakeScanned(scanned);
    WEIR_TRY(AssembleBuckets());
    // Until here nothing was changed on the disk.
    WEIR_TRY(SealScanned(scan));
    RemoveLeftovers();
    group_.replayed_bytes = scan.slot_bytes;
    group_.cut_bytes = scan.torn_bytes;
    return std::move(group_);
  }

 private:
  Status ReadManifest() {
    const std::string path = ManifestPath(data_dir_, group_.manifest.group);
    if (!files_.Exists(path)) return CheckThatGroupIsNew(path);
    WEIR_ASSIGN(const std::string text, ReadWholeFile(files_, path, kManifestBytesMax));
    auto manifest = DecodeManifest(text);
    if (!manifest.ok()) return AboutFile(std::move(manifest).error(), path);
    if (manifest->group != group_.manifest.group) {
      return AboutFile(Fail(ErrorCode::kCorruptData, "manifest of another group"), path);
    }
    group_.manifest = *std::move(manifest);
    return Ok();
  }

  /// A group without a manifest has nothing else either. If it has, the manifest was lost, and what
  /// is there must not be taken for leftovers.
  Status CheckThatGroupIsNew(const std::string& path) {
    std::string witness;
    const std::string directory = GroupDirectory();
    if (files_.Exists(data_dir_ + "/" + directory)) {
      WEIR_ASSIGN(const std::vector<std::string> names, files_.List(data_dir_ + "/" + directory));
      for (const std::string& name : names) {
        if (name.ends_with(".seg")) witness = directory + "/" + name;
      }
    }
    if (witness.empty()) {
      WEIR_ASSIGN(witness, FindJournalOfGroup());
    }
    if (witness.empty()) return Ok();
    return Fail(
        ErrorCode::kCorruptData,
        "the manifest of a group is missing, but not its data: file={} found={}; restore it "
        "from a backup",
        path, witness);
  }

  /// Name of a journal file that was made for this group; empty if there is none.
  Result<std::string> FindJournalOfGroup() {
    if (!files_.Exists(data_dir_ + "/journals")) return std::string();
    WEIR_ASSIGN(const std::vector<std::string> journals, files_.List(data_dir_ + "/journals"));
    for (const std::string& journal : journals) {
      const std::string directory = "journals/" + journal;
      const auto names = files_.List(data_dir_ + "/" + directory);
      if (!names.ok()) continue;  // no directory
      for (const std::string& name : *names) {
        const auto file =
            files_.OpenFile(data_dir_ + "/" + directory + "/" + name, FileSystem::Open::kRead);
        if (!file.ok()) continue;
        std::byte head[kFileHeaderBytes] = {};
        WEIR_TRY((*file)->ReadAt(0, head));
        const auto header = DecodeFileHeader(head);
        if (header.ok() && header->group == group_.manifest.group) return directory + "/" + name;
      }
    }
    return std::string();
  }

  Status ReadStates() {
    if (group_.manifest.states.empty()) return Ok();
    const std::string path = data_dir_ + "/" + group_.manifest.states;
    WEIR_ASSIGN(const std::string bytes, ReadWholeFile(files_, path, kStatesBytesMax));
    auto states = DecodeBucketStates(bytes);
    if (!states.ok()) return AboutFile(std::move(states).error(), path);
    for (auto& [id, state] : *states) {
      BucketLog& bucket = MakeBucket(id);
      bucket.start = state.start;
      bucket.written_end = state.end;
      bucket.max_timestamp = state.max_timestamp;
      bucket.writers = std::move(state.writers);
    }
    return Ok();
  }

  Status OpenNamedFiles() {
    for (const ManifestFile& named : group_.manifest.files) {
      const std::string path = data_dir_ + "/" + named.name;
      if (!files_.Exists(path)) {
        return AboutFile(Fail(ErrorCode::kCorruptData, "a log file is missing"), path);
      }
      auto opened = OpenSealedFile(files_, data_dir_, named.name);
      if (!opened.ok()) return AboutFile(std::move(opened).error(), path);
      opened->file->level = named.level;
      for (const DirectoryEntry& range : opened->directory) {
        // Without a state it was dropped: the file is here for other buckets.
        BucketLog* const bucket = FindBucket(range.bucket);
        if (bucket != nullptr) bucket->extents.push_back({opened->file, range});
      }
      group_.files.push_back(opened->file);
    }
    return Ok();
  }

  /// Adds what the scan found of the buckets in one file. A file that nobody needs any more is kept
  /// as well, until a manifest says so: it holds slots that another start would miss.
  void TakeScanned(const ScannedFile& scanned) {
    Unsealed unsealed;
    unsealed.file = std::make_shared<DataFile>();
    unsealed.file->name = scanned.name;
    unsealed.file->header = scanned.header;
    unsealed.file->entries_position = scanned.slots_end;
    unsealed.file->data_bytes = scanned.slots_end - kFileHeaderBytes;
    std::vector<IndexEntry> entries;
    for (const ScannedPiece& piece : scanned.pieces) {
      const TableBucket& id = piece.entry.bucket;
      BucketLog* bucket = FindBucket(id);
      // One that the manifest does not know was made since, and begins here, or was dropped before.
      if (bucket == nullptr && piece.entry.piece.base != LogOffset(0)) continue;
      if (bucket == nullptr) bucket = &MakeBucket(id);
      for (const ScannedBatch& batch : piece.batches) {
        bucket->writers.Record(batch.writer, {batch.sequence, batch.base, batch.end}, batch.time);
      }
      entries.push_back(piece.entry);
    }
    std::sort(entries.begin(), entries.end(), [](const IndexEntry& a, const IndexEntry& b) {
      return std::tie(a.bucket, a.piece.base) < std::tie(b.bucket, b.piece.base);
    });
    std::vector<DirectoryEntry> directory;
    unsealed.tail = EncodeFileTail(entries, scanned.slots_end, Slot(0), &directory);
    for (const DirectoryEntry& range : directory) {
      FindBucket(range.bucket)->extents.push_back({unsealed.file, range});
    }
    group_.files.push_back(unsealed.file);
    unsealed_.push_back(std::move(unsealed));
  }

  /// Puts the buckets together from what the files have of them.
  Status AssembleBuckets() {
    for (auto& [id, bucket] : group_.buckets) {
      std::vector<Extent>& extents = bucket->extents;
      std::erase_if(extents,
                    [&](const Extent& extent) { return extent.range.end <= bucket->start; });
      std::sort(extents.begin(), extents.end(),
                [](const Extent& a, const Extent& b) { return a.range.base < b.range.base; });
      LogOffset end = bucket->start;
      for (const Extent& extent : extents) {
        bucket->max_timestamp = std::max(bucket->max_timestamp, extent.range.max_timestamp);
        // Only the first may begin earlier: a part of it is trimmed.
        const bool is_first = &extent == &extents.front();
        if (is_first ? extent.range.base > end : extent.range.base != end) {
          return Fail(ErrorCode::kCorruptData,
                      "the log has a hole or an overlap: bucket={} expected={} found={} file={}; "
                      "restore the data directory from a backup",
                      id, end, extent.range.base, extent.file->name);
        }
        end = extent.range.end;
      }
      if (end < bucket->written_end) {
        return Fail(ErrorCode::kCorruptData,
                    "the log has lost its end: bucket={} expected={} found={}; restore the data "
                    "directory from a backup",
                    id, bucket->written_end, end);
      }
      bucket->written_end = bucket->committed_end = bucket->sync_end = bucket->end = end;
    }
    return Ok();
  }

  /// Makes sealed and durable files of those that were scanned, and removes those without slots.
  Status SealScanned(const JournalScan& scan) {
    for (const std::string& name : scan.torn_files) {
      WEIR_TRY(files_.Remove(data_dir_ + "/" + name));
    }
    for (const Unsealed& unsealed : unsealed_) {
      DataFile& file = *unsealed.file;
      WEIR_ASSIGN(file.file,
                  files_.OpenFile(data_dir_ + "/" + file.name, FileSystem::Open::kReadWrite));
      WEIR_TRY(Rewrite(file));
      WEIR_TRY(file.file->Truncate(file.entries_position));
      const Bytes tail = AsBytes(unsealed.tail);
      WEIR_TRY(file.file->WriteAt(file.entries_position, {&tail, 1}));
      WEIR_TRY(file.file->Sync());
    }
    return Ok();
  }

  /// Writes a file over with the bytes that it has. If the process that wrote it met a failed sync,
  /// the kernel may show bytes that are not on the disk, and takes them for clean.
  static Status Rewrite(const DataFile& file) {
    Buffer buffer = Buffer::Allocate(std::min<uint64_t>(kRewriteBytes, file.entries_position));
    for (uint64_t position = 0; position < file.entries_position;) {
      const uint64_t left = file.entries_position - position;
      const MutableBytes part =
          buffer.mutable_bytes().first(std::min<uint64_t>(buffer.size(), left));
      WEIR_TRY(ReadExactly(file, position, part));
      const Bytes bytes = part;
      WEIR_TRY(file.file->WriteAt(position, {&bytes, 1}));
      position += part.size();
    }
    return Ok();
  }

  void RemoveLeftovers() {
    std::set<std::string> known{group_.manifest.states};
    for (const auto& file : group_.files) known.insert(file->name);
    const Result<std::vector<std::string>> names = files_.List(data_dir_ + "/" + GroupDirectory());
    if (!names.ok()) return;
    for (const std::string& name : *names) {
      const std::string full = GroupDirectory() + "/" + name;
      if (name == "manifest" || known.contains(full)) continue;
      LogInfo("log", "removing a file that nothing names: file={}", full);
      if (const Status removed = files_.Remove(data_dir_ + "/" + full); !removed.ok()) {
        LogWarn("log", "{}", removed.error().message);
      }
    }
  }

  std::string GroupDirectory() const { return fmt::format("groups/{}", group_.manifest.group); }

  BucketLog* FindBucket(const TableBucket& id) {
    const auto found = group_.buckets.find(id);
    return found == group_.buckets.end() ? nullptr : found->second.get();
  }

  BucketLog& MakeBucket(const TableBucket& id) {
    auto bucket = std::make_shared<BucketLog>();
    bucket->id = id;
    bucket->max_timestamp = kNoTimestamp;
    return *group_.buckets.emplace(id, std::move(bucket)).first->second;
  }

  struct Unsealed {
    std::shared_ptr<DataFile> file;
    std::string tail;
  };

  FileSystem& files_;
  const std::string& data_dir_;
  RecoveredGroup group_;
  std::vector<Unsealed> unsealed_;
};

}  // namespace

Result<RecoveredGroup> RecoverGroup(FileSystem& files, const std::string& data_dir, GroupId group) {
  return Recovery(files, data_dir, group).Run();
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
