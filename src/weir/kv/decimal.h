// What aggregation computes with DECIMALs, by their unscaled values.
#pragma once

#include <optional>

#include "weir/record/unscaled.h"

namespace weir {

/// Nothing if the sum has more than `digits` digits.
std::optional<Int128> AddDecimals(Int128 a, Int128 b, int digits);

/// The product of two values with `scale` fraction digits, with as many: the ones beyond are
/// rounded, a half away from zero. Nothing if it has more than `digits` digits.
std::optional<Int128> MultiplyDecimals(Int128 a, Int128 b, int scale, int digits);

}  // namespace weir
