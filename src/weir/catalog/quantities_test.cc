#include "weir/catalog/quantities.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(ParseDuration, KnowsUnitsInAnyCaseWithOrWithoutSpaces) {
  EXPECT_EQ(ParseDuration("7d"), hours(7 * 24));
  EXPECT_EQ(ParseDuration("36 h"), hours(36));
  EXPECT_EQ(ParseDuration("3min"), minutes(3));
  EXPECT_EQ(ParseDuration("5 Minutes"), minutes(5));
  EXPECT_EQ(ParseDuration("10 s"), seconds(10));
  EXPECT_EQ(ParseDuration("500ms"), milliseconds(500));
  EXPECT_EQ(ParseDuration(" 0ms "), milliseconds(0));
  EXPECT_EQ(ParseDuration("12"), milliseconds(12));
}

TEST(ParseDuration, RefusesWhatIsNone) {
  for (const char* text : {"", " ", "d", "abc", "-1s", "1.5h", "7 weeks", "1d2h", "+3s",
                           "9223372036854775808", "9223372036854775807d", "0x10"}) {
    EXPECT_FALSE(ParseDuration(text)) << text;
  }
}

TEST(ParseMemorySize, KnowsBinaryUnits) {
  EXPECT_EQ(ParseMemorySize("64mb"), 64u << 20);
  EXPECT_EQ(ParseMemorySize("10 GB"), 10ull << 30);
  EXPECT_EQ(ParseMemorySize("2k"), 2048u);
  EXPECT_EQ(ParseMemorySize("1tb"), 1ull << 40);
  EXPECT_EQ(ParseMemorySize("123"), 123u);
  for (const char* text : {"", "mb", "-1kb", "1.5gb", "10pb", "9223372036854775807kb"}) {
    EXPECT_FALSE(ParseMemorySize(text)) << text;
  }
}

}  // namespace
}  // namespace weir
