#include "weir/record/column_builder.h"

#include "weir/base/check.h"
#include "weir/record/nested_values.h"
#include "weir/record/row_fields.h"

namespace weir {
namespace {

constexpr size_t BitBytes(size_t count) {
  return (count + 7) / 8;
}

bool HasOffsets(ValueForm form) {
  return form == ValueForm::kChar || form == ValueForm::kText || form == ValueForm::kArray ||
         form == ValueForm::kMap;
}

bool HasValues(ValueForm form) {
  return !IsNested(form);
}

}  // namespace

ColumnBuilder::ColumnBuilder(const ValuePlan& plan, KvFormat rows, MemoryBudget& budget)
    : plan_(plan),
      rows_(rows),
      budget_(budget),
      validity_(budget),
      values_(budget),
      offsets_(budget),
      fields_(plan.form == ValueForm::kRow ? plan.children.size() : 0) {
  children_.reserve(plan.children.size());
  for (const ValuePlan& child : plan.children) children_.emplace_back(child, rows, budget);
  BeginOffsets();
}

void ColumnBuilder::BeginOffsets() {
  if (HasOffsets(plan_.form)) offsets_.Push(int32_t{0});
}

void ColumnBuilder::AppendNull() {
  if (null_count_ == 0) {
    // All values before were valid.
    const size_t bytes = BitBytes(length_);
    if (bytes != 0) std::memset(validity_.Extend(bytes), 0xff, bytes);
    if (length_ % 8 != 0 && !budget_.is_exceeded)
      validity_[bytes - 1] = static_cast<std::byte>((1 << (length_ % 8)) - 1);
  }
  ++null_count_;
  AppendValidity(false);
  ++length_;
  AppendZero();
}

void ColumnBuilder::AppendValidity(bool is_valid) {
  AppendBit(validity_, length_, is_valid);
}

void ColumnBuilder::AppendBit(ColumnBuffer& bits, size_t at, bool bit) {
  if (at % 8 == 0) bits.Push(uint8_t{0});
  // There is no such byte after the budget was exceeded.
  if (bit && bits.size() != 0) bits[bits.size() - 1] |= std::byte{1} << (at % 8);
}

void ColumnBuilder::AppendZero() {
  switch (plan_.form) {
    case ValueForm::kBoolean: return AppendBit(values_, length_ - 1, false);
    case ValueForm::kChar:
    case ValueForm::kText: return AppendText({});
    case ValueForm::kArray:
    case ValueForm::kMap: return AppendListEnd();
    case ValueForm::kRow:
      for (ColumnBuilder& child : children_) child.AppendNull();
      return;
    default: {
      const size_t bytes = ColumnNumberBytes(plan_);
      // A single null may take gigabytes here, and a bit in a row.
      if (bytes > budget_.bytes_max) {
        budget_.is_exceeded = true;
      } else {
        values_.AppendZeros(bytes);
      }
    }
  }
}

void ColumnBuilder::AppendOther(const FieldValue& value) {
  switch (plan_.form) {
    case ValueForm::kBoolean: return AppendBit(values_, length_ - 1, value.number != 0);
    case ValueForm::kInt8: return values_.Push(static_cast<int8_t>(value.number));
    case ValueForm::kInt16: return values_.Push(static_cast<int16_t>(value.number));
    case ValueForm::kFloat: return values_.Push(static_cast<uint32_t>(value.number));
    case ValueForm::kTime: return AppendTime(value.number);
    case ValueForm::kDecimal:
    case ValueForm::kBigDecimal: return AppendUnscaled(value);
    case ValueForm::kBinary: return values_.Append(value.bytes);
    case ValueForm::kMillis:
      return values_.Push(plan_.precision == 0 ? value.number / 1000 : value.number);
    case ValueForm::kNanos: return AppendNanos(value);
    case ValueForm::kArray: return AppendArray(value.bytes);
    case ValueForm::kMap: return AppendMap(value.bytes);
    case ValueForm::kRow: return AppendRow(value.bytes);
    case ValueForm::kInt32:
    case ValueForm::kInt64:
    case ValueForm::kDouble:
    case ValueForm::kChar:
    case ValueForm::kText: break;
  }
  WEIR_UNREACHABLE();
}

void ColumnBuilder::AppendUnscaled(const FieldValue& value) {
  if (plan_.form == ValueForm::kDecimal) return values_.Push(Int128{value.number});
  const std::optional<Int128> unscaled = DecodeUnscaled(value.bytes);
  WEIR_CHECK(unscaled.has_value());
  values_.Push(*unscaled);
}

// The unit of TIMEs and TIMESTAMPs follows from their fraction digits: seconds, milliseconds up to
// 3, microseconds up to 6, nanoseconds.
void ColumnBuilder::AppendTime(int64_t millis) {
  if (plan_.precision == 0) return values_.Push(static_cast<int32_t>(millis / 1000));
  if (plan_.precision <= 3) return values_.Push(static_cast<int32_t>(millis));
  values_.Push(millis * (plan_.precision <= 6 ? 1000 : 1'000'000));
}

void ColumnBuilder::AppendNanos(const FieldValue& value) {
  values_.Push(plan_.precision <= 6 ? value.number * 1000 + value.nanos / 1000
                                    : value.number * 1'000'000 + value.nanos);
}

void ColumnBuilder::AppendArray(Bytes array) {
  const auto view = ArrayView::Open(array, plan_.children[0]);
  WEIR_CHECK(view.has_value());
  FieldValue element;
  for (size_t i = 0; i < view->count(); ++i) {
    WEIR_CHECK(view->Load(i, element));
    children_[0].Append(element);
  }
  AppendListEnd();
}

void ColumnBuilder::AppendMap(Bytes map) {
  const auto view = MapView::Open(map, plan_);
  WEIR_CHECK(view.has_value());
  FieldValue element;
  for (size_t i = 0; i < view->keys.count(); ++i) {
    WEIR_CHECK(view->keys.Load(i, element));
    children_[0].Append(element);
    WEIR_CHECK(view->values.Load(i, element));
    children_[1].Append(element);
  }
  AppendListEnd();
}

void ColumnBuilder::AppendRow(Bytes row) {
  WEIR_CHECK(DecodeRow(rows_, plan_.children, row, fields_, NestedValues::kTrust) == kNoFault);
  for (size_t i = 0; i < children_.size(); ++i) children_[i].Append(fields_[i]);
}

void ColumnBuilder::AppendListEnd() {
  offsets_.Push(static_cast<int32_t>(children_[0].length_));
}

// Of bits that are all set.
void ColumnBuilder::AddBits(ArrowBody& body, size_t count) const {
  std::string bits(BitBytes(count), '\xff');
  if (count % 8 != 0) bits.back() = static_cast<char>((1 << (count % 8)) - 1);
  body.AddBuffer(AsBytes(bits));
}

void ColumnBuilder::AddTo(ArrowBody& body) const {
  body.AddNode(static_cast<int64_t>(length_), static_cast<int64_t>(null_count_));
  // Also where nothing is null, as the writers in Java and Rust do.
  if (null_count_ == 0) {
    AddBits(body, length_);
  } else {
    body.AddBuffer(validity_.bytes());
  }
  if (HasOffsets(plan_.form)) body.AddBuffer(offsets_.bytes());
  if (HasValues(plan_.form)) body.AddBuffer(values_.bytes());
  if (plan_.form == ValueForm::kMap) {
    // The entries: a struct that is never null.
    const size_t count = children_[0].length_;
    body.AddNode(static_cast<int64_t>(count), 0);
    AddBits(body, count);
  }
  for (const ColumnBuilder& child : children_) child.AddTo(body);
}

size_t ColumnBuilder::bytes() const {
  size_t bytes = BitBytes(length_) + values_.size() + offsets_.size();
  for (const ColumnBuilder& child : children_) bytes += child.bytes();
  return bytes;
}

void ColumnBuilder::Clear() {
  length_ = 0;
  null_count_ = 0;
  validity_.Clear();
  values_.Clear();
  offsets_.Clear();
  BeginOffsets();
  for (ColumnBuilder& child : children_) child.Clear();
}

void ColumnBuilder::Release() {
  for (ColumnBuffer* buffer : {&validity_, &values_, &offsets_}) buffer->Release();
  for (ColumnBuilder& child : children_) child.Release();
  Clear();
}

}  // namespace weir
