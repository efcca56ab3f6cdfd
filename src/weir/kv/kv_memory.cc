#include "weir/kv/kv_memory.h"

#include <algorithm>
#include <chrono>
#include <deque>

#include <rocksdb/cache.h>
#include <rocksdb/env.h>

namespace weir {
namespace {

// What is evicted before the loop does something else: some milliseconds.
constexpr size_t kEvictBytesPerTurn = size_t{4} << 20;
constexpr Duration kRestAfterFailure = std::chrono::seconds(1);
// Few and shared by all states: flushes do not use them, only compactions.
constexpr int kCompactionThreads = 2;

}  // namespace

struct KvMemory::Shared : std::enable_shared_from_this<Shared> {
  Shared(size_t hot_bytes_max, const std::vector<EventLoop*>& event_loops)
      : hot_bytes_max(hot_bytes_max) {
    for (EventLoop* loop : event_loops) loops.emplace_back(*loop, *this);
  }

  size_t hot_bytes() const {
    size_t sum = 0;
    for (const KvLoopMemory& loop : loops) sum += loop.hot_bytes_;
    return sum;
  }
  size_t unflushed_bytes() const {
    size_t sum = 0;
    for (const KvLoopMemory& loop : loops) sum += loop.unflushed_bytes_;
    return sum;
  }
  /// Half of the whole memory.
  size_t unflushed_bytes_max() const { return hot_bytes_max / 3 * 2; }
  /// From here on states are flushed: the more at once the less compactions have to do.
  size_t unflushed_bytes_good() const { return hot_bytes_max / 5 * 2; }
  bool HasRoom() const {
    return unflushed_bytes() < unflushed_bytes_max() &&
           hot_bytes() <= hot_bytes_max + hot_bytes_max / 8;
  }
  void WakeWaiters() {
    for (KvLoopMemory& loop : loops) loop.WakeWaiters();
  }

  const size_t hot_bytes_max;
  std::deque<KvLoopMemory> loops;  // they stay where they are
};

KvMemory::KvMemory(KvMemoryConfig config, std::vector<EventLoop*> loops)
    : config_(config),
      shared_(std::make_shared<Shared>(config.bytes_max - config.bytes_max / 4, loops)),
      block_cache_(rocksdb::NewLRUCache(config.bytes_max / 4)),
      env_(config.env != nullptr ? config.env : rocksdb::Env::Default()) {
  env_->SetBackgroundThreads(kCompactionThreads, rocksdb::Env::LOW);
  env_->SetBackgroundThreads(1, rocksdb::Env::HIGH);
}

KvMemory::~KvMemory() = default;

KvLoopMemory& KvMemory::Of(const EventLoop& loop) {
  for (KvLoopMemory& of : shared_->loops) {
    if (&of.loop_ == &loop) return of;
  }
  WEIR_UNREACHABLE();
}

size_t KvMemory::hot_bytes() const {
  return shared_->hot_bytes();
}
size_t KvMemory::hot_bytes_max() const {
  return shared_->hot_bytes_max;
}
size_t KvMemory::unflushed_bytes() const {
  return shared_->unflushed_bytes();
}
size_t KvMemory::unflushed_bytes_max() const {
  return shared_->unflushed_bytes_max();
}

void KvLoopMemory::Remove(KvMemoryUser* user) {
  std::erase(users_, user);
  if (flush_wanted_of_ == user) flush_wanted_of_ = nullptr;
}

void KvLoopMemory::OnChange(ptrdiff_t hot_bytes, ptrdiff_t unflushed_bytes) {
  hot_bytes_ += static_cast<size_t>(hot_bytes);
  unflushed_bytes_ += static_cast<size_t>(unflushed_bytes);
  if ((hot_bytes < 0 || unflushed_bytes < 0) && shared_.HasRoom()) shared_.WakeWaiters();
}

void KvLoopMemory::Balance() {
  const size_t loops = shared_.loops.size();
  const size_t max = shared_.hot_bytes_max;
  // A loop gives first of what it has above its even part, so that a busy one can take from idle
  // ones; they are asked, and until they answer it may go a little over the budget.
  const size_t fair = max / loops, slack = max / 16;
  if (const size_t used = shared_.hot_bytes(); used > max) {
    if (hot_bytes_ > fair || used > max + slack) EvictHere(used - max);
    for (KvLoopMemory& other : shared_.loops) {
      if (&other != this && other.hot_bytes_ > fair) other.BalanceLater();
    }
  }
  const size_t good = shared_.unflushed_bytes_good();
  if (shared_.unflushed_bytes() <= good) return;
  if (unflushed_bytes_ > good / loops) WantFlush();
  for (KvLoopMemory& other : shared_.loops) {
    if (&other != this && other.unflushed_bytes_ > good / loops) other.BalanceLater();
  }
}

void KvLoopMemory::BalanceLater() {
  if (is_asked_.exchange(true)) return;
  loop_.Post([this, alive = shared_.shared_from_this()] {
    is_asked_ = false;
    Balance();
  });
}

void KvLoopMemory::EvictHere(size_t bytes) {
  const size_t goal = std::min(bytes, kEvictBytesPerTurn);
  size_t freed = 0;
  // Each visit looks at a sixteenth of a state's rows, so that the hand of this clock goes around
  // all of them alike. A row is spared once for having been read: after two rounds all were seen.
  for (size_t visits = users_.size() * 34; visits > 0 && freed < goal; --visits) {
    if (next_user_ >= users_.size()) next_user_ = 0;
    KvMemoryUser* const user = users_[next_user_++];
    const size_t rows = user->clean_rows();
    if (rows > 0) freed += user->Evict(std::max<size_t>(64, rows / 16), goal - freed);
  }
  if (freed >= goal && goal < bytes) BalanceLater();
}

void KvLoopMemory::WantFlush() {
  if (flush_wanted_of_ != nullptr || rests_ || users_.empty()) return;
  KvMemoryUser* const user = *std::max_element(
      users_.begin(), users_.end(),
      [](const auto* a, const auto* b) { return a->dirty_bytes() < b->dirty_bytes(); });
  if (user->dirty_bytes() == 0) return;
  flush_wanted_of_ = user;
  // Not now: this may be in the middle of what somebody does with the state.
  loop_.Post([this, user, alive = shared_.shared_from_this()] {
    if (flush_wanted_of_ == user) user->OnFlushWanted();
  });
}

void KvLoopMemory::OnFlushed(KvMemoryUser* user, bool is_ok) {
  if (flush_wanted_of_ == user) flush_wanted_of_ = nullptr;
  if (is_ok) return Balance();
  if (std::exchange(rests_, true)) return;
  loop_.StartTimer(kRestAfterFailure, [this, alive = shared_.shared_from_this()] {
    rests_ = false;
    Balance();
  });
}

Task<bool> KvLoopMemory::AwaitRoom(Duration time_max) {
  const Duration until = loop_.Elapsed() + time_max;
  while (!shared_.HasRoom()) {
    const Duration left = until - loop_.Elapsed();
    if (left <= Duration::zero()) co_return false;
    Event has_room(loop_);
    waiters_.push_back(&has_room);
    has_waiters_ = true;
    // Between the two someone else may have made room and seen no waiter.
    if (!shared_.HasRoom()) {
      Balance();
      co_await has_room.WaitFor(left);
    }
    std::erase(waiters_, &has_room);
  }
  co_return true;
}

void KvLoopMemory::WakeWaiters() {
  if (!has_waiters_.exchange(false)) return;
  loop_.Post([this, alive = shared_.shared_from_this()] {
    const std::vector<Event*> waiters = std::exchange(waiters_, {});
    for (Event* waiter : waiters) waiter->Set();
  });
}

}  // namespace weir
