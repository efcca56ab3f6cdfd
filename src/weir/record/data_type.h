// The types of columns, and their JSON form in schemas.
// Specified in docs/tables.md (types and their ranges; Fluss protocol, data type JSON).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"

namespace weir {

enum class TypeKind : uint8_t {
  kBoolean,
  kTinyInt,
  kSmallInt,
  kInt,
  kBigInt,
  kFloat,
  kDouble,
  kDecimal,
  kChar,
  kString,
  kBinary,
  kBytes,
  kDate,
  kTime,
  kTimestamp,
  kTimestampLtz,
  kArray,
  kMap,
  kRow,
};

/// Name of a kind in the JSON form, for example "INTEGER".
std::string_view ToString(TypeKind kind);

/// Whether a type of this kind has types inside of it.
constexpr bool IsNested(TypeKind kind) {
  return kind >= TypeKind::kArray;
}

/// How deep types may lie in one another: INT is 1 deep, ARRAY<INT> is 2 deep.
inline constexpr int kTypeDepthMax = 32;

struct RowField;

/// A type with its parameters. A small value: what lies inside of nested types is immutable and
/// shared by copies.
class DataType {
 public:
  /// The makers check their arguments (WEIR_CHECK); what comes from outside goes through
  /// DecodeDataType. Of() is for the kinds without parameters; the others are nullable unless
  /// NotNull() is asked for.
  static DataType Of(TypeKind kind);
  static DataType Decimal(int precision, int scale);
  static DataType Char(int32_t length);
  static DataType Binary(int32_t length);
  static DataType Time(int precision);
  static DataType Timestamp(int precision);
  static DataType TimestampLtz(int precision);
  static DataType Array(DataType element);
  static DataType Map(DataType key, DataType value);
  static DataType Row(std::vector<RowField> fields);

  /// The same type with or without NULL among its values.
  DataType NotNull() const { return WithNullable(false); }
  DataType WithNullable(bool nullable) const;

  TypeKind kind() const { return kind_; }
  bool nullable() const { return nullable_; }
  /// Digits of a DECIMAL (1 to 38), or fraction digits of TIME and the TIMESTAMPs (0 to 9); 0 for
  /// other kinds.
  int precision() const { return precision_; }
  /// Fraction digits of a DECIMAL, 0 to precision(); 0 for other kinds.
  int scale() const { return scale_; }
  /// Characters of a CHAR, bytes of a BINARY, at least 1; 0 for other kinds.
  int32_t length() const { return length_; }

  /// What lies inside, in the order of Arrow's children: the element of an ARRAY; key and value of
  /// a MAP (they are fields of one struct there); the fields of a ROW; nothing for other kinds.
  std::span<const RowField> children() const;
  /// Of an ARRAY, a MAP and a ROW respectively.
  const DataType& element() const;
  const DataType& key() const;
  const DataType& value() const;
  std::span<const RowField> fields() const;

  /// Equal in everything, names, descriptions and field ids included.
  bool operator==(const DataType& other) const;

 private:
  explicit DataType(TypeKind kind) : kind_(kind) {}
  static DataType WithLength(TypeKind kind, int32_t length);
  static DataType WithFraction(TypeKind kind, int precision);
  static DataType WithChildren(TypeKind kind, std::vector<RowField> children);

  TypeKind kind_;
  bool nullable_ = true;
  uint8_t precision_ = 0;
  uint8_t scale_ = 0;
  int32_t length_ = 0;
  std::shared_ptr<const std::vector<RowField>> children_;
};

/// A field of a ROW. Children of ARRAY and MAP use only `type`.
struct RowField {
  std::string name;
  DataType type;
  std::optional<std::string> description;
  /// Unique in the whole schema, also among its columns; kNoFieldId if not given yet.
  int32_t field_id = -1;

  bool operator==(const RowField&) const = default;
};
inline constexpr int32_t kNoFieldId = -1;

/// JSON text of a type. Parameters are always written, `nullable` only when it is false.
std::string EncodeDataType(const DataType& type);

/// Reads what EncodeDataType writes, or a client wrote. `scale` defaults to 0 and the precision of
/// TIME to 0, of TIMESTAMP to 6, as clients in Rust take them; unknown keys are ignored. Takes text
/// of at most kJsonBytesMax. Errors: kInvalidTable.
Result<DataType> DecodeDataType(std::string_view json);

/// `type` as a person reads it, for example "DECIMAL(10,2) NOT NULL" or "ROW<x INT, y
/// ARRAY<STRING>>".
std::string ToString(const DataType& type);

}  // namespace weir
