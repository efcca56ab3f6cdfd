// The buckets of one group, on the group's loop.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "weir/bucket/bucket.h"
#include "weir/log/group_log.h"

namespace weir {

class GroupShard {
 public:
  GroupShard(std::unique_ptr<GroupLog> log, EventLoop& loop) : loop_(loop), log_(std::move(log)) {}

  EventLoop& loop() { return loop_; }
  GroupLog& log() { return *log_; }

  /// Null if there is none.
  Bucket* Find(const TableBucket& id);

  void Create(const std::vector<TableBucket>& ids, const std::shared_ptr<const BucketTable>& table);
  /// All buckets of a table, or those of one of its partitions; what they have on the disk is freed
  /// in the background.
  void Drop(TableId table, std::optional<PartitionId> partition);
  void SetTable(TableId table, const std::shared_ptr<const BucketTable>& description);
  /// Drops logs that no bucket was made for: their table was dropped while the server was down or
  /// dying.
  void DropLeftovers();

  /// Retention of all buckets, then that of the files.
  Task<void> Maintain(Timestamp now, int64_t writer_idle_max_ms);

  /// Ends the log, then the buckets.
  Task<void> Stop();

 private:
  using Buckets = std::map<TableBucket, std::unique_ptr<Bucket>>;

  std::pair<Buckets::iterator, Buckets::iterator> RangeOf(TableId table);

  EventLoop& loop_;
  std::unique_ptr<GroupLog> log_;
  Buckets buckets_;
};

}  // namespace weir
