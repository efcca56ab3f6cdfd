// Wall-clock time and chance. They come in from the rim, so that decisions can be tested and runs
// repeated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weir/base/ids.h"

namespace weir {

class Clock {
 public:
  virtual ~Clock() = default;
  /// May jump. Any thread.
  virtual Timestamp Now() const = 0;
};

class Random {
 public:
  virtual ~Random() = default;
  /// 64 unpredictable bits. Any thread.
  virtual uint64_t Next() = 0;
};

}  // namespace weir
