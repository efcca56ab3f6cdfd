// Reads a column of an ARROW batch value by value, as fields of rows. Format:
// docs/formats/log_batch.md.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "weir/base/bytes.h"
#include "weir/base/result.h"
#include "weir/record/arrow_body_reader.h"
#include "weir/record/row.h"
#include "weir/record/table_choices.h"
#include "weir/record/value_plan.h"

namespace weir {

/// A nested value that is made of columns takes no more than this: twice what a batch may have.
inline constexpr size_t kNestedValueBytesMax = size_t{200} << 20;

class ColumnReader {
 public:
  /// Takes the nodes and buffers of a column of `length` values. `plan` and the memory of `body`
  /// outlive the reader. `rows` is the form that nested rows are to have. Errors: kCorruptBatch.
  static Result<ColumnReader> Open(const ValuePlan& plan, KvFormat rows, size_t length,
                                   ArrowBodyReader& body);

  /// Reads value `i`. Its bytes lie in the column or, until the next call, in the reader. Not if
  /// it is none of its type.
  bool Read(size_t i, FieldValue& value) {
    value = {};
    if (validity_ != nullptr && !BitAt(validity_, i)) return true;
    value.is_null = false;
    switch (plan_->form) {
      case ValueForm::kInt32: value.number = At<int32_t>(i); return true;
      case ValueForm::kInt64:
      case ValueForm::kDouble: value.number = At<int64_t>(i); return true;
      case ValueForm::kText: value.bytes = TextAt(i); return true;
      default: return ReadOther(i, value);
    }
  }

  size_t length() const { return length_; }

 private:
  ColumnReader(const ValuePlan& plan, KvFormat rows, size_t length)
      : plan_(&plan), rows_(rows), length_(length) {}

  static bool BitAt(const std::byte* bits, size_t i) {
    return (std::to_integer<uint8_t>(bits[i / 8]) >> (i % 8) & 1) != 0;
  }
  template <typename T>
  T At(size_t i) const {
    return LoadLittle<T>(values_.data() + i * sizeof(T));
  }
  size_t OffsetAt(size_t i) const { return LoadLittle<uint32_t>(offsets_ + i * sizeof(uint32_t)); }
  Bytes TextAt(size_t i) const {
    const size_t begin = OffsetAt(i);
    return {values_.data() + begin, OffsetAt(i + 1) - begin};
  }

  static Result<const std::byte*> TakeValidity(const ArrowNode& node, ArrowBodyReader& body);
  Status OpenValues(ArrowBodyReader& body);
  Status OpenText(ArrowBodyReader& body);
  Status TakeOffsets(ArrowBodyReader& body);
  Status CheckOffsets(size_t end) const;
  Status OpenList(ArrowBodyReader& body);
  Status OpenRow(ArrowBodyReader& body);

  bool ReadOther(size_t i, FieldValue& value);
  bool ReadTime(size_t i, FieldValue& value) const;
  bool ReadMillis(size_t i, FieldValue& value) const;
  bool ReadNanos(size_t i, FieldValue& value) const;
  bool ReadUnscaled(size_t i, FieldValue& value);
  bool ReadArray(size_t i, FieldValue& value);
  bool ReadMap(size_t i, FieldValue& value);
  bool ReadRow(size_t i, FieldValue& value);
  /// Appends the elements [begin, end) of a child as an array to nested_.
  bool AppendArray(size_t child, size_t begin, size_t end, bool has_nulls);

  const ValuePlan* plan_;
  KvFormat rows_;
  size_t length_;
  /// Null if nothing is null.
  const std::byte* validity_ = nullptr;
  /// Null if there are none, because there are no values.
  const std::byte* offsets_ = nullptr;
  Bytes values_;
  std::vector<ColumnReader> children_;
  /// The value that was read last, if it does not stand in the column as it does in rows.
  std::string nested_;
  std::array<std::byte, kUnscaledBytesMax> unscaled_;
  std::vector<FieldValue> fields_;
};

}  // namespace weir
