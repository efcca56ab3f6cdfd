// The state of one bucket of a primary-key table: its current rows by key. New rows are hot: they
// lie in an ordered map in memory, with the versions that readers below the high watermark still
// see. Committed rows become cold when the map is full: they are written to RocksDB as sorted
// tables. RocksDB has no log of its own here: what it does not have yet is made again of the
// changelog.
//
// Lives on its group's loop. What lies on the disk: docs/formats/kv_state.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/base/bytes.h"
#include "weir/base/ids.h"
#include "weir/base/result.h"
#include "weir/kv/hot_map.h"
#include "weir/kv/hot_row.h"
#include "weir/kv/kv_memory.h"
#include "weir/runtime/async_mutex.h"
#include "weir/runtime/blocking_pool.h"
#include "weir/runtime/event_loop.h"
#include "weir/runtime/file.h"

namespace weir {

class KvDb;
class KvScans;

/// All rows as they were at one offset, in key order. Keeps its place on the disk until it goes
/// away. Lives on the state's loop; may outlive the state. Ends with kCancelled when the state is
/// stopped, and when it must be opened anew because the disk failed.
class KvScan {
 public:
  virtual ~KvScan() = default;
  virtual LogOffset log_offset() const = 0;
  /// Appends stored values until `bytes_max` is reached, at least one if there is one. Returns
  /// whether there are more. One call at a time. Errors: kIo, kCorruptData, kCancelled.
  virtual Task<Result<bool>> Read(size_t bytes_max, int64_t rows_max,
                                  std::vector<std::string>* values) = 0;
};

/// What a state asks of its owner. Both are called on the loop, and may be empty.
struct KvHooks {
  /// Memory is short: Flush(0) soon.
  std::function<void()> flush_wanted;
  /// Makes the changelog below an offset durable. A flush waits for it before the disk has rows of
  /// it: otherwise a loss of power could leave a state that is ahead of its changelog.
  std::function<Task<Status>(LogOffset)> make_durable;
};

class KvState final : private KvMemoryUser {
 public:
  /// `directory` is made when the first row becomes cold. What it has (see KvCheckpoint) is opened.
  /// `keeps_times`: with each row the time of its write, from the first one on. Runs on the pool.
  /// What is passed by reference outlives it. Errors: kIo, kCorruptData.
  static Result<std::unique_ptr<KvState>> Open(std::string directory, FileSystem& files,
                                               KvMemory& memory, EventLoop& loop,
                                               BlockingPool& pool, bool keeps_times = false);
  /// Nothing of it may be running: Stop first. On the loop, if it was written to or read.
  ~KvState() override;

  void SetHooks(KvHooks hooks) { hooks_ = std::move(hooks); }

  /// What was on the disk when the state was opened; the changelog is to be replayed from there.
  const KvCheckpoint& checkpoint() const { return checkpoint_; }

  // --- Reading. Keys are as they stand in kv batches; values have the schema id before the row.

  /// Fetches from memory what is needed to find these keys (and to write them): to be called before
  /// many of them are looked for, some hundred at most at once. Only makes it faster.
  void Prefetch(std::span<const Bytes> keys, bool is_write) const { map_.Prefetch(keys, is_write); }
  /// The newest version, committed or not; for who merges. `row` is set with kRow and stays as long
  /// as it is held.
  HotLookup FindNewest(Bytes key, HotRowRef* row) { return map_.FindNewest(key, row); }
  /// The newest version below the high watermark.
  HotLookup FindCommitted(Bytes key, HotRowRef* row) { return map_.FindCommitted(key, row); }

  /// While one lives no row leaves the map for the disk, so that what was found there, also that a
  /// key is absent, can be found again. On the state's loop.
  class [[nodiscard]] Hold {
   public:
    explicit Hold(KvState& state) : state_(state) { ++state_.holds_; }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold() { state_.EndHold(); }

   private:
    KvState& state_;
  };

  /// Reads keys that are cold into the map, also that they are absent (then with a tombstone), and
  /// gives their newest versions below the high watermark, in the order of the keys. Who asks keeps
  /// the bytes of the keys until then.
  /// Errors: kIo, kCorruptData, kCancelled.
  Task<Result<std::vector<HotRowRef>>> Load(std::vector<Bytes> keys);

  /// Committed rows whose keys start with `prefix` and, if `after` is given, lie behind it; in key
  /// order; at most rows_max of them and no more than about bytes_max, but at least one. Seeks.
  /// Errors: kIo, kCorruptData, kCancelled.
  Task<Result<std::vector<HotRowRef>>> ScanPrefix(std::string prefix,
                                                  std::optional<std::string> after, size_t rows_max,
                                                  size_t bytes_max);

  /// Opens a scan at the high watermark; flushes what is committed. Errors: as Flush.
  Task<Result<std::unique_ptr<KvScan>>> OpenScan();

  /// Whether any key may have to be read from the disk.
  bool may_be_cold() const { return !map_.is_complete(); }

  /// Committed rows.
  int64_t row_count() const { return map_.row_count(); }
  /// Memory of all that is in the map.
  size_t hot_bytes() const { return map_.bytes(); }

  // --- Writing. One write at a time: staged, then sealed or undone.

  /// Waits until the states of the process have room for more rows that are not on the disk.
  /// Returns whether there is room before `time_max` is over; otherwise a write is to be refused.
  Task<bool> AwaitRoom(Duration time_max);

  /// `written_at` counts in a state that keeps times.
  void StagePut(Bytes key, SchemaId schema_id, Bytes row, Timestamp written_at = kNoTimestamp) {
    map_.StagePut(key, schema_id, row, written_at);
  }
  void StageDelete(Bytes key) { map_.StageDelete(key); }
  /// What was staged is the changelog's up to `end`; it becomes visible when that is committed.
  void Seal(LogOffset end, int64_t row_count_change);
  void Unstage();

  /// All below is committed.
  void OnCommitted(LogOffset high_watermark);
  /// What was sealed with an end above `from` did not happen, nor what is staged.
  void OnLost(LogOffset from);

  // --- Disk

  /// Writes committed rows to the disk until at most `dirty_bytes_max` of them are only in memory;
  /// with 0 all that is committed now, and flushed_offset() is then at least what the high
  /// watermark is now. One at a time; others wait.
  /// Errors: kIo, kNoSpace, kCorruptData, kCancelled: rows that are not written stay in memory.
  Task<Status> Flush(size_t dirty_bytes_max);
  size_t dirty_bytes() const override { return map_.dirty_bytes(); }
  /// Whether the hook flush_wanted was called, and no flush has ended since.
  bool needs_flush() const { return here_.WantsFlushOf(this); }
  /// The changelog below it is not needed for a restart any more.
  LogOffset flushed_offset() const { return flushed_.log_offset; }

  /// Flushes all, then makes `directory` (which must not exist, while its parent does) a copy of
  /// the state as a RocksDB database, with hard links where that can be. Errors: as Flush.
  Task<Result<KvCheckpoint>> Snapshot(std::string directory);

  /// Ends what runs in the background, and forgets all rows. Later calls fail with kCancelled;
  /// earlier ones but flushes are to be waited for before.
  Task<void> Stop();

 private:
  struct ReadMark;

  KvState(std::string directory, FileSystem& files, KvMemory& memory, EventLoop& loop,
          BlockingPool& pool, KvCheckpoint checkpoint, bool has_tables, bool keeps_times);

  // KvMemoryUser
  size_t Evict(size_t rows_max, size_t bytes_min) override;
  size_t clean_rows() const override { return map_.clean_rows(); }
  void OnFlushWanted() override;

  void EndHold();

  /// Tells the memory what changed since it was told last.
  void Account();
  void AccountAndBalance();

  Task<Result<std::shared_ptr<KvDb>>> OpenDb();
  Task<Status> CloseFailedDb();
  Task<Status> CloseDb();
  Task<Status> FlushInTurn(size_t dirty_bytes_max, bool is_exact);
  Task<Status> FlushStep(bool is_exact);
  Task<Status> WriteStep(const HotMap::FlushStep& step);
  Task<Status> AwaitCompactions(std::shared_ptr<KvDb> db);
  Task<Status> LoadFromDisk(const std::vector<Bytes>* keys, std::vector<HotRowRef>* rows);
  Task<Result<std::vector<HotRowRef>>> ScanWithDisk(std::string prefix, std::string from,
                                                    bool is_behind, size_t rows_max,
                                                    size_t bytes_max);

  const std::string directory_;
  FileSystem& files_;
  KvMemory& memory_;
  EventLoop& loop_;
  BlockingPool& pool_;
  KvLoopMemory& here_;
  const KvCheckpoint checkpoint_;
  const size_t rows_per_turn_;
  KvHooks hooks_;

  HotMap map_;
  bool is_known_to_memory_ = false;
  size_t told_hot_bytes_ = 0;
  size_t told_unflushed_bytes_ = 0;

  AsyncMutex flush_turn_;
  AsyncMutex open_turn_;
  std::shared_ptr<KvDb> db_;
  /// Those that hold it.
  const std::shared_ptr<KvScans> scans_;
  /// Whether there is a database, open or not.
  bool has_tables_;
  /// What the file STATE says.
  KvCheckpoint flushed_;
  /// Whether the tables are the state at flushed_, without anything newer and without gaps.
  bool is_exact_;
  bool is_stopped_ = false;
  /// For each read of the disk that is under way flushed_offset() at its start: what became clean
  /// since then may not be seen by it, so it must stay in the map.
  std::map<LogOffset, size_t> reads_;
  size_t holds_ = 0;
  /// Whether the memory was short while rows were held.
  bool owes_rows_ = false;
};

/// Removes what a state has on the disk, if anything. Runs on the pool. Errors: kIo.
Status RemoveKvState(FileSystem& files, const std::string& directory);

}  // namespace weir
