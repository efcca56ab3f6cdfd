#include "weir/kv/decimal.h"

#include <algorithm>
#include <array>

namespace weir {
namespace {

__extension__ using Uint128 = unsigned __int128;

Uint128 Magnitude(Int128 value) {
  return value < 0 ? -static_cast<Uint128>(value) : static_cast<Uint128>(value);
}

/// 256 bits, the lowest first.
using Limbs = std::array<uint64_t, 4>;

Limbs Multiply(Uint128 a, Uint128 b) {
  const std::array<uint64_t, 2> x = {static_cast<uint64_t>(a), static_cast<uint64_t>(a >> 64)};
  const std::array<uint64_t, 2> y = {static_cast<uint64_t>(b), static_cast<uint64_t>(b >> 64)};
  Limbs product{};
  for (size_t i = 0; i < 2; ++i) {
    uint64_t carry = 0;
    for (size_t j = 0; j < 2; ++j) {
      const Uint128 sum = static_cast<Uint128>(x[i]) * y[j] + product[i + j] + carry;
      product[i + j] = static_cast<uint64_t>(sum);
      carry = static_cast<uint64_t>(sum >> 64);
    }
    product[i + 2] = carry;
  }
  return product;
}

void Divide(Limbs& limbs, uint64_t divisor) {
  uint64_t rest = 0;
  for (size_t i = limbs.size(); i-- > 0;) {
    const Uint128 part = (static_cast<Uint128>(rest) << 64) | limbs[i];
    limbs[i] = static_cast<uint64_t>(part / divisor);
    rest = static_cast<uint64_t>(part % divisor);
  }
}

}  // namespace

std::optional<Int128> AddDecimals(Int128 a, Int128 b, int digits) {
  Int128 sum = 0;
  if (__builtin_add_overflow(a, b, &sum) || !FitsDigits(sum, digits)) return std::nullopt;
  return sum;
}

std::optional<Int128> MultiplyDecimals(Int128 a, Int128 b, int scale, int digits) {
  Limbs product = Multiply(Magnitude(a), Magnitude(b));
  if (scale > 0) {
    // All fraction digits but the first one that goes do not matter to the rounding.
    for (int left = scale - 1; left > 0; left -= kCompactDigitsMax) {
      const auto digits_gone = static_cast<size_t>(std::min(left, kCompactDigitsMax));
      Divide(product, static_cast<uint64_t>(kPowersOfTen[digits_gone]));
    }
    const Uint128 low = product[0] + Uint128{5};
    product[0] = static_cast<uint64_t>(low);
    uint64_t carry = static_cast<uint64_t>(low >> 64);
    for (size_t i = 1; i < product.size() && carry != 0; ++i) carry = ++product[i] == 0 ? 1 : 0;
    Divide(product, 10);
  }
  if (product[3] != 0 || product[2] != 0 || product[1] >> 63 != 0) return std::nullopt;
  const auto magnitude = static_cast<Int128>((static_cast<Uint128>(product[1]) << 64) | product[0]);
  const bool is_negative = (a < 0) != (b < 0);
  const Int128 value = is_negative ? -magnitude : magnitude;
  if (!FitsDigits(value, digits)) return std::nullopt;
  return value;
}

}  // namespace weir
