// One bucket: judges appends, owns the high watermark, and serves what is below it.
//
// Lives on its group's loop.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "weir/base/buffer.h"
#include "weir/log/group_log.h"
#include "weir/log/log_reader.h"
#include "weir/runtime/event_loop.h"

namespace weir {

/// What a bucket knows of its table. Shared by the buckets of a table, replaced when the table is
/// altered.
struct BucketTable {
  /// Whether records may be appended by clients: a primary-key table makes its log itself.
  bool is_log_table = true;
  bool is_arrow_log = true;
  /// Columns of the latest schema, and how many of them each version has; version 1 first.
  std::vector<ColumnLayout> columns;
  std::vector<size_t> columns_of_version;
  /// Of an ARROW log: the projection on all columns of each version, by which a batch is known to
  /// be one.
  std::vector<Projection> whole_batches;
  /// Whether an append is committed only when it is on the disk.
  bool needs_sync = true;
  /// Retention; zero: no limit.
  int64_t ttl_ms = 0;
  uint64_t bytes_max = 0;
};

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
  Bucket(TableBucket id, std::shared_ptr<const BucketTable> table, GroupLog& group,
         EventLoop& loop);
  ~Bucket() override;

  void SetTable(std::shared_ptr<const BucketTable> table) { table_ = std::move(table); }

  LogOffset high_watermark() const { return high_watermark_; }
  LogOffset log_start() const { return log_->start; }

  /// Judges batches (one or more, whole) and puts them in line before it suspends; returns the
  /// offset of the first record when `acks` is reached. The bucket may go away meanwhile. Errors:
  /// kCorruptBatch, kInvalidTable (not a log table), kSchemaNotFound, kOutOfOrderSequence: nothing
  /// changed. kNoSpace, kIo: not appended. kUnknownBucket: dropped meanwhile. kTimedOut: appended,
  /// and not yet committed.
  Task<Result<LogOffset>> Append(Buffer batches, Acks acks, Timestamp now, Duration timeout);

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

  /// Applies retention and forgets idle writers.
  void Maintain(Timestamp now, int64_t writer_idle_max_ms);

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

  Result<std::vector<LogBatchHeader>> CheckBatches(Bytes batches) const;
  void Settle(Acks acks_reached, LogOffset end);

  const TableBucket id_;
  std::shared_ptr<const BucketTable> table_;
  GroupLog& group_;
  EventLoop& loop_;
  std::shared_ptr<BucketLog> log_;
  LogOffset high_watermark_;
  /// In the order of their ends.
  std::deque<std::shared_ptr<AppendWaiter>> waiters_;
  std::vector<Watcher> watchers_;
  size_t watchers_pruned_at_ = 16;
};

}  // namespace weir
