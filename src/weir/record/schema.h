// The columns of a table, what they are numbered, and which of them are its key. JSON form:
// docs/tables.md (Fluss protocol, schema JSON).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/record/data_type.h"

namespace weir {

/// Columns and fields of nested rows together; what a schema may have.
inline constexpr size_t kFieldsMax = 10'000;

/// How the values of a column are combined in a table with the merge engine `aggregation`.
enum class Aggregate : uint8_t {
  kSum,
  kProduct,
  kMax,
  kMin,
  kLastValue,
  kLastValueIgnoreNulls,
  kFirstValue,
  kFirstValueIgnoreNulls,
  kListagg,
  kStringAgg,  // listagg by another name, kept because it is told again as it was given
  kBoolAnd,
  kBoolOr,
  kRbm32,
  kRbm64,
};

/// Name in the JSON form, for example "bool_and".
std::string_view ToString(Aggregate function);

/// The function of this name; case does not matter, nor whether it has `-` or `_`. Nothing if there
/// is none.
std::optional<Aggregate> FindAggregate(std::string_view name);

struct Aggregation {
  Aggregate function;
  /// Only `delimiter` has a meaning (listagg). Not judged here, see CheckAggregation.
  std::map<std::string, std::string> parameters;

  bool operator==(const Aggregation&) const = default;
};

/// Whether `aggregation` can be computed for a column of this type. Errors: kInvalidConfig.
Status CheckAggregation(const Aggregation& aggregation, const DataType& type);

struct Column {
  std::string name;
  DataType type;
  /// Never changes and is never used again. Not the position: nested fields are numbered among the
  /// columns.
  int32_t id = kNoFieldId;
  std::optional<std::string> comment;
  std::optional<Aggregation> aggregation;

  bool operator==(const Column&) const = default;
};

/// Names that the changelog and lake tables add to a row themselves.
bool IsReservedColumnName(std::string_view name);

/// What DecodeSchema makes keeps these rules: names are unique and not empty; ids, those of nested
/// fields included, are unique and at most highest_field_id; columns of the primary key are NOT
/// NULL and have no aggregation; there are at most kFieldsMax fields.
struct Schema {
  std::vector<Column> columns;
  /// Positions in `columns`, in the order of the key; empty in a log table.
  std::vector<int32_t> primary_key;
  /// Position of the INT or BIGINT that the server numbers.
  std::optional<int32_t> auto_increment;
  /// The highest id ever used, -1 without columns.
  int32_t highest_field_id = kNoFieldId;

  bool is_primary_key_table() const { return !primary_key.empty(); }
  std::optional<int32_t> PositionOf(std::string_view name) const;
  bool operator==(const Schema&) const = default;
};

std::string EncodeSchema(const Schema& schema);

/// Reads a schema as clients send it: columns without ids are numbered depth first, columns of the
/// primary key become NOT NULL, an unknown aggregate function is none. Takes text of at most
/// kJsonBytesMax. Errors: kInvalidTable.
Result<Schema> DecodeSchema(std::string_view json);

/// `schema` with `columns` added at its end. They and their nested fields get ids above the highest
/// one, whatever ids they have. Errors: kInvalidAlteration: a name that is taken, empty or
/// reserved, a type that is NOT NULL, too many fields.
Result<Schema> WithColumnsAdded(const Schema& schema, std::vector<Column> columns);

}  // namespace weir
