// How changes become the state of the catalog, one by one and from a snapshot. Format:
// docs/formats/catalog.md.
#include <algorithm>
#include <set>
#include <utility>

#include "weir/base/check.h"
#include "weir/catalog/catalog.h"
#include "weir/record/json.h"

namespace weir {
namespace {

constexpr int kSnapshotVersion = 1;
constexpr std::string_view kSnapshotKind = "catalog";

template <typename... Args>
Error DoesNotFit(fmt::format_string<Args...> problem, Args&&... args) {
  return Fail(ErrorCode::kCorruptData, "a catalog change does not fit to the catalog: {}",
              fmt::format(problem, std::forward<Args>(args)...));
}

Result<TablePtr> MakeTable(TableInfo table) {
  Result<TableOptions> options = ReadTableOptions(table.descriptor);
  if (!options.ok()) return DoesNotFit("table={} {}", table.path, options.error().message);
  table.options = *std::move(options);
  table.descriptor_json = EncodeTableDescriptor(table.descriptor);
  table.descriptor_json.shrink_to_fit();
  return std::make_shared<const TableInfo>(std::move(table));
}

struct SnapshotHead {
  int64_t changes = 0;
  TableId next_table_id;
  PartitionId next_partition_id;
  WriterId next_writer_id;
};

Result<SnapshotHead> DecodeSnapshotHead(std::string_view line) {
  const auto decode = [&]() -> Result<SnapshotHead> {
    WEIR_ASSIGN(const Json json, ParseJson(line, "catalog snapshot"));
    WEIR_ASSIGN(const std::string kind, RequireString(json, "kind"));
    WEIR_ASSIGN(const int64_t version, RequireInteger(json, "version", 0, INT64_MAX));
    if (kind != kSnapshotKind || version != kSnapshotVersion) {
      return Fail(ErrorCode::kUnsupported,
                  "a catalog snapshot of another version: kind={} version={}", kind, version);
    }
    SnapshotHead head;
    WEIR_ASSIGN(head.changes, RequireInteger(json, "changes", 0, INT64_MAX));
    WEIR_ASSIGN(head.next_table_id.value, RequireInteger(json, "next_table_id", 0, INT64_MAX));
    WEIR_ASSIGN(head.next_partition_id.value,
                RequireInteger(json, "next_partition_id", 0, INT64_MAX));
    WEIR_ASSIGN(head.next_writer_id.value, RequireInteger(json, "next_writer_id", 0, INT64_MAX));
    return head;
  };
  Result<SnapshotHead> head = decode();
  if (!head.ok() && head.error().code != ErrorCode::kUnsupported)
    head.error().code = ErrorCode::kCorruptData;
  return head;
}

template <typename Id>
Id Following(Id next, Id used) {
  return std::max(next, Id(used.value + 1));
}

}  // namespace

Status Catalog::Apply(const CatalogChange& change) {
  return std::visit([this](const auto& one) { return ApplyOne(one); }, change);
}

Status Catalog::ApplyOne(const DatabasePut& change) {
  databases_[change.database.name].info = change.database;
  return Ok();
}

Status Catalog::ApplyOne(const DatabaseDropped& change) {
  const auto found = databases_.find(change.name);
  if (found == databases_.end()) return DoesNotFit("no database {}", change.name);
  for (const auto& [name, id] : found->second.tables) Forget(id);
  databases_.erase(found);
  return Ok();
}

Status Catalog::ApplyOne(const TableCreated& change) {
  const auto database = databases_.find(change.path.database);
  if (database == databases_.end()) return DoesNotFit("no database {}", change.path.database);
  if (database->second.tables.contains(change.path.table) || tables_.contains(change.id)) {
    return DoesNotFit("table {} is there already: id={}", change.path, change.id);
  }
  WEIR_ASSIGN(TablePtr table, MakeTable(TableInfo{.id = change.id,
                                                  .path = change.path,
                                                  .descriptor = change.descriptor,
                                                  .descriptor_json = {},
                                                  .options = {},
                                                  .schema_versions = change.schema_versions,
                                                  .created = change.created,
                                                  .modified = change.modified}));
  database->second.tables.emplace(change.path.table, change.id);
  tables_.emplace(change.id,
                  Table{.info = std::move(table), .partitions = {}, .next_number = kFirstNumber});
  next_table_id_ = Following(next_table_id_, change.id);
  return Ok();
}

Status Catalog::ApplyOne(const TableAltered& change) {
  const auto found = tables_.find(change.id);
  if (found == tables_.end()) return DoesNotFit("no table {}", change.id);
  TableInfo table = *found->second.info;
  const std::vector<Column>& before = table.descriptor.schema->columns;
  const std::vector<Column>& after = change.descriptor.schema->columns;
  const auto same = [](const Column& a, const Column& b) { return a.id == b.id; };
  if (after.size() < before.size() ||
      !std::equal(before.begin(), before.end(), after.begin(), same)) {
    return DoesNotFit("the columns of table {} are other ones", change.id);
  }
  if (after.size() > before.size()) {
    table.schema_versions.push_back(SchemaVersion{static_cast<int32_t>(after.size()),
                                                  change.descriptor.schema->highest_field_id});
  }
  table.descriptor = change.descriptor;
  table.modified = change.modified;
  WEIR_ASSIGN(found->second.info, MakeTable(std::move(table)));
  return Ok();
}

Status Catalog::ApplyOne(const TableDropped& change) {
  const auto found = tables_.find(change.id);
  if (found == tables_.end()) return DoesNotFit("no table {}", change.id);
  const TablePath path = found->second.info->path;
  databases_.at(path.database).tables.erase(path.table);
  Forget(change.id);
  return Ok();
}

void Catalog::Forget(TableId id) {
  const auto found = tables_.find(id);
  WEIR_CHECK(found != tables_.end());
  for (const auto& [name, partition] : found->second.partitions) partitions_.erase(partition->id);
  tables_.erase(found);
}

Status Catalog::ApplyOne(const PartitionsChanged& change) {
  const auto found = tables_.find(change.table_id);
  if (found == tables_.end() || !found->second.info->is_partitioned()) {
    return DoesNotFit("no partitioned table {}", change.table_id);
  }
  std::map<std::string, PartitionPtr>& of_table = found->second.partitions;
  std::set<PartitionId> dropped;
  for (const PartitionId id : change.dropped) {
    const auto partition = partitions_.find(id);
    const bool is_known =
        partition != partitions_.end() && partition->second->table_id == change.table_id;
    if (!is_known || !dropped.insert(id).second) return DoesNotFit("no partition {}", id);
  }
  std::set<PartitionId> ids;
  std::set<std::string_view> names;
  for (const PartitionInfo& partition : change.created) {
    const auto present = of_table.find(partition.name);
    const bool is_taken = present != of_table.end() && !dropped.contains(present->second->id);
    if (is_taken || partitions_.contains(partition.id) || !ids.insert(partition.id).second ||
        !names.insert(partition.name).second) {
      return DoesNotFit("partition {} is there already: id={}", partition.name, partition.id);
    }
  }

  for (const PartitionId id : dropped) {
    const auto partition = partitions_.find(id);
    of_table.erase(partition->second->name);
    partitions_.erase(partition);
  }
  for (const PartitionInfo& created : change.created) {
    const auto partition = std::make_shared<const PartitionInfo>(created);
    of_table.emplace(created.name, partition);
    partitions_.emplace(created.id, partition);
    next_partition_id_ = Following(next_partition_id_, created.id);
  }
  return Ok();
}

Status Catalog::ApplyOne(const WritersReserved& change) {
  if (change.end < next_writer_id_)
    return DoesNotFit("writer ids are given out already: end={}", change.end);
  next_writer_id_ = change.end;
  return Ok();
}

Status Catalog::ApplyOne(const NumbersReserved& change) {
  const auto found = tables_.find(change.table_id);
  if (found == tables_.end()) return DoesNotFit("no table {}", change.table_id);
  if (change.end < found->second.next_number)
    return DoesNotFit("numbers are given out already: end={}", change.end);
  found->second.next_number = change.end;
  return Ok();
}

Status Catalog::ApplyOne(const ProducerRegistered& change) {
  producers_[change.offsets.producer_id] = change.offsets;
  return Ok();
}

Status Catalog::ApplyOne(const ProducersDropped& change) {
  for (const std::string& id : change.producer_ids) producers_.erase(id);
  return Ok();
}

Status Catalog::ApplyOne(const LeasePut& change) {
  leases_[change.lease.lease_id] = change.lease;
  return Ok();
}

Status Catalog::ApplyOne(const LeasesDropped& change) {
  for (const std::string& id : change.lease_ids) leases_.erase(id);
  return Ok();
}

// --- Snapshots ----------------------------------------------------------------------------------

std::string Catalog::EncodeSnapshot() const {
  std::string changes;
  size_t count = 0;
  const auto add = [&](const CatalogChange& change) {
    changes += EncodeCatalogChange(change);
    changes += '\n';
    ++count;
  };
  for (const auto& [name, database] : databases_) add(DatabasePut{database.info});
  for (const auto& [id, table] : tables_) {
    const TableInfo& info = *table.info;
    add(TableCreated{.id = id,
                     .path = info.path,
                     .descriptor = info.descriptor,
                     .schema_versions = info.schema_versions,
                     .created = info.created,
                     .modified = info.modified});
    if (table.next_number > kFirstNumber) add(NumbersReserved{id, table.next_number});
    if (table.partitions.empty()) continue;
    PartitionsChanged partitions{.table_id = id, .created = {}, .dropped = {}};
    for (const auto& [name, partition] : table.partitions) partitions.created.push_back(*partition);
    add(partitions);
  }
  for (const auto& [id, producer] : producers_) add(ProducerRegistered{producer});
  for (const auto& [id, lease] : leases_) add(LeasePut{lease});

  const Json head = {{"kind", kSnapshotKind},
                     {"version", kSnapshotVersion},
                     {"changes", count},
                     {"next_table_id", next_table_id_.value},
                     {"next_partition_id", next_partition_id_.value},
                     {"next_writer_id", next_writer_id_.value}};
  return DumpJson(head) + '\n' + changes;
}

Result<Catalog> Catalog::DecodeSnapshot(std::string_view text) {
  const auto next_line = [&]() -> Result<std::string_view> {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos)
      return Fail(ErrorCode::kCorruptData, "a catalog snapshot ends early");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    return line;
  };
  WEIR_ASSIGN(const std::string_view first_line, next_line());
  WEIR_ASSIGN(const SnapshotHead head, DecodeSnapshotHead(first_line));

  Catalog catalog;
  catalog.next_table_id_ = head.next_table_id;
  catalog.next_partition_id_ = head.next_partition_id;
  catalog.next_writer_id_ = head.next_writer_id;
  for (int64_t i = 0; i < head.changes; ++i) {
    WEIR_ASSIGN(const std::string_view line, next_line());
    WEIR_ASSIGN(const CatalogChange change, DecodeCatalogChange(line));
    WEIR_TRY(catalog.Apply(change));
  }
  if (!text.empty())
    return Fail(ErrorCode::kCorruptData, "a catalog snapshot has more changes than it says");
  return catalog;
}

}  // namespace weir
