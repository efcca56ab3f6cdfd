#include "weir/record/row.h"

#include <algorithm>

#include "weir/base/check.h"
#include "weir/record/nested_values.h"
#include "weir/record/row_fields.h"

namespace weir {
namespace {

constexpr size_t NullBytes(size_t fields) {
  return (fields + 7) / 8;
}

bool IsNull(const std::byte* nulls, size_t field) {
  return (std::to_integer<uint8_t>(nulls[field / 8]) >> (field % 8) & 1) != 0;
}

/// A row of more columns than are known has bits where there are none.
bool HasNoOtherNulls(const std::byte* nulls, size_t fields) {
  return fields % 8 == 0 || std::to_integer<uint8_t>(nulls[fields / 8]) >> (fields % 8) == 0;
}

bool IsSoundNested(const ValuePlan& plan, KvFormat format, Bytes value, NestedValues nested) {
  return nested == NestedValues::kTrust || IsNestedValue(plan, format, value);
}

// ---- COMPACTED

struct Cursor {
  const std::byte* at;
  const std::byte* end;

  size_t bytes_left() const { return static_cast<size_t>(end - at); }

  template <typename T>
  bool Take(T& value) {
    if (bytes_left() < sizeof(T)) return false;
    value = LoadLittle<T>(at);
    at += sizeof(T);
    return true;
  }

  bool Take(size_t size, Bytes& bytes) {
    if (size > bytes_left()) return false;
    bytes = {at, size};
    at += size;
    return true;
  }

  /// A number of 32 or 64 bits, in no more groups of 7 bits than it needs at most.
  template <typename T>
  bool TakeVarint(T& value) {
    if (at < end && std::to_integer<uint8_t>(*at) < 0x80) [[likely]] {
      value = std::to_integer<uint8_t>(*at++);
      return true;
    }
    constexpr int kBits = sizeof(T) * 8;
    const std::byte* next = at;
    value = 0;
    for (int shift = 0; shift < kBits && next < end; shift += 7) {
      const auto group = std::to_integer<uint8_t>(*next++);
      value |= static_cast<T>(T{group & 0x7fu} << shift);
      if (group >= 0x80) continue;
      at = next;
      return shift + 7 <= kBits || group >> (kBits - shift) == 0;
    }
    return false;
  }
};

template <typename Stored>
bool TakeFixed(Cursor& cursor, int64_t& number) {
  Stored stored{};
  if (!cursor.Take(stored)) return false;
  number = static_cast<int64_t>(stored);
  return true;
}

bool TakeInt32(Cursor& cursor, int64_t& number) {
  uint32_t bits = 0;
  if (!cursor.TakeVarint(bits)) return false;
  number = static_cast<int32_t>(bits);
  return true;
}

bool TakeInt64(Cursor& cursor, int64_t& number) {
  uint64_t bits = 0;
  if (!cursor.TakeVarint(bits)) return false;
  number = static_cast<int64_t>(bits);
  return true;
}

bool TakeText(Cursor& cursor, Bytes& bytes) {
  uint32_t size = 0;
  return cursor.TakeVarint(size) && cursor.Take(size, bytes);
}

bool TakeNanos(const ValuePlan& plan, Cursor& cursor, FieldValue& field) {
  uint32_t nanos = 0;
  if (!TakeInt64(cursor, field.number) || !cursor.TakeVarint(nanos)) return false;
  field.nanos = static_cast<int32_t>(nanos);
  return IsNanosValue(plan, field.number, field.nanos);
}

// `field` is FieldValue{} but not null.
inline bool TakeCompacted(const ValuePlan& plan, Cursor& cursor, FieldValue& field,
                          NestedValues nested) {
  switch (plan.form) {
    case ValueForm::kBoolean: return TakeFixed<uint8_t>(cursor, field.number) && field.number <= 1;
    case ValueForm::kInt8: return TakeFixed<int8_t>(cursor, field.number);
    case ValueForm::kInt16: return TakeFixed<int16_t>(cursor, field.number);
    case ValueForm::kInt32: return TakeInt32(cursor, field.number);
    case ValueForm::kTime: return TakeInt32(cursor, field.number) && IsTimeValue(field.number);
    case ValueForm::kInt64: return TakeInt64(cursor, field.number);
    case ValueForm::kFloat: return TakeFixed<uint32_t>(cursor, field.number);
    case ValueForm::kDouble: return TakeFixed<int64_t>(cursor, field.number);
    case ValueForm::kDecimal:
      return TakeInt64(cursor, field.number) && IsDecimalValue(plan, field.number);
    case ValueForm::kChar:
    case ValueForm::kText: return TakeText(cursor, field.bytes);
    case ValueForm::kBigDecimal:
    case ValueForm::kBinary:
      return TakeText(cursor, field.bytes) && IsBytesValue(plan, field.bytes);
    case ValueForm::kMillis: return TakeInt64(cursor, field.number);
    case ValueForm::kNanos: return TakeNanos(plan, cursor, field);
    case ValueForm::kArray:
    case ValueForm::kMap:
    case ValueForm::kRow:
      return TakeText(cursor, field.bytes) &&
             IsSoundNested(plan, KvFormat::kCompacted, field.bytes, nested);
  }
  WEIR_UNREACHABLE();
}

size_t DecodeCompacted(std::span<const ValuePlan> plans, Bytes row, std::span<FieldValue> fields,
                       NestedValues nested) {
  const size_t head = NullBytes(plans.size());
  if (row.size() < head || !HasNoOtherNulls(row.data(), plans.size())) return plans.size();
  Cursor cursor{row.data() + head, row.data() + row.size()};
  FieldValue unkept;
  for (size_t i = 0; i < plans.size(); ++i) {
    FieldValue& field = fields.empty() ? unkept : fields[i];
    field = {};
    if (IsNull(row.data(), i)) continue;
    field.is_null = false;
    if (!TakeCompacted(plans[i], cursor, field, nested)) return i;
  }
  return cursor.at == cursor.end ? kNoFault : plans.size();
}

// The most that a field takes in a COMPACTED row.
size_t CompactedBytesMax(const ValuePlan& plan, const FieldValue& field) {
  constexpr size_t kLengthBytesMax = 5;
  constexpr size_t kNumberBytesMax = 10 + 5;  // a TIMESTAMP of two varints
  return IsInBytes(plan.form) ? kLengthBytesMax + field.bytes.size() : kNumberBytesMax;
}

std::byte* PutVarint(std::byte* at, uint64_t value) {
  while (value >= 0x80) {
    *at++ = static_cast<std::byte>(value | 0x80);
    value >>= 7;
  }
  *at++ = static_cast<std::byte>(value);
  return at;
}

std::byte* PutVarint32(std::byte* at, int64_t value) {
  return PutVarint(at, static_cast<uint32_t>(value));
}

template <typename T>
std::byte* PutFixed(std::byte* at, int64_t value) {
  StoreLittle(at, static_cast<T>(value));
  return at + sizeof(T);
}

std::byte* PutBytes(std::byte* at, Bytes bytes) {
  if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
  return at + bytes.size();
}

std::byte* PutCompacted(const ValuePlan& plan, const FieldValue& field, std::byte* at) {
  switch (plan.form) {
    case ValueForm::kBoolean:
    case ValueForm::kInt8: return PutFixed<int8_t>(at, field.number);
    case ValueForm::kInt16: return PutFixed<int16_t>(at, field.number);
    case ValueForm::kInt32:
    case ValueForm::kTime: return PutVarint32(at, field.number);
    case ValueForm::kFloat: return PutFixed<uint32_t>(at, field.number);
    case ValueForm::kDouble: return PutFixed<int64_t>(at, field.number);
    case ValueForm::kInt64:
    case ValueForm::kDecimal:
    case ValueForm::kMillis: return PutVarint(at, static_cast<uint64_t>(field.number));
    case ValueForm::kNanos:
      return PutVarint32(PutVarint(at, static_cast<uint64_t>(field.number)), field.nanos);
    case ValueForm::kBigDecimal:
    case ValueForm::kChar:
    case ValueForm::kBinary:
    case ValueForm::kText:
    case ValueForm::kArray:
    case ValueForm::kMap:
    case ValueForm::kRow: return PutBytes(PutVarint(at, field.bytes.size()), field.bytes);
  }
  WEIR_UNREACHABLE();
}

void EncodeCompacted(std::span<const ValuePlan> plans, std::span<const FieldValue> fields,
                     std::string& out) {
  const size_t begin = out.size();
  size_t bytes_max = NullBytes(plans.size());
  for (size_t i = 0; i < plans.size(); ++i) bytes_max += CompactedBytesMax(plans[i], fields[i]);
  out.resize(begin + bytes_max);
  auto* const nulls = reinterpret_cast<std::byte*>(out.data() + begin);
  std::byte* at = nulls + NullBytes(plans.size());
  for (size_t i = 0; i < plans.size(); ++i) {
    if (fields[i].is_null) {
      nulls[i / 8] |= std::byte{1} << (i % 8);
    } else {
      at = PutCompacted(plans[i], fields[i], at);
    }
  }
  out.resize(begin + static_cast<size_t>(at - nulls));
}

// ---- INDEXED

bool HasLength(ValueForm form) {
  return IsInBytes(form) && form != ValueForm::kChar && form != ValueForm::kBinary;
}

size_t FixedBytes(const ValuePlan& plan) {
  if (plan.form == ValueForm::kNanos) return sizeof(int64_t) + sizeof(int32_t);
  if (IsInBytes(plan.form)) return static_cast<size_t>(plan.length);
  return NumberBytes(plan.form);
}

size_t LengthsBytes(std::span<const ValuePlan> plans) {
  return sizeof(uint32_t) * static_cast<size_t>(std::ranges::count_if(
                                plans, [](const ValuePlan& p) { return HasLength(p.form); }));
}

Bytes WithoutPadding(Bytes text) {
  while (!text.empty() && text.back() == std::byte{0}) text = text.first(text.size() - 1);
  return text;
}

// `value` is what the field takes in the row.
bool LoadIndexed(const ValuePlan& plan, Bytes value, FieldValue& field, NestedValues nested) {
  if (plan.form == ValueForm::kNanos) {
    field.number = LoadLittle<int64_t>(value.data());
    field.nanos = LoadLittle<int32_t>(value.data() + sizeof(int64_t));
    return IsNanosValue(plan, field.number, field.nanos);
  }
  if (!IsInBytes(plan.form)) return LoadNumber(plan, value.data(), field.number);
  field.bytes = plan.form == ValueForm::kChar ? WithoutPadding(value) : value;
  return IsNested(plan.form) ? IsSoundNested(plan, KvFormat::kIndexed, value, nested)
                             : IsBytesValue(plan, value);
}

size_t DecodeIndexed(std::span<const ValuePlan> plans, Bytes row, std::span<FieldValue> fields,
                     NestedValues nested) {
  const size_t null_bytes = NullBytes(plans.size());
  const size_t head = null_bytes + LengthsBytes(plans);
  if (row.size() < head || !HasNoOtherNulls(row.data(), plans.size())) return plans.size();
  const std::byte* length = row.data() + null_bytes;
  Cursor cursor{row.data() + head, row.data() + row.size()};
  FieldValue unkept;
  for (size_t i = 0; i < plans.size(); ++i) {
    const ValuePlan& plan = plans[i];
    FieldValue& field = fields.empty() ? unkept : fields[i];
    field = {};
    if (IsNull(row.data(), i)) continue;
    field.is_null = false;
    size_t size = FixedBytes(plan);
    if (HasLength(plan.form)) {
      // Only fields that are not null have a length; the list ends with unused ones.
      size = LoadLittle<uint32_t>(length);
      length += sizeof(uint32_t);
    }
    Bytes value;
    if (!cursor.Take(size, value) || !LoadIndexed(plan, value, field, nested)) return i;
  }
  return cursor.at == cursor.end ? kNoFault : plans.size();
}

std::byte* PutIndexed(const ValuePlan& plan, const FieldValue& field, std::byte* at) {
  if (plan.form == ValueForm::kNanos) {
    StoreLittle(at, field.number);
    StoreLittle(at + sizeof(int64_t), field.nanos);
    return at + FixedBytes(plan);
  }
  if (HasLength(plan.form)) return PutBytes(at, field.bytes);
  const size_t size = FixedBytes(plan);
  if (IsInBytes(plan.form)) {  // the rest is zero already
    WEIR_CHECK(field.bytes.size() <= size);
    PutBytes(at, field.bytes);
  } else {
    std::memcpy(at, &field.number, size);
  }
  return at + size;
}

void EncodeIndexed(std::span<const ValuePlan> plans, std::span<const FieldValue> fields,
                   std::string& out) {
  const size_t begin = out.size();
  const size_t null_bytes = NullBytes(plans.size());
  const size_t head = null_bytes + LengthsBytes(plans);
  size_t bytes = head;
  for (size_t i = 0; i < plans.size(); ++i) {
    if (!fields[i].is_null)
      bytes += HasLength(plans[i].form) ? fields[i].bytes.size() : FixedBytes(plans[i]);
  }
  out.resize(begin + bytes);
  auto* const nulls = reinterpret_cast<std::byte*>(out.data() + begin);
  std::byte* length = nulls + null_bytes;
  std::byte* at = nulls + head;
  for (size_t i = 0; i < plans.size(); ++i) {
    if (fields[i].is_null) {
      nulls[i / 8] |= std::byte{1} << (i % 8);
      continue;
    }
    if (HasLength(plans[i].form)) {
      StoreLittle(length, static_cast<uint32_t>(fields[i].bytes.size()));
      length += sizeof(uint32_t);
    }
    at = PutIndexed(plans[i], fields[i], at);
  }
}

}  // namespace

size_t DecodeRow(KvFormat format, std::span<const ValuePlan> plans, Bytes row,
                 std::span<FieldValue> fields, NestedValues nested) {
  return format == KvFormat::kCompacted ? DecodeCompacted(plans, row, fields, nested)
                                        : DecodeIndexed(plans, row, fields, nested);
}

void EncodeRow(KvFormat format, std::span<const ValuePlan> plans,
               std::span<const FieldValue> fields, std::string& out) {
  WEIR_CHECK(fields.size() == plans.size());
  format == KvFormat::kCompacted ? EncodeCompacted(plans, fields, out)
                                 : EncodeIndexed(plans, fields, out);
}

void EncodeCompactedField(const ValuePlan& plan, const FieldValue& field, std::string& out) {
  const size_t begin = out.size();
  out.resize(begin + CompactedBytesMax(plan, field));
  auto* const at = reinterpret_cast<std::byte*>(out.data() + begin);
  out.resize(begin + static_cast<size_t>(PutCompacted(plan, field, at) - at));
}

bool TakeCompactedField(const ValuePlan& plan, Bytes& bytes, FieldValue& field) {
  Cursor cursor{bytes.data(), bytes.data() + bytes.size()};
  field = {};
  field.is_null = false;
  if (!TakeCompacted(plan, cursor, field, NestedValues::kCheck)) return false;
  bytes = bytes.last(cursor.bytes_left());
  return true;
}

RowCodec::RowCodec(KvFormat format, std::vector<DataType> types)
    : format_(format), types_(std::move(types)), plans_(PlansOf(types_)) {}

Status RowCodec::Decode(Bytes row, std::span<FieldValue> fields) const {
  WEIR_CHECK(fields.size() == plans_.size());
  const size_t fault = DecodeRow(format_, plans_, row, fields, NestedValues::kCheck);
  if (fault == kNoFault) return Ok();
  return Fail(ErrorCode::kCorruptBatch,
              "row is not one of its schema's: column={} columns={} row_bytes={}", fault,
              plans_.size(), row.size());
}

void RowCodec::Encode(std::span<const FieldValue> fields, std::string& out) const {
  EncodeRow(format_, plans_, fields, out);
}

}  // namespace weir
