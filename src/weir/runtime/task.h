// Task<T>: a coroutine that starts when it is awaited, and that can be awaited once.
//
// Why not Asio's awaitable: a Task does not know what it runs on, so that everything above the
// runtime compiles without Asio's headers and runs unchanged in a simulated world
// (docs/decisions/own-task-type.md).
//
// Coroutines take their parameters by value, or by a reference to what outlives them; no capturing
// lambda is itself a coroutine, because the captures die with the lambda.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "weir/base/check.h"

namespace weir {

template <typename T>
class Task;

namespace internal {

struct PromiseBase {
  std::coroutine_handle<> continuation = std::noop_coroutine();

  std::suspend_always initial_suspend() noexcept { return {}; }

  struct Final {
    bool await_ready() noexcept { return false; }
    template <typename Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> done) noexcept {
      return done.promise().continuation;
    }
    void await_resume() noexcept {}
  };
  Final final_suspend() noexcept { return {}; }

  // Our code does not throw; what a library throws is converted in its home.
  void unhandled_exception() noexcept { std::terminate(); }
};

template <typename T>
struct Promise : PromiseBase {
  std::optional<T> value;
  Task<T> get_return_object();
  template <typename U>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  T Take() { return std::move(*value); }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() {}
  void Take() {}
};

}  // namespace internal

template <typename T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = internal::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  auto operator co_await() && {
    struct Awaiter {
      Handle handle;
      bool await_ready() { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<> continuation) {
        handle.promise().continuation = continuation;
        return handle;
      }
      T await_resume() { return handle.promise().Take(); }
    };
    WEIR_CHECK(handle_);
    return Awaiter{handle_};
  }

 private:
  Handle handle_;
};

namespace internal {

template <typename T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}

inline Task<void> Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

/// A coroutine that nobody awaits: it starts at once and frees itself at its end.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

}  // namespace internal

/// Starts `task` here and now, up to its first suspension, and lets it run on its own. Prefer
/// TaskScope::Spawn, which can be waited for.
inline void Spawn(Task<void> task) {
  [](Task<void> running) -> internal::Detached { co_await std::move(running); }(std::move(task));
}

}  // namespace weir
