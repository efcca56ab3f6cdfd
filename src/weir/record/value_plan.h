// How the values of a type lie in rows, arrays, keys and columns, worked out once for all values,
// and what such a value may be. Format: docs/formats/rows.md.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "weir/base/bytes.h"
#include "weir/base/check.h"
#include "weir/record/data_type.h"
#include "weir/record/table_choices.h"
#include "weir/record/unscaled.h"

namespace weir {

/// Types whose values lie the same way everywhere have one form.
enum class ValueForm : uint8_t {
  kBoolean,
  kInt8,
  kInt16,
  kInt32,  // INT and DATE
  kTime,
  kInt64,
  kFloat,
  kDouble,
  kDecimal,     // up to kCompactDigitsMax digits
  kBigDecimal,  // more
  kChar,
  kBinary,
  kText,    // STRING and BYTES
  kMillis,  // TIMESTAMPs of up to 3 fraction digits
  kNanos,   // of more
  kArray,
  kMap,
  kRow,
};

struct ValuePlan {
  ValueForm form;
  /// Digits of a DECIMAL, fraction digits of TIME and the TIMESTAMPs.
  uint8_t precision = 0;
  /// Bytes of a CHAR or BINARY in INDEXED rows.
  int32_t length = 0;
  /// The element of an ARRAY, key and value of a MAP, the fields of a ROW.
  std::vector<ValuePlan> children;
};

ValuePlan PlanOf(const DataType& type);
std::vector<ValuePlan> PlansOf(std::span<const DataType> types);

constexpr bool IsNested(ValueForm form) {
  return form >= ValueForm::kArray;
}

/// Whether values stand in FieldValue::bytes.
constexpr bool IsInBytes(ValueForm form) {
  return (form >= ValueForm::kBigDecimal && form <= ValueForm::kText) || IsNested(form);
}

inline constexpr int64_t kMillisOfDay = 24 * 60 * 60 * 1000;
inline constexpr int32_t kNanosOfMilli = 1'000'000;

/// The quotient rounded down: times before 1970 count backwards, their fractions forwards.
constexpr int64_t FloorDivide(int64_t value, int64_t by) {
  return value / by - (value % by < 0 ? 1 : 0);
}

// What a value may be, besides fitting its place in a row. Each must have its place in a column of
// the changelog, too, and come back as the same bytes.

inline bool IsTimeValue(int64_t millis) {
  return millis >= 0 && millis < kMillisOfDay;
}

inline bool IsDecimalValue(const ValuePlan& plan, int64_t unscaled) {
  return FitsDigits(unscaled, plan.precision);
}

inline bool IsBigDecimalValue(const ValuePlan& plan, Bytes unscaled) {
  const std::optional<Int128> value = DecodeUnscaled(unscaled);
  return value && IsMinimalUnscaled(unscaled) && FitsDigits(*value, plan.precision);
}

/// Columns count microseconds, or nanoseconds from 7 fraction digits on, in 64 bits.
inline bool IsNanosValue(const ValuePlan& plan, int64_t millis, int32_t nanos) {
  const int64_t millis_max =
      std::numeric_limits<int64_t>::max() / (plan.precision <= 6 ? 1000 : 1'000'000) - 1;
  return millis >= -millis_max && millis <= millis_max && nanos >= 0 && nanos < kNanosOfMilli;
}

/// Whether the text of a CHAR has room in a row. Where they are COMPACTED, its length is nobody's
/// business.
inline bool IsCharValue(const ValuePlan& plan, KvFormat rows, Bytes text) {
  return rows == KvFormat::kCompacted || text.size() <= static_cast<size_t>(plan.length);
}

/// Of all that stands in bytes, except for nested values.
inline bool IsBytesValue(const ValuePlan& plan, Bytes bytes) {
  if (plan.form == ValueForm::kBinary) return bytes.size() == static_cast<size_t>(plan.length);
  return plan.form != ValueForm::kBigDecimal || IsBigDecimalValue(plan, bytes);
}

/// How many bytes a value takes where numbers lie in full, and 0 if the form is not one number.
constexpr size_t NumberBytes(ValueForm form) {
  switch (form) {
    case ValueForm::kBoolean:
    case ValueForm::kInt8: return 1;
    case ValueForm::kInt16: return 2;
    case ValueForm::kInt32:
    case ValueForm::kTime:
    case ValueForm::kFloat: return 4;
    case ValueForm::kInt64:
    case ValueForm::kDouble:
    case ValueForm::kDecimal:
    case ValueForm::kMillis: return 8;
    default: return 0;
  }
}

/// How many bytes a value takes in a column where all take the same; 0 for BOOLEAN, whose values
/// are bits, and for what has no such width.
constexpr size_t ColumnNumberBytes(const ValuePlan& plan) {
  switch (plan.form) {
    case ValueForm::kBoolean: return 0;
    case ValueForm::kDecimal:
    case ValueForm::kBigDecimal: return sizeof(Int128);
    case ValueForm::kTime: return plan.precision <= 3 ? sizeof(int32_t) : sizeof(int64_t);
    case ValueForm::kNanos: return sizeof(int64_t);
    case ValueForm::kBinary: return static_cast<size_t>(plan.length);
    default: return NumberBytes(plan.form);
  }
}

/// Reads a number of NumberBytes. Not if it is no value of its type.
inline bool LoadNumber(const ValuePlan& plan, const std::byte* at, int64_t& number) {
  switch (plan.form) {
    case ValueForm::kBoolean: number = LoadLittle<uint8_t>(at); return number <= 1;
    case ValueForm::kInt8: number = LoadLittle<int8_t>(at); return true;
    case ValueForm::kInt16: number = LoadLittle<int16_t>(at); return true;
    case ValueForm::kInt32: number = LoadLittle<int32_t>(at); return true;
    case ValueForm::kTime: number = LoadLittle<int32_t>(at); return IsTimeValue(number);
    case ValueForm::kFloat: number = LoadLittle<uint32_t>(at); return true;
    case ValueForm::kInt64:
    case ValueForm::kDouble:
    case ValueForm::kMillis: number = LoadLittle<int64_t>(at); return true;
    case ValueForm::kDecimal: number = LoadLittle<int64_t>(at); return IsDecimalValue(plan, number);
    default: WEIR_UNREACHABLE();
  }
}

}  // namespace weir
