// Makes a column of an ARROW batch of the fields of rows, one after the other. Format:
// docs/formats/log_batch.md.
#pragma once

#include <vector>

#include "weir/record/arrow_body.h"
#include "weir/record/column_buffer.h"
#include "weir/record/row.h"
#include "weir/record/table_choices.h"
#include "weir/record/value_plan.h"

namespace weir {

class ColumnBuilder {
 public:
  /// `plan` and `budget` outlive the builder. `rows` is the form of nested rows.
  ColumnBuilder(const ValuePlan& plan, KvFormat rows, MemoryBudget& budget);

  /// Adds a value of the plan's type. Once the budget is exceeded the column is not to be used
  /// before it is cleared.
  void Append(const FieldValue& value) {
    if (value.is_null) [[unlikely]]
      return AppendNull();
    AppendValid();
    switch (plan_.form) {
      case ValueForm::kInt32: values_.Push(static_cast<int32_t>(value.number)); break;
      case ValueForm::kInt64:
      case ValueForm::kDouble: values_.Push(value.number); break;
      case ValueForm::kChar:
      case ValueForm::kText: AppendText(value.bytes); break;
      default: AppendOther(value);
    }
  }

  /// Appends the column to the records.
  void AddTo(ArrowBody& body) const;

  /// What AddTo will add before it is compressed.
  size_t bytes() const;

  void Clear();
  /// Clears and gives the memory back.
  void Release();

 private:
  void AppendValid() {
    if (null_count_ != 0) AppendValidity(true);
    ++length_;
  }
  void AppendText(Bytes bytes) {
    values_.Append(bytes);
    offsets_.Push(static_cast<int32_t>(values_.size()));
  }
  void AppendNull();
  /// Appends the bit of the value that comes next.
  void AppendValidity(bool is_valid);
  static void AppendBit(ColumnBuffer& bits, size_t at, bool bit);
  /// What stands in the place of a null.
  void AppendZero();
  void AppendOther(const FieldValue& value);
  void AppendUnscaled(const FieldValue& value);
  void AppendTime(int64_t millis);
  void AppendNanos(const FieldValue& value);
  void AppendArray(Bytes array);
  void AppendMap(Bytes map);
  void AppendRow(Bytes row);
  void BeginOffsets();
  /// Of an ARRAY or a MAP: the offset behind all elements that there are.
  void AppendListEnd();
  void AddBits(ArrowBody& body, size_t count) const;

  const ValuePlan& plan_;
  const KvFormat rows_;
  MemoryBudget& budget_;
  size_t length_ = 0;
  size_t null_count_ = 0;
  /// Empty before the first null.
  ColumnBuffer validity_;
  /// Numbers, bits or the bytes of text.
  ColumnBuffer values_;
  ColumnBuffer offsets_;
  std::vector<ColumnBuilder> children_;
  /// Of a nested row.
  std::vector<FieldValue> fields_;
};

}  // namespace weir
