// The node on the real catalog and the real groups. Its parts: node.cc starts, maintains and stops
// it, node_catalog.cc changes the catalog and lets the buckets follow, node_logs.cc serves logs,
// node_rows.cc rows of primary-key tables.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weir/bucket/row_writes.h"
#include "weir/kv/kv_memory.h"
#include "weir/runtime/async_mutex.h"
#include "weir/server/catalog_store.h"
#include "weir/server/data_directory.h"
#include "weir/server/group_shard.h"
#include "weir/server/node.h"

namespace weir {

Error UnknownBucket(const TableBucket& bucket);

class RealNode final : public Node, private NumberSource {
 public:
  RealNode(NodeConfig config, NodeWorld world, DataDirectory directory);

  Task<Status> Start();
  Task<void> Stop() override;

  Task<Status> CreateDatabase(std::string name, std::string descriptor_json,
                              bool ignore_if_exists) override;
  Task<Status> DropDatabase(std::string name, bool ignore_if_missing, bool cascade) override;
  Task<Status> AlterDatabase(DatabaseAlteration alteration) override;
  Task<Status> CreateTable(TablePath path, std::string descriptor_json,
                           bool ignore_if_exists) override;
  Task<Status> DropTable(TablePath path, bool ignore_if_missing) override;
  Task<Status> AlterTable(TableAlteration alteration) override;
  Task<Status> CreatePartition(TablePath path, PartitionSpec spec, bool ignore_if_exists) override;
  Task<Status> DropPartition(TablePath path, PartitionSpec spec, bool ignore_if_missing) override;
  Task<Result<bool>> RegisterProducerOffsets(ProducerOffsets offsets) override;
  Task<Status> DeleteProducerOffsets(std::string producer_id) override;
  Task<Result<WriterId>> InitWriter() override { return On(catalog_loop(), TakeWriterId()); }

  Task<Result<LogOffset>> Append(TableBucket bucket, Buffer records, Acks acks,
                                 Duration timeout) override {
    GroupShard& shard = ShardOf(bucket);
    return On(shard.loop(), AppendThere(&shard, bucket, std::move(records), acks, timeout));
  }

  Task<FetchResponse> Fetch(FetchRequest request) override;

  Task<Result<LogOffset>> ListOffset(TableBucket bucket, OffsetSpec spec) override {
    GroupShard& shard = ShardOf(bucket);
    return On(shard.loop(), ListOffsetThere(&shard, bucket, spec));
  }

  Task<Result<LogPieces>> LimitScan(TableBucket bucket, int64_t limit) override {
    GroupShard& shard = ShardOf(bucket);
    return On(shard.loop(), LimitScanThere(&shard, bucket, limit));
  }

  Task<Result<int64_t>> Count(TableBucket bucket) override {
    GroupShard& shard = ShardOf(bucket);
    return On(shard.loop(), CountThere(&shard, bucket));
  }

  Task<Result<LogOffset>> Put(TableBucket bucket, Buffer batch, PutMode mode, Acks acks,
                              Duration timeout) override {
    GroupShard& shard = ShardOf(bucket);
    return On(shard.loop(),
              PutThere(&shard, bucket, std::move(batch), std::move(mode), acks, timeout));
  }

  Task<Result<RowValues>> Lookup(TableBucket bucket, std::vector<Bytes> keys) override {
    GroupShard& shard = ShardOf(bucket);
    return On(shard.loop(), LookupThere(&shard, bucket, std::move(keys)));
  }

  Task<Result<RowValues>> LookupOrInsert(TableBucket bucket, std::vector<Bytes> keys, Acks acks,
                                         Duration timeout) override {
    GroupShard& shard = ShardOf(bucket);
    return On(shard.loop(), LookupOrInsertThere(&shard, bucket, std::move(keys), acks, timeout));
  }

  Task<Result<std::vector<RowValues>>> LookupPrefixes(TableBucket bucket,
                                                      std::vector<Bytes> prefixes) override {
    GroupShard& shard = ShardOf(bucket);
    return On(shard.loop(), LookupPrefixesThere(&shard, bucket, std::move(prefixes)));
  }

  Task<Result<Buffer>> FirstRows(TableBucket bucket, int64_t limit) override {
    GroupShard& shard = ShardOf(bucket);
    return On(shard.loop(), FirstRowsThere(&shard, bucket, limit));
  }

  Task<Result<ScanPage>> OpenScan(TableBucket bucket, int64_t rows_max, size_t bytes_max) override {
    GroupShard& shard = ShardOf(bucket);
    return On(shard.loop(), OpenScanThere(&shard, bucket, rows_max, bytes_max));
  }
  Task<Result<ScanPage>> ContinueScan(std::string scanner_id, int32_t call,
                                      size_t bytes_max) override;
  Task<void> CloseScan(std::string scanner_id) override;

  Task<Result<std::vector<KvSnapshot>>> KvSnapshotsOf(TableBucket bucket) override {
    GroupShard& shard = ShardOf(bucket);
    return On(shard.loop(), KvSnapshotsThere(&shard, bucket));
  }
  Task<Result<std::vector<KvSnapshotName>>> AcquireLease(
      std::string lease_id, std::chrono::milliseconds duration,
      std::vector<KvSnapshotName> snapshots) override;
  Task<Status> ReleaseLease(std::string lease_id, std::vector<TableBucket> buckets) override;
  Task<Status> DropLease(std::string lease_id) override;

  EventLoop& catalog_loop() override { return shards_.front()->loop(); }

 protected:
  const Catalog& catalog() const override { return store_->catalog(); }

 private:
  struct PlacedFetch {
    size_t table;
    size_t bucket;
    TableBucket id;
    const TableFetch* table_fetch;
    const BucketFetch* fetch;
  };

  GroupShard& ShardOf(const TableBucket& bucket) {
    return *shards_[StableHash(bucket) % shards_.size()];
  }

  using PlanFunction = std::function<Catalog::Plan(const Catalog& catalog, Timestamp now)>;

  /// Plans, makes the plan durable and true, and lets the buckets follow. `plan` stays until it is
  /// awaited.
  Task<Status> Change(const PlanFunction* plan) { return On(catalog_loop(), ChangeHere(plan)); }
  Task<Status> ChangeHere(const PlanFunction* plan);
  Task<void> Follow(const CatalogChange* change, const std::vector<TableId>* tables_before);
  Task<void> KeepPartitions(TableId table);
  Task<void> FollowWithBuckets(TablePtr table, std::optional<PartitionId> partition);
  Task<Status> CreateBuckets(TablePtr table, std::optional<PartitionId> partition);
  Task<Status> RecoverBuckets();
  Task<void> DropBuckets(TableId table, std::optional<PartitionId> partition);
  Task<void> UpdateBuckets(TablePtr table);

  Task<Result<WriterId>> TakeWriterId();
  Task<Result<LogOffset>> AppendThere(GroupShard* shard, TableBucket id, Buffer records, Acks acks,
                                      Duration timeout);
  Task<Result<LogOffset>> ListOffsetThere(GroupShard* shard, TableBucket id, OffsetSpec spec);
  Task<Result<LogPieces>> LimitScanThere(GroupShard* shard, TableBucket id, int64_t limit);
  Task<Result<int64_t>> CountThere(GroupShard* shard, TableBucket id);

  Task<Result<LogOffset>> PutThere(GroupShard* shard, TableBucket id, Buffer batch, PutMode mode,
                                   Acks acks, Duration timeout);
  Task<Result<RowValues>> LookupThere(GroupShard* shard, TableBucket id, std::vector<Bytes> keys);
  Task<Result<RowValues>> LookupOrInsertThere(GroupShard* shard, TableBucket id,
                                              std::vector<Bytes> keys, Acks acks, Duration timeout);
  Task<Result<std::vector<RowValues>>> LookupPrefixesThere(GroupShard* shard, TableBucket id,
                                                           std::vector<Bytes> prefixes);
  Task<Result<Buffer>> FirstRowsThere(GroupShard* shard, TableBucket id, int64_t limit);

  Task<Result<ScanPage>> OpenScanThere(GroupShard* shard, TableBucket id, int64_t rows_max,
                                       size_t bytes_max);
  /// Null if no scan has this name.
  GroupShard* ShardOfScan(const std::string& scanner_id);

  Task<Result<std::vector<KvSnapshot>>> KvSnapshotsThere(GroupShard* shard, TableBucket id);
  Task<void> SnapshotLoop();

  // NumberSource
  Task<Result<NumberRange>> Reserve(TableId table, int64_t count) override;
  Task<Result<NumberRange>> ReserveHere(TableId table, int64_t count);

  Task<size_t> ReadAll(const std::vector<std::vector<PlacedFetch>>* by_shard, size_t bytes_max,
                       FetchAllowance* allowance, FetchResponse* into);
  Task<size_t> ReadThere(GroupShard* shard, const std::vector<PlacedFetch>* fetches,
                         size_t bytes_max, FetchAllowance* allowance, FetchResponse* into);
  Task<void> WatchThere(GroupShard* shard, const std::vector<PlacedFetch>* fetches,
                        const FetchResponse* seen, std::weak_ptr<std::function<void()>> wake);

  Task<void> MaintainLoop();
  Task<void> MaintainCatalog();

  const NodeConfig config_;
  const NodeWorld world_;
  DataDirectory directory_;
  KvMemory kv_memory_;
  std::atomic<size_t> scans_ = 0;
  std::vector<std::unique_ptr<GroupShard>> shards_;
  std::unique_ptr<CatalogStore> store_;
  /// Catalog changes are planned, written and followed one at a time.
  AsyncMutex catalog_turn_;
  WriterId writer_ids_end_{0};
  WriterId next_writer_id_{0};
  TaskScope background_;
  std::unique_ptr<Event> stopping_;
  std::unique_ptr<Event> stopping_snapshots_;
};

}  // namespace weir
