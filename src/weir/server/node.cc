#include "weir/server/node.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "weir/base/log.h"
#include "weir/record/projection.h"
#include "weir/runtime/async_mutex.h"
#include "weir/runtime/blocking_pool.h"
#include "weir/server/catalog_store.h"
#include "weir/server/data_directory.h"
#include "weir/server/group_shard.h"

namespace weir {
namespace {

// Writer ids are reserved in ranges, so that giving one out costs a disk write only now and then.
constexpr int64_t kWriterIdsReserved = 1000;
// A limit scan gathers its answer in memory.
constexpr size_t kLimitScanBytesMax = 128 << 20;

std::vector<TableBucket> BucketsOf(const TableInfo& table, std::optional<PartitionId> partition) {
  std::vector<TableBucket> buckets;
  buckets.reserve(static_cast<size_t>(table.bucket_count()));
  for (int32_t i = 0; i < table.bucket_count(); ++i) buckets.push_back({table.id, partition, i});
  return buckets;
}

Error UnknownBucket(const TableBucket& bucket) {
  return Fail(ErrorCode::kUnknownBucket, "this server has no such table or bucket: bucket={}",
              bucket);
}

/// What a read is taken to hold while it waits for the disk: many of one client may do so at once.
constexpr size_t kReadBytesExpected = 1 << 20;

/// What wakes a fetch that waits. Buckets of any loop hold it weakly.
struct FetchWait {
  explicit FetchWait(EventLoop& loop) : event(loop) {}
  Event event;
};

}  // namespace

class RealNode final : public Node {
 public:
  RealNode(NodeConfig config, NodeWorld world, DataDirectory directory)
      : config_(std::move(config)), world_(std::move(world)), directory_(std::move(directory)) {}

  Task<Status> Start();
  Task<void> Stop() override;

  Task<Status> CreateDatabase(std::string name, std::string descriptor_json,
                              bool ignore_if_exists) override {
    const auto plan = [&](const Catalog& catalog, Timestamp now) {
      return catalog.PlanCreateDatabase(name, descriptor_json, ignore_if_exists, now);
    };
    co_return co_await Change(plan);
  }

  Task<Status> DropDatabase(std::string name, bool ignore_if_missing, bool cascade) override {
    const auto plan = [&](const Catalog& catalog, Timestamp) {
      return catalog.PlanDropDatabase(name, ignore_if_missing, cascade);
    };
    co_return co_await Change(plan);
  }

  Task<Status> AlterDatabase(DatabaseAlteration alteration) override {
    const auto plan = [&](const Catalog& catalog, Timestamp now) {
      return catalog.PlanAlterDatabase(alteration, now);
    };
    co_return co_await Change(plan);
  }

  Task<Status> CreateTable(TablePath path, std::string descriptor_json,
                           bool ignore_if_exists) override {
    const auto plan = [&](const Catalog& catalog, Timestamp now) {
      return catalog.PlanCreateTable(path, descriptor_json, ignore_if_exists, now);
    };
    co_return co_await Change(plan);
  }

  Task<Status> DropTable(TablePath path, bool ignore_if_missing) override {
    const auto plan = [&](const Catalog& catalog, Timestamp) {
      return catalog.PlanDropTable(path, ignore_if_missing);
    };
    co_return co_await Change(plan);
  }

  Task<Status> AlterTable(TableAlteration alteration) override {
    const auto plan = [&](const Catalog& catalog, Timestamp now) {
      return catalog.PlanAlterTable(alteration, now);
    };
    co_return co_await Change(plan);
  }

  Task<Status> CreatePartition(TablePath path, PartitionSpec spec, bool ignore_if_exists) override {
    const auto plan = [&](const Catalog& catalog, Timestamp now) {
      return catalog.PlanCreatePartition(path, spec, ignore_if_exists, now);
    };
    co_return co_await Change(plan);
  }

  Task<Status> DropPartition(TablePath path, PartitionSpec spec, bool ignore_if_missing) override {
    const auto plan = [&](const Catalog& catalog, Timestamp) {
      return catalog.PlanDropPartition(path, spec, ignore_if_missing);
    };
    co_return co_await Change(plan);
  }

  Task<Result<bool>> RegisterProducerOffsets(ProducerOffsets offsets) override {
    bool is_new = false;
    const auto plan = [&](const Catalog& catalog, Timestamp now) {
      Catalog::Plan planned = catalog.PlanRegisterProducer(offsets, now);
      is_new = planned.ok() && planned->has_value();
      return planned;
    };
    WEIR_CO_TRY(co_await Change(plan));
    co_return is_new;
  }

  Task<Status> DeleteProducerOffsets(std::string producer_id) override {
    const auto plan = [&](const Catalog& catalog, Timestamp) -> Catalog::Plan {
      return catalog.PlanDropProducer(producer_id);
    };
    co_return co_await Change(plan);
  }

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

  Task<Result<int64_t>> CountRecords(TableBucket bucket) override {
    GroupShard& shard = ShardOf(bucket);
    return On(shard.loop(), CountThere(&shard, bucket));
  }

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

  std::shared_ptr<const BucketTable> Describe(const TableInfo& table) const;

  /// Plans, makes the plan durable and true, and lets the buckets follow. `plan` stays until it is
  /// awaited.
  template <typename F>
  Task<Status> Change(F& plan) {
    return On(catalog_loop(), ChangeHere(&plan));
  }
  template <typename F>
  Task<Status> ChangeHere(F* plan);
  Task<void> Follow(const CatalogChange* change, const std::vector<TableId>* tables_before);
  Task<void> KeepPartitions(TableId table);
  Task<void> CreateBuckets(TablePtr table, std::optional<PartitionId> partition);
  Task<void> DropBuckets(TableId table, std::optional<PartitionId> partition);
  Task<void> UpdateBuckets(TablePtr table);

  Task<Result<WriterId>> TakeWriterId();
  Task<Result<LogOffset>> AppendThere(GroupShard* shard, TableBucket id, Buffer records, Acks acks,
                                      Duration timeout);
  Task<Result<LogOffset>> ListOffsetThere(GroupShard* shard, TableBucket id, OffsetSpec spec);
  Task<Result<LogPieces>> LimitScanThere(GroupShard* shard, TableBucket id, int64_t limit);
  Task<Result<int64_t>> CountThere(GroupShard* shard, TableBucket id);

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
  std::vector<std::unique_ptr<GroupShard>> shards_;
  std::unique_ptr<CatalogStore> store_;
  /// Catalog changes are planned, written and followed one at a time.
  AsyncMutex catalog_turn_;
  WriterId writer_ids_end_{0};
  WriterId next_writer_id_{0};
  TaskScope background_;
  std::unique_ptr<Event> stopping_;
};

// --- Start and stop
// ----------------------------------------------------------------------------------------------

Task<Result<std::unique_ptr<Node>>> Node::Open(NodeConfig config, NodeWorld world) {
  auto open = [&] {
    return DataDirectory::Open(world.files, world.random, config.data_dir,
                               static_cast<uint32_t>(world.loops.size()));
  };
  WEIR_CO_ASSIGN(DataDirectory directory, co_await world.pool.Run(open));
  auto node = std::make_unique<RealNode>(std::move(config), std::move(world), std::move(directory));
  WEIR_CO_TRY(co_await node->Start());
  co_return std::unique_ptr<Node>(std::move(node));
}

Task<Status> RealNode::Start() {
  const uint32_t groups = directory_.groups();
  std::vector<RecoveredGroup> recovered;
  auto recover = [&]() -> Status {
    std::set<std::string> named;
    for (uint32_t i = 0; i < groups; ++i) {
      WEIR_ASSIGN(RecoveredGroup group, RecoverGroup(world_.files, config_.data_dir, GroupId(i)));
      for (const auto& file : group.files) named.insert(file->name);
      if (group.cut_bytes > 0) {
        LogInfo("server", "cut what was not acknowledged: group={} bytes={}", i, group.cut_bytes);
      }
      LogDebug("server", "recovered a group: group={} replayed_bytes={} files={} buckets={}", i,
               group.replayed_bytes, group.files.size(), group.buckets.size());
      recovered.push_back(std::move(group));
    }
    RemoveUnnamedJournals(world_.files, config_.data_dir, named);
    return Ok();
  };
  WEIR_CO_TRY(co_await world_.pool.Run(recover));

  for (uint32_t i = 0; i < groups; ++i) {
    EventLoop& loop = *world_.loops[i % world_.loops.size()];
    GroupLog::Config log_config;
    log_config.data_dir = config_.data_dir;
    log_config.group = GroupId(i);
    log_config.journal_file_bytes = config_.journal_file_bytes;
    log_config.sort_bytes_min = config_.journal_file_bytes / 2;
    auto log = co_await On(loop, GroupLog::Start(std::move(log_config), std::move(recovered[i]),
                                                 loop, world_.pool, world_.files, world_.random));
    if (!log.ok()) {
      for (const auto& shard : shards_) co_await On(shard->loop(), shard->Stop());
      co_return std::move(log).error();
    }
    shards_.push_back(std::make_unique<GroupShard>(*std::move(log), loop));
  }

  auto store = co_await CatalogStore::Open(shards_.front()->log(), catalog_loop(), world_.clock);
  Status ready = store.ok() ? Ok() : Status(std::move(store).error());
  if (ready.ok()) {
    store_ = *std::move(store);
    next_writer_id_ = writer_ids_end_ = catalog().next_writer_id();
    for (const TablePtr& table : catalog().AllTables()) {
      if (!table->is_partitioned()) {
        co_await CreateBuckets(table, std::nullopt);
        continue;
      }
      for (const PartitionPtr& partition : catalog().PartitionsOf(table->id))
        co_await CreateBuckets(table, partition->id);
    }
    for (const auto& shard : shards_) {
      struct Clean {
        static Task<void> Run(GroupShard* shard) {
          shard->DropLeftovers();
          co_return;
        }
      };
      co_await On(shard->loop(), Clean::Run(shard.get()));
    }
    if (auto change = catalog().PlanDefaultDatabase(world_.clock.Now())) {
      ready = co_await store_->Change(*std::move(change));
    }
  }
  if (!ready.ok()) {
    for (const auto& shard : shards_) co_await On(shard->loop(), shard->Stop());
    co_return ready;
  }
  stopping_ = std::make_unique<Event>(catalog_loop());
  background_.Spawn(MaintainLoop());
  co_return Ok();
}

Task<void> RealNode::Stop() {
  stopping_->Set();
  co_await background_.Join();
  for (const auto& shard : shards_) co_await On(shard->loop(), shard->Stop());
  store_.reset();
}

// --- Catalog
// -----------------------------------------------------------------------------------------------------

std::shared_ptr<const BucketTable> RealNode::Describe(const TableInfo& table) const {
  auto description = std::make_shared<BucketTable>();
  description->is_log_table = !table.is_primary_key_table();
  description->is_arrow_log = table.options.log_format == LogFormat::kArrow;
  for (const Column& column : table.descriptor.schema->columns)
    description->columns.push_back(LayoutOf(column.type));
  for (const SchemaVersion& version : table.schema_versions) {
    const auto columns = static_cast<size_t>(version.column_count);
    description->columns_of_version.push_back(columns);
    if (!description->is_arrow_log || columns == 0) continue;
    std::vector<int32_t> all(columns);
    std::iota(all.begin(), all.end(), 0);
    Result<Projection> whole =
        Projection::Make(all, std::span(description->columns).first(columns), columns);
    WEIR_CHECK(whole.ok());
    description->whole_batches.push_back(*std::move(whole));
  }
  description->needs_sync = table.options.durability
                                ? *table.options.durability == Durability::kDisk
                                : config_.sync_by_default;
  description->ttl_ms = table.options.log_ttl.count();
  description->bytes_max = table.options.log_bytes_max.value_or(0);
  return description;
}

template <typename F>
Task<Status> RealNode::ChangeHere(F* plan) {
  const auto turn = co_await catalog_turn_.Take();
  WEIR_CO_ASSIGN(const std::optional<CatalogChange> change, (*plan)(catalog(), world_.clock.Now()));
  if (!change) co_return Ok();
  // A dropped database takes its tables along; who they are is known only before.
  std::vector<TableId> dropped;
  if (const auto* database = std::get_if<DatabaseDropped>(&*change)) {
    for (const TablePtr& table : catalog().TablesOf(database->name)) dropped.push_back(table->id);
  }
  WEIR_CO_TRY(co_await store_->Change(*change));
  co_await Follow(&*change, &dropped);
  if (const auto* created = std::get_if<TableCreated>(&*change))
    co_await KeepPartitions(created->id);
  if (const auto* altered = std::get_if<TableAltered>(&*change))
    co_await KeepPartitions(altered->id);
  co_return Ok();
}

// Makes and drops the partitions that are due by time. The caller has the turn.
Task<void> RealNode::KeepPartitions(TableId table) {
  const Result<std::optional<CatalogChange>> change =
      catalog().PlanAutoPartition(table, world_.clock.Now());
  Status done = change.ok() ? Ok() : Status(change.error());
  if (change.ok() && *change) done = co_await store_->Change(**change);
  if (!done.ok()) {
    LogWarn("server", "cannot keep the partitions of a table: table_id={} reason={}", table,
            done.error().message);
  } else if (*change) {
    const std::vector<TableId> none;
    co_await Follow(&**change, &none);
  }
}

// Lets the buckets become what the catalog says now.
Task<void> RealNode::Follow(const CatalogChange* change, const std::vector<TableId>* dropped) {
  for (const TableId table : *dropped) co_await DropBuckets(table, std::nullopt);
  if (const auto* created = std::get_if<TableCreated>(change)) {
    const TablePtr table = catalog().FindTable(created->id);
    if (!table->is_partitioned()) co_await CreateBuckets(table, std::nullopt);
  } else if (const auto* altered = std::get_if<TableAltered>(change)) {
    co_await UpdateBuckets(catalog().FindTable(altered->id));
  } else if (const auto* table = std::get_if<TableDropped>(change)) {
    co_await DropBuckets(table->id, std::nullopt);
  } else if (const auto* partitions = std::get_if<PartitionsChanged>(change)) {
    const TablePtr parent = catalog().FindTable(partitions->table_id);
    for (const PartitionId id : partitions->dropped) co_await DropBuckets(parent->id, id);
    for (const PartitionInfo& partition : partitions->created)
      co_await CreateBuckets(parent, partition.id);
  }
}

Task<void> RealNode::CreateBuckets(TablePtr table, std::optional<PartitionId> partition) {
  struct There {
    static Task<void> Run(GroupShard* shard, const std::vector<TableBucket>* ids,
                          const std::shared_ptr<const BucketTable>* description) {
      shard->Create(*ids, *description);
      co_return;
    }
  };
  const std::shared_ptr<const BucketTable> description = Describe(*table);
  std::vector<std::vector<TableBucket>> by_shard(shards_.size());
  for (const TableBucket& id : BucketsOf(*table, partition))
    by_shard[StableHash(id) % shards_.size()].push_back(id);
  for (size_t i = 0; i < shards_.size(); ++i) {
    if (by_shard[i].empty()) continue;
    co_await On(shards_[i]->loop(), There::Run(shards_[i].get(), &by_shard[i], &description));
  }
}

Task<void> RealNode::DropBuckets(TableId table, std::optional<PartitionId> partition) {
  struct There {
    static Task<void> Run(GroupShard* shard, TableId table, std::optional<PartitionId> partition) {
      shard->Drop(table, partition);
      co_return;
    }
  };
  for (const auto& shard : shards_)
    co_await On(shard->loop(), There::Run(shard.get(), table, partition));
}

Task<void> RealNode::UpdateBuckets(TablePtr table) {
  struct There {
    static Task<void> Run(GroupShard* shard, TableId table,
                          const std::shared_ptr<const BucketTable>* description) {
      shard->SetTable(table, *description);
      co_return;
    }
  };
  const std::shared_ptr<const BucketTable> description = Describe(*table);
  for (const auto& shard : shards_)
    co_await On(shard->loop(), There::Run(shard.get(), table->id, &description));
}

Task<Result<WriterId>> RealNode::TakeWriterId() {
  if (next_writer_id_ == writer_ids_end_) {
    const auto turn = co_await catalog_turn_.Take();
    if (next_writer_id_ == writer_ids_end_) {
      const WriterId first = catalog().next_writer_id();
      WEIR_CO_TRY(co_await store_->Change(catalog().PlanReserveWriters(kWriterIdsReserved)));
      next_writer_id_ = first;
      writer_ids_end_ = WriterId(first.value + kWriterIdsReserved);
    }
  }
  const WriterId taken = next_writer_id_;
  next_writer_id_ = WriterId(taken.value + 1);
  co_return taken;
}

// --- Logs
// --------------------------------------------------------------------------------------------------------

Task<Result<LogOffset>> RealNode::AppendThere(GroupShard* shard, TableBucket id, Buffer records,
                                              Acks acks, Duration timeout) {
  Bucket* const bucket = shard->Find(id);
  if (bucket == nullptr) co_return UnknownBucket(id);
  co_return co_await bucket->Append(std::move(records), acks, world_.clock.Now(), timeout);
}

Task<Result<LogOffset>> RealNode::ListOffsetThere(GroupShard* shard, TableBucket id,
                                                  OffsetSpec spec) {
  Bucket* const bucket = shard->Find(id);
  if (bucket == nullptr) co_return UnknownBucket(id);
  switch (spec.kind) {
    case OffsetSpec::Kind::kEarliest: co_return bucket->log_start();
    case OffsetSpec::Kind::kLatest: co_return bucket->high_watermark();
    case OffsetSpec::Kind::kTimestamp: break;
  }
  co_return co_await bucket->OffsetAt(spec.timestamp, world_.clock.Now());
}

Task<Result<LogPieces>> RealNode::LimitScanThere(GroupShard* shard, TableBucket id, int64_t limit) {
  Bucket* const bucket = shard->Find(id);
  if (bucket == nullptr) co_return UnknownBucket(id);
  const LogOffset end = bucket->high_watermark();
  const LogOffset from = std::max(bucket->log_start(),
                                  LogOffset(end.value - std::clamp<int64_t>(limit, 0, end.value)));
  WEIR_CO_ASSIGN(BucketRead read, co_await bucket->Read(from, kLimitScanBytesMax, std::nullopt));
  if (read.records.next < end) {
    co_return Fail(ErrorCode::kRecordTooLarge,
                   "the last {} records take more than {} bytes; read them with a log scanner",
                   limit, kLimitScanBytesMax);
  }
  co_return LogPieces{std::move(read.records.pieces), read.records.bytes};
}

Task<Result<int64_t>> RealNode::CountThere(GroupShard* shard, TableBucket id) {
  Bucket* const bucket = shard->Find(id);
  if (bucket == nullptr) co_return UnknownBucket(id);
  co_return bucket->high_watermark() - bucket->log_start();
}

Task<FetchResponse> RealNode::Fetch(FetchRequest request) {
  EventLoop& home = *EventLoop::Current();
  std::vector<std::vector<PlacedFetch>> by_shard(shards_.size());
  FetchResponse response(request.tables.size());
  for (size_t t = 0; t < request.tables.size(); ++t) {
    const TableFetch& table = request.tables[t];
    for (size_t b = 0; b < table.buckets.size(); ++b) {
      const BucketFetch& fetch = table.buckets[b];
      const TableBucket id{table.table_id, fetch.partition_id, fetch.bucket_id};
      by_shard[StableHash(id) % shards_.size()].push_back({t, b, id, &table, &fetch});
      response[t].push_back(UnknownBucket(id));
    }
  }
  const Duration deadline = home.Elapsed() + request.wait_max;
  FetchAllowance* const allowance = request.allowance;
  size_t bytes = 0;
  while (true) {
    // What was read is read again, with what came since.
    if (allowance != nullptr) allowance->Release(bytes);
    bytes = co_await ReadAll(&by_shard, request.bytes_max, allowance, &response);
    // What a client has to act on is told at once; a bucket that is not here may just be on its
    // way.
    bool is_urgent = false;
    for (const auto& table : response) {
      for (const auto& bucket : table) {
        is_urgent = is_urgent || (!bucket.ok() && bucket.error().code != ErrorCode::kUnknownBucket);
      }
    }
    const Duration left = deadline - home.Elapsed();
    const bool is_cancelled = request.canceller != nullptr && request.canceller->is_cancelled();
    const bool is_full = allowance != nullptr && !allowance->has_room();
    if (is_urgent || is_cancelled || is_full || bytes >= request.bytes_min || left <= Duration(0))
      co_return response;

    const auto wait = std::make_shared<FetchWait>(home);
    // Runs on the buckets' loops, and finds the wait there no more when the fetch has gone on.
    const auto wake =
        std::make_shared<std::function<void()>>([&home, weak = std::weak_ptr<FetchWait>(wait)] {
          home.Post([weak] {
            if (const auto waiting = weak.lock()) waiting->event.Set();
          });
        });
    for (size_t i = 0; i < shards_.size(); ++i) {
      if (by_shard[i].empty()) continue;
      co_await On(shards_[i]->loop(), WatchThere(shards_[i].get(), &by_shard[i], &response, wake));
    }
    if (request.canceller != nullptr) request.canceller->Add(wait->event);
    co_await wait->event.WaitFor(std::max(Duration(0), deadline - home.Elapsed()));
    if (request.canceller != nullptr) request.canceller->Remove(wait->event);
  }
}

Task<size_t> RealNode::ReadAll(const std::vector<std::vector<PlacedFetch>>* by_shard,
                               size_t bytes_max, FetchAllowance* allowance, FetchResponse* into) {
  size_t bytes = 0;
  for (size_t i = 0; i < shards_.size(); ++i) {
    if ((*by_shard)[i].empty()) continue;
    GroupShard* const shard = shards_[i].get();
    const size_t left = bytes_max > bytes ? bytes_max - bytes : 0;
    bytes += co_await On(shard->loop(), ReadThere(shard, &(*by_shard)[i], left, allowance, into));
  }
  co_return bytes;
}

Task<size_t> RealNode::ReadThere(GroupShard* shard, const std::vector<PlacedFetch>* fetches,
                                 size_t bytes_max, FetchAllowance* allowance, FetchResponse* into) {
  size_t bytes = 0;
  for (const PlacedFetch& placed : *fetches) {
    Result<FetchedBucket>& result = (*into)[placed.table][placed.bucket];
    Bucket* const bucket = shard->Find(placed.id);
    if (bucket == nullptr) {
      result = UnknownBucket(placed.id);
      continue;
    }
    const bool has_room = allowance == nullptr || allowance->has_room();
    const size_t left = has_room && bytes_max > bytes ? bytes_max - bytes : 0;
    const size_t expected = std::min(left, kReadBytesExpected);
    if (allowance != nullptr) allowance->Hold(expected);
    Result<BucketRead> read =
        co_await bucket->Read(placed.fetch->from, std::min(placed.fetch->bytes_max, left),
                              placed.table_fetch->projection);
    if (allowance != nullptr) allowance->Release(expected);
    if (!read.ok()) {
      result = std::move(read).error();
      if (result.error().code == ErrorCode::kCorruptData || result.error().code == ErrorCode::kIo) {
        LogError("server", "a fetch failed: bucket={} reason={}", placed.id,
                 result.error().message);
      }
      continue;
    }
    bytes += read->records.bytes;
    if (allowance != nullptr) allowance->Hold(read->records.bytes);
    result = FetchedBucket{read->high_watermark,
                           read->log_start,
                           {std::move(read->records.pieces), read->records.bytes}};
  }
  co_return bytes;
}

Task<void> RealNode::WatchThere(GroupShard* shard, const std::vector<PlacedFetch>* fetches,
                                const FetchResponse* seen,
                                std::weak_ptr<std::function<void()>> wake) {
  for (const PlacedFetch& placed : *fetches) {
    const Result<FetchedBucket>& told = (*seen)[placed.table][placed.bucket];
    Bucket* const bucket = shard->Find(placed.id);
    if (bucket != nullptr && told.ok()) bucket->NotifyAbove(told->high_watermark, wake);
  }
  co_return;
}

// --- Maintenance
// -------------------------------------------------------------------------------------------------

Task<void> RealNode::MaintainLoop() {
  const int64_t idle_max_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(config_.writer_idle_max).count();
  do {
    const Timestamp now = world_.clock.Now();
    co_await MaintainCatalog();
    for (const auto& shard : shards_) co_await On(shard->loop(), shard->Maintain(now, idle_max_ms));
  } while (!co_await stopping_->WaitFor(config_.maintenance_interval));
}

Task<void> RealNode::MaintainCatalog() {
  for (const TableId table : catalog().AutoPartitionedTables()) {
    const auto turn = co_await catalog_turn_.Take();
    co_await KeepPartitions(table);
  }
  const auto forget = [&](const Catalog& catalog, Timestamp now) -> Catalog::Plan {
    return catalog.PlanForgetProducers(now);
  };
  if (const Status done = co_await Change(forget); !done.ok()) {
    LogWarn("server", "cannot forget old producer offsets: reason={}", done.error().message);
  }
}

}  // namespace weir
