#include "weir/catalog/catalog_change.h"

#include <array>
#include <limits>
#include <utility>

#include "weir/base/check.h"
#include "weir/record/json.h"

namespace weir {
namespace {

constexpr int kVersion = 1;
constexpr size_t kSchemaVersionsMax = std::numeric_limits<int16_t>::max();
// The highest ids are kept free, so that the next one can always be counted.
constexpr int64_t kIdMax = std::numeric_limits<int64_t>::max() - 1;

Error Corrupt(std::string_view problem) {
  return Fail(ErrorCode::kCorruptData, "a catalog change is broken: {}", problem);
}

// --- Encoding -----------------------------------------------------------------------------------

Json DatabaseJson(const DatabaseInfo& database) {
  Json json = {{"name", database.name},
               {"custom_properties", database.custom_properties},
               {"created", database.created.value},
               {"modified", database.modified.value}};
  if (database.comment) json["comment"] = *database.comment;
  return json;
}

Json SchemaVersionsJson(const std::vector<SchemaVersion>& versions) {
  Json json = Json::array();
  for (const SchemaVersion& version : versions) {
    json.push_back(Json::array({version.column_count, version.highest_field_id}));
  }
  return json;
}

/// A number of a bucket: [table id, partition id or null, bucket, number].
Json BucketNumberJson(const TableBucket& bucket, int64_t number) {
  const std::optional<PartitionId> partition = bucket.partition_id;
  return Json::array({bucket.table_id.value, partition ? Json(partition->value) : Json(nullptr),
                      bucket.bucket_id, number});
}

Json OffsetsJson(const std::vector<BucketEnd>& offsets) {
  Json json = Json::array();
  for (const BucketEnd& offset : offsets)
    json.push_back(BucketNumberJson(offset.bucket, offset.end.value));
  return json;
}

struct ToChangeJson {
  Json operator()(const DatabasePut& change) const {
    return {{"kind", "put_database"}, {"database", DatabaseJson(change.database)}};
  }
  Json operator()(const DatabaseDropped& change) const {
    return {{"kind", "drop_database"}, {"name", change.name}};
  }
  Json operator()(const TableCreated& change) const {
    return {{"kind", "create_table"},
            {"table_id", change.id.value},
            {"database", change.path.database},
            {"table", change.path.table},
            {"descriptor", ToJson(change.descriptor)},
            {"schemas", SchemaVersionsJson(change.schema_versions)},
            {"created", change.created.value},
            {"modified", change.modified.value}};
  }
  Json operator()(const TableAltered& change) const {
    return {{"kind", "alter_table"},
            {"table_id", change.id.value},
            {"descriptor", ToJson(change.descriptor)},
            {"modified", change.modified.value}};
  }
  Json operator()(const TableDropped& change) const {
    return {{"kind", "drop_table"}, {"table_id", change.id.value}};
  }
  Json operator()(const PartitionsChanged& change) const {
    Json created = Json::array();
    for (const PartitionInfo& partition : change.created) {
      created.push_back({{"id", partition.id.value},
                         {"name", partition.name},
                         {"created", partition.created.value}});
    }
    Json dropped = Json::array();
    for (const PartitionId id : change.dropped) dropped.push_back(id.value);
    return {{"kind", "change_partitions"},
            {"table_id", change.table_id.value},
            {"created", std::move(created)},
            {"dropped", std::move(dropped)}};
  }
  Json operator()(const WritersReserved& change) const {
    return {{"kind", "reserve_writers"}, {"end", change.end.value}};
  }
  Json operator()(const NumbersReserved& change) const {
    return {{"kind", "reserve_numbers"}, {"table_id", change.table_id.value}, {"end", change.end}};
  }
  Json operator()(const ProducerRegistered& change) const {
    return {{"kind", "register_producer"},
            {"producer_id", change.offsets.producer_id},
            {"offsets", OffsetsJson(change.offsets.offsets)},
            {"expires", change.offsets.expires.value}};
  }
  Json operator()(const ProducersDropped& change) const {
    return {{"kind", "drop_producers"}, {"producer_ids", change.producer_ids}};
  }
  Json operator()(const LeasePut& change) const {
    Json snapshots = Json::array();
    for (const KvSnapshotName& snapshot : change.lease.snapshots)
      snapshots.push_back(BucketNumberJson(snapshot.bucket, snapshot.snapshot_id));
    return {{"kind", "put_lease"},
            {"lease_id", change.lease.lease_id},
            {"snapshots", std::move(snapshots)},
            {"expires", change.lease.expires.value}};
  }
  Json operator()(const LeasesDropped& change) const {
    return {{"kind", "drop_leases"}, {"lease_ids", change.lease_ids}};
  }
};

// --- Decoding -----------------------------------------------------------------------------------

template <typename Id>
Result<Id> IdMember(const Json& json, const char* key) {
  WEIR_ASSIGN(const int64_t number, RequireInteger(json, key, 0, kIdMax));
  return Id(number);
}

Result<Timestamp> TimeMember(const Json& json, const char* key) {
  WEIR_ASSIGN(const int64_t millis, RequireInteger(json, key, INT64_MIN, INT64_MAX));
  return Timestamp(millis);
}

Result<TableDescriptor> DescriptorMember(const Json& json) {
  const Json* const member = FindMember(json, "descriptor");
  if (member == nullptr) return Corrupt("no descriptor");
  return TableDescriptorFromJson(*member);
}

template <typename Number>
Result<Number> NumberIn(const Json& json, Number min, Number max) {
  if (!json.is_number_integer()) return Corrupt("a number is missing");
  // What is beyond int64 comes as unsigned, and would turn negative.
  if (json.is_number_unsigned() && json.get<uint64_t>() > INT64_MAX)
    return Corrupt("a number is too high");
  const auto number = json.get<int64_t>();
  if (number < min || number > max) return Corrupt("a number is out of range");
  return static_cast<Number>(number);
}

Result<CatalogChange> DecodeDatabasePut(const Json& json) {
  const Json* const member = FindMember(json, "database");
  if (member == nullptr || !member->is_object()) return Corrupt("no database");
  DatabaseInfo database;
  WEIR_ASSIGN(database.name, RequireString(*member, "name"));
  WEIR_ASSIGN(database.comment, OptionalString(*member, "comment"));
  WEIR_ASSIGN(database.custom_properties, PropertiesFromJson(*member, "custom_properties"));
  WEIR_ASSIGN(database.created, TimeMember(*member, "created"));
  WEIR_ASSIGN(database.modified, TimeMember(*member, "modified"));
  return CatalogChange(DatabasePut{std::move(database)});
}

Result<CatalogChange> DecodeDatabaseDropped(const Json& json) {
  WEIR_ASSIGN(std::string name, RequireString(json, "name"));
  return CatalogChange(DatabaseDropped{std::move(name)});
}

Result<std::vector<SchemaVersion>> DecodeSchemaVersions(const Json& json, const Schema& latest) {
  WEIR_ASSIGN(const Json* const entries, RequireArray(json, "schemas"));
  if (entries->empty() || entries->size() > kSchemaVersionsMax)
    return Corrupt("the number of schema versions");
  std::vector<SchemaVersion> versions;
  versions.reserve(entries->size());
  for (const Json& entry : *entries) {
    if (!entry.is_array() || entry.size() != 2) return Corrupt("a schema version is not a pair");
    SchemaVersion version;
    WEIR_ASSIGN(version.column_count,
                NumberIn<int32_t>(entry[0], 0, static_cast<int32_t>(latest.columns.size())));
    WEIR_ASSIGN(version.highest_field_id,
                NumberIn<int32_t>(entry[1], kNoFieldId, latest.highest_field_id));
    const bool is_more = versions.empty() || version.column_count > versions.back().column_count;
    if (!is_more) return Corrupt("a schema version does not have more columns than the one before");
    versions.push_back(version);
  }
  const SchemaVersion last{static_cast<int32_t>(latest.columns.size()), latest.highest_field_id};
  if (versions.back() != last)
    return Corrupt("the last schema version is not that of the descriptor");
  return versions;
}

Result<CatalogChange> DecodeTableCreated(const Json& json) {
  TableCreated change;
  WEIR_ASSIGN(change.id, IdMember<TableId>(json, "table_id"));
  WEIR_ASSIGN(change.path.database, RequireString(json, "database"));
  WEIR_ASSIGN(change.path.table, RequireString(json, "table"));
  WEIR_ASSIGN(change.descriptor, DescriptorMember(json));
  WEIR_ASSIGN(change.schema_versions, DecodeSchemaVersions(json, *change.descriptor.schema));
  WEIR_ASSIGN(change.created, TimeMember(json, "created"));
  WEIR_ASSIGN(change.modified, TimeMember(json, "modified"));
  return CatalogChange(std::move(change));
}

Result<CatalogChange> DecodeTableAltered(const Json& json) {
  TableAltered change;
  WEIR_ASSIGN(change.id, IdMember<TableId>(json, "table_id"));
  WEIR_ASSIGN(change.descriptor, DescriptorMember(json));
  WEIR_ASSIGN(change.modified, TimeMember(json, "modified"));
  return CatalogChange(std::move(change));
}

Result<CatalogChange> DecodeTableDropped(const Json& json) {
  WEIR_ASSIGN(const TableId id, IdMember<TableId>(json, "table_id"));
  return CatalogChange(TableDropped{id});
}

Result<CatalogChange> DecodePartitionsChanged(const Json& json) {
  PartitionsChanged change;
  WEIR_ASSIGN(change.table_id, IdMember<TableId>(json, "table_id"));
  WEIR_ASSIGN(const Json* const created, RequireArray(json, "created"));
  for (const Json& entry : *created) {
    if (!entry.is_object()) return Corrupt("a partition is not an object");
    PartitionInfo partition{.id = {}, .table_id = change.table_id, .name = {}, .created = {}};
    WEIR_ASSIGN(partition.id, IdMember<PartitionId>(entry, "id"));
    WEIR_ASSIGN(partition.name, RequireString(entry, "name"));
    WEIR_ASSIGN(partition.created, TimeMember(entry, "created"));
    change.created.push_back(std::move(partition));
  }
  WEIR_ASSIGN(const Json* const dropped, RequireArray(json, "dropped"));
  for (const Json& entry : *dropped) {
    WEIR_ASSIGN(const int64_t id, NumberIn<int64_t>(entry, 0, kIdMax));
    change.dropped.emplace_back(id);
  }
  return CatalogChange(std::move(change));
}

Result<CatalogChange> DecodeWritersReserved(const Json& json) {
  WEIR_ASSIGN(const WriterId end, IdMember<WriterId>(json, "end"));
  return CatalogChange(WritersReserved{end});
}

Result<CatalogChange> DecodeNumbersReserved(const Json& json) {
  NumbersReserved change;
  WEIR_ASSIGN(change.table_id, IdMember<TableId>(json, "table_id"));
  WEIR_ASSIGN(change.end, RequireInteger(json, "end", 0, INT64_MAX));
  return CatalogChange(change);
}

struct BucketNumber {
  TableBucket bucket;
  int64_t number = 0;
};

Result<BucketNumber> DecodeBucketNumber(const Json& entry) {
  if (!entry.is_array() || entry.size() != 4)
    return Corrupt("a bucket and its number are not a list of four");
  BucketNumber decoded;
  WEIR_ASSIGN(const int64_t table_id, NumberIn<int64_t>(entry[0], INT64_MIN, INT64_MAX));
  decoded.bucket.table_id = TableId(table_id);
  if (!entry[1].is_null()) {
    WEIR_ASSIGN(const int64_t partition_id, NumberIn<int64_t>(entry[1], INT64_MIN, INT64_MAX));
    decoded.bucket.partition_id = PartitionId(partition_id);
  }
  WEIR_ASSIGN(decoded.bucket.bucket_id, NumberIn<int32_t>(entry[2], INT32_MIN, INT32_MAX));
  WEIR_ASSIGN(decoded.number, NumberIn<int64_t>(entry[3], INT64_MIN, INT64_MAX));
  return decoded;
}

Result<std::vector<std::string>> StringsMember(const Json& json, const char* key) {
  std::vector<std::string> strings;
  WEIR_ASSIGN(const Json* const entries, RequireArray(json, key));
  for (const Json& entry : *entries) {
    if (!entry.is_string()) return Corrupt("an id is not a string");
    strings.push_back(entry.get_ref<const std::string&>());
  }
  return strings;
}

Result<CatalogChange> DecodeProducerRegistered(const Json& json) {
  RegisteredOffsets producer;
  WEIR_ASSIGN(producer.producer_id, RequireString(json, "producer_id"));
  WEIR_ASSIGN(producer.expires, TimeMember(json, "expires"));
  WEIR_ASSIGN(const Json* const entries, RequireArray(json, "offsets"));
  producer.offsets.reserve(entries->size());
  for (const Json& entry : *entries) {
    WEIR_ASSIGN(const BucketNumber offset, DecodeBucketNumber(entry));
    producer.offsets.push_back({offset.bucket, LogOffset(offset.number)});
  }
  return CatalogChange(ProducerRegistered{std::move(producer)});
}

Result<CatalogChange> DecodeProducersDropped(const Json& json) {
  ProducersDropped change;
  WEIR_ASSIGN(change.producer_ids, StringsMember(json, "producer_ids"));
  return CatalogChange(std::move(change));
}

Result<CatalogChange> DecodeLeasePut(const Json& json) {
  KvSnapshotLease lease;
  WEIR_ASSIGN(lease.lease_id, RequireString(json, "lease_id"));
  WEIR_ASSIGN(lease.expires, TimeMember(json, "expires"));
  WEIR_ASSIGN(const Json* const entries, RequireArray(json, "snapshots"));
  lease.snapshots.reserve(entries->size());
  for (const Json& entry : *entries) {
    WEIR_ASSIGN(const BucketNumber snapshot, DecodeBucketNumber(entry));
    lease.snapshots.push_back({snapshot.bucket, snapshot.number});
  }
  return CatalogChange(LeasePut{std::move(lease)});
}

Result<CatalogChange> DecodeLeasesDropped(const Json& json) {
  LeasesDropped change;
  WEIR_ASSIGN(change.lease_ids, StringsMember(json, "lease_ids"));
  return CatalogChange(std::move(change));
}

struct KindDecoder {
  std::string_view kind;
  Result<CatalogChange> (*decode)(const Json& json);
};

constexpr std::array kDecoders = {
    KindDecoder{"put_database", &DecodeDatabasePut},
    KindDecoder{"drop_database", &DecodeDatabaseDropped},
    KindDecoder{"create_table", &DecodeTableCreated},
    KindDecoder{"alter_table", &DecodeTableAltered},
    KindDecoder{"drop_table", &DecodeTableDropped},
    KindDecoder{"change_partitions", &DecodePartitionsChanged},
    KindDecoder{"reserve_writers", &DecodeWritersReserved},
    KindDecoder{"reserve_numbers", &DecodeNumbersReserved},
    KindDecoder{"register_producer", &DecodeProducerRegistered},
    KindDecoder{"drop_producers", &DecodeProducersDropped},
    KindDecoder{"put_lease", &DecodeLeasePut},
    KindDecoder{"drop_leases", &DecodeLeasesDropped},
};

Result<CatalogChange> DecodeJson(std::string_view text) {
  WEIR_ASSIGN(const Json json, ParseJson(text, "catalog change", kCatalogChangeBytesMax));
  WEIR_ASSIGN(const int64_t version, RequireInteger(json, "version", 0, INT64_MAX));
  WEIR_ASSIGN(const std::string kind, RequireString(json, "kind"));
  if (version != kVersion) {
    return Fail(ErrorCode::kUnsupported, "a catalog change is of another version: version={}",
                version);
  }
  for (const KindDecoder& decoder : kDecoders) {
    if (decoder.kind == kind) return decoder.decode(json);
  }
  return Fail(ErrorCode::kUnsupported, "unknown kind of catalog change: kind={}", kind);
}

}  // namespace

std::string EncodeCatalogChange(const CatalogChange& change) {
  Json json = std::visit(ToChangeJson(), change);
  json["version"] = kVersion;
  return DumpJson(json);
}

Result<CatalogChange> DecodeCatalogChange(std::string_view text) {
  Result<CatalogChange> change = DecodeJson(text);
  // Other layers' errors are about requests; here it is always what was stored that is wrong.
  if (!change.ok() && change.error().code != ErrorCode::kUnsupported)
    change.error().code = ErrorCode::kCorruptData;
  return change;
}

}  // namespace weir
