#include "weir/record/data_type.h"

#include <algorithm>
#include <array>
#include <utility>

#include "weir/base/check.h"
#include "weir/record/json.h"

namespace weir {
namespace {

constexpr int kDecimalPrecisionMax = 38;
constexpr int kFractionDigitsMax = 9;
constexpr int kTimestampPrecisionDefault = 6;

struct KindName {
  TypeKind kind;
  const char* json;
  const char* readable;
};

constexpr std::array kKindNames = {
    KindName{TypeKind::kBoolean, "BOOLEAN", "BOOLEAN"},
    KindName{TypeKind::kTinyInt, "TINYINT", "TINYINT"},
    KindName{TypeKind::kSmallInt, "SMALLINT", "SMALLINT"},
    KindName{TypeKind::kInt, "INTEGER", "INT"},
    KindName{TypeKind::kBigInt, "BIGINT", "BIGINT"},
    KindName{TypeKind::kFloat, "FLOAT", "FLOAT"},
    KindName{TypeKind::kDouble, "DOUBLE", "DOUBLE"},
    KindName{TypeKind::kDecimal, "DECIMAL", "DECIMAL"},
    KindName{TypeKind::kChar, "CHAR", "CHAR"},
    KindName{TypeKind::kString, "STRING", "STRING"},
    KindName{TypeKind::kBinary, "BINARY", "BINARY"},
    KindName{TypeKind::kBytes, "BYTES", "BYTES"},
    KindName{TypeKind::kDate, "DATE", "DATE"},
    KindName{TypeKind::kTime, "TIME_WITHOUT_TIME_ZONE", "TIME"},
    KindName{TypeKind::kTimestamp, "TIMESTAMP_WITHOUT_TIME_ZONE", "TIMESTAMP"},
    KindName{TypeKind::kTimestampLtz, "TIMESTAMP_WITH_LOCAL_TIME_ZONE", "TIMESTAMP_LTZ"},
    KindName{TypeKind::kArray, "ARRAY", "ARRAY"},
    KindName{TypeKind::kMap, "MAP", "MAP"},
    KindName{TypeKind::kRow, "ROW", "ROW"},
};

const KindName& NameOf(TypeKind kind) {
  const KindName& name = kKindNames.at(static_cast<size_t>(kind));
  WEIR_CHECK(name.kind == kind);
  return name;
}

bool HasFractionDigits(TypeKind kind) {
  return kind == TypeKind::kTime || kind == TypeKind::kTimestamp || kind == TypeKind::kTimestampLtz;
}

bool HasLength(TypeKind kind) {
  return kind == TypeKind::kChar || kind == TypeKind::kBinary;
}

RowField Child(DataType type) {
  return RowField{.name = {}, .type = std::move(type), .description = {}};
}

}  // namespace

std::string_view ToString(TypeKind kind) {
  return NameOf(kind).json;
}

DataType DataType::Of(TypeKind kind) {
  WEIR_CHECK(kind != TypeKind::kDecimal && !HasFractionDigits(kind) && !HasLength(kind) &&
             !IsNested(kind));
  return DataType(kind);
}

DataType DataType::Decimal(int precision, int scale) {
  WEIR_CHECK(precision >= 1 && precision <= kDecimalPrecisionMax && scale >= 0 &&
             scale <= precision);
  DataType type(TypeKind::kDecimal);
  type.precision_ = static_cast<uint8_t>(precision);
  type.scale_ = static_cast<uint8_t>(scale);
  return type;
}

DataType DataType::WithLength(TypeKind kind, int32_t length) {
  WEIR_CHECK(length >= 1);
  DataType type(kind);
  type.length_ = length;
  return type;
}

DataType DataType::WithFraction(TypeKind kind, int precision) {
  WEIR_CHECK(precision >= 0 && precision <= kFractionDigitsMax);
  DataType type(kind);
  type.precision_ = static_cast<uint8_t>(precision);
  return type;
}

DataType DataType::Char(int32_t length) {
  return WithLength(TypeKind::kChar, length);
}
DataType DataType::Binary(int32_t length) {
  return WithLength(TypeKind::kBinary, length);
}
DataType DataType::Time(int precision) {
  return WithFraction(TypeKind::kTime, precision);
}
DataType DataType::Timestamp(int precision) {
  return WithFraction(TypeKind::kTimestamp, precision);
}
DataType DataType::TimestampLtz(int precision) {
  return WithFraction(TypeKind::kTimestampLtz, precision);
}

DataType DataType::WithChildren(TypeKind kind, std::vector<RowField> children) {
  DataType type(kind);
  type.children_ = std::make_shared<const std::vector<RowField>>(std::move(children));
  return type;
}

DataType DataType::Array(DataType element) {
  return WithChildren(TypeKind::kArray, {Child(std::move(element))});
}

DataType DataType::Map(DataType key, DataType value) {
  return WithChildren(TypeKind::kMap, {Child(std::move(key)), Child(std::move(value))});
}

DataType DataType::Row(std::vector<RowField> fields) {
  return WithChildren(TypeKind::kRow, std::move(fields));
}

DataType DataType::WithNullable(bool nullable) const {
  DataType type = *this;
  type.nullable_ = nullable;
  return type;
}

std::span<const RowField> DataType::children() const {
  return children_ ? std::span<const RowField>(*children_) : std::span<const RowField>();
}

const DataType& DataType::element() const {
  return WEIR_CHECK(kind_ == TypeKind::kArray), children()[0].type;
}
const DataType& DataType::key() const {
  return WEIR_CHECK(kind_ == TypeKind::kMap), children()[0].type;
}
const DataType& DataType::value() const {
  return WEIR_CHECK(kind_ == TypeKind::kMap), children()[1].type;
}
std::span<const RowField> DataType::fields() const {
  return WEIR_CHECK(kind_ == TypeKind::kRow), children();
}

bool DataType::operator==(const DataType& other) const {
  if (kind_ != other.kind_ || nullable_ != other.nullable_ || precision_ != other.precision_ ||
      scale_ != other.scale_ || length_ != other.length_) {
    return false;
  }
  return children_ == other.children_ ||
         (children_ && other.children_ && *children_ == *other.children_);
}

Json ToJson(const DataType& type) {
  Json json = {{"type", ToString(type.kind())}};
  if (!type.nullable()) json["nullable"] = false;
  switch (type.kind()) {
    case TypeKind::kDecimal:
      json["precision"] = type.precision();
      json["scale"] = type.scale();
      break;
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz: json["precision"] = type.precision(); break;
    case TypeKind::kChar:
    case TypeKind::kBinary: json["length"] = type.length(); break;
    case TypeKind::kArray: json["element_type"] = ToJson(type.element()); break;
    case TypeKind::kMap:
      json["key_type"] = ToJson(type.key());
      json["value_type"] = ToJson(type.value());
      break;
    case TypeKind::kRow: {
      Json& fields = json["fields"] = Json::array();
      for (const RowField& field : type.fields()) {
        Json& entry =
            fields.emplace_back(Json{{"name", field.name}, {"field_type", ToJson(field.type)}});
        if (field.description) entry["description"] = *field.description;
        if (field.field_id != kNoFieldId) entry["field_id"] = field.field_id;
      }
      break;
    }
    default: break;  // the kinds without parameters
  }
  return json;
}

namespace {

Result<DataType> TypeMember(const Json& object, const char* key, int depth) {
  const Json* member = FindMember(object, key);
  if (member == nullptr)
    return Fail(ErrorCode::kInvalidTable, "a data type lacks a part: key={}", key);
  return DataTypeFromJson(*member, depth);
}

Result<RowField> FieldFromJson(const Json& json, int depth) {
  if (!json.is_object())
    return Fail(ErrorCode::kInvalidTable, "a field of a row is not a JSON object");
  WEIR_ASSIGN(std::string name, RequireString(json, "name"));
  if (name.empty()) return Fail(ErrorCode::kInvalidTable, "a field of a row has no name");
  WEIR_ASSIGN(DataType type, TypeMember(json, "field_type", depth));
  WEIR_ASSIGN(std::optional<std::string> description, OptionalString(json, "description"));
  // Clients write -1 for a field that has no id yet.
  WEIR_ASSIGN(const std::optional<int64_t> id,
              OptionalInteger(json, "field_id", kNoFieldId, INT32_MAX));
  return RowField{.name = std::move(name),
                  .type = std::move(type),
                  .description = std::move(description),
                  .field_id = static_cast<int32_t>(id.value_or(kNoFieldId))};
}

Result<DataType> RowFromJson(const Json& json, int depth) {
  WEIR_ASSIGN(const Json* const entries, RequireArray(json, "fields"));
  std::vector<RowField> fields;
  std::vector<std::string_view> names;
  for (const Json& entry : *entries) {
    WEIR_ASSIGN(RowField field, FieldFromJson(entry, depth));
    fields.push_back(std::move(field));
  }
  for (const RowField& field : fields) names.push_back(field.name);
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end()) {
    return Fail(ErrorCode::kInvalidTable, "two fields of a row have one name: name={}", *twice);
  }
  return DataType::Row(std::move(fields));
}

// The type but for its nullability.
Result<DataType> BareTypeFromJson(TypeKind kind, const Json& json, int depth) {
  if (kind == TypeKind::kDecimal) {
    WEIR_ASSIGN(const int64_t precision,
                RequireInteger(json, "precision", 1, kDecimalPrecisionMax));
    WEIR_ASSIGN(const std::optional<int64_t> scale, OptionalInteger(json, "scale", 0, precision));
    return DataType::Decimal(static_cast<int>(precision), static_cast<int>(scale.value_or(0)));
  }
  if (HasFractionDigits(kind)) {
    WEIR_ASSIGN(const std::optional<int64_t> given,
                OptionalInteger(json, "precision", 0, kFractionDigitsMax));
    const int precision =
        static_cast<int>(given.value_or(kind == TypeKind::kTime ? 0 : kTimestampPrecisionDefault));
    return kind == TypeKind::kTime        ? DataType::Time(precision)
           : kind == TypeKind::kTimestamp ? DataType::Timestamp(precision)
                                          : DataType::TimestampLtz(precision);
  }
  if (HasLength(kind)) {
    WEIR_ASSIGN(const int64_t length, RequireInteger(json, "length", 1, INT32_MAX));
    const auto bounded = static_cast<int32_t>(length);
    return kind == TypeKind::kChar ? DataType::Char(bounded) : DataType::Binary(bounded);
  }
  if (kind == TypeKind::kArray) {
    WEIR_ASSIGN(DataType element, TypeMember(json, "element_type", depth));
    return DataType::Array(std::move(element));
  }
  if (kind == TypeKind::kMap) {
    WEIR_ASSIGN(DataType key, TypeMember(json, "key_type", depth));
    WEIR_ASSIGN(DataType value, TypeMember(json, "value_type", depth));
    return DataType::Map(std::move(key), std::move(value));
  }
  if (kind == TypeKind::kRow) return RowFromJson(json, depth);
  return DataType::Of(kind);
}

}  // namespace

Result<DataType> DataTypeFromJson(const Json& json, int depth) {
  if (!json.is_object()) return Fail(ErrorCode::kInvalidTable, "a data type is not a JSON object");
  if (depth >= kTypeDepthMax) {
    return Fail(ErrorCode::kInvalidTable, "a data type is nested too deep: max={}", kTypeDepthMax);
  }
  WEIR_ASSIGN(const std::string name, RequireString(json, "type"));
  const auto* const known = std::find_if(kKindNames.begin(), kKindNames.end(),
                                         [&](const KindName& kind) { return name == kind.json; });
  if (known == kKindNames.end())
    return Fail(ErrorCode::kInvalidTable, "unknown data type: type={}", name);
  bool nullable = true;
  if (const Json* member = FindMember(json, "nullable")) {
    if (!member->is_boolean())
      return Fail(ErrorCode::kInvalidTable, "`nullable` of a data type is not a boolean");
    nullable = member->get<bool>();
  }
  WEIR_ASSIGN(const DataType bare, BareTypeFromJson(known->kind, json, depth + 1));
  return bare.WithNullable(nullable);
}

std::string EncodeDataType(const DataType& type) {
  return DumpJson(ToJson(type));
}

Result<DataType> DecodeDataType(std::string_view json) {
  WEIR_ASSIGN(const Json parsed, ParseJson(json, "data type"));
  return DataTypeFromJson(parsed);
}

std::string ToString(const DataType& type) {
  std::string text = NameOf(type.kind()).readable;
  switch (type.kind()) {
    case TypeKind::kDecimal: text += fmt::format("({},{})", type.precision(), type.scale()); break;
    case TypeKind::kTime:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz: text += fmt::format("({})", type.precision()); break;
    case TypeKind::kChar:
    case TypeKind::kBinary: text += fmt::format("({})", type.length()); break;
    case TypeKind::kArray:
    case TypeKind::kMap:
    case TypeKind::kRow: {
      text += '<';
      for (const RowField& child : type.children()) {
        if (text.back() != '<') text += ", ";
        if (!child.name.empty()) text += child.name + ' ';
        text += ToString(child.type);
      }
      text += '>';
      break;
    }
    default: break;  // the kinds without parameters
  }
  if (!type.nullable()) text += " NOT NULL";
  return text;
}

}  // namespace weir
