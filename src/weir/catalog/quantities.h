// Durations and sizes as they are written in properties and settings: `7d`, `36 h`, `64mb`
// (docs/tables.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weir {

/// A whole number with a unit from milliseconds (`ms`) to days (`d`), or of milliseconds if it has
/// none. Case and spaces do not matter. Nothing if `text` is none, is negative, or is beyond what
/// can be counted.
std::optional<std::chrono::milliseconds> ParseDuration(std::string_view text);

/// A whole number with a unit from bytes (`b`) to tebibytes (`tb`), or of bytes if it has none.
std::optional<uint64_t> ParseMemorySize(std::string_view text);

}  // namespace weir
