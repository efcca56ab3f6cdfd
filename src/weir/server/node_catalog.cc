// Changes of the catalog, and how the buckets follow them.
#include "weir/base/log.h"
#include "weir/server/describe_table.h"
#include "weir/server/real_node.h"

namespace weir {
namespace {

// Writer ids are reserved in ranges, so that giving one out costs a disk write only now and then.
constexpr int64_t kWriterIdsReserved = 1000;

std::vector<TableBucket> BucketsOf(const TableInfo& table, std::optional<PartitionId> partition) {
  std::vector<TableBucket> buckets;
  buckets.reserve(static_cast<size_t>(table.bucket_count()));
  for (int32_t i = 0; i < table.bucket_count(); ++i) buckets.push_back({table.id, partition, i});
  return buckets;
}

}  // namespace

Task<Status> RealNode::CreateDatabase(std::string name, std::string descriptor_json,
                                      bool ignore_if_exists) {
  const PlanFunction plan = [&](const Catalog& catalog, Timestamp now) {
    return catalog.PlanCreateDatabase(name, descriptor_json, ignore_if_exists, now);
  };
  co_return co_await Change(&plan);
}

Task<Status> RealNode::DropDatabase(std::string name, bool ignore_if_missing, bool cascade) {
  const PlanFunction plan = [&](const Catalog& catalog, Timestamp) {
    return catalog.PlanDropDatabase(name, ignore_if_missing, cascade);
  };
  co_return co_await Change(&plan);
}

Task<Status> RealNode::AlterDatabase(DatabaseAlteration alteration) {
  const PlanFunction plan = [&](const Catalog& catalog, Timestamp now) {
    return catalog.PlanAlterDatabase(alteration, now);
  };
  co_return co_await Change(&plan);
}

Task<Status> RealNode::CreateTable(TablePath path, std::string descriptor_json,
                                   bool ignore_if_exists) {
  const PlanFunction plan = [&](const Catalog& catalog, Timestamp now) {
    return catalog.PlanCreateTable(path, descriptor_json, ignore_if_exists, now);
  };
  co_return co_await Change(&plan);
}

Task<Status> RealNode::DropTable(TablePath path, bool ignore_if_missing) {
  const PlanFunction plan = [&](const Catalog& catalog, Timestamp) {
    return catalog.PlanDropTable(path, ignore_if_missing);
  };
  co_return co_await Change(&plan);
}

Task<Status> RealNode::AlterTable(TableAlteration alteration) {
  const PlanFunction plan = [&](const Catalog& catalog, Timestamp now) {
    return catalog.PlanAlterTable(alteration, now);
  };
  co_return co_await Change(&plan);
}

Task<Status> RealNode::CreatePartition(TablePath path, PartitionSpec spec, bool ignore_if_exists) {
  const PlanFunction plan = [&](const Catalog& catalog, Timestamp now) {
    return catalog.PlanCreatePartition(path, spec, ignore_if_exists, now);
  };
  co_return co_await Change(&plan);
}

Task<Status> RealNode::DropPartition(TablePath path, PartitionSpec spec, bool ignore_if_missing) {
  const PlanFunction plan = [&](const Catalog& catalog, Timestamp) {
    return catalog.PlanDropPartition(path, spec, ignore_if_missing);
  };
  co_return co_await Change(&plan);
}

Task<Result<bool>> RealNode::RegisterProducerOffsets(ProducerOffsets offsets) {
  bool is_new = false;
  const PlanFunction plan = [&](const Catalog& catalog, Timestamp now) {
    Catalog::Plan planned = catalog.PlanRegisterProducer(offsets, now);
    is_new = planned.ok() && planned->has_value();
    return planned;
  };
  WEIR_CO_TRY(co_await Change(&plan));
  co_return is_new;
}

Task<Status> RealNode::DeleteProducerOffsets(std::string producer_id) {
  const PlanFunction plan = [&](const Catalog& catalog, Timestamp) -> Catalog::Plan {
    return catalog.PlanDropProducer(producer_id);
  };
  co_return co_await Change(&plan);
}

Task<Status> RealNode::ChangeHere(const PlanFunction* plan) {
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
    if (!table->is_partitioned()) co_await FollowWithBuckets(table, std::nullopt);
  } else if (const auto* altered = std::get_if<TableAltered>(change)) {
    co_await UpdateBuckets(catalog().FindTable(altered->id));
  } else if (const auto* table = std::get_if<TableDropped>(change)) {
    co_await DropBuckets(table->id, std::nullopt);
  } else if (const auto* partitions = std::get_if<PartitionsChanged>(change)) {
    const TablePtr parent = catalog().FindTable(partitions->table_id);
    for (const PartitionId id : partitions->dropped) co_await DropBuckets(parent->id, id);
    for (const PartitionInfo& partition : partitions->created)
      co_await FollowWithBuckets(parent, partition.id);
  }
}

// The table is there by now, whatever becomes of its buckets.
Task<void> RealNode::FollowWithBuckets(TablePtr table, std::optional<PartitionId> partition) {
  const Status made = co_await CreateBuckets(table, partition);
  if (!made.ok()) {
    LogError("server", "buckets of a new table cannot be made: table={} reason={}", table->path,
             made.error().message);
  }
}

Task<Status> RealNode::CreateBuckets(TablePtr table, std::optional<PartitionId> partition) {
  const std::shared_ptr<const BucketTable> description =
      DescribeTable(*table, config_.sync_by_default);
  std::vector<std::vector<TableBucket>> by_shard(shards_.size());
  for (const TableBucket& id : BucketsOf(*table, partition))
    by_shard[StableHash(id) % shards_.size()].push_back(id);
  for (size_t i = 0; i < shards_.size(); ++i) {
    if (by_shard[i].empty()) continue;
    GroupShard& shard = *shards_[i];
    WEIR_CO_TRY(co_await On(shard.loop(), shard.Create(&by_shard[i], &description)));
  }
  co_return Ok();
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
  const std::shared_ptr<const BucketTable> description =
      DescribeTable(*table, config_.sync_by_default);
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

Task<Result<NumberRange>> RealNode::Reserve(TableId table, int64_t count) {
  return On(catalog_loop(), ReserveHere(table, count));
}

Task<Result<NumberRange>> RealNode::ReserveHere(TableId table, int64_t count) {
  const auto turn = co_await catalog_turn_.Take();
  const int64_t first = catalog().NextNumber(table);
  WEIR_CO_ASSIGN(std::optional<CatalogChange> change, catalog().PlanReserveNumbers(table, count));
  WEIR_CO_TRY(co_await store_->Change(*std::move(change)));
  co_return NumberRange{first, first + count};
}

}  // namespace weir
