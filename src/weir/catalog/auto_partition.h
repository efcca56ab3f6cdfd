// Partitions by time: what the partitions before and after an instant are called. The settings are
// table properties (docs/tables.md, table.auto-partition.*).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/ids.h"
#include "weir/base/result.h"

namespace weir {

enum class PartitionUnit : uint8_t { kHour, kDay, kMonth, kQuarter, kYear };

/// How a period is written: `yyyy`, `Q`, `MM`, `dd` and `HH`, the largest first, down to the unit,
/// with `-` or `_` between them or nothing. So names have one width and their order is that of
/// time.
struct PartitionFormat {
  PartitionUnit unit = PartitionUnit::kDay;
  std::string pattern;
};

/// `yyyyMMddHH`, `yyyyMMdd`, `yyyyMM`, `yyyyQ` or `yyyy`.
PartitionFormat DefaultPartitionFormat(PartitionUnit unit);
/// Errors: kInvalidConfig if the pattern does not have exactly the fields of the unit.
Result<PartitionFormat> ParsePartitionFormat(PartitionUnit unit, std::string_view pattern);

/// A period of a unit: hours or days since 1970, months, quarters or years since year 0, of a time
/// zone's calendar.
using PartitionPeriod = StrongId<struct PartitionPeriodTag, int64_t>;

std::string FormatPeriod(const PartitionFormat& format, PartitionPeriod period);
/// The period that is written `text`, if it is one.
std::optional<PartitionPeriod> ParsePeriod(const PartitionFormat& format, std::string_view text);

/// `steps` periods after the one of `now` in a time zone. An hour's steps are hours that pass, so
/// that the hour which a clock skips in spring is not among them. Zones are names of the tz
/// database, `UTC`, or an offset such as `+08:00` or `UTC+8`. Errors: kInvalidConfig if the zone is
/// unknown.
Result<PartitionPeriod> PeriodAt(PartitionUnit unit, std::string_view time_zone, Timestamp now,
                                 int64_t steps);

/// Errors: kInvalidConfig if the zone is unknown.
Status CheckTimeZone(std::string_view time_zone);

}  // namespace weir
