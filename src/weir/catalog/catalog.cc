#include "weir/catalog/catalog.h"

#include <algorithm>

namespace weir {

const DatabaseInfo* Catalog::FindDatabase(const std::string& name) const {
  const auto found = databases_.find(name);
  return found == databases_.end() ? nullptr : &found->second.info;
}

Result<DatabaseInfo> Catalog::GetDatabase(const std::string& name) const {
  const DatabaseInfo* const database = FindDatabase(name);
  if (database == nullptr) return DatabaseNotFound(name);
  return *database;
}

std::vector<std::string> Catalog::ListDatabases() const {
  std::vector<std::string> names;
  names.reserve(databases_.size());
  for (const auto& [name, database] : databases_) names.push_back(name);
  return names;
}

std::vector<DatabaseSummary> Catalog::SummarizeDatabases() const {
  std::vector<DatabaseSummary> summaries;
  summaries.reserve(databases_.size());
  for (const auto& [name, database] : databases_) {
    summaries.push_back(
        DatabaseSummary{.name = name,
                        .created = database.info.created,
                        .table_count = static_cast<int32_t>(database.tables.size())});
  }
  return summaries;
}

const Catalog::Table* Catalog::FindEntry(const TablePath& path) const {
  const auto database = databases_.find(path.database);
  if (database == databases_.end()) return nullptr;
  const auto found = database->second.tables.find(path.table);
  return found == database->second.tables.end() ? nullptr : &tables_.at(found->second);
}

Result<const Catalog::Table*> Catalog::GetPartitioned(const TablePath& path) const {
  const Table* const entry = FindEntry(path);
  if (entry == nullptr) return TableNotFound(path);
  if (!entry->info->is_partitioned()) {
    return Fail(ErrorCode::kNotPartitioned, "the table is not partitioned: table={}", path);
  }
  return entry;
}

TablePtr Catalog::FindTable(const TablePath& path) const {
  const Table* const entry = FindEntry(path);
  return entry == nullptr ? nullptr : entry->info;
}

TablePtr Catalog::FindTable(TableId id) const {
  const auto found = tables_.find(id);
  return found == tables_.end() ? nullptr : found->second.info;
}

Result<TablePtr> Catalog::GetTable(const TablePath& path) const {
  TablePtr table = FindTable(path);
  if (table == nullptr) return TableNotFound(path);
  return table;
}

Result<std::vector<std::string>> Catalog::ListTables(const std::string& database) const {
  const auto found = databases_.find(database);
  if (found == databases_.end()) return DatabaseNotFound(database);
  std::vector<std::string> names;
  names.reserve(found->second.tables.size());
  for (const auto& [name, id] : found->second.tables) names.push_back(name);
  return names;
}

std::vector<TablePtr> Catalog::AllTables() const {
  std::vector<TablePtr> tables;
  tables.reserve(tables_.size());
  for (const auto& [id, table] : tables_) tables.push_back(table.info);
  return tables;
}

std::vector<TablePtr> Catalog::TablesOf(const std::string& database) const {
  std::vector<TablePtr> tables;
  const auto found = databases_.find(database);
  if (found == databases_.end()) return tables;
  for (const auto& [name, id] : found->second.tables) tables.push_back(tables_.at(id).info);
  std::sort(tables.begin(), tables.end(),
            [](const TablePtr& a, const TablePtr& b) { return a->id < b->id; });
  return tables;
}

PartitionPtr Catalog::FindPartition(PartitionId id) const {
  const auto found = partitions_.find(id);
  return found == partitions_.end() ? nullptr : found->second;
}

PartitionPtr Catalog::FindPartition(TableId table_id, const std::string& name) const {
  const auto table = tables_.find(table_id);
  if (table == tables_.end()) return nullptr;
  const auto found = table->second.partitions.find(name);
  return found == table->second.partitions.end() ? nullptr : found->second;
}

Result<PartitionPtr> Catalog::GetPartition(const TablePath& path, const std::string& name) const {
  WEIR_ASSIGN(const TablePtr table, GetTable(path));
  PartitionPtr partition = FindPartition(table->id, name);
  if (partition == nullptr) {
    return Fail(ErrorCode::kPartitionNotFound, "there is no such partition: table={} partition={}",
                path, name);
  }
  return partition;
}

std::vector<PartitionPtr> Catalog::PartitionsOf(TableId table_id) const {
  std::vector<PartitionPtr> partitions;
  const auto table = tables_.find(table_id);
  if (table == tables_.end()) return partitions;
  partitions.reserve(table->second.partitions.size());
  for (const auto& [name, partition] : table->second.partitions) partitions.push_back(partition);
  return partitions;
}

Result<std::vector<PartitionPtr>> Catalog::ListPartitions(const TablePath& path,
                                                          const PartitionSpec& filter) const {
  WEIR_ASSIGN(const Table* const entry, GetPartitioned(path));
  const std::vector<std::string> keys = entry->info->descriptor.PartitionKeyNames();
  std::vector<const std::string*> wanted(keys.size(), nullptr);
  for (const auto& [key, value] : filter) {
    const auto found = std::find(keys.begin(), keys.end(), key);
    const auto place = static_cast<size_t>(found - keys.begin());
    if (found == keys.end() || wanted[place] != nullptr) {
      return Fail(ErrorCode::kInvalidPartition,
                  "a filter must name partition keys, each once: key={}", key);
    }
    wanted[place] = &value;
  }
  std::vector<PartitionPtr> partitions;
  for (const auto& [name, partition] : entry->partitions) {
    const std::vector<std::string_view> values = SplitPartitionName(name);
    const bool matches = std::equal(values.begin(), values.end(), wanted.begin(), wanted.end(),
                                    [](std::string_view value, const std::string* want) {
                                      return want == nullptr || value == *want;
                                    });
    if (matches) partitions.push_back(partition);
  }
  return partitions;
}

const RegisteredOffsets* Catalog::FindProducer(const std::string& producer_id,
                                               Timestamp now) const {
  const auto found = producers_.find(producer_id);
  return found == producers_.end() || found->second.expires <= now ? nullptr : &found->second;
}

}  // namespace weir
