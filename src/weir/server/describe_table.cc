#include "weir/server/describe_table.h"

#include <numeric>

namespace weir {
namespace {

std::vector<DataType> TypesOf(std::span<const Column> columns) {
  std::vector<DataType> types;
  types.reserve(columns.size());
  for (const Column& column : columns) types.push_back(column.type);
  return types;
}

std::shared_ptr<const MergeRules> MergeRulesOf(const TableInfo& table) {
  const Schema& schema = *table.descriptor.schema;
  auto rules = std::make_shared<MergeRules>();
  rules->engine = table.options.merge_engine;
  rules->deletes = table.options.delete_behavior;
  if (table.options.merge_engine == MergeEngine::kVersioned)
    rules->version_column = schema.PositionOf(table.options.version_column);
  rules->columns = schema.columns;
  rules->primary_key = schema.primary_key;
  rules->auto_increment = schema.auto_increment;
  return rules;
}

std::shared_ptr<const RowTable> RowTableOf(const TableInfo& table) {
  const TableDescriptor& descriptor = table.descriptor;
  const TableOptions& options = table.options;
  // The partition is the same for all rows of a bucket, so that keys leave it out.
  std::vector<int32_t> key_columns = descriptor.PhysicalPrimaryKey();
  std::vector<DataType> key_types;
  for (const int32_t column : key_columns) key_types.push_back(descriptor.column(column).type);
  const KeyEncoding encoding = KeyEncodingOf(options.lake_format, options.kv_format_version,
                                             descriptor.bucket_key == key_columns);
  Result<KeyCodec> key = KeyCodec::Make(encoding, std::move(key_types));
  WEIR_CHECK(key.ok());  // the catalog takes no other tables
  auto rows = std::make_shared<RowTable>(options.kv_format, *std::move(key));
  rows->key_columns = std::move(key_columns);
  rows->changelog.log_format = options.log_format;
  rows->changelog.compression = {options.log_codec, options.log_zstd_level};
  rows->changelog.kv_format = options.kv_format;
  rows->image = options.changelog_image;
  rows->merge = MergeRulesOf(table);
  for (const SchemaVersion& version : table.schema_versions) {
    const auto columns = static_cast<size_t>(version.column_count);
    rows->codecs.emplace_back(options.kv_format,
                              TypesOf(std::span(descriptor.schema->columns).first(columns)));
  }
  rows->auto_increment_block = options.auto_increment_cache;
  rows->row_ttl_ms = options.row_ttl.count();
  return rows;
}

}  // namespace

std::shared_ptr<const BucketTable> DescribeTable(const TableInfo& table, bool sync_by_default) {
  auto description = std::make_shared<BucketTable>();
  if (table.is_primary_key_table()) description->rows = RowTableOf(table);
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
  description->needs_sync =
      table.options.durability ? *table.options.durability == Durability::kDisk : sync_by_default;
  description->ttl_ms = table.options.log_ttl.count();
  description->bytes_max = table.options.log_bytes_max.value_or(0);
  return description;
}

}  // namespace weir
