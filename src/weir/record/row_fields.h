// Taking rows apart and putting them together by the plans of their fields: what RowCodec does, and
// what rows inside of other values need. Format: docs/formats/rows.md.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>

#include "weir/base/bytes.h"
#include "weir/record/row.h"
#include "weir/record/table_choices.h"
#include "weir/record/value_plan.h"

namespace weir {

/// Whether nested values are looked into, or were before.
enum class NestedValues : uint8_t { kCheck, kTrust };

inline constexpr size_t kNoFault = std::numeric_limits<size_t>::max();

/// Takes `row` apart into `fields`, which has an entry a plan, or none if the row is only checked.
/// Returns kNoFault, or the first field that is not sound; the number of fields if it is what
/// stands before or behind all of them.
size_t DecodeRow(KvFormat format, std::span<const ValuePlan> plans, Bytes row,
                 std::span<FieldValue> fields, NestedValues nested);

/// Appends a row. `fields` has an entry a plan.
void EncodeRow(KvFormat format, std::span<const ValuePlan> plans,
               std::span<const FieldValue> fields, std::string& out);

/// One field as it stands in a COMPACTED row, where it is not null.
void EncodeCompactedField(const ValuePlan& plan, const FieldValue& field, std::string& out);

/// Takes such a field off the front of `bytes`; not if it is not sound. Nested values are checked.
bool TakeCompactedField(const ValuePlan& plan, Bytes& bytes, FieldValue& field);

}  // namespace weir
