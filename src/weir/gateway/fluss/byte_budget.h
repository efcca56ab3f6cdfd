// A bound on the bytes that requests hold in memory, shared by the connections of all loops.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <deque>

#include "weir/runtime/event_loop.h"

namespace weir::fluss {

/// Who takes bytes gives them back; who finds too few waits in line, and does not read from its
/// client meanwhile.
class ByteBudget {
 public:
  /// The line of those who wait is kept on `home`.
  ByteBudget(EventLoop& home, size_t bytes_max) : home_(home), bytes_max_(bytes_max) {}
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;

  /// Takes `bytes`, at most bytes_max(), or suspends until they are there. Any loop.
  Task<void> Take(size_t bytes);

  /// Any loop.
  void Give(size_t bytes);

  size_t bytes_max() const { return bytes_max_; }
  size_t taken() const { return taken_.load(); }

 private:
  struct Waiter {
    size_t bytes;
    std::coroutine_handle<> handle;
  };

  bool TryTake(size_t bytes);
  Task<void> WaitInLine(size_t bytes);
  void ServeLine();

  EventLoop& home_;
  const size_t bytes_max_;
  std::atomic<size_t> taken_ = 0;
  // How many wait or are about to. Who gives looks at it after giving, who waits raises it before a
  // last try: one of them sees the other.
  std::atomic<size_t> waiting_ = 0;
  std::deque<Waiter> line_;  // on home_
};

}  // namespace weir::fluss
