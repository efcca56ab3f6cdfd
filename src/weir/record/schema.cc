#include "weir/record/schema.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "weir/base/check.h"
#include "weir/record/json.h"

namespace weir {
namespace {

constexpr std::array<std::string_view, 14> kAggregateNames = {
    "sum",         "product",
    "max",         "min",
    "last_value",  "last_value_ignore_nulls",
    "first_value", "first_value_ignore_nulls",
    "listagg",     "string_agg",
    "bool_and",    "bool_or",
    "rbm32",       "rbm64"};
static_assert(kAggregateNames.size() == static_cast<size_t>(Aggregate::kRbm64) + 1);

constexpr std::string_view kDelimiter = "delimiter";

bool IsNumeric(TypeKind kind) {
  return kind >= TypeKind::kTinyInt && kind <= TypeKind::kDecimal;
}
bool IsText(TypeKind kind) {
  return kind == TypeKind::kChar || kind == TypeKind::kString;
}
bool IsTime(TypeKind kind) {
  return kind >= TypeKind::kDate && kind <= TypeKind::kTimestampLtz;
}

bool Fits(Aggregate function, TypeKind kind) {
  switch (function) {
    case Aggregate::kSum:
    case Aggregate::kProduct: return IsNumeric(kind);
    case Aggregate::kMax:
    case Aggregate::kMin: return IsNumeric(kind) || IsText(kind) || IsTime(kind);
    case Aggregate::kListagg:
    case Aggregate::kStringAgg: return IsText(kind);
    case Aggregate::kBoolAnd:
    case Aggregate::kBoolOr: return kind == TypeKind::kBoolean;
    case Aggregate::kRbm32:
    case Aggregate::kRbm64: return kind == TypeKind::kBytes;
    case Aggregate::kLastValue:
    case Aggregate::kLastValueIgnoreNulls:
    case Aggregate::kFirstValue:
    case Aggregate::kFirstValueIgnoreNulls: return true;
  }
  WEIR_UNREACHABLE();
}

/// Calls `visit(field_id)` for each field of a row inside of `type`, depth first.
template <typename Visit>
void ForEachFieldId(const DataType& type, Visit visit) {
  for (const RowField& child : type.children()) {
    if (type.kind() == TypeKind::kRow) visit(child.field_id);
    ForEachFieldId(child.type, visit);
  }
}

/// `type` with the field ids that `renumber(old id)` gives, asked depth first.
template <typename Renumber>
DataType WithFieldIds(const DataType& type, Renumber renumber) {
  if (!IsNested(type.kind())) return type;
  std::vector<RowField> children(type.children().begin(), type.children().end());
  for (RowField& child : children) {
    if (type.kind() == TypeKind::kRow) child.field_id = renumber(child.field_id);
    child.type = WithFieldIds(child.type, renumber);
  }
  if (type.kind() == TypeKind::kArray)
    return DataType::Array(children[0].type).WithNullable(type.nullable());
  if (type.kind() == TypeKind::kMap) {
    return DataType::Map(children[0].type, children[1].type).WithNullable(type.nullable());
  }
  return DataType::Row(std::move(children)).WithNullable(type.nullable());
}

size_t CountFields(const std::vector<Column>& columns) {
  size_t count = columns.size();
  for (const Column& column : columns) {
    ForEachFieldId(column.type, [&](int32_t) { ++count; });
  }
  return count;
}

Result<std::optional<Aggregation>> AggregationFromJson(const Json& column) {
  const Json* json = FindMember(column, "agg_function");
  if (json == nullptr) return std::optional<Aggregation>();
  if (!json->is_object())
    return Fail(ErrorCode::kInvalidTable, "`agg_function` of a column is not a JSON object");
  WEIR_ASSIGN(const std::string name, RequireString(*json, "type"));
  const std::optional<Aggregate> function = FindAggregate(name);
  if (!function) return std::optional<Aggregation>();
  Aggregation aggregation{.function = *function, .parameters = {}};
  if (const Json* parameters = FindMember(*json, "parameters")) {
    if (!parameters->is_object())
      return Fail(ErrorCode::kInvalidTable, "`parameters` is not a JSON object");
    for (const auto& [key, value] : parameters->items()) {
      if (!value.is_string())
        return Fail(ErrorCode::kInvalidTable, "a parameter is not a string: key={}", key);
      aggregation.parameters.emplace(key, value.get_ref<const std::string&>());
    }
  }
  return std::optional(std::move(aggregation));
}

Result<Column> ColumnFromJson(const Json& json) {
  if (!json.is_object()) return Fail(ErrorCode::kInvalidTable, "a column is not a JSON object");
  WEIR_ASSIGN(std::string name, RequireString(json, "name"));
  if (name.empty()) return Fail(ErrorCode::kInvalidTable, "a column has no name");
  const Json* const type_json = FindMember(json, "data_type");
  if (type_json == nullptr)
    return Fail(ErrorCode::kInvalidTable, "a column has no data type: column={}", name);
  WEIR_ASSIGN(DataType type, DataTypeFromJson(*type_json));
  WEIR_ASSIGN(const std::optional<int64_t> id, OptionalInteger(json, "id", 0, INT32_MAX));
  WEIR_ASSIGN(std::optional<std::string> comment, OptionalString(json, "comment"));
  WEIR_ASSIGN(std::optional<Aggregation> aggregation, AggregationFromJson(json));
  return Column{.name = std::move(name),
                .type = std::move(type),
                .id = static_cast<int32_t>(id.value_or(kNoFieldId)),
                .comment = std::move(comment),
                .aggregation = std::move(aggregation)};
}

Result<std::vector<Column>> ColumnsFromJson(const Json& entries) {
  if (entries.size() > kFieldsMax) {
    return Fail(ErrorCode::kInvalidTable, "too many columns: columns={} max={}", entries.size(),
                kFieldsMax);
  }
  std::vector<Column> columns;
  columns.reserve(entries.size());
  for (const Json& entry : entries) {
    WEIR_ASSIGN(Column column, ColumnFromJson(entry));
    columns.push_back(std::move(column));
  }
  if (const size_t fields = CountFields(columns); fields > kFieldsMax) {
    return Fail(ErrorCode::kInvalidTable, "too many columns and nested fields: fields={} max={}",
                fields, kFieldsMax);
  }
  return columns;
}

// Numbers columns that have no ids depth first, which is the order in which clients number them.
void NumberFromZero(Schema& schema, int32_t given_highest) {
  int32_t next = 0;
  for (Column& column : schema.columns) {
    column.id = next++;
    column.type = WithFieldIds(column.type, [&](int32_t) { return next++; });
  }
  schema.highest_field_id = std::max(given_highest, next - 1);
}

Status CheckIds(Schema& schema, std::optional<int64_t> given_highest) {
  std::vector<int32_t> ids;
  size_t unnumbered = 0;
  for (const Column& column : schema.columns) {
    ids.push_back(column.id);
    ForEachFieldId(column.type, [&](int32_t id) {
      if (id == kNoFieldId) {
        ++unnumbered;
      } else {
        ids.push_back(id);
      }
    });
  }
  std::sort(ids.begin(), ids.end());
  if (const auto twice = std::adjacent_find(ids.begin(), ids.end()); twice != ids.end()) {
    return Fail(ErrorCode::kInvalidTable, "an id is used twice: id={}", *twice);
  }
  const int64_t highest = given_highest.value_or(ids.back());
  if (ids.back() > highest) {
    return Fail(ErrorCode::kInvalidTable, "an id is above highest_field_id: id={} highest={}",
                ids.back(), highest);
  }
  if (highest + static_cast<int64_t>(unnumbered) > INT32_MAX) {
    return Fail(ErrorCode::kInvalidTable, "no ids are left: highest={}", highest);
  }
  schema.highest_field_id = static_cast<int32_t>(highest);
  if (unnumbered == 0) return Ok();
  for (Column& column : schema.columns) {
    column.type = WithFieldIds(
        column.type, [&](int32_t id) { return id == kNoFieldId ? ++schema.highest_field_id : id; });
  }
  return Ok();
}

Status AssignIds(Schema& schema, std::optional<int64_t> given_highest) {
  const auto has_id = [](const Column& column) { return column.id != kNoFieldId; };
  const auto numbered = std::count_if(schema.columns.begin(), schema.columns.end(), has_id);
  if (numbered == 0) {
    NumberFromZero(schema, static_cast<int32_t>(given_highest.value_or(kNoFieldId)));
    return Ok();
  }
  if (static_cast<size_t>(numbered) != schema.columns.size()) {
    return Fail(ErrorCode::kInvalidTable, "some columns have an id and some have none");
  }
  return CheckIds(schema, given_highest);
}

Status SetPrimaryKey(Schema& schema, std::vector<int32_t> positions) {
  for (const int32_t position : positions) {
    Column& column = schema.columns[static_cast<size_t>(position)];
    if (column.aggregation) {
      return Fail(ErrorCode::kInvalidTable,
                  "a column of the primary key has an aggregate function: column={}", column.name);
    }
    column.type = column.type.NotNull();
  }
  schema.primary_key = std::move(positions);
  return Ok();
}

Status SetAutoIncrement(Schema& schema, const std::vector<int32_t>& positions) {
  if (positions.empty()) return Ok();
  if (positions.size() > 1)
    return Fail(ErrorCode::kInvalidTable, "only one column can be auto-increment");
  const Column& column = schema.columns[static_cast<size_t>(positions[0])];
  if (!schema.is_primary_key_table()) {
    return Fail(ErrorCode::kInvalidTable,
                "only a primary-key table can have an auto-increment column: column={}",
                column.name);
  }
  if (std::find(schema.primary_key.begin(), schema.primary_key.end(), positions[0]) !=
      schema.primary_key.end()) {
    return Fail(ErrorCode::kInvalidTable,
                "a column of the primary key cannot be auto-increment: column={}", column.name);
  }
  if (column.type.kind() != TypeKind::kInt && column.type.kind() != TypeKind::kBigInt) {
    return Fail(ErrorCode::kInvalidTable,
                "an auto-increment column must be INT or BIGINT: column={} type={}", column.name,
                ToString(column.type));
  }
  schema.auto_increment = positions[0];
  return Ok();
}

}  // namespace

std::string_view ToString(Aggregate function) {
  return kAggregateNames.at(static_cast<size_t>(function));
}

std::optional<Aggregate> FindAggregate(std::string_view name) {
  const auto same = [](char wanted, char given) {
    if (given == '-') given = '_';
    if (given >= 'A' && given <= 'Z') given = static_cast<char>(given - 'A' + 'a');
    return wanted == given;
  };
  for (size_t i = 0; i < kAggregateNames.size(); ++i) {
    const std::string_view known = kAggregateNames[i];
    if (std::equal(known.begin(), known.end(), name.begin(), name.end(), same))
      return static_cast<Aggregate>(i);
  }
  return std::nullopt;
}

Status CheckAggregation(const Aggregation& aggregation, const DataType& type) {
  if (!Fits(aggregation.function, type.kind())) {
    return Fail(ErrorCode::kInvalidConfig,
                "an aggregate function does not fit the type: function={} type={}",
                ToString(aggregation.function), ToString(type));
  }
  const bool may_delimit =
      aggregation.function == Aggregate::kListagg || aggregation.function == Aggregate::kStringAgg;
  for (const auto& [key, value] : aggregation.parameters) {
    if (!may_delimit || key != kDelimiter) {
      return Fail(ErrorCode::kInvalidConfig,
                  "an aggregate function has no such parameter: function={} parameter={}",
                  ToString(aggregation.function), key);
    }
  }
  return Ok();
}

bool IsReservedColumnName(std::string_view name) {
  constexpr std::array<std::string_view, 6> kReserved = {
      "__offset", "__timestamp", "__bucket", "_change_type", "_log_offset", "_commit_timestamp"};
  return std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end();
}

std::optional<int32_t> Schema::PositionOf(std::string_view name) const {
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [&](const Column& column) { return column.name == name; });
  if (found == columns.end()) return std::nullopt;
  return static_cast<int32_t>(found - columns.begin());
}

Result<std::vector<int32_t>> PositionsFromJson(const Json& object, const char* key,
                                               const ColumnPositions& known) {
  std::vector<int32_t> positions;
  const Json* const names = FindMember(object, key);
  if (names == nullptr) return positions;
  if (!names->is_array())
    return Fail(ErrorCode::kInvalidTable, "not an array of column names: key={}", key);
  std::vector<bool> seen(known.size(), false);
  for (const Json& entry : *names) {
    if (!entry.is_string())
      return Fail(ErrorCode::kInvalidTable, "a column name is not a string: key={}", key);
    const auto& name = entry.get_ref<const std::string&>();
    const auto found = known.find(name);
    if (found == known.end())
      return Fail(ErrorCode::kInvalidTable, "unknown column: key={} column={}", key, name);
    const auto position = static_cast<size_t>(found->second);
    if (seen[position]) {
      return Fail(ErrorCode::kInvalidTable, "a column is named twice: key={} column={}", key, name);
    }
    seen[position] = true;
    positions.push_back(found->second);
  }
  return positions;
}

Result<ColumnPositions> PositionsOf(const std::vector<Column>& columns) {
  ColumnPositions positions;
  positions.reserve(columns.size());
  for (const Column& column : columns) {
    if (!positions.emplace(column.name, static_cast<int32_t>(positions.size())).second) {
      return Fail(ErrorCode::kInvalidTable, "two columns have one name: name={}", column.name);
    }
  }
  return positions;
}

Json ToJson(const Schema& schema) {
  Json json = {{"version", 1}, {"highest_field_id", schema.highest_field_id}};
  Json& columns = json["columns"] = Json::array();
  for (const Column& column : schema.columns) {
    Json& entry = columns.emplace_back(
        Json{{"name", column.name}, {"data_type", ToJson(column.type)}, {"id", column.id}});
    if (column.comment) entry["comment"] = *column.comment;
    if (column.aggregation) {
      Json& function = entry["agg_function"] = {{"type", ToString(column.aggregation->function)}};
      if (!column.aggregation->parameters.empty())
        function["parameters"] = column.aggregation->parameters;
    }
  }
  if (schema.is_primary_key_table()) json["primary_key"] = NamesToJson(schema, schema.primary_key);
  if (schema.auto_increment)
    json["auto_increment_column"] = NamesToJson(schema, {*schema.auto_increment});
  return json;
}

Json NamesToJson(const Schema& schema, const std::vector<int32_t>& positions) {
  Json names = Json::array();
  for (const int32_t position : positions)
    names.push_back(schema.columns[static_cast<size_t>(position)].name);
  return names;
}

Result<Schema> SchemaFromJson(const Json& json) {
  if (!json.is_object()) return Fail(ErrorCode::kInvalidTable, "a schema is not a JSON object");
  WEIR_ASSIGN(const Json* const entries, RequireArray(json, "columns"));
  Schema schema;
  WEIR_ASSIGN(schema.columns, ColumnsFromJson(*entries));
  WEIR_ASSIGN(const std::optional<int64_t> highest,
              OptionalInteger(json, "highest_field_id", kNoFieldId, INT32_MAX));
  WEIR_TRY(AssignIds(schema, highest));
  WEIR_ASSIGN(const ColumnPositions known, PositionsOf(schema.columns));
  WEIR_ASSIGN(std::vector<int32_t> primary_key, PositionsFromJson(json, "primary_key", known));
  WEIR_TRY(SetPrimaryKey(schema, std::move(primary_key)));
  WEIR_ASSIGN(const std::vector<int32_t> numbered,
              PositionsFromJson(json, "auto_increment_column", known));
  WEIR_TRY(SetAutoIncrement(schema, numbered));
  return schema;
}

std::string EncodeSchema(const Schema& schema) {
  return DumpJson(ToJson(schema));
}

Result<Schema> DecodeSchema(std::string_view json) {
  WEIR_ASSIGN(const Json parsed, ParseJson(json, "schema"));
  return SchemaFromJson(parsed);
}

Result<Schema> WithColumnsAdded(const Schema& schema, std::vector<Column> columns) {
  const size_t fields = CountFields(schema.columns) + CountFields(columns);
  if (fields > kFieldsMax) {
    return Fail(ErrorCode::kInvalidAlteration,
                "too many columns and nested fields: fields={} max={}", fields, kFieldsMax);
  }
  if (static_cast<int64_t>(schema.highest_field_id) + static_cast<int64_t>(CountFields(columns)) >
      INT32_MAX) {
    return Fail(ErrorCode::kInvalidAlteration, "no ids are left: highest={}",
                schema.highest_field_id);
  }
  Schema grown = schema;
  for (Column& column : columns) {
    if (column.name.empty() || IsReservedColumnName(column.name) || grown.PositionOf(column.name)) {
      return Fail(ErrorCode::kInvalidAlteration, "a column cannot have this name: name={}",
                  column.name);
    }
    if (!column.type.nullable()) {
      return Fail(ErrorCode::kInvalidAlteration, "an added column must be nullable: name={}",
                  column.name);
    }
    column.id = ++grown.highest_field_id;
    column.type = WithFieldIds(column.type, [&](int32_t) { return ++grown.highest_field_id; });
    grown.columns.push_back(std::move(column));
  }
  return grown;
}

}  // namespace weir
