#include "weir/bucket/bucket.h"

#include <algorithm>
#include <unordered_map>

#include "weir/bucket/judge_append.h"

namespace weir {
namespace {

/// Makes the projections that one read needs, one for each schema version that it meets.
class TableProjections final : public ProjectionSource {
 public:
  TableProjections(std::shared_ptr<const BucketTable> table, ProjectedColumns columns)
      : table_(std::move(table)), columns_(std::move(columns)) {}

  Result<const Projection*> ForSchema(SchemaId schema) override {
    const auto found = made_.find(schema);
    if (found != made_.end()) return &found->second;
    if (!table_->is_arrow_log) {
      return Fail(ErrorCode::kInvalidProjection,
                  "columns can be cut out of the log format ARROW only");
    }
    const auto version = static_cast<size_t>(schema.value) - 1;
    if (schema.value < 1 || version >= table_->columns_of_version.size()) {
      return Fail(ErrorCode::kSchemaNotFound, "batch has an unknown schema: schema_id={}", schema);
    }
    WEIR_ASSIGN(Projection projection,
                Projection::Make(columns_, table_->columns, table_->columns_of_version[version]));
    return &made_.emplace(schema, std::move(projection)).first->second;
  }

 private:
  const std::shared_ptr<const BucketTable> table_;
  const ProjectedColumns columns_;
  std::unordered_map<SchemaId, Projection> made_;
};

}  // namespace

Bucket::Bucket(TableBucket id, std::shared_ptr<const BucketTable> table, GroupLog& group,
               EventLoop& loop)
    : id_(id), table_(std::move(table)), group_(group), loop_(loop), log_(group.OpenBucket(id)) {
  log_->listener = this;
  high_watermark_ = log_->written_end;
}

Bucket::~Bucket() {
  Close();
}

void Bucket::Close() {
  if (std::exchange(is_closed_, true)) return;
  if (log_->listener == this) log_->listener = nullptr;
  OnLost(LogOffset(0), Fail(ErrorCode::kUnknownBucket, "the bucket was dropped: bucket={}", id_));
  for (Watcher& watcher : std::exchange(watchers_, {})) {
    if (const auto wake = watcher.wake.lock()) (*wake)();
  }
}

Status Bucket::CheckOpen() const {
  if (!is_closed_) return Ok();
  return Fail(ErrorCode::kUnknownBucket, "the bucket was dropped: bucket={}", id_);
}

Status Bucket::CheckRows() const {
  if (rows_ != nullptr) return Ok();
  return Fail(ErrorCode::kNotPrimaryKeyTable, "table has no primary key: bucket={}", id_);
}

Result<std::vector<LogBatchHeader>> Bucket::CheckBatches(Bytes batches) const {
  if (table_->rows != nullptr) {
    return Fail(ErrorCode::kInvalidTable,
                "records cannot be appended to a primary-key table: bucket={}", id_);
  }
  std::vector<LogBatchHeader> headers;
  for (LogBatchReader reader(batches); !reader.at_end();) {
    WEIR_ASSIGN(const LogBatchView batch, reader.Next());
    WEIR_TRY(CheckLogBatchCrc(batch.bytes, batch.header));
    const SchemaId schema = batch.header.schema_id;
    if (schema.value < 1 || static_cast<size_t>(schema.value) > table_->columns_of_version.size()) {
      return Fail(ErrorCode::kSchemaNotFound,
                  "the table has no such schema: schema_id={} latest={}", schema,
                  table_->columns_of_version.size());
    }
    // A batch that is no batch of its schema would be found out by the readers, when it is too
    // late.
    if (table_->is_arrow_log) {
      const auto version = static_cast<size_t>(schema.value) - 1;
      const Result<ProjectedBatch> plan =
          table_->whole_batches[version].Plan(batch.header, batch.bytes);
      if (!plan.ok()) return plan.error();
    }
    headers.push_back(batch.header);
  }
  return headers;
}

Task<Result<LogOffset>> Bucket::Append(Buffer batches, Acks acks, Timestamp now, Duration timeout) {
  // As Apache Fluss answers it: nothing was appended, and nothing is wrong.
  if (batches.empty()) co_return kNoOffset;
  WEIR_CO_ASSIGN(const std::vector<LogBatchHeader> headers, CheckBatches(batches.bytes()));
  WEIR_CO_ASSIGN(const std::optional<OffsetRange> known, JudgeAppend(log_->writers, headers));
  if (known) {
    // Appended before, perhaps not yet committed: the answer waits as the first one does.
    WEIR_CO_TRY(co_await AwaitAcks(known->end, acks, timeout));
    co_return known->base;
  }
  WEIR_CO_ASSIGN(const LogOffset base,
                 group_.Append(log_, std::move(batches), headers, now, table_->needs_sync));
  WEIR_CO_TRY(co_await AwaitAcks(log_->end, acks, timeout));
  co_return base;
}

// Waits until all below `end` is as durable as `acks` asks.
Task<Status> Bucket::AwaitAcks(LogOffset end, Acks acks, Duration timeout) {
  const bool is_reached = acks == Acks::kNone || end <= high_watermark_ ||
                          (acks == Acks::kLeader && end <= log_->written_end);
  if (is_reached) co_return Ok();
  WEIR_CO_TRY(group_.health());
  auto waiter = std::make_shared<AppendWaiter>(loop_);
  waiter->acks = acks;
  waiter->end = end;
  const auto place =
      std::upper_bound(waiters_.begin(), waiters_.end(), waiter->end,
                       [](LogOffset end, const auto& other) { return end < other->end; });
  waiters_.insert(place, waiter);
  if (!co_await waiter->done.WaitFor(timeout)) {
    co_return Fail(ErrorCode::kTimedOut, "the append is not committed in time: timeout_ms={}",
                   std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count());
  }
  if (waiter->error) co_return *waiter->error;
  co_return Ok();
}

void Bucket::OnWritten(LogOffset end) {
  Settle(Acks::kLeader, end);
}

void Bucket::OnCommitted(LogOffset end) {
  if (end <= high_watermark_) return;
  high_watermark_ = end;
  if (rows_ != nullptr) rows_->state->OnCommitted(end);
  for (Watcher& watcher : std::exchange(watchers_, {})) {
    if (const auto wake = watcher.wake.lock()) (*wake)();
  }
  Settle(Acks::kAll, end);
}

// Answers those whose appends end at or below `end` and that ask for no more than what is reached.
// Events run their waiters at once, so the queue is put in order first.
void Bucket::Settle(Acks acks_reached, LogOffset end) {
  std::vector<std::shared_ptr<AppendWaiter>> settled;
  if (acks_reached == Acks::kAll) {
    while (!waiters_.empty() && waiters_.front()->end <= end) {
      settled.push_back(std::move(waiters_.front()));
      waiters_.pop_front();
    }
  } else {
    std::erase_if(waiters_, [&](const std::shared_ptr<AppendWaiter>& waiter) {
      if (waiter->end > end || waiter->acks == Acks::kAll) return false;
      settled.push_back(waiter);
      return true;
    });
  }
  for (const auto& waiter : settled) waiter->done.Set();
}

void Bucket::OnLost(LogOffset from, const Error& why) {
  if (rows_ != nullptr) {
    rows_->state->OnLost(std::max(from, high_watermark_));
    rows_->writes.OnLost(why);
  }
  std::vector<std::shared_ptr<AppendWaiter>> lost;
  std::erase_if(waiters_, [&](const std::shared_ptr<AppendWaiter>& waiter) {
    if (waiter->end <= from) return false;
    lost.push_back(waiter);
    return true;
  });
  for (const auto& waiter : lost) {
    waiter->error = why;
    waiter->done.Set();
  }
}

Task<Result<BucketRead>> Bucket::Read(LogOffset from, size_t bytes_max,
                                      std::optional<ProjectedColumns> columns) {
  BucketRead read;
  read.high_watermark = high_watermark_;
  read.log_start = log_->start;
  if (from == kEarliestOffset) from = log_->start;
  if (from < log_->start || from > log_->end) {
    co_return Fail(ErrorCode::kOffsetOutOfRange,
                   "offset is out of range: bucket={} offset={} start={} end={}", id_, from,
                   log_->start, log_->end);
  }
  const std::shared_ptr<const BucketLog> log = log_;
  BlockingPool& pool = group_.pool();
  const LogOffset limit = high_watermark_;
  read.records.next = from;
  if (!columns) {
    if (from >= limit || bytes_max == 0) co_return read;
    WEIR_CO_ASSIGN(read.records, co_await ReadLog(log, from, limit, bytes_max, pool));
    co_return read;
  }
  TableProjections projections(table_, *std::move(columns));
  // A bad projection is told also where there is nothing to read.
  const auto latest = SchemaId(static_cast<int16_t>(table_->columns_of_version.size()));
  WEIR_CO_TRY(projections.ForSchema(latest));
  if (from >= limit || bytes_max == 0) co_return read;
  WEIR_CO_ASSIGN(read.records,
                 co_await ReadProjectedLog(log, from, limit, bytes_max, projections, pool));
  co_return read;
}

Task<Result<LogOffset>> Bucket::OffsetAt(Timestamp time, Timestamp now) {
  if (time > now) {
    co_return Fail(ErrorCode::kInvalidTimestamp, "time is in the future: timestamp={} now={}", time,
                   now);
  }
  co_return co_await FindOffset(log_, time, high_watermark_, group_.pool());
}

void Bucket::NotifyAbove(LogOffset seen, std::weak_ptr<std::function<void()>> wake) {
  if (high_watermark_ > seen) {
    if (const auto now = wake.lock()) (*now)();
    return;
  }
  if (watchers_.size() >= watchers_pruned_at_) {
    std::erase_if(watchers_, [](const Watcher& watcher) { return watcher.wake.expired(); });
    watchers_pruned_at_ = std::max<size_t>(16, 2 * watchers_.size());
  }
  watchers_.push_back({seen, std::move(wake)});
}

void Bucket::Maintain(Timestamp now, int64_t writer_idle_max_ms,
                      std::optional<LogOffset> needed_from) {
  log_->writers.ForgetIdle(now, writer_idle_max_ms);
  const bool may_sweep = rows_ != nullptr && table_->rows->row_ttl_ms > 0 &&
                         rows_->sweeps.running() == 0 && now >= rows_->next_sweep;
  if (may_sweep) rows_->sweeps.Spawn(SweepRows(now));
  RetentionLimits limits;
  if (table_->ttl_ms > 0) limits.oldest = Timestamp(now.value - table_->ttl_ms);
  limits.bytes_max = table_->bytes_max;
  if (table_->ttl_ms == 0 && table_->bytes_max == 0) return;
  LogOffset keep_from = std::min(high_watermark_, needed_from.value_or(high_watermark_));
  // A restart makes the state of what is in the log behind what was flushed.
  if (rows_ != nullptr) keep_from = std::min(keep_from, rows_->state->flushed_offset());
  group_.Retain(*log_, limits, keep_from);
}

}  // namespace weir
