#include "weir/catalog/entities.h"

#include "weir/base/check.h"
#include "weir/record/json.h"

namespace weir {

std::string EncodeDatabaseDescriptor(const DatabaseInfo& database) {
  Json json = {{"version", 1}, {"custom_properties", database.custom_properties}};
  if (database.comment) json["comment"] = *database.comment;
  return DumpJson(json);
}

SchemaId TableInfo::schema_id() const {
  return SchemaId(static_cast<int16_t>(kFirstSchemaId.value +
                                       static_cast<int16_t>(schema_versions.size()) - 1));
}

bool TableInfo::HasSchema(SchemaId id) const {
  return id >= kFirstSchemaId && id <= schema_id();
}

std::span<const Column> TableInfo::ColumnsOf(SchemaId id) const {
  WEIR_CHECK(HasSchema(id));
  const SchemaVersion& version =
      schema_versions[static_cast<size_t>(id.value - kFirstSchemaId.value)];
  return std::span(descriptor.schema->columns).first(static_cast<size_t>(version.column_count));
}

Schema TableInfo::SchemaOf(SchemaId id) const {
  const std::span<const Column> columns = ColumnsOf(id);
  const Schema& latest = *descriptor.schema;
  return Schema{
      .columns = {columns.begin(), columns.end()},
      .primary_key = latest.primary_key,
      .auto_increment = latest.auto_increment,
      .highest_field_id =
          schema_versions[static_cast<size_t>(id.value - kFirstSchemaId.value)].highest_field_id};
}

}  // namespace weir
