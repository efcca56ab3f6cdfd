#include "weir/load/key_choice.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

namespace weir::load {
namespace {

std::map<int64_t, int> Counted(const std::vector<int64_t>& numbers) {
  std::map<int64_t, int> counts;
  for (const int64_t number : numbers) ++counts[number];
  return counts;
}

TEST(DrawNumbers, TakesAllAlikeUnlessToldOtherwise) {
  const std::vector<int64_t> drawn = DrawNumbers(100, 250, 0, 7);
  ASSERT_EQ(drawn.size(), 250u);
  const auto counts = Counted(drawn);
  ASSERT_EQ(counts.size(), 100u);
  for (const auto& [number, count] : counts) {
    EXPECT_TRUE(number >= 0 && number < 100);
    EXPECT_TRUE(count == 2 || count == 3);
  }
  EXPECT_NE(std::vector<int64_t>(drawn.begin(), drawn.begin() + 100),
            std::vector<int64_t>(drawn.begin() + 100, drawn.begin() + 200));
}

TEST(DrawNumbers, TakesSomeFarMoreOftenByZipf) {
  constexpr int kCount = 1000, kDraws = 200'000;
  std::vector<int> frequencies;
  for (const auto& [number, count] : Counted(DrawNumbers(kCount, kDraws, 0.99, 7))) {
    EXPECT_TRUE(number >= 0 && number < kCount);
    frequencies.push_back(count);
  }
  std::sort(frequencies.rbegin(), frequencies.rend());
  // The sum of 1 / r^0.99 over the ranks is 7.73.
  EXPECT_NEAR(frequencies[0], kDraws / 7.73, kDraws / 7.73 * 0.05);
  EXPECT_NEAR(frequencies[9], frequencies[0] / 9.77, frequencies[0] / 9.77 * 0.2);
  EXPECT_GT(frequencies.size(), 990u);
}

TEST(DrawNumbers, DrawsTheSameInEveryRun) {
  EXPECT_EQ(DrawNumbers(1000, 100, 0.5, 1), DrawNumbers(1000, 100, 0.5, 1));
  EXPECT_NE(DrawNumbers(1000, 100, 0.5, 1), DrawNumbers(1000, 100, 0.5, 2));
}

TEST(DrawNumbers, KnowsASingleKey) {
  EXPECT_EQ(DrawNumbers(1, 3, 0.99, 1), std::vector<int64_t>(3, 0));
}

}  // namespace
}  // namespace weir::load
