// Views of bytes, and reading and writing integers in them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace weir {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

static_assert(std::endian::native == std::endian::little,
              "formats are read in place as little-endian");

/// Integers in the byte order of the Fluss formats. `at` must have sizeof(T) bytes.
template <typename T>
T LoadLittle(const std::byte* at) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

template <typename T>
void StoreLittle(std::byte* at, T value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::memcpy(at, &value, sizeof(T));
}

/// Integers in network byte order.
template <typename T>
T LoadBig(const std::byte* at) {
  std::make_unsigned_t<T> value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<std::make_unsigned_t<T>>((value << 8) | std::to_integer<uint8_t>(at[i]));
  }
  return static_cast<T>(value);
}

template <typename T>
void StoreBig(std::byte* at, T value) {
  auto rest = static_cast<std::make_unsigned_t<T>>(value);
  for (size_t i = sizeof(T); i-- > 0;) {
    at[i] = static_cast<std::byte>(rest & 0xff);
    rest = static_cast<std::make_unsigned_t<T>>(rest >> (sizeof(T) > 1 ? 8 : 0));
  }
}

inline std::string_view AsText(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline Bytes AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace weir
