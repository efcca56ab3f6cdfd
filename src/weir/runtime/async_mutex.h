// Turns for coroutines of one loop: who has the turn keeps it over its suspensions, the others wait
// in line.
#pragma once

#include <coroutine>
#include <deque>
#include <utility>

#include "weir/base/check.h"
#include "weir/runtime/event_loop.h"

namespace weir {

class AsyncMutex {
 public:
  AsyncMutex() = default;
  AsyncMutex(const AsyncMutex&) = delete;
  AsyncMutex& operator=(const AsyncMutex&) = delete;

  class [[nodiscard]] Turn {
   public:
    explicit Turn(AsyncMutex* mutex) : mutex_(mutex) {}
    Turn(Turn&& other) noexcept : mutex_(std::exchange(other.mutex_, nullptr)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (mutex_ != nullptr) mutex_->Release();
    }

   private:
    AsyncMutex* mutex_;
  };

  /// const auto turn = co_await mutex.Take();   held until `turn` ends
  auto Take() {
    struct Awaiter {
      AsyncMutex& mutex;
      bool await_ready() {
        if (mutex.is_taken_) return false;
        mutex.is_taken_ = true;
        return true;
      }
      void await_suspend(std::coroutine_handle<> waiter) { mutex.waiters_.push_back(waiter); }
      Turn await_resume() { return Turn(&mutex); }
    };
    return Awaiter{*this};
  }

 private:
  void Release() {
    WEIR_CHECK(is_taken_);
    if (waiters_.empty()) {
      is_taken_ = false;
      return;
    }
    const std::coroutine_handle<> next = waiters_.front();
    waiters_.pop_front();
    // Not now: who gives the turn back goes on first, so that turns end in their order.
    EventLoop::Current()->Post([next] { next.resume(); });
  }

  bool is_taken_ = false;
  std::deque<std::coroutine_handle<>> waiters_;
};

}  // namespace weir
