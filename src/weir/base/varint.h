// Base-128 integers, least significant group first, as in protobuf and in the Fluss row formats (no
// zig-zag).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "weir/base/bytes.h"

namespace weir {

inline void AppendVarint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

/// Takes a number of at most ten bytes off the front of `bytes`; nothing if it is cut short or too
/// long.
inline std::optional<uint64_t> TakeVarint(Bytes& bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto group = std::to_integer<uint64_t>(bytes[i]);
    value |= (group & 0x7f) << (7 * i);
    if (group < 0x80) {
      bytes = bytes.subspan(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace weir
