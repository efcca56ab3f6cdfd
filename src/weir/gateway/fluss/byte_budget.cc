#include "weir/gateway/fluss/byte_budget.h"

namespace weir::fluss {

Task<void> ByteBudget::Take(size_t bytes) {
  WEIR_CHECK(bytes <= bytes_max_);
  // Those who wait come first, or a large request would never find its turn among small ones.
  if (waiting_.load() == 0 && TryTake(bytes)) co_return;
  waiting_.fetch_add(1);
  co_await On(home_, WaitInLine(bytes));
}

void ByteBudget::Give(size_t bytes) {
  taken_.fetch_sub(bytes);
  if (waiting_.load() != 0) home_.Post([this] { ServeLine(); });
}

bool ByteBudget::TryTake(size_t bytes) {
  size_t taken = taken_.load();
  while (bytes <= bytes_max_ - taken) {
    if (taken_.compare_exchange_weak(taken, taken + bytes)) return true;
  }
  return false;
}

Task<void> ByteBudget::WaitInLine(size_t bytes) {
  struct Awaiter {
    ByteBudget& budget;
    size_t bytes;
    bool await_ready() const { return false; }
    bool await_suspend(std::coroutine_handle<> waiter) {
      if (budget.line_.empty() && budget.TryTake(bytes)) {
        budget.waiting_.fetch_sub(1);
        return false;
      }
      budget.line_.push_back({bytes, waiter});
      return true;
    }
    void await_resume() const {}
  };
  co_await Awaiter{*this, bytes};
}

void ByteBudget::ServeLine() {
  while (!line_.empty() && TryTake(line_.front().bytes)) {
    const Waiter first = line_.front();
    line_.pop_front();
    waiting_.fetch_sub(1);
    first.handle.resume();
  }
}

}  // namespace weir::fluss
