#include "weir/record/table_descriptor.h"

#include <algorithm>
#include <utility>

#include "weir/record/json.h"

namespace weir {
namespace {

bool Contains(const std::vector<int32_t>& positions, int32_t position) {
  return std::find(positions.begin(), positions.end(), position) != positions.end();
}

Error BadColumn(const TableDescriptor& table, int32_t position, std::string_view problem) {
  return Fail(ErrorCode::kInvalidTable, "{}: column={} type={}", problem,
              table.column(position).name, ToString(table.column(position).type));
}

Status CheckColumnNames(const Schema& schema) {
  for (const Column& column : schema.columns) {
    if (IsReservedColumnName(column.name)) {
      return Fail(ErrorCode::kInvalidTable, "a column has a reserved name: name={}", column.name);
    }
  }
  return Ok();
}

// A value of the column becomes part of a partition's name.
bool CanBePartitionKey(TypeKind kind) {
  return kind != TypeKind::kDecimal && !IsNested(kind);
}

Status CheckKeyTypes(const TableDescriptor& table) {
  for (const int32_t position : table.schema->primary_key) {
    if (IsNested(table.column(position).type.kind())) {
      return BadColumn(table, position, "a primary key cannot have a column of this type");
    }
  }
  for (const int32_t position : table.bucket_key) {
    if (IsNested(table.column(position).type.kind())) {
      return BadColumn(table, position, "a bucket key cannot have a column of this type");
    }
  }
  for (const int32_t position : table.partition_key) {
    if (!CanBePartitionKey(table.column(position).type.kind())) {
      return BadColumn(table, position, "a partition key cannot have a column of this type");
    }
  }
  return Ok();
}

Status CheckKeys(TableDescriptor& table) {
  const std::vector<int32_t>& primary_key = table.schema->primary_key;
  if (table.schema->is_primary_key_table()) {
    for (const int32_t position : table.partition_key) {
      if (!Contains(primary_key, position)) {
        return BadColumn(table, position, "a partition column must be part of the primary key");
      }
    }
    if (table.bucket_key.empty()) {
      for (const int32_t position : primary_key) {
        if (!Contains(table.partition_key, position)) table.bucket_key.push_back(position);
      }
      if (table.bucket_key.empty()) {
        return Fail(ErrorCode::kInvalidTable,
                    "the primary key must have more than the partition columns");
      }
    }
  }
  for (const int32_t position : table.bucket_key) {
    if (Contains(table.partition_key, position)) {
      return BadColumn(table, position, "a bucket key cannot have a partition column");
    }
    if (table.schema->is_primary_key_table() && !Contains(primary_key, position)) {
      return BadColumn(table, position, "a bucket key must be part of the primary key");
    }
  }
  return CheckKeyTypes(table);
}

Result<int32_t> BucketCountFromJson(const Json& json) {
  WEIR_ASSIGN(const std::optional<int64_t> count,
              OptionalInteger(json, "bucket_count", 1, INT64_MAX));
  if (!count) return kBucketsDefault;
  if (*count > kBucketsMax) {
    return Fail(ErrorCode::kTooManyBuckets, "too many buckets: buckets={} max={}", *count,
                kBucketsMax);
  }
  return static_cast<int32_t>(*count);
}

}  // namespace

std::vector<int32_t> TableDescriptor::PhysicalPrimaryKey() const {
  std::vector<int32_t> key;
  for (const int32_t column : schema->primary_key) {
    if (std::ranges::find(partition_key, column) == partition_key.end()) key.push_back(column);
  }
  return key;
}

std::vector<std::string> TableDescriptor::PartitionKeyNames() const {
  std::vector<std::string> names;
  names.reserve(partition_key.size());
  for (const int32_t position : partition_key) names.push_back(column(position).name);
  return names;
}

Result<Properties> PropertiesFromJson(const Json& object, const char* key) {
  Properties properties;
  const Json* const entries = FindMember(object, key);
  if (entries == nullptr) return properties;
  if (!entries->is_object())
    return Fail(ErrorCode::kInvalidTable, "properties are not a JSON object: key={}", key);
  for (const auto& [name, value] : entries->items()) {
    if (!value.is_string())
      return Fail(ErrorCode::kInvalidTable, "the value of a property is not a string: name={}",
                  name);
    properties.emplace_hint(properties.end(), name, value.get_ref<const std::string&>());
  }
  return properties;
}

Json ToJson(const TableDescriptor& table) {
  Json json = {{"version", 1},
               {"schema", ToJson(*table.schema)},
               {"partition_key", NamesToJson(*table.schema, table.partition_key)},
               {"bucket_key", NamesToJson(*table.schema, table.bucket_key)},
               {"bucket_count", table.bucket_count},
               {"properties", table.properties},
               {"custom_properties", table.custom_properties}};
  if (table.comment) json["comment"] = *table.comment;
  return json;
}

Result<TableDescriptor> TableDescriptorFromJson(const Json& json) {
  if (!json.is_object())
    return Fail(ErrorCode::kInvalidTable, "a table descriptor is not a JSON object");
  const Json* const schema_json = FindMember(json, "schema");
  if (schema_json == nullptr)
    return Fail(ErrorCode::kInvalidTable, "a table descriptor has no schema");
  WEIR_ASSIGN(Schema schema, SchemaFromJson(*schema_json));
  WEIR_TRY(CheckColumnNames(schema));
  TableDescriptor table;
  table.schema = std::make_shared<const Schema>(std::move(schema));
  WEIR_ASSIGN(table.comment, OptionalString(json, "comment"));
  WEIR_ASSIGN(const ColumnPositions known, PositionsOf(table.schema->columns));
  WEIR_ASSIGN(table.partition_key, PositionsFromJson(json, "partition_key", known));
  WEIR_ASSIGN(table.bucket_key, PositionsFromJson(json, "bucket_key", known));
  WEIR_TRY(CheckKeys(table));
  WEIR_ASSIGN(table.bucket_count, BucketCountFromJson(json));
  WEIR_ASSIGN(table.properties, PropertiesFromJson(json, "properties"));
  WEIR_ASSIGN(table.custom_properties, PropertiesFromJson(json, "custom_properties"));
  return table;
}

std::string EncodeTableDescriptor(const TableDescriptor& descriptor) {
  return DumpJson(ToJson(descriptor));
}

Result<TableDescriptor> DecodeTableDescriptor(std::string_view json) {
  WEIR_ASSIGN(const Json parsed, ParseJson(json, "table descriptor"));
  return TableDescriptorFromJson(parsed);
}

}  // namespace weir
