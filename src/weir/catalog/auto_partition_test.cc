#include "weir/catalog/auto_partition.h"

#include <chrono>
#include <fstream>
#include <sstream>

#include <date/date.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace weir {
namespace {

using nlohmann::json;

Timestamp At(const std::string& utc) {
  std::istringstream text(utc);
  date::sys_time<std::chrono::milliseconds> time;
  text >> date::parse("%FT%TZ", time);
  EXPECT_FALSE(text.fail()) << utc;
  return Timestamp(time.time_since_epoch().count());
}

std::string NameAt(PartitionUnit unit, const std::string& zone, const std::string& utc,
                   int64_t steps) {
  const auto period = PeriodAt(unit, zone, At(utc), steps);
  EXPECT_TRUE(period.ok());
  return FormatPeriod(DefaultPartitionFormat(unit), *period);
}

PartitionUnit UnitOf(const std::string& name) {
  return name == "YEAR"      ? PartitionUnit::kYear
         : name == "QUARTER" ? PartitionUnit::kQuarter
         : name == "MONTH"   ? PartitionUnit::kMonth
         : name == "DAY"     ? PartitionUnit::kDay
                             : PartitionUnit::kHour;
}

TEST(AutoPartition, HasTheNamesThatFlussGivesIt) {
  std::ifstream file(WEIR_TESTDATA "/vectors/partitions.json");
  const json vectors = json::parse(file);
  ASSERT_FALSE(vectors["auto_partition"].empty());
  for (const json& vector : vectors["auto_partition"]) {
    EXPECT_EQ(NameAt(UnitOf(vector["unit"]), "UTC", vector["now_utc"], vector["offset"]),
              vector["partition"].get<std::string>())
        << vector;
  }
}

TEST(AutoPartition, FollowsTheCalendarOfItsZone) {
  EXPECT_EQ(NameAt(PartitionUnit::kDay, "Asia/Shanghai", "2024-02-28T16:00:00Z", 0), "20240229");
  EXPECT_EQ(NameAt(PartitionUnit::kYear, "America/New_York", "2025-01-01T04:59:59Z", 0), "2024");
  EXPECT_EQ(NameAt(PartitionUnit::kQuarter, "UTC+9", "2024-12-31T15:00:00Z", 0), "20251");
  EXPECT_EQ(NameAt(PartitionUnit::kMonth, "UTC", "1969-12-31T23:59:59Z", 0), "196912");
  EXPECT_EQ(NameAt(PartitionUnit::kHour, "UTC", "1969-12-31T23:59:59Z", 0), "1969123123");
}

TEST(AutoPartition, StepsOverTheHourThatIsSkippedInSpring) {
  EXPECT_EQ(NameAt(PartitionUnit::kHour, "Europe/Berlin", "2024-03-31T00:30:00Z", 0), "2024033101");
  EXPECT_EQ(NameAt(PartitionUnit::kHour, "Europe/Berlin", "2024-03-31T00:30:00Z", 1), "2024033103");
}

TEST(AutoPartition, KnowsZonesByNameAndByOffset) {
  for (const char* zone :
       {"UTC", "Z", "GMT", "Europe/Berlin", "+08:00", "-0330", "+8", "UTC+8", "GMT-03:30"}) {
    EXPECT_TRUE(CheckTimeZone(zone).ok()) << zone;
  }
  for (const char* zone : {"", "Mars/Base", "+", "+25", "+08:61", "+1:2:3", ":", "UTC+x",
                           "../../etc/passwd", "+123456"}) {
    const Status status = CheckTimeZone(zone);
    ASSERT_FALSE(status.ok()) << zone;
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidConfig);
  }
}

TEST(PartitionFormat, TakesFieldsInOrderWithSeparators) {
  EXPECT_TRUE(ParsePartitionFormat(PartitionUnit::kDay, "yyyyMMdd").ok());
  EXPECT_TRUE(ParsePartitionFormat(PartitionUnit::kDay, "yyyy-MM-dd").ok());
  EXPECT_TRUE(ParsePartitionFormat(PartitionUnit::kHour, "yyyy_MM_dd-HH").ok());
  EXPECT_TRUE(ParsePartitionFormat(PartitionUnit::kQuarter, "yyyy-Q").ok());
  for (const char* pattern : {"", "yyyy", "yyyyMM", "yyyyddMM", "yyyyMMddHH", "yyyyMMdd ",
                              "yyyy/MM/dd", "yyMMdd", "yyyyMMddMM", "_yyyyMMdd", "yyyyMMddx"}) {
    EXPECT_FALSE(ParsePartitionFormat(PartitionUnit::kDay, pattern).ok()) << pattern;
  }
}

TEST(PartitionFormat, ReadsWhatItWrites) {
  for (const auto& [unit, pattern] :
       std::vector<std::pair<PartitionUnit, std::string>>{{PartitionUnit::kHour, "yyyyMMddHH"},
                                                          {PartitionUnit::kHour, "yyyy-MM-dd_HH"},
                                                          {PartitionUnit::kDay, "yyyy-MM-dd"},
                                                          {PartitionUnit::kMonth, "yyyyMM"},
                                                          {PartitionUnit::kQuarter, "yyyyQ"},
                                                          {PartitionUnit::kYear, "yyyy"}}) {
    const PartitionFormat format = *ParsePartitionFormat(unit, pattern);
    const PartitionPeriod now = *PeriodAt(unit, "UTC", At("2024-02-29T23:10:00Z"), 0);
    for (int64_t step = -3000; step <= 3000; step += 7) {
      const PartitionPeriod period(now.value + (unit == PartitionUnit::kYear ? step / 3 : step));
      EXPECT_EQ(ParsePeriod(format, FormatPeriod(format, period)), period);
    }
  }
}

TEST(PartitionFormat, RefusesWhatIsNoTime) {
  const PartitionFormat day = *ParsePartitionFormat(PartitionUnit::kDay, "yyyy-MM-dd");
  for (const char* text : {"", "20240501", "2024-5-01", "2024-02-30", "2024-13-01", "2024-00-01",
                           "2024_05_01", "2024-05-0a", "2024-05-01 ", "-024-05-01"}) {
    EXPECT_FALSE(ParsePeriod(day, text)) << text;
  }
  EXPECT_FALSE(ParsePeriod(DefaultPartitionFormat(PartitionUnit::kHour), "2024050124"));
  EXPECT_FALSE(ParsePeriod(DefaultPartitionFormat(PartitionUnit::kQuarter), "20240"));
  EXPECT_FALSE(ParsePeriod(DefaultPartitionFormat(PartitionUnit::kQuarter), "20245"));
}

}  // namespace
}  // namespace weir
