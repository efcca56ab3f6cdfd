// Unscaled values of DECIMALs with up to 38 digits, and what aggregation computes with them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "weir/base/bytes.h"
#include "weir/record/data_type.h"

namespace weir {

__extension__ using Int128 = __int128;

/// DECIMALs of at most this many digits fit into 64 bits.
inline constexpr int kCompactDigitsMax = 18;

/// The value of big-endian two's complement bytes. Nothing unless there are 1 to 16 of them.
std::optional<Int128> DecodeUnscaled(Bytes bytes);

/// The fewest bytes that DecodeUnscaled takes for `value`, in the place of what is in `out`.
void EncodeUnscaled(Int128 value, std::string& out);

/// Nothing if the sum has more than `digits` digits.
std::optional<Int128> AddDecimals(Int128 a, Int128 b, int digits);

/// The product of two values with `scale` fraction digits, with as many: the ones beyond are
/// rounded, a half away from zero. Nothing if it has more than `digits` digits.
std::optional<Int128> MultiplyDecimals(Int128 a, Int128 b, int scale, int digits);

}  // namespace weir
