// An event loop: one thread that runs what is posted to it, in order. What belongs to a loop
// (connections, buckets) is touched only by its thread, so it needs no lock.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <vector>

#include "weir/runtime/task.h"

namespace weir {

using Duration = std::chrono::nanoseconds;

class EventLoop {
 public:
  using Work = std::function<void()>;
  using TimerId = uint64_t;

  virtual ~EventLoop() = default;

  /// Runs `work` on this loop. Any thread; what one thread posts runs in the order of posting.
  virtual void Post(Work work) = 0;

  /// Runs `work` on this loop after `delay`. Only on the loop itself.
  virtual TimerId StartTimer(Duration delay, Work work) = 0;
  /// Forgets a timer that has not fired yet. Only on the loop itself.
  virtual void CancelTimer(TimerId timer) = 0;

  /// Time since some fixed moment; never goes back.
  virtual Duration Elapsed() const = 0;

  /// The loop whose thread this is, or null.
  static EventLoop* Current();
  bool IsCurrent() const { return Current() == this; }

  /// co_await loop.Enter(): continues on this loop; at once if it is there already.
  auto Enter() {
    struct Awaiter {
      EventLoop& loop;
      bool await_ready() const { return loop.IsCurrent(); }
      void await_suspend(std::coroutine_handle<> waiter) {
        loop.Post([waiter] { waiter.resume(); });
      }
      void await_resume() const {}
    };
    return Awaiter{*this};
  }

  /// co_await loop.NextTurn(), on the loop itself: goes on after what else waits for it now. Long
  /// work that does so now and then keeps nobody waiting for long.
  auto NextTurn() {
    struct Awaiter {
      EventLoop& loop;
      bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> waiter) {
        loop.Post([waiter] { waiter.resume(); });
      }
      void await_resume() const {}
    };
    return Awaiter{*this};
  }

  /// co_await loop.Sleep(delay), on the loop itself.
  auto Sleep(Duration delay) {
    struct Awaiter {
      EventLoop& loop;
      Duration delay;
      bool await_ready() const { return false; }
      void await_suspend(std::coroutine_handle<> waiter) {
        loop.StartTimer(delay, [waiter] { waiter.resume(); });
      }
      void await_resume() const {}
    };
    return Awaiter{*this, delay};
  }

 protected:
  static void SetCurrent(EventLoop* loop);
};

/// Runs `task` on `loop`, then goes on where it was called. Posts from one loop to another keep
/// their order.
template <typename T>
Task<T> On(EventLoop& loop, Task<T> task) {
  EventLoop* const home = EventLoop::Current();
  WEIR_CHECK(home != nullptr);
  co_await loop.Enter();
  if constexpr (std::is_void_v<T>) {
    co_await std::move(task);
    co_await home->Enter();
  } else {
    T result = co_await std::move(task);
    co_await home->Enter();
    co_return result;
  }
}

/// Tasks that belong together and can be waited for. Lives on one loop.
class TaskScope {
 public:
  TaskScope() = default;
  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;
  ~TaskScope() { WEIR_CHECK(running_ == 0); }

  /// Starts `task` here and now, up to its first suspension. It must end on the loop on which it
  /// began.
  void Spawn(Task<void> task) {
    ++running_;
    weir::Spawn(Run(this, std::move(task)));
  }

  size_t running() const { return running_; }

  /// co_await scope.Join(): continues when nothing runs any more. One waiter.
  auto Join() {
    struct Awaiter {
      TaskScope& scope;
      bool await_ready() const { return scope.running_ == 0; }
      void await_suspend(std::coroutine_handle<> waiter) { scope.waiter_ = waiter; }
      void await_resume() const {}
    };
    return Awaiter{*this};
  }

 private:
  static Task<void> Run(TaskScope* scope, Task<void> task) {
    co_await std::move(task);
    if (--scope->running_ == 0 && scope->waiter_) std::exchange(scope->waiter_, nullptr).resume();
  }

  size_t running_ = 0;
  std::coroutine_handle<> waiter_;
};

/// Starts all tasks in their order, each up to its first suspension, and gives their results in the
/// same order.
template <typename T>
Task<std::vector<T>> WhenAll(std::vector<Task<T>> tasks) {
  struct Step {
    static Task<void> Run(Task<T> task, std::optional<T>* out) {
      out->emplace(co_await std::move(task));
    }
  };
  std::vector<std::optional<T>> done(tasks.size());
  TaskScope scope;
  for (size_t i = 0; i < tasks.size(); ++i) scope.Spawn(Step::Run(std::move(tasks[i]), &done[i]));
  co_await scope.Join();
  std::vector<T> results;
  results.reserve(done.size());
  for (std::optional<T>& result : done) results.push_back(std::move(*result));
  co_return results;
}

/// Something that happens once. Lives on one loop; one coroutine may wait for it.
class Event {
 public:
  explicit Event(EventLoop& loop) : loop_(loop) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  bool is_set() const { return is_set_; }

  /// Only on the loop. Later calls do nothing. The waiter runs before Set returns.
  void Set() {
    if (is_set_) return;
    is_set_ = true;
    Wake();
  }

  /// co_await event.Wait()
  auto Wait() {
    struct Awaiter {
      Event& event;
      bool await_ready() const { return event.is_set_; }
      void await_suspend(std::coroutine_handle<> waiter) { event.waiter_ = waiter; }
      void await_resume() const {}
    };
    return Awaiter{*this};
  }

  /// co_await event.WaitFor(time): also continues when the time is over. Returns whether the event
  /// is set.
  auto WaitFor(Duration time) {
    struct Awaiter {
      Event& event;
      Duration time;
      bool await_ready() const { return event.is_set_; }
      void await_suspend(std::coroutine_handle<> waiter) {
        event.waiter_ = waiter;
        event.timer_ = event.loop_.StartTimer(time, [this] {
          event.timer_.reset();
          event.Wake();
        });
      }
      bool await_resume() const { return event.is_set_; }
    };
    return Awaiter{*this, time};
  }

 private:
  void Wake() {
    if (timer_) loop_.CancelTimer(*std::exchange(timer_, std::nullopt));
    if (waiter_) std::exchange(waiter_, nullptr).resume();
  }

  EventLoop& loop_;
  bool is_set_ = false;
  std::coroutine_handle<> waiter_;
  std::optional<EventLoop::TimerId> timer_;
};

}  // namespace weir
