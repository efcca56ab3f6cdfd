#include "weir/kv/aggregates.h"

#include <bit>
#include <cmath>
#include <compare>
#include <cstdint>
#include <cstring>
#include <utility>

#include "weir/base/check.h"
#include "weir/kv/bitmap.h"
#include "weir/kv/decimal.h"

namespace weir {
namespace {

float AsFloat(const FieldValue& field) {
  return std::bit_cast<float>(static_cast<uint32_t>(field.number));
}

double AsDouble(const FieldValue& field) {
  return std::bit_cast<double>(field.number);
}

int64_t BitsOf(float value) {
  return std::bit_cast<uint32_t>(value);
}

int64_t BitsOf(double value) {
  return std::bit_cast<int64_t>(value);
}

template <typename T>
int Compare(const T& a, const T& b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}

template <typename Float>
int CompareFloats(Float a, Float b) {
  if (std::isnan(a) || std::isnan(b)) return Compare(std::isnan(a), std::isnan(b));
  if (a == 0 && b == 0) return Compare(!std::signbit(a), !std::signbit(b));
  return Compare(a, b);
}

template <typename Number>
Number Apply(Aggregate function, Number a, Number b) {
  return function == Aggregate::kSum ? a + b : a * b;
}

/// Arithmetic of the width of a type: what goes beyond it is cut off.
template <typename Integer>
int64_t Wrap(Aggregate function, int64_t a, int64_t b) {
  return static_cast<Integer>(Apply(function, static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
}

BitmapFormat FormatOf(Aggregate function) {
  return function == Aggregate::kRbm32 ? BitmapFormat::k32 : BitmapFormat::k64;
}

Result<Int128> UnscaledOf(const DataType& type, const FieldValue& field) {
  if (type.precision() <= kCompactDigitsMax) return Int128{field.number};
  const std::optional<Int128> value = DecodeUnscaled(field.bytes);
  if (!value) {
    return Fail(ErrorCode::kInvalidValue, "a value is no number: type={} bytes={}", ToString(type),
                field.bytes.size());
  }
  return *value;
}

/// Bytes that are no number are below all others; they cannot come to be by aggregation.
int CompareDecimals(const DataType& type, const FieldValue& a, const FieldValue& b) {
  if (type.precision() <= kCompactDigitsMax) return Compare(a.number, b.number);
  return Compare(DecodeUnscaled(a.bytes), DecodeUnscaled(b.bytes));
}

}  // namespace

int CompareFields(const DataType& type, const FieldValue& a, const FieldValue& b) {
  switch (type.kind()) {
    case TypeKind::kFloat: return CompareFloats(AsFloat(a), AsFloat(b));
    case TypeKind::kDouble: return CompareFloats(AsDouble(a), AsDouble(b));
    case TypeKind::kDecimal: return CompareDecimals(type, a, b);
    case TypeKind::kChar:
    case TypeKind::kString: return AsText(a.bytes).compare(AsText(b.bytes));
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      return a.number != b.number ? Compare(a.number, b.number) : Compare(a.nanos, b.nanos);
    case TypeKind::kTinyInt:
    case TypeKind::kSmallInt:
    case TypeKind::kInt:
    case TypeKind::kBigInt:
    case TypeKind::kDate:
    case TypeKind::kTime: return Compare(a.number, b.number);
    case TypeKind::kBoolean:
    case TypeKind::kBinary:
    case TypeKind::kBytes:
    case TypeKind::kArray:
    case TypeKind::kMap:
    case TypeKind::kRow: break;
  }
  WEIR_UNREACHABLE();
}

Aggregator::Aggregator(Aggregate function, std::string delimiter, DataType type)
    : function_(function), delimiter_(std::move(delimiter)), type_(std::move(type)) {}

Aggregator Aggregator::Of(const Column& column) {
  if (!column.aggregation) return {Aggregate::kLastValueIgnoreNulls, {}, column.type};
  const auto& [function, parameters] = *column.aggregation;
  const auto delimiter = parameters.find("delimiter");
  return {function, delimiter == parameters.end() ? "," : delimiter->second, column.type};
}

Status Aggregator::CheckFirst(const FieldValue& first) const {
  if (first.is_null) return Ok();
  switch (function_) {
    case Aggregate::kRbm32:
    case Aggregate::kRbm64: return CheckBitmap(FormatOf(function_), first.bytes);
    case Aggregate::kSum:
    case Aggregate::kProduct:
      if (type_.kind() != TypeKind::kDecimal) return Ok();
      WEIR_TRY(UnscaledOf(type_, first));
      return Ok();
    default: return Ok();
  }
}

Status Aggregator::Combine(const FieldValue& old, const FieldValue& input, FieldValue& result) {
  if (function_ == Aggregate::kLastValue) {
    result = input;
    return Ok();
  }
  if (input.is_null) {
    result = old;
    return Ok();
  }
  if (old.is_null) {
    WEIR_TRY(CheckFirst(input));
    result = input;
    return Ok();
  }
  return Compute(old, input, result);
}

Status Aggregator::Compute(const FieldValue& old, const FieldValue& input, FieldValue& result) {
  switch (function_) {
    case Aggregate::kSum:
    case Aggregate::kProduct: return Calculate(old, input, result);
    case Aggregate::kMax: result = CompareFields(type_, old, input) < 0 ? input : old; return Ok();
    case Aggregate::kMin: result = CompareFields(type_, old, input) < 0 ? old : input; return Ok();
    case Aggregate::kLastValue:
    case Aggregate::kLastValueIgnoreNulls: result = input; return Ok();
    case Aggregate::kFirstValue:
    case Aggregate::kFirstValueIgnoreNulls: result = old; return Ok();
    case Aggregate::kListagg:
    case Aggregate::kStringAgg: return Concatenate(old, input, result);
    case Aggregate::kBoolAnd: result = old.number != 0 ? input : old; return Ok();
    case Aggregate::kBoolOr: result = old.number != 0 ? old : input; return Ok();
    case Aggregate::kRbm32:
    case Aggregate::kRbm64:
      WEIR_TRY(UniteBitmaps(FormatOf(function_), old.bytes, input.bytes, scratch_));
      result = {.is_null = false, .bytes = AsBytes(scratch_)};
      return Ok();
  }
  WEIR_UNREACHABLE();
}

Status Aggregator::Calculate(const FieldValue& old, const FieldValue& input, FieldValue& result) {
  result = old;
  const int64_t a = old.number;
  const int64_t b = input.number;
  switch (type_.kind()) {
    case TypeKind::kTinyInt: result.number = Wrap<int8_t>(function_, a, b); return Ok();
    case TypeKind::kSmallInt: result.number = Wrap<int16_t>(function_, a, b); return Ok();
    case TypeKind::kInt: result.number = Wrap<int32_t>(function_, a, b); return Ok();
    case TypeKind::kBigInt: result.number = Wrap<int64_t>(function_, a, b); return Ok();
    case TypeKind::kFloat:
      result.number = BitsOf(Apply(function_, AsFloat(old), AsFloat(input)));
      return Ok();
    case TypeKind::kDouble:
      result.number = BitsOf(Apply(function_, AsDouble(old), AsDouble(input)));
      return Ok();
    case TypeKind::kDecimal: return CalculateDecimal(old, input, result);
    default: WEIR_UNREACHABLE();
  }
}

Status Aggregator::CalculateDecimal(const FieldValue& old, const FieldValue& input,
                                    FieldValue& result) {
  WEIR_ASSIGN(const Int128 a, UnscaledOf(type_, old));
  WEIR_ASSIGN(const Int128 b, UnscaledOf(type_, input));
  const std::optional<Int128> value =
      function_ == Aggregate::kSum ? AddDecimals(a, b, type_.precision())
                                   : MultiplyDecimals(a, b, type_.scale(), type_.precision());
  if (!value) {
    return Fail(ErrorCode::kInvalidValue, "an aggregate has more digits than its column: type={}",
                ToString(type_));
  }
  if (type_.precision() <= kCompactDigitsMax) {
    result.number = static_cast<int64_t>(*value);
  } else {
    EncodeUnscaled(*value, scratch_);
    result.bytes = AsBytes(scratch_);
  }
  return Ok();
}

Status Aggregator::Concatenate(const FieldValue& old, const FieldValue& input, FieldValue& result) {
  const size_t size = old.bytes.size() + delimiter_.size() + input.bytes.size();
  if (type_.kind() == TypeKind::kChar && size > static_cast<size_t>(type_.length())) {
    return Fail(ErrorCode::kInvalidValue,
                "an aggregate is too long for its column: type={} bytes={}", ToString(type_), size);
  }
  scratch_.assign(AsText(old.bytes));
  scratch_ += delimiter_;
  scratch_ += AsText(input.bytes);
  result = {.is_null = false, .bytes = AsBytes(scratch_)};
  return Ok();
}

}  // namespace weir
