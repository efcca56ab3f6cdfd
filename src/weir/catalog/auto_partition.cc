#include "weir/catalog/auto_partition.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <exception>

#include <date/tz.h>
#include <fmt/format.h>

#include "weir/base/check.h"

namespace weir {
namespace {

using std::chrono::days;
using std::chrono::floor;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

enum class Field : uint8_t { kYear, kQuarter, kMonth, kDay, kHour };

struct FieldPattern {
  Field field;
  std::string_view pattern;
};

constexpr std::array kFields = {FieldPattern{Field::kYear, "yyyy"},
                                FieldPattern{Field::kQuarter, "Q"},
                                FieldPattern{Field::kMonth, "MM"}, FieldPattern{Field::kDay, "dd"},
                                FieldPattern{Field::kHour, "HH"}};

/// Calls `visit(field, position, width)` for each field of a pattern, in order.
template <typename Visit>
void ForEachField(std::string_view pattern, Visit visit) {
  for (size_t at = 0; at < pattern.size();) {
    const auto* const found = std::find_if(
        kFields.begin(), kFields.end(),
        [&](const FieldPattern& field) { return pattern.substr(at).starts_with(field.pattern); });
    if (found == kFields.end()) {
      ++at;  // a separator
      continue;
    }
    visit(found->field, at, found->pattern.size());
    at += found->pattern.size();
  }
}

std::string_view DefaultPattern(PartitionUnit unit) {
  switch (unit) {
    case PartitionUnit::kHour: return "yyyyMMddHH";
    case PartitionUnit::kDay: return "yyyyMMdd";
    case PartitionUnit::kMonth: return "yyyyMM";
    case PartitionUnit::kQuarter: return "yyyyQ";
    case PartitionUnit::kYear: return "yyyy";
  }
  WEIR_UNREACHABLE();
}

/// The fields of a calendar that a period begins with.
struct Calendar {
  int64_t year = 0;
  int64_t month = 1;
  int64_t day = 1;
  int64_t hour = 0;

  int64_t quarter() const { return (month - 1) / 3 + 1; }
};

int64_t FloorDivide(int64_t a, int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

Calendar FromDays(int64_t since_epoch, int64_t hour) {
  const std::chrono::year_month_day date{std::chrono::sys_days(days(since_epoch))};
  return Calendar{.year = static_cast<int>(date.year()),
                  .month = static_cast<unsigned>(date.month()),
                  .day = static_cast<unsigned>(date.day()),
                  .hour = hour};
}

Calendar BeginOf(PartitionUnit unit, int64_t period) {
  switch (unit) {
    case PartitionUnit::kHour:
      return FromDays(FloorDivide(period, 24), period - FloorDivide(period, 24) * 24);
    case PartitionUnit::kDay: return FromDays(period, 0);
    case PartitionUnit::kMonth: {
      const int64_t year = FloorDivide(period, 12);
      return Calendar{.year = year, .month = period - year * 12 + 1};
    }
    case PartitionUnit::kQuarter: {
      const int64_t year = FloorDivide(period, 4);
      return Calendar{.year = year, .month = (period - year * 4) * 3 + 1};
    }
    case PartitionUnit::kYear: return Calendar{.year = period};
  }
  WEIR_UNREACHABLE();
}

/// The period of `unit` that `local`, the time that clocks show, is in.
PartitionPeriod PeriodOf(PartitionUnit unit, seconds local) {
  const auto day = floor<days>(local);
  if (unit == PartitionUnit::kHour) return PartitionPeriod(floor<hours>(local).count());
  if (unit == PartitionUnit::kDay) return PartitionPeriod(day.count());
  const Calendar calendar = FromDays(day.count(), 0);
  if (unit == PartitionUnit::kMonth)
    return PartitionPeriod(calendar.year * 12 + calendar.month - 1);
  if (unit == PartitionUnit::kQuarter)
    return PartitionPeriod(calendar.year * 4 + calendar.quarter() - 1);
  return PartitionPeriod(calendar.year);
}

/// `+8`, `-03:30`, `+0530`: an offset from UTC of at most 18 hours.
std::optional<seconds> ParseOffset(std::string_view text) {
  if (text.size() < 2 || (text[0] != '+' && text[0] != '-')) return std::nullopt;
  const bool is_west = text[0] == '-';
  std::string digits(text.substr(1));
  if (const size_t colon = digits.find(':');
      colon != std::string::npos && colon + 3 == digits.size()) {
    digits.erase(colon, 1);
  }
  if (digits.empty() || digits.size() > 4 ||
      digits.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;
  }
  int number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const minutes offset =
      digits.size() <= 2 ? minutes(number * 60) : minutes(number / 100 * 60 + number % 100);
  if (number % 100 >= 60 && digits.size() > 2) return std::nullopt;
  if (offset > hours(18)) return std::nullopt;
  return is_west ? -offset : offset;
}

std::optional<seconds> FixedOffset(std::string_view time_zone) {
  for (const std::string_view prefix : {"UTC", "Etc/UTC", "GMT", "UT", "Z"}) {
    if (time_zone == prefix) return seconds(0);
  }
  for (const std::string_view prefix : {"UTC", "GMT", "UT"}) {
    if (time_zone.starts_with(prefix)) return ParseOffset(time_zone.substr(prefix.size()));
  }
  return ParseOffset(time_zone);
}

/// How far the clocks of a zone are ahead of UTC at an instant.
Result<seconds> OffsetAt(std::string_view time_zone, std::chrono::sys_seconds instant) {
  if (const std::optional<seconds> fixed = FixedOffset(time_zone)) return *fixed;
  try {
    return date::locate_zone(time_zone)->get_info(instant).offset;
  } catch (const std::exception&) {  // from a zone that is unknown, or whose file cannot be read
    return Fail(ErrorCode::kInvalidConfig, "unknown time zone: zone={}", time_zone);
  }
}

}  // namespace

PartitionFormat DefaultPartitionFormat(PartitionUnit unit) {
  return PartitionFormat{.unit = unit, .pattern = std::string(DefaultPattern(unit))};
}

Result<PartitionFormat> ParsePartitionFormat(PartitionUnit unit, std::string_view pattern) {
  std::string fields;
  ForEachField(pattern,
               [&](Field, size_t at, size_t width) { fields += pattern.substr(at, width); });
  std::string without_separators(pattern);
  std::erase_if(without_separators, [](char c) { return c == '-' || c == '_'; });
  if (fields != DefaultPattern(unit) || without_separators != fields || pattern.starts_with("_")) {
    return Fail(ErrorCode::kInvalidConfig,
                "a time format must have the fields {} in this order, with `-` or `_` between them "
                "or nothing: format={}",
                DefaultPattern(unit), pattern);
  }
  return PartitionFormat{.unit = unit, .pattern = std::string(pattern)};
}

std::string FormatPeriod(const PartitionFormat& format, PartitionPeriod period) {
  const Calendar begin = BeginOf(format.unit, period.value);
  std::string text = format.pattern;
  ForEachField(format.pattern, [&](Field field, size_t at, size_t width) {
    const int64_t number = field == Field::kYear      ? begin.year
                           : field == Field::kQuarter ? begin.quarter()
                           : field == Field::kMonth   ? begin.month
                           : field == Field::kDay     ? begin.day
                                                      : begin.hour;
    text.replace(at, width, fmt::format("{:0{}}", number, width));
  });
  return text;
}

std::optional<PartitionPeriod> ParsePeriod(const PartitionFormat& format, std::string_view text) {
  if (text.size() != format.pattern.size()) return std::nullopt;
  std::string separators(text);
  Calendar begin;
  int64_t quarter = 1;
  bool is_valid = true;
  ForEachField(format.pattern, [&](Field field, size_t at, size_t width) {
    int64_t number = 0;
    for (size_t i = at; i < at + width; ++i) {
      is_valid = is_valid && text[i] >= '0' && text[i] <= '9';
      number = number * 10 + (text[i] - '0');
      separators[i] = format.pattern[i];
    }
    switch (field) {
      case Field::kYear: begin.year = number; break;
      case Field::kQuarter: quarter = number; break;
      case Field::kMonth: begin.month = number; break;
      case Field::kDay: begin.day = number; break;
      case Field::kHour: begin.hour = number; break;
    }
  });
  if (!is_valid || separators != format.pattern) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(static_cast<int>(begin.year)),
                                         std::chrono::month(static_cast<unsigned>(begin.month)),
                                         std::chrono::day(static_cast<unsigned>(begin.day)));
  if (!date.ok() || begin.hour > 23 || quarter < 1 || quarter > 4) return std::nullopt;
  if (format.unit == PartitionUnit::kQuarter) return PartitionPeriod(begin.year * 4 + quarter - 1);
  const seconds local = std::chrono::sys_days(date).time_since_epoch() + hours(begin.hour);
  return PeriodOf(format.unit, local);
}

Result<PartitionPeriod> PeriodAt(PartitionUnit unit, std::string_view time_zone, Timestamp now,
                                 int64_t steps) {
  const int64_t hours_later = unit == PartitionUnit::kHour ? steps : 0;
  const std::chrono::sys_seconds instant(floor<seconds>(std::chrono::milliseconds(now.value)) +
                                         hours(hours_later));
  WEIR_ASSIGN(const seconds offset, OffsetAt(time_zone, instant));
  const PartitionPeriod period = PeriodOf(unit, instant.time_since_epoch() + offset);
  return unit == PartitionUnit::kHour ? period : PartitionPeriod(period.value + steps);
}

Status CheckTimeZone(std::string_view time_zone) {
  WEIR_TRY(OffsetAt(time_zone, std::chrono::sys_seconds{}));
  return Ok();
}

}  // namespace weir
