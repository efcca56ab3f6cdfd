#include "weir/server/group_shard.h"

#include <chrono>
#include <functional>
#include <set>

#include "weir/base/log.h"
#include "weir/server/catalog_store.h"

namespace weir {

std::string GroupShard::StateDirectoryOf(const TableBucket& bucket) const {
  return rows_.state_directory + "/" + DirectoryNameOf(bucket);
}

std::shared_ptr<Bucket> GroupShard::Find(const TableBucket& id) {
  const auto found = buckets_.find(id);
  return found == buckets_.end() ? nullptr : found->second;
}

Task<Status> GroupShard::Create(const std::vector<TableBucket>* ids,
                                const std::shared_ptr<const BucketTable>* table) {
  if ((*table)->rows != nullptr) co_return co_await CreateRows(ids, table);
  for (const TableBucket& id : *ids)
    buckets_.try_emplace(id, std::make_shared<Bucket>(id, *table, *log_, loop_));
  co_return Ok();
}

Task<Status> GroupShard::CreateRows(const std::vector<TableBucket>* ids,
                                    const std::shared_ptr<const BucketTable>* table) {
  std::vector<std::unique_ptr<KvState>> states;
  auto open = [&]() -> Status {
    for (const TableBucket& id : *ids) {
      const bool keeps_times = (*table)->rows->row_ttl_ms > 0;
      WEIR_ASSIGN(std::unique_ptr<KvState> state,
                  KvState::Open(StateDirectoryOf(id), rows_.files, rows_.memory, loop_,
                                log_->pool(), keeps_times));
      states.push_back(std::move(state));
    }
    return Ok();
  };
  WEIR_CO_TRY(co_await log_->pool().Run(open));
  for (size_t i = 0; i < ids->size(); ++i) {
    const TableBucket& id = (*ids)[i];
    buckets_.try_emplace(id, std::make_shared<Bucket>(id, *table, *log_, loop_,
                                                      std::move(states[i]), rows_.numbers));
  }
  co_return Ok();
}

Task<Status> GroupShard::Recover(const BucketFilter* is_mine) {
  int64_t records = 0;
  size_t behind = 0;
  const Duration begin = loop_.Elapsed();
  for (const auto& [id, bucket] : buckets_) {
    if (!bucket->has_rows()) continue;
    WEIR_CO_ASSIGN(const int64_t replayed, co_await bucket->Recover());
    records += replayed;
    behind += replayed > 0 ? 1 : 0;
  }
  if (records > 0) {
    LogInfo("server", "replayed changelogs: buckets={} records={} milliseconds={}", behind, records,
            std::chrono::duration_cast<std::chrono::milliseconds>(loop_.Elapsed() - begin).count());
  }
  co_return co_await DropLeftovers(is_mine);
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
    const std::shared_ptr<Bucket> dropped = bucket->second;
    bucket = buckets_.erase(bucket);
    dropped->Close();
    scans_.CloseAll(id);
    log_->DropBucket(id);
    if (dropped->has_rows()) removals_.Spawn(RemoveRows(dropped));
  }
}

Task<void> GroupShard::RemoveRows(std::shared_ptr<Bucket> bucket) {
  co_await bucket->Stop();
  co_await snapshots_.Remove(bucket->id());
  auto remove = [&] { return RemoveKvState(rows_.files, StateDirectoryOf(bucket->id())); };
  const Status removed = co_await log_->pool().Run(remove);
  if (!removed.ok()) {
    LogWarn("server", "the rows of a dropped bucket stay on the disk: bucket={} reason={}",
            bucket->id(), removed.error().message);
  }
}

Task<void> GroupShard::TakeSnapshots(size_t kept, const std::set<KvSnapshotName>* leased) {
  std::vector<std::shared_ptr<Bucket>> buckets;
  for (const auto& [id, bucket] : buckets_) {
    if (bucket->has_rows()) buckets.push_back(bucket);
  }
  for (const std::shared_ptr<Bucket>& bucket : buckets) {
    if (bucket->is_closed()) continue;
    const Status taken = co_await snapshots_.Take(bucket);
    if (!taken.ok() && taken.error().code != ErrorCode::kCancelled) {
      LogWarn("server", "no kv snapshot: bucket={} reason={}", bucket->id(), taken.error().message);
    }
    // Its directory may have come back while the bucket was dropped.
    if (bucket->is_closed()) {
      co_await snapshots_.Remove(bucket->id());
    } else {
      co_await snapshots_.Prune(bucket->id(), kept, leased);
    }
  }
}

void GroupShard::SetTable(TableId table, const std::shared_ptr<const BucketTable>& description) {
  for (auto [bucket, end] = RangeOf(table); bucket != end; ++bucket)
    bucket->second->SetTable(description);
}

Task<Status> GroupShard::DropLeftovers(const BucketFilter* is_mine) {
  for (const TableBucket& id : log_->buckets()) {
    if (id == kCatalogBucket || buckets_.contains(id)) continue;
    LogInfo("server", "dropping the log of a bucket that no table has: bucket={}", id);
    log_->DropBucket(id);
  }
  std::set<TableBucket> with_rows;
  for (const auto& [id, bucket] : buckets_) {
    if (bucket->has_rows()) with_rows.insert(id);
  }
  WEIR_CO_TRY(co_await snapshots_.Load(&with_rows, is_mine));
  auto remove_states = [&]() -> Status {
    if (!rows_.files.Exists(rows_.state_directory)) return Ok();
    WEIR_ASSIGN(const std::vector<std::string> names, rows_.files.List(rows_.state_directory));
    for (const std::string& name : names) {
      const std::optional<TableBucket> id = BucketOfDirectory(name);
      if (id && (*is_mine)(*id) && !with_rows.contains(*id))
        WEIR_TRY(RemoveKvState(rows_.files, StateDirectoryOf(*id)));
    }
    return Ok();
  };
  co_return co_await log_->pool().Run(remove_states);
}

Task<void> GroupShard::Maintain(Timestamp now, const MaintenanceLimits* limits) {
  scans_.CloseIdle(loop_.Elapsed(), limits->scan_idle_max);
  const int64_t idle_max_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(limits->writer_idle_max).count();
  for (const auto& [id, bucket] : buckets_)
    bucket->Maintain(now, idle_max_ms, snapshots_.NeededFrom(id));
  co_await log_->Maintain();
}

Task<void> GroupShard::Stop() {
  scans_.Clear();
  co_await removals_.Join();
  for (const auto& [id, bucket] : buckets_) co_await bucket->Stop();
  co_await log_->Stop();
  buckets_.clear();
}

}  // namespace weir
