// One bucket: judges writes, owns the high watermark, and serves what is below it. A bucket of a
// primary-key table has rows beside its log: a put changes both at once.
//
// Lives on its group's loop.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "weir/base/buffer.h"
#include "weir/bucket/bucket_table.h"
#include "weir/bucket/row_reads.h"
#include "weir/bucket/row_writes.h"
#include "weir/kv/kv_state.h"
#include "weir/log/group_log.h"
#include "weir/log/log_reader.h"
#include "weir/runtime/async_mutex.h"
#include "weir/runtime/event_loop.h"

namespace weir {

enum class Acks { kNone, kLeader, kAll };

/// Wanted columns, ascending positions in the latest schema.
using ProjectedColumns = std::vector<int32_t>;

struct BucketRead {
  LogOffset high_watermark;
  LogOffset log_start;
  LogBytes records;
};

inline constexpr LogOffset kEarliestOffset{-2};
/// The answer to an append of nothing.
inline constexpr LogOffset kNoOffset{-1};

class Bucket final : public BucketLogListener {
 public:
  /// A bucket of a log table.
  Bucket(TableBucket id, std::shared_ptr<const BucketTable> table, GroupLog& group,
         EventLoop& loop);
  /// A bucket of a primary-key table. Recover it before anything else.
  Bucket(TableBucket id, std::shared_ptr<const BucketTable> table, GroupLog& group, EventLoop& loop,
         std::unique_ptr<KvState> state, NumberSource& numbers);
  /// Close it first, and let what runs in it end.
  ~Bucket() override;

  /// Brings the state up to the log's end: replays the changelog from what the disk has of the
  /// state. Returns how many records that were. Errors: kIo, kCorruptData.
  Task<Result<int64_t>> Recover();

  /// Ends it: who waits hears that the bucket was dropped, and nothing is taken any more.
  void Close();
  /// Ends what runs in the background, after everything that can be is on the disk.
  Task<void> Stop();

  void SetTable(std::shared_ptr<const BucketTable> table) { table_ = std::move(table); }

  const TableBucket& id() const { return id_; }
  bool is_closed() const { return is_closed_; }
  bool has_rows() const { return rows_ != nullptr; }
  LogOffset high_watermark() const { return high_watermark_; }
  LogOffset log_start() const { return log_->start; }

  /// Judges batches (one or more, whole) and puts them in line before it suspends; returns the
  /// offset of the first record when `acks` is reached. Errors: kCorruptBatch, kInvalidTable (not a
  /// log table), kSchemaNotFound, kOutOfOrderSequence: nothing changed. kNoSpace, kIo: not
  /// appended. kUnknownBucket: dropped meanwhile. kTimedOut: appended, and not yet committed.
  Task<Result<LogOffset>> Append(Buffer batches, Acks acks, Timestamp now, Duration timeout);

  /// Writes the rows of a kv batch, whole or not at all; puts take effect in the order in which
  /// they are called. Returns the log's end behind the changes when `acks` is reached. Errors: as
  /// Append and RowWrites::Merge; kNotPrimaryKeyTable; kOverloaded: too many puts wait.
  Task<Result<LogOffset>> Put(Buffer batch, PutMode mode, Acks acks, Timestamp now,
                              Duration timeout);

  /// The stored values of keys, in their order. Errors: kNotPrimaryKeyTable, kIo, kCorruptData.
  Task<Result<RowValues>> Lookup(std::vector<Bytes> keys);
  /// The same, after rows were made for keys that have none: the other columns are null, or
  /// numbered. Each key gets one row, also if many ask at once. Errors: also those of Put.
  Task<Result<RowValues>> LookupOrInsert(std::vector<Bytes> keys, Acks acks, Timestamp now,
                                         Duration timeout);
  /// For each prefix the values of the keys that begin with it, in key order. Errors: also
  /// kRecordTooLarge: they take more than kLookupBytesMax.
  Task<Result<std::vector<RowValues>>> LookupPrefixes(std::vector<Bytes> prefixes);
  /// A value batch of the first rows in key order. Errors: as LookupPrefixes.
  Task<Result<Buffer>> FirstRows(int64_t limit);
  /// All rows at the high watermark. Errors: kNotPrimaryKeyTable, kIo, kNoSpace, kCorruptData.
  Task<Result<std::unique_ptr<KvScan>>> OpenScan();
  /// Rows of a primary-key table, records of a log table. Errors: kUnsupported: a table whose
  /// changelog does not tell inserts from updates does not count.
  Result<int64_t> Count() const;

  /// Batches below the high watermark from `from` on (kEarliestOffset: from the start), see
  /// ReadLog. Errors: kOffsetOutOfRange, kInvalidProjection, kIo, kCorruptData.
  Task<Result<BucketRead>> Read(LogOffset from, size_t bytes_max,
                                std::optional<ProjectedColumns> columns);

  /// The first offset whose commit time is at or after `time`, or the high watermark.
  /// Errors: kInvalidTimestamp if `time` is after `now`; kIo, kCorruptData.
  Task<Result<LogOffset>> OffsetAt(Timestamp time, Timestamp now);

  /// `wake` runs once, on this loop, when the high watermark is above `seen` (perhaps at once). It
  /// is forgotten when its owner goes away.
  void NotifyAbove(LogOffset seen, std::weak_ptr<std::function<void()>> wake);

  /// Makes `directory`, which must not exist, a copy of all rows at the high watermark, see
  /// KvState::Snapshot. Errors: kNotPrimaryKeyTable, kIo, kNoSpace, kCorruptData, kCancelled.
  Task<Result<KvCheckpoint>> SnapshotRows(std::string directory);

  /// Applies retention, which leaves the log from `needed_from` on alone, forgets idle writers, and
  /// begins to delete expired rows.
  void Maintain(Timestamp now, int64_t writer_idle_max_ms, std::optional<LogOffset> needed_from);

  // BucketLogListener
  void OnWritten(LogOffset end) override;
  void OnCommitted(LogOffset end) override;
  void OnLost(LogOffset from, const Error& why) override;

 private:
  struct AppendWaiter {
    explicit AppendWaiter(EventLoop& loop) : done(loop) {}
    LogOffset end;
    Acks acks = Acks::kAll;
    Event done;
    std::optional<Error> error;
  };
  struct Watcher {
    LogOffset seen;
    std::weak_ptr<std::function<void()>> wake;
  };

  /// Of a primary-key table.
  struct Rows {
    Rows(TableId table, std::unique_ptr<KvState> state, NumberSource& numbers, EventLoop& loop,
         BlockingPool& pool)
        : state(std::move(state)), writes(table, *this->state, numbers, loop, pool) {}
    std::unique_ptr<KvState> state;
    RowWrites writes;
    /// A put keeps its turn until its changes are in line for the log.
    AsyncMutex turn;
    size_t puts = 0;
    TaskScope background;
    /// Of expired rows; one at a time.
    TaskScope sweeps;
    Timestamp next_sweep{0};
    bool is_ending = false;
  };

  Result<std::vector<LogBatchHeader>> CheckBatches(Bytes batches) const;
  Status CheckOpen() const;
  Status CheckRows() const;
  /// Of puts that make rows of keys. Errors: kCorruptBatch, kUnsupported.
  Result<Buffer> RowsOfKeys(const RowTable& table, const std::vector<Bytes>& keys) const;
  Task<Result<LogOffset>> PutInTurn(Buffer batch, const PutMode* mode, Timestamp now,
                                    Duration timeout);
  Result<LogOffset> AppendChanges(RowChanges changes, Timestamp now);
  Task<void> FlushRows();
  Task<void> SweepRows(Timestamp now);
  Task<Status> DeleteExpired(const std::vector<HotRowRef>* rows, Timestamp now,
                             Timestamp expired_at);
  Task<Status> AwaitAcks(LogOffset end, Acks acks, Duration timeout);
  void Settle(Acks acks_reached, LogOffset end);

  const TableBucket id_;
  std::shared_ptr<const BucketTable> table_;
  GroupLog& group_;
  EventLoop& loop_;
  std::shared_ptr<BucketLog> log_;
  LogOffset high_watermark_;
  bool is_closed_ = false;
  /// Null in a log table.
  std::unique_ptr<Rows> rows_;
  /// In the order of their ends.
  std::deque<std::shared_ptr<AppendWaiter>> waiters_;
  std::vector<Watcher> watchers_;
  size_t watchers_pruned_at_ = 16;
};

}  // namespace weir
