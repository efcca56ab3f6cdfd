#include "weir/server/group_shard.h"

#include <limits>

#include "weir/base/log.h"
#include "weir/server/catalog_store.h"

namespace weir {

Bucket* GroupShard::Find(const TableBucket& id) {
  const auto found = buckets_.find(id);
  return found == buckets_.end() ? nullptr : found->second.get();
}

void GroupShard::Create(const std::vector<TableBucket>& ids,
                        const std::shared_ptr<const BucketTable>& table) {
  for (const TableBucket& id : ids)
    buckets_.try_emplace(id, std::make_unique<Bucket>(id, table, *log_, loop_));
}

std::pair<GroupShard::Buckets::iterator, GroupShard::Buckets::iterator> GroupShard::RangeOf(
    TableId table) {
  // No partition comes before every partition, and bucket 0 before all others.
  const auto first = [](TableId id) { return TableBucket{id, std::nullopt, 0}; };
  return {buckets_.lower_bound(first(table)),
          buckets_.lower_bound(first(TableId(table.value + 1)))};
}

void GroupShard::Drop(TableId table, std::optional<PartitionId> partition) {
  auto [bucket, end] = RangeOf(table);
  while (bucket != end) {
    if (partition && bucket->first.partition_id != partition) {
      ++bucket;
      continue;
    }
    const TableBucket id = bucket->first;
    bucket = buckets_.erase(bucket);
    log_->DropBucket(id);
  }
}

void GroupShard::SetTable(TableId table, const std::shared_ptr<const BucketTable>& description) {
  for (auto [bucket, end] = RangeOf(table); bucket != end; ++bucket)
    bucket->second->SetTable(description);
}

void GroupShard::DropLeftovers() {
  for (const TableBucket& id : log_->buckets()) {
    if (id == kCatalogBucket || buckets_.contains(id)) continue;
    LogInfo("server", "dropping the log of a bucket that no table has: bucket={}", id);
    log_->DropBucket(id);
  }
}

Task<void> GroupShard::Maintain(Timestamp now, int64_t writer_idle_max_ms) {
  for (const auto& [id, bucket] : buckets_) bucket->Maintain(now, writer_idle_max_ms);
  co_await log_->Maintain();
}

Task<void> GroupShard::Stop() {
  co_await log_->Stop();
  buckets_.clear();
}

}  // namespace weir
