#include "weir/kv/decimal.h"

#include <array>
#include <random>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace weir {
namespace {

Int128 Parse(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  Int128 value = 0;
  for (const char c : text.substr(is_negative ? 1 : 0)) value = value * 10 + (c - '0');
  return is_negative ? -value : value;
}

const std::string kNines(38, '9');

TEST(AddDecimals, RefusesWhatHasTooManyDigits) {
  EXPECT_TRUE(AddDecimals(99998, 1, 5) == Int128{99999});
  EXPECT_FALSE(AddDecimals(99999, 1, 5));
  EXPECT_FALSE(AddDecimals(-99999, -1, 5));
  EXPECT_TRUE(AddDecimals(Parse(kNines), -1, 38) == Parse(kNines) - 1);
  EXPECT_FALSE(AddDecimals(Parse(kNines), 1, 38));
  const Int128 beyond = Parse("170141183460469231731687303715884105727");
  EXPECT_FALSE(AddDecimals(beyond, beyond, 38));
}

TEST(MultiplyDecimals, RoundsHalvesAwayFromZero) {
  const auto product = [](std::string_view a, std::string_view b, int scale) {
    return MultiplyDecimals(Parse(a), Parse(b), scale, 38);
  };
  EXPECT_TRUE(product("150", "115", 2) == Int128{173});  // 1.50 * 1.15 = 1.725
  EXPECT_TRUE(product("-150", "115", 2) == Int128{-173});
  EXPECT_TRUE(product("149", "115", 2) == Int128{171});  // 1.7135
  EXPECT_TRUE(product("5", "1", 1) == Int128{1});        // 0.5 * 0.1 = 0.05
  EXPECT_TRUE(product("4", "1", 1) == Int128{0});
  EXPECT_TRUE(product("-7", "-6", 0) == Int128{42});
  // 10^37 with 37 fraction digits is 1.
  const std::string one = "1" + std::string(37, '0');
  EXPECT_TRUE(product(one, one, 37) == Parse(one));
  EXPECT_TRUE(product("-" + one, one, 37) == -Parse(one));
}

TEST(MultiplyDecimals, RefusesWhatHasTooManyDigits) {
  EXPECT_TRUE(MultiplyDecimals(333, 3, 0, 3) == Int128{999});
  EXPECT_FALSE(MultiplyDecimals(334, 3, 0, 3));
  EXPECT_FALSE(MultiplyDecimals(Parse(kNines), Parse(kNines), 0, 38));
  EXPECT_FALSE(MultiplyDecimals(Parse(kNines), 10, 0, 38));
  // Its square has 76 digits, of which 38 go.
  EXPECT_TRUE(MultiplyDecimals(Parse(kNines), Parse(kNines), 38, 38) == Parse(kNines) - 1);
}

TEST(MultiplyDecimals, AgreesWithArithmeticThatIsWideEnough) {
  std::mt19937_64 random(7);
  constexpr std::array<int64_t, 5> kPowers = {1, 10, 100, 1000, 10000};
  for (int turn = 0; turn < 20'000; ++turn) {
    const auto a = static_cast<int64_t>(random()) >> (random() % 40);
    const auto b = static_cast<int64_t>(random()) >> (random() % 40);
    const int scale = static_cast<int>(random() % kPowers.size());
    const Int128 power = kPowers[static_cast<size_t>(scale)];
    const Int128 product = Int128{a} * b;
    const Int128 half = scale == 0 ? Int128{0} : power / 2;
    const Int128 expected = (product + (product < 0 ? -half : half)) / power;
    EXPECT_TRUE(MultiplyDecimals(a, b, scale, 38) == expected) << a << " * " << b << " / " << scale;
  }
}

}  // namespace
}  // namespace weir
