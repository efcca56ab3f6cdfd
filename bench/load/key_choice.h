// Which keys a bench takes: all alike, or some far more often than others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::load {

/// A number that shows nothing of `number` (the finalizer of SplitMix64; Steele, Lea, Flood: Fast
/// Splittable Pseudorandom Number Generators, OOPSLA 2014).
uint64_t Scatter(uint64_t number);

/// The numbers [0, count) in an order of chance, the same for the same seed.
std::vector<int64_t> Shuffled(int64_t count, uint64_t seed);

/// `draws` numbers below `count`. With `zipf` 0 each number comes as often as the others, give or
/// take one: shuffled, again and again. Otherwise the r-th most frequent number comes with a
/// frequency of 1 / r^zipf, `zipf` < 1, and frequent numbers lie anywhere.
std::vector<int64_t> DrawNumbers(int64_t count, int64_t draws, double zipf, uint64_t seed);

}  // namespace weir::load
