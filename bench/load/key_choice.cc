// See key_choice.h.
#include "weir/load/key_choice.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace weir::load {
namespace {

/// Ranks, from 0, as Gray et al. draw them (Quickly Generating Billion-Record Synthetic Databases,
/// SIGMOD 1994): without a table, and off by little.
class ZipfRanks {
 public:
  ZipfRanks(int64_t count, double exponent) : count_(count), exponent_(exponent) {
    for (int64_t rank = 1; rank <= count; ++rank) {
      sum_ += std::pow(static_cast<double>(rank), -exponent);
    }
    const double sum_of_two = 1 + std::pow(0.5, exponent);
    eta_ = (1 - std::pow(2.0 / static_cast<double>(count), 1 - exponent)) / (1 - sum_of_two / sum_);
  }

  int64_t Draw(std::mt19937_64& chance) {
    const double at = std::uniform_real_distribution<double>(0, 1)(chance);
    if (at * sum_ < 1) return 0;
    if (at * sum_ < 1 + std::pow(0.5, exponent_)) return std::min<int64_t>(1, count_ - 1);
    const double rank =
        static_cast<double>(count_) * std::pow(eta_ * at - eta_ + 1, 1 / (1 - exponent_));
    return std::clamp<int64_t>(static_cast<int64_t>(rank), 0, count_ - 1);
  }

 private:
  int64_t count_;
  double exponent_;
  double sum_ = 0;
  double eta_ = 0;
};

}  // namespace

uint64_t Scatter(uint64_t number) {
  number += 0x9e3779b97f4a7c15;
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
  number = (number ^ number >> 27) * 0x94d049bb133111eb;
  return number ^ number >> 31;
}

std::vector<int64_t> Shuffled(int64_t count, uint64_t seed) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  std::mt19937_64 chance(seed);
  std::shuffle(numbers.begin(), numbers.end(), chance);
  return numbers;
}

std::vector<int64_t> DrawNumbers(int64_t count, int64_t draws, double zipf, uint64_t seed) {
  std::vector<int64_t> drawn;
  drawn.reserve(static_cast<size_t>(draws));
  if (zipf > 0) {
    const std::vector<int64_t> by_rank = Shuffled(count, seed);
    std::mt19937_64 chance(Scatter(seed));
    ZipfRanks ranks(count, zipf);
    for (int64_t i = 0; i < draws; ++i) {
      drawn.push_back(by_rank[static_cast<size_t>(ranks.Draw(chance))]);
    }
    return drawn;
  }
  for (uint64_t round = 0; static_cast<int64_t>(drawn.size()) < draws; ++round) {
    const std::vector<int64_t> all = Shuffled(count, seed + round);
    const auto missing = static_cast<size_t>(draws) - drawn.size();
    drawn.insert(drawn.end(), all.begin(),
                 all.begin() + static_cast<ptrdiff_t>(std::min(missing, all.size())));
  }
  return drawn;
}

}  // namespace weir::load
