// Threads for work that may block: files that are not in the page cache, fsync, compression of
// large pieces.
#pragma once

#include <functional>
#include <optional>
#include <type_traits>

#include "weir/runtime/event_loop.h"

namespace weir {

class BlockingPool {
 public:
  virtual ~BlockingPool() = default;

  /// Runs `work` on one of the pool's threads. Any thread. The callers bound the queue: each of
  /// them waits for its work.
  virtual void Submit(std::function<void()> work) = 0;

  /// co_await pool.Run(work): work() on the pool, its result here, on the loop that asked.
  ///
  /// `work` is a variable, or a closure over references and numbers: gcc 12 destroys a temporary
  /// inside of a co_await expression twice, so what it captures must not mind.
  template <typename F>
  auto Run(F&& work) {
    static_assert(std::is_lvalue_reference_v<F> || std::is_trivially_destructible_v<F>,
                  "name it first");
    using R = std::invoke_result_t<F&>;
    struct Awaiter {
      BlockingPool& pool;
      std::remove_reference_t<F>& work;
      std::optional<R> result;
      bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> waiter) {
        EventLoop* const home = EventLoop::Current();
        WEIR_CHECK(home != nullptr);
        pool.Submit([this, waiter, home] {
          result.emplace(work());
          home->Post([waiter] { waiter.resume(); });
        });
      }
      R await_resume() { return *std::move(result); }
    };
    return Awaiter{*this, work, std::nullopt};
  }
};

}  // namespace weir
