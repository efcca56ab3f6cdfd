// The buckets of one group, on the group's loop.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weir/bucket/bucket.h"
#include "weir/kv/kv_memory.h"
#include "weir/log/group_log.h"
#include "weir/server/kv_snapshots.h"
#include "weir/server/node.h"
#include "weir/server/scan_sessions.h"

namespace weir {

/// What the buckets of primary-key tables need besides their log. It outlives them.
struct RowWorld {
  /// Each has a directory a bucket.
  std::string state_directory;
  std::string snapshot_directory;
  FileSystem& files;
  KvMemory& memory;
  NumberSource& numbers;
  Random& random;
  /// Scans that are open in all groups.
  std::atomic<size_t>& scans;
};

class GroupShard {
 public:
  GroupShard(GroupId group, std::unique_ptr<GroupLog> log, EventLoop& loop, RowWorld rows)
      : loop_(loop),
        log_(std::move(log)),
        rows_(std::move(rows)),
        scans_(group, rows_.random, rows_.scans),
        snapshots_(rows_.snapshot_directory, rows_.files, log_->pool()) {}

  EventLoop& loop() { return loop_; }
  GroupLog& log() { return *log_; }
  ScanSessions& scans() { return scans_; }

  /// Null if there is none. Who suspends in it holds it: it may be dropped meanwhile.
  std::shared_ptr<Bucket> Find(const TableBucket& id);

  /// Makes buckets. Errors: kIo, kCorruptData: what the disk has of their rows cannot be used.
  Task<Status> Create(const std::vector<TableBucket>* ids,
                      const std::shared_ptr<const BucketTable>* table);
  KvSnapshots& snapshots() { return snapshots_; }
  /// Takes a snapshot of every bucket whose rows changed since the last one, and removes old ones.
  Task<void> TakeSnapshots(size_t kept, const std::set<KvSnapshotName>* leased);

  /// After a start: brings the rows of all buckets up to their changelogs, and drops what belongs
  /// to no bucket; `is_mine` tells buckets of this group from others. Errors: kIo, kCorruptData.
  Task<Status> Recover(const BucketFilter* is_mine);

  /// All buckets of a table, or those of one of its partitions; what they have on the disk is freed
  /// in the background.
  void Drop(TableId table, std::optional<PartitionId> partition);
  void SetTable(TableId table, const std::shared_ptr<const BucketTable>& description);

  /// Retention of all buckets, then that of the files.
  Task<void> Maintain(Timestamp now, const MaintenanceLimits* limits);

  /// Ends the log, then the buckets.
  Task<void> Stop();

 private:
  using Buckets = std::map<TableBucket, std::shared_ptr<Bucket>>;

  std::pair<Buckets::iterator, Buckets::iterator> RangeOf(TableId table);
  Task<Status> CreateRows(const std::vector<TableBucket>* ids,
                          const std::shared_ptr<const BucketTable>* table);
  /// Drops logs that no bucket was made for: their table was dropped while the server was down or
  /// dying.
  Task<Status> DropLeftovers(const BucketFilter* is_mine);
  std::string StateDirectoryOf(const TableBucket& bucket) const;
  Task<void> RemoveRows(std::shared_ptr<Bucket> bucket);

  EventLoop& loop_;
  std::unique_ptr<GroupLog> log_;
  const RowWorld rows_;
  ScanSessions scans_;
  KvSnapshots snapshots_;
  Buckets buckets_;
  /// Of buckets that were dropped.
  TaskScope removals_;
};

}  // namespace weir
