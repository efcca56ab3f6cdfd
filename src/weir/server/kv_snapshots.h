// Kv snapshots: copies of a bucket's state at one offset of its changelog, as RocksDB files that
// clients read by themselves, and then go on with the changelog from there.
//
// Those of one group. Lives on the group's loop. Layout: docs/formats/kv_snapshot.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "weir/base/ids.h"
#include "weir/base/result.h"
#include "weir/bucket/bucket.h"
#include "weir/catalog/entities.h"
#include "weir/runtime/blocking_pool.h"
#include "weir/runtime/file.h"

namespace weir {

struct KvSnapshot {
  /// Counted for each bucket.
  int64_t id = 0;
  /// The changelog goes on here.
  LogOffset log_offset;
  /// Absolute.
  std::string directory;
  /// Names of the RocksDB files in it.
  std::vector<std::string> files;
};

using BucketFilter = std::function<bool(const TableBucket&)>;

class KvSnapshots {
 public:
  /// `directory` has those of all groups; it is made with the first one.
  KvSnapshots(std::string directory, FileSystem& files, BlockingPool& pool)
      : directory_(std::move(directory)), files_(files), pool_(pool) {}

  /// After a start: finds the snapshots of `buckets`, and removes those that were not finished and
  /// those of other buckets for which `is_mine` says so. Errors: kIo, kCorruptData.
  Task<Status> Load(const std::set<TableBucket>* buckets, const BucketFilter* is_mine);

  /// Oldest first.
  const std::vector<KvSnapshot>& Of(const TableBucket& bucket) const;
  /// Null if there is no such snapshot.
  const KvSnapshot* Find(const KvSnapshotName& name) const;
  /// Readers of the oldest snapshot need the changelog from here on; nothing without snapshots.
  std::optional<LogOffset> NeededFrom(const TableBucket& bucket) const;

  /// Takes a snapshot of `bucket` unless the newest one has all of its changes. Errors: kIo,
  /// kNoSpace, kCorruptData: there is none.
  Task<Status> Take(std::shared_ptr<Bucket> bucket);
  /// Removes all snapshots of a bucket but the newest `kept` (at least 1) and those that are
  /// leased.
  Task<void> Prune(TableBucket bucket, size_t kept, const std::set<KvSnapshotName>* leased);
  /// All of a bucket that was dropped.
  Task<void> Remove(TableBucket bucket);

 private:
  std::string DirectoryOf(const TableBucket& bucket) const;

  const std::string directory_;
  FileSystem& files_;
  BlockingPool& pool_;
  std::map<TableBucket, std::vector<KvSnapshot>> snapshots_;
};

/// <table>[-<partition>]-<bucket>, the name of a bucket's directories.
std::string DirectoryNameOf(const TableBucket& bucket);
/// Nothing if `name` is not one.
std::optional<TableBucket> BucketOfDirectory(std::string_view name);

}  // namespace weir
