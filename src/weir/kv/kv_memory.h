// The memory that all states of the process share: what is over it costs speed, never memory. A
// quarter is the cache of RocksDB's blocks, the rest hot rows.
//
// What is committed and on the disk may be forgotten at any time; what is not must be flushed
// first, and is kept below half of the memory by flushing and by letting writers wait. So hot rows
// take no more than their part, an eighth of it, and the writes and reads that are under way (their
// rows are held, whatever the budget says).
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "weir/runtime/event_loop.h"

namespace rocksdb {
class Cache;
class Env;
}  // namespace rocksdb

namespace weir {

class KvLoopMemory;

/// A state, as its memory sees it. Lives on one loop.
class KvMemoryUser {
 public:
  virtual ~KvMemoryUser() = default;
  /// Forgets rows that are on the disk: looks at up to `rows_max` of them, until `bytes_min` are
  /// free. Returns what is free.
  virtual size_t Evict(size_t rows_max, size_t bytes_min) = 0;
  virtual size_t clean_rows() const = 0;
  /// Of committed rows that are not on the disk.
  virtual size_t dirty_bytes() const = 0;
  /// A flush would be good; told once until one has ended.
  virtual void OnFlushWanted() = 0;
};

struct KvMemoryConfig {
  /// Of rows and of RocksDB's blocks in memory.
  size_t bytes_max = size_t{1} << 30;
  /// RocksDB's way to files; null: the system's.
  rocksdb::Env* env = nullptr;
  /// Memory of the rows that one table of a flush takes: so many that compactions have little to
  /// do, and so few that it does not matter when rows are overwritten while they are written.
  size_t flush_step_bytes = size_t{16} << 20;
  /// What a loop does of a long work before it does something else: less than a millisecond.
  size_t rows_per_turn = 2000;
};

class KvMemory {
 public:
  /// States may live on these loops, which outlive this; this outlives the states.
  KvMemory(KvMemoryConfig config, std::vector<EventLoop*> loops);
  ~KvMemory();
  KvMemory(const KvMemory&) = delete;
  KvMemory& operator=(const KvMemory&) = delete;

  KvLoopMemory& Of(const EventLoop& loop);

  const KvMemoryConfig& config() const { return config_; }

  /// Any thread.
  size_t hot_bytes() const;
  size_t hot_bytes_max() const;
  /// Of rows that are not on the disk, committed or not.
  size_t unflushed_bytes() const;
  size_t unflushed_bytes_max() const;

  const std::shared_ptr<rocksdb::Cache>& block_cache() const { return block_cache_; }
  rocksdb::Env* env() const { return env_; }

 private:
  struct Shared;

  friend class KvLoopMemory;

  const KvMemoryConfig config_;
  std::shared_ptr<Shared> shared_;
  std::shared_ptr<rocksdb::Cache> block_cache_;
  rocksdb::Env* env_;
};

/// The part of one loop. Lives on it.
class KvLoopMemory {
 public:
  KvLoopMemory(EventLoop& loop, KvMemory::Shared& shared) : loop_(loop), shared_(shared) {}
  KvLoopMemory(const KvLoopMemory&) = delete;
  KvLoopMemory& operator=(const KvLoopMemory&) = delete;

  void Add(KvMemoryUser* user) { users_.push_back(user); }
  void Remove(KvMemoryUser* user);

  /// The states of this loop have grown or shrunk. Does not call them.
  void OnChange(ptrdiff_t hot_bytes, ptrdiff_t unflushed_bytes);
  /// Keeps the budget: lets states of this loop forget rows, asks the other loops to do the same,
  /// and asks for flushes.
  void Balance();
  void OnFlushed(KvMemoryUser* user, bool is_ok);
  bool WantsFlushOf(const KvMemoryUser* user) const { return flush_wanted_of_ == user; }

  /// Waits until rows may be written. Returns whether that came to be within `time_max`.
  Task<bool> AwaitRoom(Duration time_max);

 private:
  friend class KvMemory;
  friend struct KvMemory::Shared;

  void EvictHere(size_t bytes);
  /// Comes back to Balance in a later turn of the loop.
  void BalanceLater();
  void WantFlush();
  void WakeWaiters();

  EventLoop& loop_;
  KvMemory::Shared& shared_;
  std::atomic<size_t> hot_bytes_ = 0;
  std::atomic<size_t> unflushed_bytes_ = 0;
  std::atomic<bool> is_asked_ = false;
  std::atomic<bool> has_waiters_ = false;
  std::vector<KvMemoryUser*> users_;
  size_t next_user_ = 0;
  const KvMemoryUser* flush_wanted_of_ = nullptr;
  /// After a flush that failed.
  bool rests_ = false;
  std::vector<Event*> waiters_;
};

}  // namespace weir
