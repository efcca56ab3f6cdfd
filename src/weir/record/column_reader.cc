#include "weir/record/column_reader.h"

#include "weir/base/check.h"
#include "weir/record/nested_values.h"
#include "weir/record/row_fields.h"

namespace weir {
namespace {

template <typename... Args>
Error Corrupt(fmt::format_string<Args...> what, Args&&... args) {
  return Fail(ErrorCode::kCorruptBatch, "arrow column is not valid: {}",
              fmt::format(what, std::forward<Args>(args)...));
}

// Buffers may be as long as the widest padding makes them.
constexpr size_t WithPadding(size_t bytes) {
  constexpr size_t kPaddingMax = 64;
  return (bytes + kPaddingMax - 1) / kPaddingMax * kPaddingMax;
}

Result<Bytes> TakeSized(ArrowBodyReader& body, size_t bytes) {
  return body.TakeBuffer(bytes, WithPadding(bytes));
}

constexpr size_t BitBytes(size_t count) {
  return count / 8 + (count % 8 != 0 ? 1 : 0);
}

}  // namespace

Result<ColumnReader> ColumnReader::Open(const ValuePlan& plan, KvFormat rows, size_t length,
                                        ArrowBodyReader& body) {
  WEIR_ASSIGN(const ArrowNode node, body.TakeNode());
  if (node.length != static_cast<int64_t>(length)) {
    return Corrupt("length={} expected={}", node.length, length);
  }
  ColumnReader column(plan, rows, length);
  WEIR_ASSIGN(column.validity_, TakeValidity(node, body));
  WEIR_TRY(column.OpenValues(body));
  return column;
}

Status ColumnReader::OpenValues(ArrowBodyReader& body) {
  switch (plan_->form) {
    case ValueForm::kChar:
    case ValueForm::kText: return OpenText(body);
    case ValueForm::kArray:
    case ValueForm::kMap: return OpenList(body);
    case ValueForm::kRow: return OpenRow(body);
    default: break;
  }
  // No overflow: width and length have 31 bits.
  const size_t bytes =
      plan_->form == ValueForm::kBoolean ? BitBytes(length_) : ColumnNumberBytes(*plan_) * length_;
  WEIR_ASSIGN(values_, TakeSized(body, bytes));
  return Ok();
}

Status ColumnReader::OpenText(ArrowBodyReader& body) {
  WEIR_TRY(TakeOffsets(body));
  WEIR_ASSIGN(values_, body.TakeBuffer(0, kArrowBodyBytesMax));
  return CheckOffsets(values_.size());
}

// Writers in C++ leave it out where nothing is null.
Result<const std::byte*> ColumnReader::TakeValidity(const ArrowNode& node, ArrowBodyReader& body) {
  const size_t bytes = BitBytes(static_cast<size_t>(node.length));
  WEIR_ASSIGN(const Bytes bits,
              body.TakeBuffer(node.null_count == 0 ? 0 : bytes, WithPadding(bytes)));
  return node.null_count == 0 ? nullptr : bits.data();
}

Status ColumnReader::TakeOffsets(ArrowBodyReader& body) {
  const bool has_none = length_ == 0 && body.is_next_empty();
  WEIR_ASSIGN(const Bytes offsets,
              TakeSized(body, has_none ? 0 : (length_ + 1) * sizeof(uint32_t)));
  offsets_ = has_none ? nullptr : offsets.data();
  return Ok();
}

Status ColumnReader::CheckOffsets(size_t end) const {
  if (offsets_ == nullptr) return Ok();
  bool is_ascending = true;
  for (size_t i = 0; i < length_; ++i) is_ascending &= OffsetAt(i) <= OffsetAt(i + 1);
  if (is_ascending && OffsetAt(length_) <= end) return Ok();
  return Corrupt("offsets of {} values do not ascend or lie behind {}", length_, end);
}

Status ColumnReader::OpenList(ArrowBodyReader& body) {
  WEIR_TRY(TakeOffsets(body));
  size_t count = 0;
  if (plan_->form == ValueForm::kMap) {
    WEIR_ASSIGN(const ArrowNode entries, body.TakeNode());
    if (entries.null_count != 0) return Corrupt("null_entries={}", entries.null_count);
    WEIR_TRY(TakeValidity(entries, body));
    count = static_cast<size_t>(entries.length);
  } else {
    count = static_cast<size_t>(body.next_node_length());
  }
  // As many as the format can tell.
  if (count > std::numeric_limits<int32_t>::max()) return Corrupt("elements={}", count);
  WEIR_TRY(CheckOffsets(count));
  for (const ValuePlan& child : plan_->children) {
    WEIR_ASSIGN(ColumnReader column, Open(child, rows_, count, body));
    children_.push_back(std::move(column));
  }
  return Ok();
}

Status ColumnReader::OpenRow(ArrowBodyReader& body) {
  fields_.resize(plan_->children.size());
  for (const ValuePlan& child : plan_->children) {
    WEIR_ASSIGN(ColumnReader column, Open(child, rows_, length_, body));
    children_.push_back(std::move(column));
  }
  return Ok();
}

bool ColumnReader::ReadOther(size_t i, FieldValue& value) {
  switch (plan_->form) {
    case ValueForm::kBoolean: value.number = BitAt(values_.data(), i) ? 1 : 0; return true;
    case ValueForm::kInt8: value.number = At<int8_t>(i); return true;
    case ValueForm::kInt16: value.number = At<int16_t>(i); return true;
    case ValueForm::kFloat: value.number = At<uint32_t>(i); return true;
    case ValueForm::kTime: return ReadTime(i, value);
    case ValueForm::kMillis: return ReadMillis(i, value);
    case ValueForm::kNanos: return ReadNanos(i, value);
    case ValueForm::kDecimal:
    case ValueForm::kBigDecimal: return ReadUnscaled(i, value);
    case ValueForm::kChar: value.bytes = TextAt(i); return IsCharValue(*plan_, rows_, value.bytes);
    case ValueForm::kBinary: {
      const auto width = static_cast<size_t>(plan_->length);
      value.bytes = values_.subspan(i * width, width);
      return true;
    }
    case ValueForm::kArray: return ReadArray(i, value);
    case ValueForm::kMap: return ReadMap(i, value);
    case ValueForm::kRow: return ReadRow(i, value);
    case ValueForm::kInt32:
    case ValueForm::kInt64:
    case ValueForm::kDouble:
    case ValueForm::kText: break;
  }
  WEIR_UNREACHABLE();
}

bool ColumnReader::ReadTime(size_t i, FieldValue& value) const {
  if (plan_->precision <= 3) {
    value.number = int64_t{At<int32_t>(i)} * (plan_->precision == 0 ? 1000 : 1);
  } else {
    value.number = At<int64_t>(i) / (plan_->precision <= 6 ? 1000 : 1'000'000);
  }
  return IsTimeValue(value.number);
}

bool ColumnReader::ReadMillis(size_t i, FieldValue& value) const {
  const int64_t unit = plan_->precision == 0 ? 1000 : 1;
  return !__builtin_mul_overflow(At<int64_t>(i), unit, &value.number);
}

bool ColumnReader::ReadNanos(size_t i, FieldValue& value) const {
  const int64_t in_milli = plan_->precision <= 6 ? 1000 : kNanosOfMilli;
  const auto stored = At<int64_t>(i);
  value.number = FloorDivide(stored, in_milli);
  value.nanos =
      static_cast<int32_t>((stored - value.number * in_milli) * (kNanosOfMilli / in_milli));
  return IsNanosValue(*plan_, value.number, value.nanos);
}

bool ColumnReader::ReadUnscaled(size_t i, FieldValue& value) {
  const auto unscaled = At<Int128>(i);
  if (!FitsDigits(unscaled, plan_->precision)) return false;
  if (plan_->form == ValueForm::kDecimal) {
    value.number = static_cast<int64_t>(unscaled);
  } else {
    value.bytes = StoreUnscaled(unscaled, unscaled_);
  }
  return true;
}

bool ColumnReader::ReadArray(size_t i, FieldValue& value) {
  nested_.clear();
  if (!AppendArray(0, OffsetAt(i), OffsetAt(i + 1), true)) return false;
  value.bytes = AsBytes(nested_);
  return true;
}

bool ColumnReader::ReadMap(size_t i, FieldValue& value) {
  nested_.assign(kMapHeadBytes, '\0');
  if (!AppendArray(0, OffsetAt(i), OffsetAt(i + 1), false)) return false;
  EndMapKeys(0, nested_);
  if (!AppendArray(1, OffsetAt(i), OffsetAt(i + 1), true)) return false;
  value.bytes = AsBytes(nested_);
  return true;
}

bool ColumnReader::AppendArray(size_t child, size_t begin, size_t end, bool has_nulls) {
  const ValuePlan& plan = plan_->children[child];
  // With a byte to spare for each of eight null bits.
  if (nested_.size() + (end - begin) * (SlotBytes(plan.form) + 1) > kNestedValueBytesMax)
    return false;
  ArrayWriter writer(plan, end - begin, nested_);
  FieldValue element;
  for (size_t i = begin; i < end; ++i) {
    if (!children_[child].Read(i, element) || (element.is_null && !has_nulls)) return false;
    if (nested_.size() + element.bytes.size() > kNestedValueBytesMax) return false;
    writer.Set(i - begin, element);
  }
  return true;
}

bool ColumnReader::ReadRow(size_t i, FieldValue& value) {
  size_t bytes = 0;
  for (size_t child = 0; child < children_.size(); ++child) {
    if (!children_[child].Read(i, fields_[child])) return false;
    bytes += fields_[child].bytes.size();
  }
  if (bytes > kNestedValueBytesMax) return false;
  nested_.clear();
  EncodeRow(rows_, plan_->children, fields_, nested_);
  value.bytes = AsBytes(nested_);
  return true;
}

}  // namespace weir
