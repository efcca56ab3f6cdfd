// Operations on the rows of primary-key tables.
#include <algorithm>
#include <set>

#include "weir/server/log_damage.h"
#include "weir/server/real_node.h"

namespace weir {

Task<Result<LogOffset>> RealNode::PutThere(GroupShard* shard, TableBucket id, Buffer batch,
                                           PutMode mode, Acks acks, Duration timeout) {
  const std::shared_ptr<Bucket> bucket = shard->Find(id);
  if (bucket == nullptr) co_return UnknownBucket(id);
  Result<LogOffset> end =
      co_await bucket->Put(std::move(batch), std::move(mode), acks, world_.clock.Now(), timeout);
  co_return LogDamage(std::move(end), id, "put");
}

Task<Result<RowValues>> RealNode::LookupThere(GroupShard* shard, TableBucket id,
                                              std::vector<Bytes> keys) {
  const std::shared_ptr<Bucket> bucket = shard->Find(id);
  if (bucket == nullptr) co_return UnknownBucket(id);
  Result<RowValues> values = co_await bucket->Lookup(std::move(keys));
  co_return LogDamage(std::move(values), id, "lookup");
}

Task<Result<RowValues>> RealNode::LookupOrInsertThere(GroupShard* shard, TableBucket id,
                                                      std::vector<Bytes> keys, Acks acks,
                                                      Duration timeout) {
  const std::shared_ptr<Bucket> bucket = shard->Find(id);
  if (bucket == nullptr) co_return UnknownBucket(id);
  Result<RowValues> values =
      co_await bucket->LookupOrInsert(std::move(keys), acks, world_.clock.Now(), timeout);
  co_return LogDamage(std::move(values), id, "lookup");
}

Task<Result<std::vector<RowValues>>> RealNode::LookupPrefixesThere(GroupShard* shard,
                                                                   TableBucket id,
                                                                   std::vector<Bytes> prefixes) {
  const std::shared_ptr<Bucket> bucket = shard->Find(id);
  if (bucket == nullptr) co_return UnknownBucket(id);
  Result<std::vector<RowValues>> lists = co_await bucket->LookupPrefixes(std::move(prefixes));
  co_return LogDamage(std::move(lists), id, "prefix lookup");
}

Task<Result<Buffer>> RealNode::FirstRowsThere(GroupShard* shard, TableBucket id, int64_t limit) {
  const std::shared_ptr<Bucket> bucket = shard->Find(id);
  if (bucket == nullptr) co_return UnknownBucket(id);
  Result<Buffer> rows = co_await bucket->FirstRows(limit);
  co_return LogDamage(std::move(rows), id, "limit scan");
}

Task<Result<ScanPage>> RealNode::OpenScanThere(GroupShard* shard, TableBucket id, int64_t rows_max,
                                               size_t bytes_max) {
  const std::shared_ptr<Bucket> bucket = shard->Find(id);
  if (bucket == nullptr) co_return UnknownBucket(id);
  WEIR_CO_TRY(shard->scans().CheckRoom(id));
  Result<std::unique_ptr<KvScan>> opened = co_await bucket->OpenScan();
  WEIR_CO_ASSIGN(std::unique_ptr<KvScan> scan, LogDamage(std::move(opened), id, "scan"));
  co_return co_await shard->scans().Open(id, std::move(scan), rows_max, bytes_max,
                                         shard->loop().Elapsed());
}

GroupShard* RealNode::ShardOfScan(const std::string& scanner_id) {
  const std::optional<GroupId> group = ScanSessions::GroupOf(scanner_id);
  return group && group->value < shards_.size() ? shards_[group->value].get() : nullptr;
}

Task<Result<ScanPage>> RealNode::ContinueScan(std::string scanner_id, int32_t call,
                                              size_t bytes_max) {
  GroupShard* const shard = ShardOfScan(scanner_id);
  if (shard == nullptr)
    co_return Fail(ErrorCode::kUnknownScanner, "there is no such scan; open it anew");
  const Duration now = shard->loop().Elapsed();
  co_return co_await On(shard->loop(),
                        shard->scans().Continue(std::move(scanner_id), call, bytes_max, now));
}

Task<void> RealNode::CloseScan(std::string scanner_id) {
  struct There {
    static Task<void> Run(GroupShard* shard, std::string scanner_id) {
      shard->scans().Close(scanner_id);
      co_return;
    }
  };
  if (GroupShard* const shard = ShardOfScan(scanner_id))
    co_await On(shard->loop(), There::Run(shard, std::move(scanner_id)));
}

Task<Result<std::vector<KvSnapshot>>> RealNode::KvSnapshotsThere(GroupShard* shard,
                                                                 TableBucket id) {
  if (shard->Find(id) == nullptr) co_return UnknownBucket(id);
  co_return shard->snapshots().Of(id);
}

// The lease comes first: what is there when it holds stays.
Task<Result<std::vector<KvSnapshotName>>> RealNode::AcquireLease(
    std::string lease_id, std::chrono::milliseconds duration,
    std::vector<KvSnapshotName> snapshots) {
  const PlanFunction plan = [&](const Catalog& catalog, Timestamp now) {
    return catalog.PlanAcquireLease(lease_id, duration, snapshots, now);
  };
  WEIR_CO_TRY(co_await Change(&plan));
  std::vector<KvSnapshotName> missing;
  for (const KvSnapshotName& snapshot : snapshots) {
    const Result<std::vector<KvSnapshot>> found = co_await KvSnapshotsOf(snapshot.bucket);
    const bool is_there = found.ok() && std::ranges::find(*found, snapshot.snapshot_id,
                                                          &KvSnapshot::id) != found->end();
    if (!is_there) missing.push_back(snapshot);
  }
  co_return missing;
}

Task<Status> RealNode::ReleaseLease(std::string lease_id, std::vector<TableBucket> buckets) {
  const PlanFunction plan = [&](const Catalog& catalog, Timestamp) {
    return catalog.PlanReleaseLease(lease_id, buckets);
  };
  co_return co_await Change(&plan);
}

Task<Status> RealNode::DropLease(std::string lease_id) {
  const PlanFunction plan = [&](const Catalog& catalog, Timestamp) -> Catalog::Plan {
    return catalog.PlanDropLease(lease_id);
  };
  co_return co_await Change(&plan);
}

Task<void> RealNode::SnapshotLoop() {
  while (!co_await stopping_snapshots_->WaitFor(config_.kv_snapshot_interval)) {
    const std::set<KvSnapshotName> leased = catalog().LeasedSnapshots(world_.clock.Now());
    std::vector<Task<bool>> taken;
    for (const auto& shard : shards_) {
      struct There {
        static Task<bool> Run(GroupShard* shard, size_t kept,
                              const std::set<KvSnapshotName>* leased) {
          co_await shard->TakeSnapshots(kept, leased);
          co_return true;
        }
      };
      taken.push_back(
          On(shard->loop(), There::Run(shard.get(), config_.kv_snapshots_kept, &leased)));
    }
    co_await WhenAll(std::move(taken));
  }
}

}  // namespace weir
