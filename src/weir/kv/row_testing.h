// Rows of tests: fields that own their bytes, written and read as text.
#pragma once

#include <bit>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/check.h"
#include "weir/kv/decimal.h"
#include "weir/record/row.h"

namespace weir::testing {

inline bool IsWide(const DataType& type) {
  return type.kind() == TypeKind::kDecimal && type.precision() > kCompactDigitsMax;
}

/// Fields of one row or of several; they are good as long as this is.
class Fields {
 public:
  FieldValue Null() const { return FieldValue{}; }

  FieldValue OfBytes(std::string_view bytes) {
    owned_.emplace_back(bytes);
    FieldValue field{.is_null = false, .nanos = 0, .number = 0, .bytes = {}};
    field.bytes = AsBytes(owned_.back());
    return field;
  }

  FieldValue OfNumber(int64_t number, int32_t nanos = 0) const {
    return FieldValue{.is_null = false, .nanos = nanos, .number = number, .bytes = {}};
  }

  /// "null"; a number, of DECIMALs the unscaled one; milliseconds and, after a point, nanoseconds
  /// of a TIMESTAMP; other text as it is.
  FieldValue Parse(const DataType& type, std::string_view text) {
    if (text == "null") return Null();
    const std::string copy(text);
    switch (type.kind()) {
      case TypeKind::kFloat:
        return OfNumber(std::bit_cast<uint32_t>(std::strtof(copy.c_str(), nullptr)));
      case TypeKind::kDouble:
        return OfNumber(std::bit_cast<int64_t>(std::strtod(copy.c_str(), nullptr)));
      case TypeKind::kChar:
      case TypeKind::kString:
      case TypeKind::kBinary:
      case TypeKind::kBytes: return OfBytes(text);
      case TypeKind::kTimestamp:
      case TypeKind::kTimestampLtz: {
        char* point = nullptr;
        const int64_t millis = std::strtoll(copy.c_str(), &point, 10);
        return OfNumber(millis, *point == '.' ? std::atoi(point + 1) : 0);
      }
      default: break;
    }
    if (!IsWide(type)) return OfNumber(std::strtoll(copy.c_str(), nullptr, 10));
    const bool is_negative = text.starts_with('-');
    Int128 value = 0;
    for (const char c : text.substr(is_negative ? 1 : 0)) value = value * 10 + (c - '0');
    std::string bytes;
    EncodeUnscaled(is_negative ? -value : value, bytes);
    return OfBytes(bytes);
  }

  /// The same values, with bytes of their own.
  std::vector<FieldValue> Copy(std::span<const FieldValue> row) {
    std::vector<FieldValue> copy(row.begin(), row.end());
    for (FieldValue& field : copy) {
      if (!field.bytes.empty()) field = OfBytes(AsText(field.bytes));
    }
    return copy;
  }

 private:
  std::deque<std::string> owned_;
};

/// What Parse reads.
inline std::string Print(const DataType& type, const FieldValue& field) {
  if (field.is_null) return "null";
  switch (type.kind()) {
    case TypeKind::kFloat:
      return fmt::format("{}", std::bit_cast<float>(static_cast<uint32_t>(field.number)));
    case TypeKind::kDouble: return fmt::format("{}", std::bit_cast<double>(field.number));
    case TypeKind::kChar:
    case TypeKind::kString:
    case TypeKind::kBinary:
    case TypeKind::kBytes: return std::string(AsText(field.bytes));
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      return field.nanos == 0 ? fmt::format("{}", field.number)
                              : fmt::format("{}.{}", field.number, field.nanos);
    default: break;
  }
  if (!IsWide(type)) return fmt::format("{}", field.number);
  Int128 value = *DecodeUnscaled(field.bytes);
  if (value == 0) return "0";
  const bool is_negative = value < 0;
  std::string digits;
  for (; value != 0; value /= 10) {
    const int digit = static_cast<int>(value % 10);
    digits.insert(digits.begin(), static_cast<char>('0' + (digit < 0 ? -digit : digit)));
  }
  return is_negative ? "-" + digits : digits;
}

}  // namespace weir::testing
