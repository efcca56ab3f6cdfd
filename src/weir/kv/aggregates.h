// Aggregate functions: how the values of one column become one. The rules stand in docs/tables.md
// (aggregate functions).
#pragma once

#include <string>

#include "weir/base/result.h"
#include "weir/record/row.h"
#include "weir/record/schema.h"

namespace weir {

/// Combines the values of one column. What it computes is in memory of its own.
class Aggregator {
 public:
  /// The function and the type fit (CheckAggregation).
  Aggregator(Aggregate function, std::string delimiter, DataType type);

  /// What a column's aggregation asks for; last_value_ignore_nulls if it asks for nothing.
  static Aggregator Of(const Column& column);

  /// Whether `first` can be combined with others later. Errors: kInvalidValue.
  Status CheckFirst(const FieldValue& first) const;

  /// `result` becomes the combination of what there was and what comes. Its bytes are those of
  /// `old` or `input`, or in this object until the next call. Errors: kInvalidValue: a DECIMAL that
  /// has more digits than its type, a CHAR that is too long, bytes that are no bitmap.
  Status Combine(const FieldValue& old, const FieldValue& input, FieldValue& result);

 private:
  Status Compute(const FieldValue& old, const FieldValue& input, FieldValue& result);
  Status Calculate(const FieldValue& old, const FieldValue& input, FieldValue& result);
  Status CalculateDecimal(const FieldValue& old, const FieldValue& input, FieldValue& result);
  Status Concatenate(const FieldValue& old, const FieldValue& input, FieldValue& result);

  Aggregate function_;
  std::string delimiter_;
  DataType type_;
  std::string scratch_;
};

/// Order of two values that are not null, of a type that has `max`: negative, zero or positive.
/// Text is ordered by its bytes; NaN is above all numbers, and -0.0 below 0.0.
int CompareFields(const DataType& type, const FieldValue& a, const FieldValue& b);

}  // namespace weir
