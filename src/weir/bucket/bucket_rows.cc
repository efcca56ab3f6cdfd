// The part of Bucket that concerns the rows of a primary-key table.
#include <algorithm>

#include "weir/base/log.h"
#include "weir/bucket/bucket.h"
#include "weir/bucket/judge_append.h"

namespace weir {
namespace {

// Puts wait while one of them reads rows from the disk or is long.
constexpr size_t kPutsMax = 1024;

// What a sweep of expired rows looks at together, and deletes in one batch.
constexpr size_t kSweepRows = 256;
constexpr size_t kSweepBytes = size_t{256} << 10;
constexpr Duration kSweepPatience = std::chrono::seconds(30);

constexpr size_t kReplayBytes = 4 << 20;
constexpr Duration kReplayPause = std::chrono::seconds(10);

}  // namespace

Bucket::Bucket(TableBucket id, std::shared_ptr<const BucketTable> table, GroupLog& group,
               EventLoop& loop, std::unique_ptr<KvState> state, NumberSource& numbers)
    : Bucket(id, std::move(table), group, loop) {
  rows_ = std::make_unique<Rows>(id.table_id, std::move(state), numbers, loop, group_.pool());
  KvHooks hooks;
  hooks.flush_wanted = [this] { rows_->background.Spawn(FlushRows()); };
  hooks.make_durable = [this](LogOffset) { return group_.Sync(); };
  rows_->state->SetHooks(std::move(hooks));
}

Task<void> Bucket::FlushRows() {
  const Status flushed = co_await rows_->state->Flush(0);
  if (!flushed.ok() && flushed.error().code != ErrorCode::kCancelled) {
    LogWarn("bucket", "rows stay in memory and in the changelog: bucket={} reason={}", id_,
            flushed.error().message);
  }
}

Task<Result<LogOffset>> Bucket::Put(Buffer batch, PutMode mode, Acks acks, Timestamp now,
                                    Duration timeout) {
  WEIR_CO_TRY(CheckRows());
  if (rows_->puts >= kPutsMax) {
    co_return Fail(ErrorCode::kOverloaded, "too many puts wait: bucket={}", id_);
  }
  ++rows_->puts;
  const Result<LogOffset> end = co_await PutInTurn(std::move(batch), &mode, now, timeout);
  --rows_->puts;
  if (!end.ok()) co_return end;
  WEIR_CO_TRY(co_await AwaitAcks(*end, acks, timeout));
  co_return *end;
}

Task<Result<LogOffset>> Bucket::PutInTurn(Buffer batch, const PutMode* mode, Timestamp now,
                                          Duration timeout) {
  WEIR_CO_ASSIGN(const KvBatchView view, DecodeKvBatch(batch.bytes()));
  const auto turn = co_await rows_->turn.Take();
  WEIR_CO_TRY(CheckOpen());
  LogBatchHeader judged;
  judged.writer_id = view.header.writer_id;
  judged.batch_sequence = view.header.batch_sequence;
  const std::vector<LogBatchHeader> headers = {judged};
  WEIR_CO_ASSIGN(const std::optional<OffsetRange> known, JudgeAppend(log_->writers, headers));
  if (known) co_return known->end;
  if (!co_await rows_->state->AwaitRoom(timeout)) {
    co_return Fail(ErrorCode::kOverloaded,
                   "rows wait for the disk and take all of kv.memory_max: bucket={}", id_);
  }
  WEIR_CO_TRY(CheckOpen());
  const std::shared_ptr<const RowTable> table = table_->rows;
  // As the log will stamp it: while this has the turn nothing else is appended.
  const Timestamp time = std::max(log_->max_timestamp, now);
  WEIR_CO_ASSIGN(RowChanges changes, co_await rows_->writes.Merge(table, &view, mode, time));
  co_return AppendChanges(std::move(changes), now);
}

Result<LogOffset> Bucket::AppendChanges(RowChanges changes, Timestamp now) {
  const Result<LogBatchHeader> header = DecodeLogBatchHeader(changes.batch.bytes());
  WEIR_CHECK(header.ok());
  const Result<LogOffset> base =
      group_.Append(log_, std::move(changes.batch), {*header}, now, table_->needs_sync);
  if (!base.ok()) {
    rows_->state->Unstage();
    return base;
  }
  rows_->state->Seal(log_->end, changes.row_count_change);
  return log_->end;
}

Task<Result<RowValues>> Bucket::Lookup(std::vector<Bytes> keys) {
  WEIR_CO_TRY(CheckRows());
  co_return co_await LookupRows(rows_->state.get(), std::move(keys));
}

Task<Result<RowValues>> Bucket::LookupOrInsert(std::vector<Bytes> keys, Acks acks, Timestamp now,
                                               Duration timeout) {
  WEIR_CO_ASSIGN(RowValues found, co_await Lookup(keys));
  std::vector<Bytes> missing;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (found.sizes[i] == RowValues::kAbsent) missing.push_back(keys[i]);
  }
  if (missing.empty()) co_return found;
  const std::shared_ptr<const RowTable> table = table_->rows;
  if (table->key_columns.size() != table->merge->primary_key.size()) {
    co_return Fail(ErrorCode::kUnsupported,
                   "lookups do not insert into partitioned tables, whose keys do not tell the "
                   "partition; put the row instead: bucket={}",
                   id_);
  }
  WEIR_CO_ASSIGN(Buffer batch, RowsOfKeys(*table, missing));
  // A partial write of nothing but the key leaves a row alone that has come meanwhile.
  PutMode mode;
  mode.target_columns = table->merge->primary_key;
  WEIR_CO_TRY(co_await Put(std::move(batch), std::move(mode), acks, now, timeout));
  co_return co_await Lookup(std::move(keys));
}

Result<Buffer> Bucket::RowsOfKeys(const RowTable& table, const std::vector<Bytes>& keys) const {
  std::vector<FieldValue> fields(table.latest_codec().types().size());
  std::vector<FieldValue> key(table.key_columns.size());
  std::string scratch;
  std::string row;
  KvBatchWriter batch;
  for (const Bytes bytes : keys) {
    WEIR_TRY(table.key.Decode(bytes, key, scratch));
    for (size_t i = 0; i < key.size(); ++i)
      fields[static_cast<size_t>(table.key_columns[i])] = key[i];
    row.clear();
    table.latest_codec().Encode(fields, row);
    batch.Put(bytes, AsBytes(row));
  }
  return batch.Finish(table.latest());
}

Task<Result<std::vector<RowValues>>> Bucket::LookupPrefixes(std::vector<Bytes> prefixes) {
  WEIR_CO_TRY(CheckRows());
  co_return co_await LookupRowsByPrefix(rows_->state.get(), std::move(prefixes));
}

Task<Result<Buffer>> Bucket::FirstRows(int64_t limit) {
  WEIR_CO_TRY(CheckRows());
  co_return co_await ReadFirstRows(rows_->state.get(), limit);
}

Task<Result<std::unique_ptr<KvScan>>> Bucket::OpenScan() {
  WEIR_CO_TRY(CheckRows());
  co_return co_await rows_->state->OpenScan();
}

Task<Result<KvCheckpoint>> Bucket::SnapshotRows(std::string directory) {
  WEIR_CO_TRY(CheckRows());
  WEIR_CO_TRY(CheckOpen());
  co_return co_await rows_->state->Snapshot(std::move(directory));
}

Result<int64_t> Bucket::Count() const {
  if (rows_ == nullptr) return high_watermark_ - log_->start;
  if (table_->rows->image == ChangelogImage::kWal) {
    return Fail(ErrorCode::kInvalidTable,
                "rows are not counted where the changelog does not tell inserts from updates "
                "(table.changelog.image = wal): bucket={}",
                id_);
  }
  return rows_->state->row_count();
}

Task<Result<int64_t>> Bucket::Recover() {
  KvState& state = *rows_->state;
  const LogOffset from = state.checkpoint().log_offset;
  const LogOffset limit = log_->written_end;
  if (from < log_->start || from > limit) {
    co_return Fail(ErrorCode::kCorruptData,
                   "the changelog does not go on where the state ends: bucket={} state_end={} "
                   "log_start={} log_end={}",
                   id_, from, log_->start, limit);
  }
  LogOffset next = from;
  while (next < limit) {
    WEIR_CO_ASSIGN(const LogBytes read,
                   co_await ReadLog(log_, next, limit, kReplayBytes, group_.pool()));
    for (const Buffer& piece : read.pieces) {
      for (LogBatchReader reader(piece.bytes()); !reader.at_end();) {
        WEIR_CO_ASSIGN(const LogBatchView batch, reader.Next());
        if (batch.header.base_offset < next) {
          co_return Fail(ErrorCode::kCorruptData,
                         "the state ends within a batch of its changelog: bucket={} offset={}", id_,
                         next);
        }
        WEIR_CO_ASSIGN(const int64_t row_count_change, ReplayChanges(*table_->rows, batch, state));
        next = batch.header.end_offset();
        state.Seal(next, row_count_change);
        state.OnCommitted(next);
      }
      if (!co_await state.AwaitRoom(kReplayPause)) {
        LogWarn("bucket", "a replay waits for the disk: bucket={} offset={}", id_, next);
      }
    }
  }
  co_return limit - from;
}

// Rows do not just vanish: they are deleted as by a put, so that the state stays the fold of its
// changelog, and that who follows it hears of it.
Task<void> Bucket::SweepRows(Timestamp now) {
  const int64_t ttl_ms = table_->rows->row_ttl_ms;
  const Timestamp expired_at(now.value - ttl_ms);
  // Of the rows that stay.
  Timestamp oldest = now;
  Status swept = Ok();
  std::optional<std::string> after;
  while (swept.ok() && !is_closed_ && !rows_->is_ending) {
    const auto page =
        co_await rows_->state->ScanPrefix(std::string(), after, kSweepRows, kSweepBytes);
    if (!page.ok()) {
      swept = page.error();
      break;
    }
    if (page->empty()) break;
    after = AsText(page->back().key());
    std::vector<HotRowRef> expired;
    for (const HotRowRef& row : *page) {
      if (row.written_at() <= expired_at) {
        expired.push_back(row);
      } else {
        oldest = std::min(oldest, row.written_at());
      }
    }
    if (!expired.empty()) swept = co_await DeleteExpired(&expired, now, expired_at);
  }
  if (swept.ok()) {
    rows_->next_sweep =
        Timestamp(now.value + std::max(oldest.value - expired_at.value, ttl_ms / 8));
  } else if (!is_closed_) {
    LogWarn("bucket", "expired rows stay until the next try: bucket={} reason={}", id_,
            swept.error().message);
  }
}

Task<Status> Bucket::DeleteExpired(const std::vector<HotRowRef>* rows, Timestamp now,
                                   Timestamp expired_at) {
  LogOffset end;
  {
    const auto turn = co_await rows_->turn.Take();
    const bool has_room = co_await rows_->state->AwaitRoom(kSweepPatience);
    if (!has_room) co_return Fail(ErrorCode::kOverloaded, "rows wait for the disk");
    WEIR_CO_TRY(CheckOpen());
    const std::shared_ptr<const RowTable> table = table_->rows;
    WEIR_CO_ASSIGN(RowChanges changes,
                   co_await rows_->writes.DeleteExpired(table, rows, expired_at));
    if (changes.row_count_change == 0) co_return Ok();
    WEIR_CO_ASSIGN(end, AppendChanges(std::move(changes), now));
  }
  co_return co_await AwaitAcks(end, Acks::kAll, kSweepPatience);
}

Task<void> Bucket::Stop() {
  if (rows_ == nullptr) co_return;
  rows_->is_ending = true;
  co_await rows_->sweeps.Join();
  // What is flushed now, the next start need not replay.
  if (!is_closed_) co_await FlushRows();
  co_await rows_->state->Stop();
  co_await rows_->background.Join();
}

}  // namespace weir
