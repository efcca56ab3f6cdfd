// How requests are judged: each Plan function tells the change that the request comes to.
#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "weir/base/check.h"
#include "weir/catalog/catalog.h"
#include "weir/catalog/table_rules.h"
#include "weir/record/json.h"

namespace weir {
namespace {

constexpr size_t kPartitionKeysMax = 32;
constexpr size_t kSchemaVersionsMax = std::numeric_limits<int16_t>::max();
constexpr auto kProducerTtlDefault = std::chrono::hours(24);
// Long enough for every sink, and far from where times end.
constexpr auto kProducerTtlMax = std::chrono::hours(24 * 365);
constexpr size_t kProducerIdBytesMax = 255;
constexpr size_t kProducersMax = 10'000;
constexpr size_t kProducerOffsetsMax = 100'000;
constexpr size_t kAllProducerOffsetsMax = 2'000'000;

Catalog::Plan Nothing() {
  return std::optional<CatalogChange>();
}
Catalog::Plan Do(CatalogChange change) {
  return std::optional(std::move(change));
}

Error BadAlteration(std::string_view problem, std::string_view name) {
  return Fail(ErrorCode::kInvalidAlteration, "{}: name={}", problem, name);
}

Result<DatabaseInfo> DecodeDatabaseDescriptor(std::string_view json) {
  DatabaseInfo database;
  if (json.empty()) return database;
  WEIR_ASSIGN(const Json parsed, ParseJson(json, "database descriptor"));
  WEIR_ASSIGN(database.comment, OptionalString(parsed, "comment"));
  WEIR_ASSIGN(database.custom_properties, PropertiesFromJson(parsed, "custom_properties"));
  return database;
}

/// Judges a change of one property, of those that may be set and deleted.
Status CheckPropertyChange(const PropertyChange& change) {
  switch (change.operation) {
    case PropertyOperation::kDelete: return Ok();
    case PropertyOperation::kSet: {
      if (!change.value) return BadAlteration("a property is set without a value", change.name);
      if (!IsUtf8(change.name) || !IsUtf8(*change.value)) {
        return Fail(ErrorCode::kInvalidAlteration, "a property is not valid UTF-8");
      }
      return Ok();
    }
    default: return BadAlteration("a property can only be set or deleted", change.name);
  }
}

void ChangeProperty(Properties& properties, const PropertyChange& change) {
  if (change.operation == PropertyOperation::kSet) {
    properties[change.name] = *change.value;
  } else {
    properties.erase(change.name);
  }
}

/// Whether a table may be like this at all, whatever else there is.
Status CheckTable(const TableDescriptor& table) {
  if (table.partition_key.size() > kPartitionKeysMax) {
    return Fail(ErrorCode::kInvalidTable,
                "too many columns in the partition key: columns={} max={}",
                table.partition_key.size(), kPartitionKeysMax);
  }
  WEIR_TRY(CheckProperties(table));
  // A request's bound is no bound for what many alterations make of a table.
  if (const size_t bytes = EncodeTableDescriptor(table).size(); bytes > kJsonBytesMax) {
    return Fail(ErrorCode::kInvalidTable, "the table's descriptor is too long: bytes={} max={}",
                bytes, kJsonBytesMax);
  }
  return Ok();
}

SchemaVersion VersionOf(const Schema& schema) {
  return SchemaVersion{static_cast<int32_t>(schema.columns.size()), schema.highest_field_id};
}

Result<Column> DecodeAddedColumn(const AddedColumn& added, MergeEngine engine) {
  if (!added.is_last) return BadAlteration("a column can only be added at the end", added.name);
  if (!IsUtf8(added.name) || (added.comment && !IsUtf8(*added.comment))) {
    return Fail(ErrorCode::kInvalidAlteration,
                "an added column's name or comment is not valid UTF-8");
  }
  Result<DataType> type = DecodeDataType(added.data_type_json);
  if (!type.ok()) return BadAlteration(type.error().message, added.name);
  Column column{.name = added.name,
                .type = *std::move(type),
                .id = kNoFieldId,
                .comment = added.comment,
                .aggregation = {}};
  const std::optional<Aggregate> function =
      added.aggregate ? FindAggregate(*added.aggregate) : std::nullopt;
  if (!function) return column;
  if (engine != MergeEngine::kAggregation) {
    return BadAlteration("an aggregate function needs the merge engine aggregation", added.name);
  }
  column.aggregation = Aggregation{
      .function = *function,
      .parameters = {added.aggregate_parameters.begin(), added.aggregate_parameters.end()}};
  return column;
}

/// Which periods the partitions of a table are of; none of those whose name is no period.
std::optional<PartitionPeriod> PeriodOf(const AutoPartition& settings,
                                        std::string_view partition_name) {
  const std::vector<std::string_view> values = SplitPartitionName(partition_name);
  if (settings.key >= values.size()) return std::nullopt;
  return ParsePeriod(settings.format, values[settings.key]);
}

/// The first period that is kept; nothing if all are.
Result<std::optional<PartitionPeriod>> FirstKept(const AutoPartition& settings, Timestamp now) {
  if (!settings.enabled || settings.retention <= 0) return std::optional<PartitionPeriod>();
  WEIR_ASSIGN(const PartitionPeriod first, PeriodAt(settings.format.unit, settings.time_zone, now,
                                                    -int64_t{settings.retention}));
  return std::optional(first);
}

/// Whether a partition may have such values.
Status CheckPartitionValues(const TableInfo& table, const std::vector<std::string>& values,
                            Timestamp now) {
  for (const std::string& value : values) WEIR_TRY(CheckPartitionValue(value));
  if (!table.options.auto_partition) return Ok();
  const AutoPartition& settings = *table.options.auto_partition;
  const std::string& value = values[settings.key];
  const std::optional<PartitionPeriod> period = ParsePeriod(settings.format, value);
  if (!period) {
    return Fail(ErrorCode::kInvalidPartition,
                "a partition value does not have the time format: value={} format={}", value,
                settings.format.pattern);
  }
  WEIR_ASSIGN(const std::optional<PartitionPeriod> first, FirstKept(settings, now));
  if (first && *period < *first) {
    return Fail(ErrorCode::kInvalidPartition,
                "the partition is older than those that are kept: value={} oldest={}", value,
                FormatPeriod(settings.format, *first));
  }
  return Ok();
}

/// Whether a table may have so many partitions.
Status CheckPartitionCount(const TableInfo& table, size_t count) {
  if (count > kPartitionsMax) {
    return Fail(ErrorCode::kTooManyPartitions, "too many partitions: table={} max={}", table.path,
                kPartitionsMax);
  }
  if (static_cast<int64_t>(count) * table.bucket_count() > kPartitionedBucketsMax) {
    return Fail(ErrorCode::kTooManyBuckets, "too many buckets in all partitions: table={} max={}",
                table.path, kPartitionedBucketsMax);
  }
  return Ok();
}

Status CheckProducerId(const std::string& id) {
  const auto is_bad = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '/'; };
  if (id.empty() || id.size() > kProducerIdBytesMax || std::any_of(id.begin(), id.end(), is_bad) ||
      !IsUtf8(id)) {
    return Fail(ErrorCode::kInvalidProducer,
                "a producer id must have 1 to {} bytes of UTF-8 without `/`: bytes={}",
                kProducerIdBytesMax, id.size());
  }
  return Ok();
}

}  // namespace

// --- Databases ----------------------------------------------------------------------------------

std::optional<CatalogChange> Catalog::PlanDefaultDatabase(Timestamp now) const {
  const std::string name(kDefaultDatabase);
  if (databases_.contains(name)) return std::nullopt;
  return DatabasePut{DatabaseInfo{
      .name = name, .comment = {}, .custom_properties = {}, .created = now, .modified = now}};
}

Catalog::Plan Catalog::PlanCreateDatabase(const std::string& name, std::string_view descriptor_json,
                                          bool ignore_if_exists, Timestamp now) const {
  WEIR_TRY(CheckDatabaseName(name));
  Result<DatabaseInfo> database = DecodeDatabaseDescriptor(descriptor_json);
  if (!database.ok()) return Error{ErrorCode::kInvalidName, std::move(database).error().message};
  if (databases_.contains(name)) {
    if (ignore_if_exists) return Nothing();
    return Fail(ErrorCode::kDatabaseExists, "there is a database of this name: database={}", name);
  }
  database->name = name;
  database->created = database->modified = now;
  return Do(DatabasePut{*std::move(database)});
}

Catalog::Plan Catalog::PlanAlterDatabase(const DatabaseAlteration& alteration,
                                         Timestamp now) const {
  const DatabaseInfo* const present = FindDatabase(alteration.name);
  if (present == nullptr)
    return alteration.ignore_if_missing ? Nothing() : DatabaseNotFound(alteration.name);
  DatabaseInfo altered = *present;
  for (const PropertyChange& change : alteration.properties) {
    WEIR_TRY(CheckPropertyChange(change));
    ChangeProperty(altered.custom_properties, change);
  }
  if (alteration.comment) {
    if (!IsUtf8(*alteration.comment))
      return Fail(ErrorCode::kInvalidAlteration, "a comment is not valid UTF-8");
    altered.comment = alteration.comment->empty() ? std::nullopt : alteration.comment;
  }
  if (altered.comment == present->comment &&
      altered.custom_properties == present->custom_properties)
    return Nothing();
  if (EncodeDatabaseDescriptor(altered).size() > kJsonBytesMax) {
    return BadAlteration("the database's properties are too long", alteration.name);
  }
  altered.modified = std::max(now, present->created);
  return Do(DatabasePut{std::move(altered)});
}

Catalog::Plan Catalog::PlanDropDatabase(const std::string& name, bool ignore_if_missing,
                                        bool cascade) const {
  const auto found = databases_.find(name);
  if (found == databases_.end()) return ignore_if_missing ? Nothing() : DatabaseNotFound(name);
  if (name == kDefaultDatabase) {
    return Fail(ErrorCode::kInvalidName, "the default database cannot be dropped: database={}",
                name);
  }
  if (!cascade && !found->second.tables.empty()) {
    return Fail(ErrorCode::kDatabaseNotEmpty, "the database has tables: database={} tables={}",
                name, found->second.tables.size());
  }
  return Do(DatabaseDropped{name});
}

// --- Tables -------------------------------------------------------------------------------------

Catalog::Plan Catalog::PlanCreateTable(const TablePath& path, std::string_view descriptor_json,
                                       bool ignore_if_exists, Timestamp now) const {
  WEIR_TRY(CheckTablePath(path));
  WEIR_ASSIGN(TableDescriptor table, DecodeTableDescriptor(descriptor_json));
  FillDefaultProperties(table);
  WEIR_TRY(CheckTable(table));
  if (FindEntry(path) != nullptr) {
    if (ignore_if_exists) return Nothing();
    return Fail(ErrorCode::kTableExists, "there is a table of this name: table={}", path);
  }
  if (!databases_.contains(path.database)) return DatabaseNotFound(path.database);
  const SchemaVersion version = VersionOf(*table.schema);
  return Do(TableCreated{.id = next_table_id_,
                         .path = path,
                         .descriptor = std::move(table),
                         .schema_versions = {version},
                         .created = now,
                         .modified = now});
}

Catalog::Plan Catalog::PlanAlterTable(const TableAlteration& alteration, Timestamp now) const {
  const Table* const entry = FindEntry(alteration.path);
  if (entry == nullptr)
    return alteration.ignore_if_missing ? Nothing() : TableNotFound(alteration.path);
  if (alteration.changes_columns) {
    return BadAlteration("columns cannot be dropped, renamed or modified", alteration.path.table);
  }
  if (!alteration.added_columns.empty() && !alteration.properties.empty()) {
    return BadAlteration("columns and properties cannot be altered at once", alteration.path.table);
  }
  if (!alteration.added_columns.empty()) return PlanAddColumns(*entry->info, alteration, now);
  return PlanSetProperties(*entry->info, alteration, now);
}

Catalog::Plan Catalog::PlanAddColumns(const TableInfo& table, const TableAlteration& alteration,
                                      Timestamp now) const {
  if (table.schema_versions.size() >= kSchemaVersionsMax) {
    return BadAlteration("the table has too many schema versions", table.path.table);
  }
  std::vector<Column> columns;
  columns.reserve(alteration.added_columns.size());
  for (const AddedColumn& added : alteration.added_columns) {
    WEIR_ASSIGN(Column column, DecodeAddedColumn(added, table.options.merge_engine));
    columns.push_back(std::move(column));
  }
  WEIR_ASSIGN(Schema schema, WithColumnsAdded(*table.descriptor.schema, std::move(columns)));
  TableDescriptor altered = table.descriptor;
  altered.schema = std::make_shared<const Schema>(std::move(schema));
  WEIR_TRY(CheckTable(altered));
  return Do(TableAltered{
      .id = table.id, .descriptor = std::move(altered), .modified = std::max(now, table.created)});
}

Catalog::Plan Catalog::PlanSetProperties(const TableInfo& table, const TableAlteration& alteration,
                                         Timestamp now) const {
  TableDescriptor altered = table.descriptor;
  for (const PropertyChange& change : alteration.properties) {
    WEIR_TRY(CheckPropertyChange(change));
    if (!IsTableProperty(change.name)) {
      ChangeProperty(altered.custom_properties, change);
    } else if (IsAlterable(change.name)) {
      ChangeProperty(altered.properties, change);
    } else {
      return BadAlteration("a table property cannot be altered", change.name);
    }
  }
  if (altered.properties == table.descriptor.properties &&
      altered.custom_properties == table.descriptor.custom_properties) {
    return Nothing();
  }
  WEIR_TRY(CheckTable(altered));
  return Do(TableAltered{
      .id = table.id, .descriptor = std::move(altered), .modified = std::max(now, table.created)});
}

Catalog::Plan Catalog::PlanDropTable(const TablePath& path, bool ignore_if_missing) const {
  const Table* const entry = FindEntry(path);
  if (entry == nullptr) return ignore_if_missing ? Nothing() : TableNotFound(path);
  return Do(TableDropped{entry->info->id});
}

// --- Partitions ---------------------------------------------------------------------------------

Catalog::Plan Catalog::PlanCreatePartition(const TablePath& path, const PartitionSpec& spec,
                                           bool ignore_if_exists, Timestamp now) const {
  WEIR_ASSIGN(const Table* const entry, GetPartitioned(path));
  const TableInfo& table = *entry->info;
  WEIR_ASSIGN(const std::vector<std::string> values,
              OrderPartitionValues(spec, table.descriptor.PartitionKeyNames()));
  std::string name = JoinPartitionValues(values);
  if (entry->partitions.contains(name)) {
    if (ignore_if_exists) return Nothing();
    return Fail(ErrorCode::kPartitionExists,
                "there is a partition of this name: table={} partition={}", path, name);
  }
  WEIR_TRY(CheckPartitionValues(table, values, now));
  WEIR_TRY(CheckPartitionCount(table, entry->partitions.size() + 1));
  PartitionsChanged change{.table_id = table.id, .created = {}, .dropped = {}};
  change.created.push_back(PartitionInfo{
      .id = next_partition_id_, .table_id = table.id, .name = std::move(name), .created = now});
  return Do(std::move(change));
}

Catalog::Plan Catalog::PlanDropPartition(const TablePath& path, const PartitionSpec& spec,
                                         bool ignore_if_missing) const {
  WEIR_ASSIGN(const Table* const entry, GetPartitioned(path));
  const TableInfo& table = *entry->info;
  WEIR_ASSIGN(const std::vector<std::string> values,
              OrderPartitionValues(spec, table.descriptor.PartitionKeyNames()));
  const auto found = entry->partitions.find(JoinPartitionValues(values));
  if (found == entry->partitions.end()) {
    if (ignore_if_missing) return Nothing();
    return Fail(ErrorCode::kPartitionNotFound, "there is no such partition: table={} partition={}",
                path, JoinPartitionValues(values));
  }
  return Do(PartitionsChanged{.table_id = table.id, .created = {}, .dropped = {found->second->id}});
}

std::vector<TableId> Catalog::AutoPartitionedTables() const {
  std::vector<TableId> ids;
  for (const auto& [id, table] : tables_) {
    const std::optional<AutoPartition>& settings = table.info->options.auto_partition;
    if (settings && settings->enabled) ids.push_back(id);
  }
  return ids;
}

Catalog::Plan Catalog::PlanAutoPartition(TableId id, Timestamp now) const {
  const auto found = tables_.find(id);
  if (found == tables_.end()) return Nothing();
  const auto& [info, partitions, next_number] = found->second;
  if (!info->options.auto_partition || !info->options.auto_partition->enabled) return Nothing();
  const AutoPartition& settings = *info->options.auto_partition;

  PartitionsChanged change{.table_id = id, .created = {}, .dropped = {}};
  WEIR_ASSIGN(const std::optional<PartitionPeriod> first, FirstKept(settings, now));
  for (const auto& [name, partition] : partitions) {
    const std::optional<PartitionPeriod> period = PeriodOf(settings, name);
    if (first && period && *period < *first) change.dropped.push_back(partition->id);
  }

  size_t count = partitions.size() - change.dropped.size();
  for (int64_t step = 0; step < settings.precreate; ++step) {
    WEIR_ASSIGN(const PartitionPeriod period,
                PeriodAt(settings.format.unit, settings.time_zone, now, step));
    std::string name = FormatPeriod(settings.format, period);
    // An hour that a clock shows twice in autumn is one partition.
    const bool is_planned = !change.created.empty() && change.created.back().name == name;
    if (is_planned || partitions.contains(name)) continue;
    if (!CheckPartitionValue(name).ok() || !CheckPartitionCount(*info, count + 1).ok()) break;
    ++count;
    const PartitionId next(next_partition_id_.value + static_cast<int64_t>(change.created.size()));
    change.created.push_back(
        PartitionInfo{.id = next, .table_id = id, .name = std::move(name), .created = now});
  }
  if (change.created.empty() && change.dropped.empty()) return Nothing();
  return Do(std::move(change));
}

// --- Writers and producers ----------------------------------------------------------------------

CatalogChange Catalog::PlanReserveWriters(int64_t count) const {
  WEIR_CHECK(count > 0 && count < INT64_MAX - next_writer_id_.value);
  return WritersReserved{WriterId(next_writer_id_.value + count)};
}

Catalog::Plan Catalog::PlanReserveNumbers(TableId id, int64_t count) const {
  WEIR_CHECK(count > 0);
  const auto found = tables_.find(id);
  if (found == tables_.end())
    return Fail(ErrorCode::kUnknownBucket, "there is no such table: table_id={}", id);
  const int64_t next = found->second.next_number;
  if (count > INT64_MAX - next) {
    return Fail(ErrorCode::kInvalidTable,
                "the auto-increment column has used up its numbers: table={}",
                found->second.info->path);
  }
  return Do(NumbersReserved{id, next + count});
}

int64_t Catalog::NextNumber(TableId id) const {
  const auto found = tables_.find(id);
  return found == tables_.end() ? kFirstNumber : found->second.next_number;
}

Catalog::Plan Catalog::PlanRegisterProducer(const ProducerOffsets& offsets, Timestamp now) const {
  WEIR_TRY(CheckProducerId(offsets.producer_id));
  if (FindProducer(offsets.producer_id, now) != nullptr) return Nothing();
  if (offsets.offsets.size() > kProducerOffsetsMax) {
    return Fail(ErrorCode::kInvalidProducer, "too many offsets for a producer: offsets={} max={}",
                offsets.offsets.size(), kProducerOffsetsMax);
  }
  const std::chrono::milliseconds ttl = offsets.ttl.value_or(kProducerTtlDefault);
  if (ttl.count() <= 0) {
    return Fail(ErrorCode::kInvalidProducer, "offsets must be kept for some time: milliseconds={}",
                ttl.count());
  }
  size_t kept = offsets.offsets.size();
  for (const auto& [id, producer] : producers_) kept += producer.offsets.size();
  if (producers_.size() >= kProducersMax || kept > kAllProducerOffsetsMax) {
    return Fail(ErrorCode::kOverloaded, "too many producers keep offsets: producers={} offsets={}",
                producers_.size(), kept);
  }
  const int64_t kept_for = std::min<std::chrono::milliseconds>(ttl, kProducerTtlMax).count();
  return Do(ProducerRegistered{RegisteredOffsets{.producer_id = offsets.producer_id,
                                                 .offsets = offsets.offsets,
                                                 .expires = Timestamp(now.value + kept_for)}});
}

std::optional<CatalogChange> Catalog::PlanDropProducer(const std::string& producer_id) const {
  if (!producers_.contains(producer_id)) return std::nullopt;
  return ProducersDropped{{producer_id}};
}

std::optional<CatalogChange> Catalog::PlanForgetProducers(Timestamp now) const {
  ProducersDropped change;
  for (const auto& [id, producer] : producers_) {
    if (producer.expires <= now) change.producer_ids.push_back(id);
  }
  if (change.producer_ids.empty()) return std::nullopt;
  return change;
}

}  // namespace weir
