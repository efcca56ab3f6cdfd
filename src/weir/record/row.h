// Rows as primary-key tables store them and send them: COMPACTED and INDEXED. Format:
// docs/formats/rows.md (Fluss CompactedRow and IndexedRow).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weir/base/bytes.h"
#include "weir/base/result.h"
#include "weir/record/data_type.h"
#include "weir/record/table_choices.h"
#include "weir/record/value_plan.h"

namespace weir {

/// One field of a row. Which member holds it is told by its type. Bytes belong to whoever owns the
/// row.
struct FieldValue {
  bool is_null = true;
  /// Nanoseconds within the millisecond, of TIMESTAMPs with more than 3 fraction digits.
  int32_t nanos = 0;
  /// BOOLEAN (0, 1), the integers, DATE (days), TIME (milliseconds of the day), DECIMALs of up to
  /// 18 digits (unscaled), TIMESTAMPs (milliseconds); the bits of a FLOAT (in the low half) or a
  /// DOUBLE.
  int64_t number = 0;
  /// CHAR, STRING, BINARY and BYTES; DECIMALs of more digits (big-endian two's complement); nested
  /// values as they stand in the row.
  Bytes bytes;
};

/// Whether values of this type stand in FieldValue::bytes.
bool IsInBytes(const DataType& type);

/// Reads and writes rows of one schema version. Immutable; may be used by any thread.
class RowCodec {
 public:
  RowCodec(KvFormat format, std::vector<DataType> types);

  KvFormat format() const { return format_; }
  std::span<const DataType> types() const { return types_; }

  /// Takes `row` apart. `fields` has one entry a column. Errors: kCorruptBatch unless `row` is a
  /// row of these columns, whole and with nothing behind it, nested values included.
  Status Decode(Bytes row, std::span<FieldValue> fields) const;

  /// Appends the row of `fields` to `out`. They have what Decode gives, or what fits the types.
  void Encode(std::span<const FieldValue> fields, std::string& out) const;

 private:
  KvFormat format_;
  std::vector<DataType> types_;
  std::vector<ValuePlan> plans_;
};

}  // namespace weir
