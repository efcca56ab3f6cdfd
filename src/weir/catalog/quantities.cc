#include "weir/catalog/quantities.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

namespace weir {
namespace {

struct Unit {
  std::string_view name;
  int64_t factor;
};

/// `text` as a whole number and the rest behind it, in lower case and without spaces around.
std::optional<std::pair<int64_t, std::string>> SplitQuantity(std::string_view text) {
  const auto trim = [](std::string_view padded) {
    while (padded.starts_with(' ')) padded.remove_prefix(1);
    while (padded.ends_with(' ')) padded.remove_suffix(1);
    return padded;
  };
  text = trim(text);
  int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  std::string unit(trim(text.substr(static_cast<size_t>(stop - text.data()))));
  std::transform(unit.begin(), unit.end(), unit.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return std::pair(number, std::move(unit));
}

template <size_t N>
std::optional<int64_t> ParseQuantity(std::string_view text, const std::array<Unit, N>& units) {
  const auto quantity = SplitQuantity(text);
  if (!quantity) return std::nullopt;
  const auto* const unit = std::find_if(units.begin(), units.end(), [&](const Unit& known) {
    return known.name == quantity->second;
  });
  int64_t result = 0;
  if (unit == units.end() || __builtin_mul_overflow(quantity->first, unit->factor, &result))
    return std::nullopt;
  return result;
}

constexpr int64_t kSecond = 1000;
constexpr int64_t kMinute = 60 * kSecond;
constexpr int64_t kHour = 60 * kMinute;
constexpr int64_t kDay = 24 * kHour;

constexpr auto kDurationUnits = std::to_array<Unit>({{"", 1},
                                                     {"ms", 1},
                                                     {"milli", 1},
                                                     {"millis", 1},
                                                     {"millisecond", 1},
                                                     {"milliseconds", 1},
                                                     {"s", kSecond},
                                                     {"sec", kSecond},
                                                     {"secs", kSecond},
                                                     {"second", kSecond},
                                                     {"seconds", kSecond},
                                                     {"m", kMinute},
                                                     {"min", kMinute},
                                                     {"minute", kMinute},
                                                     {"minutes", kMinute},
                                                     {"h", kHour},
                                                     {"hour", kHour},
                                                     {"hours", kHour},
                                                     {"d", kDay},
                                                     {"day", kDay},
                                                     {"days", kDay}});

constexpr auto kSizeUnits = std::to_array<Unit>({{"", 1},
                                                 {"b", 1},
                                                 {"bytes", 1},
                                                 {"k", 1LL << 10},
                                                 {"kb", 1LL << 10},
                                                 {"kibibytes", 1LL << 10},
                                                 {"m", 1LL << 20},
                                                 {"mb", 1LL << 20},
                                                 {"mebibytes", 1LL << 20},
                                                 {"g", 1LL << 30},
                                                 {"gb", 1LL << 30},
                                                 {"gibibytes", 1LL << 30},
                                                 {"t", 1LL << 40},
                                                 {"tb", 1LL << 40},
                                                 {"tebibytes", 1LL << 40}});

}  // namespace

std::optional<std::chrono::milliseconds> ParseDuration(std::string_view text) {
  const std::optional<int64_t> millis = ParseQuantity(text, kDurationUnits);
  if (!millis) return std::nullopt;
  return std::chrono::milliseconds(*millis);
}

std::optional<uint64_t> ParseMemorySize(std::string_view text) {
  const std::optional<int64_t> bytes = ParseQuantity(text, kSizeUnits);
  if (!bytes) return std::nullopt;
  return static_cast<uint64_t>(*bytes);
}

}  // namespace weir
