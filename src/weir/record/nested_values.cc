#include "weir/record/nested_values.h"

#include <algorithm>
#include <vector>

#include "weir/base/check.h"
#include "weir/record/row_fields.h"

namespace weir {
namespace {

constexpr size_t kWord = 8;
constexpr size_t kInlineBytesMax = 7;
constexpr uint8_t kInlineMark = 0x80;
constexpr size_t kCountBytes = sizeof(int32_t);

constexpr size_t Padded(size_t bytes) {
  return (bytes + kWord - 1) / kWord * kWord;
}

constexpr size_t ArrayHeadBytes(size_t count) {
  return kCountBytes + (count + 31) / 32 * 4;
}

bool LoadPart(Bytes container, const std::byte* slot, Bytes& part) {
  const auto length = LoadLittle<uint32_t>(slot);
  const auto position = LoadLittle<uint32_t>(slot + 4);
  if (position > container.size() || length > container.size() - position) return false;
  part = container.subspan(position, length);
  return true;
}

bool LoadBytes(const ValuePlan& plan, Bytes container, const std::byte* slot, Bytes& bytes) {
  const auto mark = std::to_integer<uint8_t>(slot[kInlineBytesMax]);
  if (!IsNested(plan.form) && plan.form != ValueForm::kBigDecimal && (mark & kInlineMark) != 0) {
    const size_t length = mark & ~kInlineMark;
    if (length > kInlineBytesMax) return false;
    bytes = {slot, length};
  } else if (!LoadPart(container, slot, bytes)) {
    return false;
  }
  return IsBytesValue(plan, bytes);
}

bool LoadNanos(const ValuePlan& plan, Bytes container, const std::byte* slot, FieldValue& value) {
  value.nanos = LoadLittle<int32_t>(slot);
  const auto position = LoadLittle<uint32_t>(slot + 4);
  if (container.size() < sizeof(int64_t) || position > container.size() - sizeof(int64_t))
    return false;
  value.number = LoadLittle<int64_t>(&container[position]);
  return IsNanosValue(plan, value.number, value.nanos);
}

void StorePart(Bytes part, size_t padded_bytes, size_t container, size_t slot, std::string& out) {
  const size_t position = out.size() - container;
  out += AsText(part);
  out.resize(container + position + padded_bytes);
  auto* at = reinterpret_cast<std::byte*>(out.data() + slot);
  StoreLittle(at, static_cast<uint32_t>(part.size()));
  StoreLittle(at + 4, static_cast<uint32_t>(position));
}

void StoreBytes(const ValuePlan& plan, Bytes bytes, size_t container, size_t slot,
                std::string& out) {
  if (plan.form == ValueForm::kBigDecimal) {
    StorePart(bytes, kUnscaledBytesMax, container, slot, out);
  } else if (IsNested(plan.form) || bytes.size() > kInlineBytesMax) {
    StorePart(bytes, Padded(bytes.size()), container, slot, out);
  } else {
    auto* at = reinterpret_cast<std::byte*>(out.data() + slot);
    if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
    at[kInlineBytesMax] = static_cast<std::byte>(kInlineMark | bytes.size());
  }
}

bool IsArray(const ValuePlan& element, KvFormat format, Bytes array, bool has_nulls) {
  const auto view = ArrayView::Open(array, element);
  if (!view) return false;
  size_t bytes_left = array.size();
  for (size_t i = 0; i < view->count(); ++i) {
    FieldValue value;
    if (!view->Load(i, value)) return false;
    if (value.is_null) {
      if (!has_nulls) return false;
      continue;
    }
    // Without this, many slots could point to the same bytes, and a small array would be a large
    // one everywhere else.
    if (value.bytes.size() > bytes_left) return false;
    bytes_left -= value.bytes.size();
    if (IsNested(element.form) && !IsNestedValue(element, format, value.bytes)) return false;
  }
  return true;
}

bool IsMap(const ValuePlan& plan, KvFormat format, Bytes map) {
  if (!MapView::Open(map, plan)) return false;
  const auto key_bytes = LoadLittle<uint32_t>(map.data());
  return IsArray(plan.children[0], format, map.subspan(kMapHeadBytes, key_bytes), false) &&
         IsArray(plan.children[1], format, map.subspan(kMapHeadBytes + key_bytes), true);
}

bool TranscodeNested(const ValuePlan& plan, KvFormat from, Bytes value, KvFormat to,
                     std::string& out);

bool TranscodeArray(const ValuePlan& element, KvFormat from, const ArrayView& array, KvFormat to,
                    std::string& out) {
  ArrayWriter writer(element, array.count(), out);
  std::string scratch;
  for (size_t i = 0; i < array.count(); ++i) {
    FieldValue value;
    WEIR_CHECK(array.Load(i, value));
    // In arrays a CHAR may be of any length.
    if (element.form != ValueForm::kChar && !Transcode(element, from, to, value, scratch))
      return false;
    writer.Set(i, value);
  }
  return true;
}

bool TranscodeMap(const ValuePlan& plan, KvFormat from, const MapView& map, KvFormat to,
                  std::string& out) {
  out.resize(kMapHeadBytes);
  if (!TranscodeArray(plan.children[0], from, map.keys, to, out)) return false;
  EndMapKeys(0, out);
  return TranscodeArray(plan.children[1], from, map.values, to, out);
}

bool TranscodeRow(const ValuePlan& plan, KvFormat from, Bytes row, KvFormat to, std::string& out) {
  std::vector<FieldValue> fields(plan.children.size());
  WEIR_CHECK(DecodeRow(from, plan.children, row, fields, NestedValues::kTrust) == kNoFault);
  std::vector<std::string> nested(fields.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    if (!Transcode(plan.children[i], from, to, fields[i], nested[i])) return false;
  }
  EncodeRow(to, plan.children, fields, out);
  return true;
}

// Appends the value, which is sound, to `out`, which is empty.
bool TranscodeNested(const ValuePlan& plan, KvFormat from, Bytes value, KvFormat to,
                     std::string& out) {
  switch (plan.form) {
    case ValueForm::kArray: {
      const auto array = ArrayView::Open(value, plan.children[0]);
      WEIR_CHECK(array.has_value());
      return TranscodeArray(plan.children[0], from, *array, to, out);
    }
    case ValueForm::kMap: {
      const auto map = MapView::Open(value, plan);
      WEIR_CHECK(map.has_value());
      return TranscodeMap(plan, from, *map, to, out);
    }
    case ValueForm::kRow: return TranscodeRow(plan, from, value, to, out);
    default: WEIR_UNREACHABLE();
  }
}

// Whether rows are part of values of this type, which are the same in both forms otherwise.
bool HasRows(const ValuePlan& plan) {
  return plan.form == ValueForm::kRow || std::ranges::any_of(plan.children, HasRows);
}

}  // namespace

size_t SlotBytes(ValueForm form) {
  const size_t bytes = NumberBytes(form);
  return bytes == 0 ? kWord : bytes;
}

bool LoadSlot(const ValuePlan& plan, Bytes container, size_t slot, FieldValue& value) {
  const std::byte* at = container.data() + slot;
  value = {};
  value.is_null = false;
  if (IsInBytes(plan.form)) return LoadBytes(plan, container, at, value.bytes);
  if (plan.form == ValueForm::kNanos) return LoadNanos(plan, container, at, value);
  return LoadNumber(plan, at, value.number);
}

void StoreSlot(const ValuePlan& plan, const FieldValue& value, size_t container, size_t slot,
               std::string& out) {
  if (IsInBytes(plan.form)) return StoreBytes(plan, value.bytes, container, slot, out);
  if (plan.form == ValueForm::kNanos) {
    const size_t position = out.size() - container;
    out.resize(out.size() + sizeof(int64_t));
    auto* begin = reinterpret_cast<std::byte*>(out.data());
    StoreLittle(begin + container + position, value.number);
    StoreLittle(begin + slot, value.nanos);
    StoreLittle(begin + slot + 4, static_cast<uint32_t>(position));
    return;
  }
  // The low bytes of the number, in which it fits.
  std::memcpy(out.data() + slot, &value.number, SlotBytes(plan.form));
}

std::optional<ArrayView> ArrayView::Open(Bytes array, const ValuePlan& element) {
  if (array.size() < kCountBytes) return std::nullopt;
  const size_t count = LoadLittle<uint32_t>(array.data());
  if (ArrayHeadBytes(count) + count * SlotBytes(element.form) > array.size()) return std::nullopt;
  return ArrayView(array, element, count);
}

bool ArrayView::Load(size_t i, FieldValue& value) const {
  const auto nulls = std::to_integer<uint8_t>(array_[kCountBytes + i / 8]);
  if ((nulls >> (i % 8) & 1) != 0) {
    value = {};
    return true;
  }
  return LoadSlot(element_, array_, ArrayHeadBytes(count_) + i * SlotBytes(element_.form), value);
}

ArrayWriter::ArrayWriter(const ValuePlan& element, size_t count, std::string& out)
    : element_(element), out_(out), begin_(out.size()), slots_(out.size() + ArrayHeadBytes(count)) {
  out.resize(begin_ + Padded(ArrayHeadBytes(count) + count * SlotBytes(element.form)));
  StoreLittle(reinterpret_cast<std::byte*>(out.data() + begin_), static_cast<uint32_t>(count));
}

void ArrayWriter::Set(size_t i, const FieldValue& value) {
  if (value.is_null) {
    char& nulls = out_[begin_ + kCountBytes + i / 8];
    nulls = static_cast<char>(nulls | 1 << (i % 8));
    return;
  }
  StoreSlot(element_, value, begin_, slots_ + i * SlotBytes(element_.form), out_);
}

std::optional<MapView> MapView::Open(Bytes map, const ValuePlan& plan) {
  if (map.size() < kMapHeadBytes) return std::nullopt;
  const auto key_bytes = LoadLittle<uint32_t>(map.data());
  const Bytes arrays = map.subspan(kMapHeadBytes);
  if (key_bytes > arrays.size()) return std::nullopt;
  const auto keys = ArrayView::Open(arrays.first(key_bytes), plan.children[0]);
  const auto values = ArrayView::Open(arrays.subspan(key_bytes), plan.children[1]);
  if (!keys || !values || keys->count() != values->count()) return std::nullopt;
  return MapView{*keys, *values};
}

void EndMapKeys(size_t begin, std::string& out) {
  StoreLittle(reinterpret_cast<std::byte*>(out.data() + begin),
              static_cast<uint32_t>(out.size() - begin - kMapHeadBytes));
}

bool IsNestedValue(const ValuePlan& plan, KvFormat format, Bytes value) {
  switch (plan.form) {
    case ValueForm::kArray: return IsArray(plan.children[0], format, value, true);
    case ValueForm::kMap: return IsMap(plan, format, value);
    case ValueForm::kRow:
      return DecodeRow(format, plan.children, value, {}, NestedValues::kCheck) == kNoFault;
    default: WEIR_UNREACHABLE();
  }
}

bool Transcode(const ValuePlan& plan, KvFormat from, KvFormat to, FieldValue& field,
               std::string& scratch) {
  if (field.is_null) return true;
  if (plan.form == ValueForm::kChar) return IsCharValue(plan, to, field.bytes);
  if (!IsNested(plan.form) || !HasRows(plan)) return true;
  scratch.clear();
  if (!TranscodeNested(plan, from, field.bytes, to, scratch)) return false;
  field.bytes = AsBytes(scratch);
  return true;
}

}  // namespace weir
