#include "weir/server/kv_snapshots.h"

#include <algorithm>
#include <charconv>
#include <functional>

#include <nlohmann/json.hpp>

#include "weir/base/log.h"

namespace weir {
namespace {

constexpr std::string_view kMetadata = "_METADATA";
constexpr std::string_view kPrefix = "snap-";
constexpr std::string_view kUnfinished = ".unfinished";
constexpr size_t kMetadataBytesMax = 16 << 20;
constexpr int kVersion = 1;

std::string NameOf(int64_t snapshot_id) {
  return fmt::format("{}{}", kPrefix, snapshot_id);
}

std::optional<int64_t> ParseNumber(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

std::string EncodeMetadata(const TableBucket& bucket, const KvSnapshot& snapshot) {
  nlohmann::json json = {{"version", kVersion},
                         {"table_id", bucket.table_id.value},
                         {"bucket_id", bucket.bucket_id},
                         {"snapshot_id", snapshot.id},
                         {"log_offset", snapshot.log_offset.value},
                         {"files", snapshot.files}};
  if (bucket.partition_id) json["partition_id"] = bucket.partition_id->value;
  return json.dump();
}

Result<KvSnapshot> ReadSnapshot(FileSystem& files, const std::string& directory, int64_t id) {
  const std::string path = fmt::format("{}/{}", directory, kMetadata);
  WEIR_ASSIGN(const std::string text, ReadWholeFile(files, path, kMetadataBytesMax));
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto number = [&](const char* key) -> std::optional<int64_t> {
    if (!json.is_object() || !json.contains(key) || !json[key].is_number_integer())
      return std::nullopt;
    return json[key].get<int64_t>();
  };
  KvSnapshot snapshot{.id = id, .log_offset = {}, .directory = directory, .files = {}};
  const std::optional<int64_t> offset = number("log_offset");
  const bool is_sound =
      number("version") == kVersion && number("snapshot_id") == id && offset && *offset >= 0 &&
      json.contains("files") && json["files"].is_array() &&
      std::ranges::all_of(json["files"], [](const auto& file) { return file.is_string(); });
  if (!is_sound)
    return Fail(ErrorCode::kCorruptData, "metadata of a kv snapshot makes no sense: file={}", path);
  snapshot.log_offset = LogOffset(*offset);
  for (const auto& file : json["files"]) snapshot.files.push_back(file.get<std::string>());
  return snapshot;
}

/// The snapshots in a bucket's directory; what was not finished is removed.
Result<std::vector<KvSnapshot>> ReadSnapshots(FileSystem& files, const std::string& directory) {
  std::vector<KvSnapshot> snapshots;
  WEIR_ASSIGN(const std::vector<std::string> names, files.List(directory));
  for (const std::string& name : names) {
    const std::string path = directory + "/" + name;
    if (name.ends_with(kUnfinished)) {
      WEIR_TRY(files.RemoveTree(path));
      continue;
    }
    if (!name.starts_with(kPrefix)) continue;
    const auto id = ParseNumber(std::string_view(name).substr(kPrefix.size()));
    if (!id) continue;
    WEIR_ASSIGN(KvSnapshot snapshot, ReadSnapshot(files, path, *id));
    snapshots.push_back(std::move(snapshot));
  }
  std::ranges::sort(snapshots, {}, &KvSnapshot::id);
  return snapshots;
}

}  // namespace

std::string DirectoryNameOf(const TableBucket& bucket) {
  if (!bucket.partition_id) return fmt::format("{}-{}", bucket.table_id, bucket.bucket_id);
  return fmt::format("{}-{}-{}", bucket.table_id, *bucket.partition_id, bucket.bucket_id);
}

std::optional<TableBucket> BucketOfDirectory(std::string_view name) {
  std::vector<int64_t> numbers;
  while (true) {
    const size_t dash = name.find('-');
    const std::optional<int64_t> number = ParseNumber(name.substr(0, dash));
    if (!number || numbers.size() == 3) return std::nullopt;
    numbers.push_back(*number);
    if (dash == std::string_view::npos) break;
    name.remove_prefix(dash + 1);
  }
  if (numbers.size() < 2 || numbers.back() > INT32_MAX) return std::nullopt;
  TableBucket bucket{TableId(numbers[0]), std::nullopt, static_cast<int32_t>(numbers.back())};
  if (numbers.size() == 3) bucket.partition_id = PartitionId(numbers[1]);
  return bucket;
}

std::string KvSnapshots::DirectoryOf(const TableBucket& bucket) const {
  return directory_ + "/" + DirectoryNameOf(bucket);
}

Task<Status> KvSnapshots::Load(const std::set<TableBucket>* buckets, const BucketFilter* is_mine) {
  auto load = [&]() -> Status {
    if (!files_.Exists(directory_)) return Ok();
    WEIR_ASSIGN(const std::vector<std::string> names, files_.List(directory_));
    for (const std::string& name : names) {
      const std::optional<TableBucket> bucket = BucketOfDirectory(name);
      if (!bucket || !(*is_mine)(*bucket)) continue;
      const std::string path = directory_ + "/" + name;
      if (!buckets->contains(*bucket)) {
        WEIR_TRY(files_.RemoveTree(path));
        continue;
      }
      WEIR_ASSIGN(std::vector<KvSnapshot> snapshots, ReadSnapshots(files_, path));
      snapshots_[*bucket] = std::move(snapshots);
    }
    return Ok();
  };
  co_return co_await pool_.Run(load);
}

const std::vector<KvSnapshot>& KvSnapshots::Of(const TableBucket& bucket) const {
  static const std::vector<KvSnapshot> kNone;
  const auto found = snapshots_.find(bucket);
  return found == snapshots_.end() ? kNone : found->second;
}

const KvSnapshot* KvSnapshots::Find(const KvSnapshotName& name) const {
  const std::vector<KvSnapshot>& of_bucket = Of(name.bucket);
  const auto found = std::ranges::find(of_bucket, name.snapshot_id, &KvSnapshot::id);
  return found == of_bucket.end() ? nullptr : &*found;
}

std::optional<LogOffset> KvSnapshots::NeededFrom(const TableBucket& bucket) const {
  const std::vector<KvSnapshot>& of_bucket = Of(bucket);
  if (of_bucket.empty()) return std::nullopt;
  return of_bucket.front().log_offset;
}

Task<Status> KvSnapshots::Take(std::shared_ptr<Bucket> bucket) {
  const TableBucket id = bucket->id();
  const std::vector<KvSnapshot>& before = Of(id);
  if (bucket->high_watermark() == LogOffset(0)) co_return Ok();
  if (!before.empty() && before.back().log_offset >= bucket->high_watermark()) co_return Ok();
  KvSnapshot snapshot;
  snapshot.id = before.empty() ? 0 : before.back().id + 1;
  const std::string parent = DirectoryOf(id);
  snapshot.directory = parent + "/" + NameOf(snapshot.id);
  const std::string unfinished = snapshot.directory + std::string(kUnfinished);
  auto prepare = [&]() -> Status {
    WEIR_TRY(files_.MakeDirectories(parent));
    return files_.Exists(unfinished) ? files_.RemoveTree(unfinished) : Ok();
  };
  WEIR_CO_TRY(co_await pool_.Run(prepare));
  WEIR_CO_ASSIGN(const KvCheckpoint taken, co_await bucket->SnapshotRows(unfinished));
  snapshot.log_offset = taken.log_offset;
  auto finish = [&]() -> Status {
    WEIR_ASSIGN(snapshot.files, files_.List(unfinished));
    std::ranges::sort(snapshot.files);
    WEIR_TRY(ReplaceFile(files_, fmt::format("{}/{}", unfinished, kMetadata),
                         EncodeMetadata(id, snapshot)));
    WEIR_TRY(files_.Rename(unfinished, snapshot.directory));
    return files_.SyncDirectory(parent);
  };
  WEIR_CO_TRY(co_await pool_.Run(finish));
  snapshots_[id].push_back(std::move(snapshot));
  co_return Ok();
}

Task<void> KvSnapshots::Prune(TableBucket bucket, size_t kept,
                              const std::set<KvSnapshotName>* leased) {
  const auto found = snapshots_.find(bucket);
  if (found == snapshots_.end() || found->second.size() <= kept) co_return;
  std::vector<std::string> doomed;
  const int64_t kept_from = found->second[found->second.size() - kept].id;
  std::erase_if(found->second, [&](const KvSnapshot& snapshot) {
    if (snapshot.id >= kept_from || leased->contains({bucket, snapshot.id})) return false;
    doomed.push_back(snapshot.directory);
    return true;
  });
  auto remove = [&]() -> Status {
    for (const std::string& directory : doomed) {
      // Under another name first: what is left of it after a crash is no snapshot.
      const std::string unfinished = directory + std::string(kUnfinished);
      WEIR_TRY(files_.Rename(directory, unfinished));
      WEIR_TRY(files_.RemoveTree(unfinished));
    }
    return Ok();
  };
  const Status removed = co_await pool_.Run(remove);
  if (!removed.ok()) {
    LogWarn("server", "an old kv snapshot stays on the disk: bucket={} reason={}", bucket,
            removed.error().message);
  }
}

Task<void> KvSnapshots::Remove(TableBucket bucket) {
  snapshots_.erase(bucket);
  const std::string directory = DirectoryOf(bucket);
  auto remove = [&]() -> Status {
    return files_.Exists(directory) ? files_.RemoveTree(directory) : Ok();
  };
  const Status removed = co_await pool_.Run(remove);
  if (!removed.ok()) {
    LogWarn("server", "kv snapshots of a dropped bucket stay on the disk: directory={} reason={}",
            directory, removed.error().message);
  }
}

}  // namespace weir
