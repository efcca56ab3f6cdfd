#include "weir/server/node.h"

#include <algorithm>
#include <set>

#include "weir/base/log.h"
#include "weir/runtime/blocking_pool.h"
#include "weir/server/real_node.h"

namespace weir {
Error UnknownBucket(const TableBucket& bucket) {
  return Fail(ErrorCode::kUnknownBucket, "this server has no such table or bucket: bucket={}",
              bucket);
}

RealNode::RealNode(NodeConfig config, NodeWorld world, DataDirectory directory)
    : config_(std::move(config)),
      world_(std::move(world)),
      directory_(std::move(directory)),
      kv_memory_(KvMemoryConfig{.bytes_max = config_.kv_memory_max}, world_.loops) {}

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
    const std::string remote_dir =
        config_.remote_dir.empty() ? config_.data_dir + "/remote" : config_.remote_dir;
    RowWorld rows{config_.data_dir + "/kv",
                  remote_dir + "/kv",
                  world_.files,
                  kv_memory_,
                  *this,
                  world_.random,
                  scans_};
    shards_.push_back(
        std::make_unique<GroupShard>(GroupId(i), *std::move(log), loop, std::move(rows)));
  }

  auto store = co_await CatalogStore::Open(shards_.front()->log(), catalog_loop(), world_.clock);
  Status ready = store.ok() ? Ok() : Status(std::move(store).error());
  if (ready.ok()) {
    store_ = *std::move(store);
    next_writer_id_ = writer_ids_end_ = catalog().next_writer_id();
    ready = co_await RecoverBuckets();
  }
  if (ready.ok()) {
    if (auto change = catalog().PlanDefaultDatabase(world_.clock.Now())) {
      ready = co_await store_->Change(*std::move(change));
    }
  }
  if (!ready.ok()) {
    for (const auto& shard : shards_) co_await On(shard->loop(), shard->Stop());
    co_return ready;
  }
  stopping_ = std::make_unique<Event>(catalog_loop());
  stopping_snapshots_ = std::make_unique<Event>(catalog_loop());
  background_.Spawn(MaintainLoop());
  background_.Spawn(SnapshotLoop());
  co_return Ok();
}

// Makes the buckets of all tables, and brings the rows of primary-key tables up to their
// changelogs.
Task<Status> RealNode::RecoverBuckets() {
  for (const TablePtr& table : catalog().AllTables()) {
    if (!table->is_partitioned()) {
      WEIR_CO_TRY(co_await CreateBuckets(table, std::nullopt));
      continue;
    }
    for (const PartitionPtr& partition : catalog().PartitionsOf(table->id))
      WEIR_CO_TRY(co_await CreateBuckets(table, partition->id));
  }
  std::vector<BucketFilter> filters;
  for (const auto& shard : shards_) {
    filters.emplace_back(
        [this, mine = shard.get()](const TableBucket& bucket) { return &ShardOf(bucket) == mine; });
  }
  std::vector<Task<Status>> recoveries;
  for (size_t i = 0; i < shards_.size(); ++i)
    recoveries.push_back(On(shards_[i]->loop(), shards_[i]->Recover(&filters[i])));
  const std::vector<Status> recovered = co_await WhenAll(std::move(recoveries));
  for (const Status& status : recovered) WEIR_CO_TRY(status);
  co_return Ok();
}

Task<void> RealNode::Stop() {
  stopping_->Set();
  stopping_snapshots_->Set();
  co_await background_.Join();
  for (const auto& shard : shards_) co_await On(shard->loop(), shard->Stop());
  store_.reset();
}

// --- Maintenance
// -------------------------------------------------------------------------------------------------

Task<void> RealNode::MaintainLoop() {
  do {
    const Timestamp now = world_.clock.Now();
    co_await MaintainCatalog();
    for (const auto& shard : shards_)
      co_await On(shard->loop(), shard->Maintain(now, &config_.maintenance));
  } while (!co_await stopping_->WaitFor(config_.maintenance_interval));
}

Task<void> RealNode::MaintainCatalog() {
  for (const TableId table : catalog().AutoPartitionedTables()) {
    const auto turn = co_await catalog_turn_.Take();
    co_await KeepPartitions(table);
  }
  const PlanFunction forget_leases = [&](const Catalog& catalog, Timestamp now) -> Catalog::Plan {
    return catalog.PlanForgetLeases(now);
  };
  if (const Status done = co_await Change(&forget_leases); !done.ok()) {
    LogWarn("server", "cannot forget old leases of kv snapshots: reason={}", done.error().message);
  }
  const PlanFunction forget = [&](const Catalog& catalog, Timestamp now) -> Catalog::Plan {
    return catalog.PlanForgetProducers(now);
  };
  if (const Status done = co_await Change(&forget); !done.ok()) {
    LogWarn("server", "cannot forget old producer offsets: reason={}", done.error().message);
  }
}

}  // namespace weir
