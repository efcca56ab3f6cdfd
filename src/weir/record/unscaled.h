// Unscaled values of DECIMALs: numbers of up to 38 digits. In rows, and wherever bytes of a DECIMAL
// are spoken of, they are big-endian two's complement, as few bytes as do.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "weir/base/bytes.h"

namespace weir {

__extension__ using Int128 = __int128;

/// DECIMALs of at most this many digits fit into 64 bits.
inline constexpr int kCompactDigitsMax = 18;
inline constexpr size_t kUnscaledBytesMax = 16;

/// 10 to the power of 0 to 38.
inline constexpr auto kPowersOfTen = [] {
  std::array<Int128, 39> powers{};
  powers[0] = 1;
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
  return powers;
}();

/// Whether `value` has no more than `digits` digits.
inline bool FitsDigits(Int128 value, int digits) {
  const Int128 end = kPowersOfTen[static_cast<size_t>(digits)];
  return value > -end && value < end;
}

/// The value of big-endian two's complement bytes. Nothing unless there are 1 to 16 of them.
inline std::optional<Int128> DecodeUnscaled(Bytes bytes) {
  if (bytes.empty() || bytes.size() > kUnscaledBytesMax) return std::nullopt;
  Int128 value = std::to_integer<uint8_t>(bytes[0]) >= 0x80 ? -1 : 0;
  for (const std::byte byte : bytes) value = value * 256 + std::to_integer<uint8_t>(byte);
  return value;
}

/// Whether the bytes are the fewest that have their value.
inline bool IsMinimalUnscaled(Bytes bytes) {
  if (bytes.size() < 2) return bytes.size() == 1;
  const auto first = std::to_integer<uint8_t>(bytes[0]);
  const bool is_next_negative = std::to_integer<uint8_t>(bytes[1]) >= 0x80;
  return first != (is_next_negative ? 0xff : 0x00);
}

/// The fewest bytes that have this value: they are the last ones of `into`.
inline Bytes StoreUnscaled(Int128 value, std::array<std::byte, kUnscaledBytesMax>& into) {
  size_t first = into.size();
  do {
    into[--first] = static_cast<std::byte>(static_cast<uint8_t>(value));
    value >>= 8;
    const bool is_negative = std::to_integer<uint8_t>(into[first]) >= 0x80;
    if (value == (is_negative ? -1 : 0)) break;
  } while (first > 0);
  return Bytes(into).subspan(first);
}

/// The fewest bytes that DecodeUnscaled takes for `value`, in the place of what is in `out`.
inline void EncodeUnscaled(Int128 value, std::string& out) {
  std::array<std::byte, kUnscaledBytesMax> bytes;
  out.assign(AsText(StoreUnscaled(value, bytes)));
}

}  // namespace weir
