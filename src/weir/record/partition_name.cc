#include "weir/record/partition_name.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

namespace weir {
namespace {

using std::chrono::days;
using std::chrono::milliseconds;

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

std::string DateText(std::chrono::sys_days day) {
  const std::chrono::year_month_day date(day);
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

// Java's Float.toString and Double.toString with `_` for the point: the shortest digits that give
// the number again, at least one of them behind the point, and an exponent below 10^-3 and from
// 10^7 on.
template <typename Float>
std::string FloatText(Float value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Inf" : "Inf";
  const std::string sign = std::signbit(value) ? "-" : "";
  const Float magnitude = std::fabs(value);
  if (magnitude == 0) return sign + "0_0";

  std::array<char, 32> text;
  const auto written = std::to_chars(text.data(), text.data() + text.size(), magnitude,
                                     std::chars_format::scientific);
  const std::string_view scientific(text.data(), static_cast<size_t>(written.ptr - text.data()));
  const size_t mark = scientific.find('e');
  std::string digits(scientific.substr(0, mark));
  std::erase(digits, '.');
  int exponent = 0;
  const char* first = scientific.data() + mark + 1;
  if (*first == '+') ++first;
  std::from_chars(first, written.ptr, exponent);

  const auto behind_point = [](std::string_view rest) {
    return rest.empty() ? std::string("0") : std::string(rest);
  };
  const std::string_view view = digits;
  if (exponent < -3 || exponent > 6) {
    return fmt::format("{}{}_{}E{}", sign, view[0], behind_point(view.substr(1)), exponent);
  }
  if (exponent < 0)
    return fmt::format("{}0_{}{}", sign, std::string(static_cast<size_t>(-exponent - 1), '0'),
                       view);
  const auto whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() < whole) digits.append(whole - digits.size(), '0');
  return fmt::format("{}{}_{}", sign, digits.substr(0, whole),
                     behind_point(std::string_view(digits).substr(whole)));
}

}  // namespace

Status CheckPartitionValue(std::string_view value) {
  if (value.empty() || value.size() > kPartitionValueCharactersMax) {
    return Fail(ErrorCode::kInvalidPartition,
                "a partition value must have 1 to {} characters: characters={}",
                kPartitionValueCharactersMax, value.size());
  }
  if (!std::all_of(value.begin(), value.end(), IsNameCharacter)) {
    return Fail(ErrorCode::kInvalidPartition,
                "a partition value may have only letters, digits, `_` and `-`: value={}", value);
  }
  if (value.starts_with("__")) {
    return Fail(ErrorCode::kInvalidPartition,
                "partition values that begin with `__` are reserved: value={}", value);
  }
  return Ok();
}

Result<std::vector<std::string>> OrderPartitionValues(const PartitionSpec& spec,
                                                      const std::vector<std::string>& keys) {
  if (spec.size() != keys.size()) {
    return Fail(ErrorCode::kInvalidPartition,
                "a partition spec must name each partition key once: keys={} named={}",
                fmt::join(keys, ","), spec.size());
  }
  std::vector<std::string> values;
  values.reserve(keys.size());
  for (const std::string& key : keys) {
    const auto found = std::find_if(spec.begin(), spec.end(),
                                    [&](const auto& entry) { return entry.first == key; });
    if (found == spec.end()) {
      return Fail(ErrorCode::kInvalidPartition, "a partition spec lacks a partition key: key={}",
                  key);
    }
    values.push_back(found->second);
  }
  return values;
}

std::string JoinPartitionValues(const std::vector<std::string>& values) {
  return fmt::format("{}", fmt::join(values, std::string_view(&kPartitionValueSeparator, 1)));
}

std::vector<std::string_view> SplitPartitionName(std::string_view name) {
  std::vector<std::string_view> values;
  while (true) {
    const size_t end = name.find(kPartitionValueSeparator);
    values.push_back(name.substr(0, end));
    if (end == std::string_view::npos) return values;
    name.remove_prefix(end + 1);
  }
}

std::string PartitionValueOfBytes(Bytes value) {
  std::string text;
  text.reserve(2 * value.size());
  for (const std::byte byte : value)
    fmt::format_to(std::back_inserter(text), "{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

std::string PartitionValueOfFloat(float value) {
  return FloatText(value);
}
std::string PartitionValueOfDouble(double value) {
  return FloatText(value);
}

std::string PartitionValueOfDate(int32_t since_epoch) {
  return DateText(std::chrono::sys_days(days(since_epoch)));
}

std::string PartitionValueOfTime(int32_t millis) {
  const std::chrono::hh_mm_ss time{milliseconds(millis)};
  return fmt::format("{:02}-{:02}-{:02}_{:03}", time.hours().count(), time.minutes().count(),
                     time.seconds().count(), time.subseconds().count());
}

std::string PartitionValueOfTimestamp(int64_t millis, int32_t nanos_of_milli) {
  const std::chrono::sys_time<milliseconds> instant{milliseconds(millis)};
  const auto day = std::chrono::floor<days>(instant);
  const std::chrono::hh_mm_ss time{instant - day};
  std::string fraction = fmt::format("{:03}{:06}", time.subseconds().count(), nanos_of_milli);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return fmt::format("{}-{:02}-{:02}-{:02}_{}", DateText(day), time.hours().count(),
                     time.minutes().count(), time.seconds().count(), fraction);
}

}  // namespace weir
