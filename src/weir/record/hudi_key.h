// Bucket keys of tables with the lake format Hudi: the hash of a list of texts. Format:
// docs/formats/keys.md (Fluss HudiKeyEncoder).
#pragma once

#include <cstdint>
#include <span>

#include "weir/base/result.h"
#include "weir/record/data_type.h"
#include "weir/record/row.h"

namespace weir {

/// Whether values of this type have a text.
bool HasHudiText(const DataType& type);

/// The hash of `fields`, none of which is null. Errors: kCorruptBatch: a text that is not UTF-8, or
/// that Hudi takes for something else in a key of several columns; a TIMESTAMP beyond the years 0
/// to 9999.
Result<int32_t> HudiKeyHash(std::span<const DataType> types, std::span<const FieldValue> fields);

}  // namespace weir
