// Rows become cold: the flushes of KvState, and what needs a state that is on the disk as a whole.
// What lies on the disk: docs/formats/kv_state.md.
#include <chrono>

#include "weir/base/log.h"
#include "weir/kv/kv_db.h"
#include "weir/kv/kv_scan.h"
#include "weir/kv/kv_state.h"
#include "weir/kv/kv_state_parts.h"
#include "weir/kv/state_file.h"

namespace weir {
namespace {

// After so many steps whoever needs all on the disk stops writing all but the rest.
constexpr int kStepsMax = 256;
constexpr Duration kCompactionPoll = std::chrono::milliseconds(20);
constexpr int kCompactionPollsMax = 1500;
constexpr Duration kSlowStep = std::chrono::seconds(10);

}  // namespace

Status MakeDurableDirectories(FileSystem& files, const std::string& path) {
  // Whoever made one that exists may have died before its name was durable.
  std::vector<std::string> parents;
  for (std::string at = path; parents.empty() || !files.Exists(at); at = parents.back()) {
    const size_t slash = at.rfind('/');
    if (slash == std::string::npos || slash == 0) break;
    parents.push_back(at.substr(0, slash));
  }
  WEIR_TRY(files.MakeDirectories(path));
  for (const std::string& parent : parents) WEIR_TRY(files.SyncDirectory(parent));
  return Ok();
}

Task<Status> KvState::Flush(size_t dirty_bytes_max) {
  const auto turn = co_await flush_turn_.Take();
  const Status flushed = co_await FlushInTurn(dirty_bytes_max, false);
  here_.OnFlushed(this, flushed.ok());
  co_return flushed;
}

/// With `is_exact` until the tables are the state at flushed_, which is then at least what the high
/// watermark is now.
Task<Status> KvState::FlushInTurn(size_t dirty_bytes_max, bool is_exact) {
  if (is_stopped_) co_return Stopped();
  const LogOffset until = map_.high_watermark();
  for (int steps = 0; true; ++steps) {
    const bool is_behind = flushed_.log_offset < until;
    const bool is_needed =
        is_exact ? is_behind || !is_exact_
                 : map_.dirty_bytes() > dirty_bytes_max || (dirty_bytes_max == 0 && is_behind);
    // Rows that are committed meanwhile are not waited for.
    if (!is_needed || (!is_exact && !is_behind)) co_return Ok();
    const bool takes_all =
        map_.dirty_bytes() <= memory_.config().flush_step_bytes || steps >= kStepsMax;
    WEIR_CO_TRY(co_await FlushStep(takes_all));
  }
}

Task<Status> KvState::FlushStep(bool is_exact) {
  if (is_stopped_) co_return Stopped();
  const Duration start = loop_.Elapsed();
  if (map_.dirty_bytes() > 0) {
    WEIR_CO_TRY(co_await CloseFailedDb());
    WEIR_CO_ASSIGN(const std::shared_ptr<KvDb> db, co_await OpenDb());
    WEIR_CO_TRY(co_await AwaitCompactions(db));
  }
  HotMap::FlushStep step = map_.BeginFlush(memory_.config().flush_step_bytes, is_exact);
  while (map_.CollectFlush(step, rows_per_turn_)) co_await loop_.NextTurn();
  if (!step.rows.empty()) is_exact_ = false;
  const Duration begin = loop_.Elapsed();
  const Status written = co_await WriteStep(step);
  if (loop_.Elapsed() - start > kSlowStep) {
    using std::chrono::duration_cast, std::chrono::milliseconds;
    LogWarn("kv", "a flush is slow: path={} bytes={} waited_ms={} wrote_ms={}", directory_,
            step.bytes, duration_cast<milliseconds>(begin - start).count(),
            duration_cast<milliseconds>(loop_.Elapsed() - begin).count());
  }
  if (!written.ok()) {
    map_.UndoFlush(step);
    Account();
    co_return written;
  }
  flushed_ = {*step.end, step.row_count};
  is_exact_ = is_exact;
  while (map_.FinishFlush(step, rows_per_turn_)) {
    AccountAndBalance();
    co_await loop_.NextTurn();
  }
  AccountAndBalance();
  co_return Ok();
}

/// On an error the tables may have the rows or not: both is well, since STATE is as it was, and
/// a replay from there ends in the same state.
Task<Status> KvState::WriteStep(const HotMap::FlushStep& step) {
  if (hooks_.make_durable) {
    Task<Status> durable = hooks_.make_durable(*step.end);
    WEIR_CO_TRY(co_await std::move(durable));
  }
  std::vector<const HotRow*> rows;
  rows.reserve(step.rows.size());
  for (const HotRowRef& row : step.rows) rows.push_back(row.get());
  const StateFile state{{*step.end, step.row_count}, has_tables_};
  auto write = [this, db = db_.get(), &rows, &state]() -> Status {
    if (!rows.empty()) {
      const std::string path = NextTablePath(directory_);
      if (files_.Exists(path)) WEIR_TRY(files_.Remove(path));  // of a flush that failed
      WEIR_TRY(db->WriteTable(path, std::move(rows)));
      WEIR_TRY(db->Ingest(path));
    }
    if (!state.has_tables) WEIR_TRY(MakeDurableDirectories(files_, directory_));
    return ReplaceFile(files_, StatePath(directory_), EncodeStateFile(state));
  };
  co_return co_await pool_.Run(write);
}

/// RocksDB takes tables as fast as they come, but reads look into all that are not compacted. If
/// compactions do not get on at all, flushes go on nevertheless.
Task<Status> KvState::AwaitCompactions(std::shared_ptr<KvDb> db) {
  for (int polls = 0; db->IsBehind() && !db->has_failed(); ++polls) {
    if (polls == kCompactionPollsMax) break;
    if (is_stopped_) co_return Stopped();
    co_await loop_.Sleep(kCompactionPoll);
  }
  co_return Ok();
}

Task<Result<KvCheckpoint>> KvState::Snapshot(std::string directory) {
  const auto turn = co_await flush_turn_.Take();
  // Also of a state without rows the copy is a database.
  WEIR_CO_ASSIGN(const std::shared_ptr<KvDb> db, co_await OpenDb());
  const Status flushed = co_await FlushInTurn(0, true);
  here_.OnFlushed(this, flushed.ok());
  WEIR_CO_TRY(flushed);
  auto copy = [&db, &directory] { return db->Copy(directory); };
  WEIR_CO_TRY(co_await pool_.Run(copy));
  co_return flushed_;
}

Task<Result<std::unique_ptr<KvScan>>> KvState::OpenScan() {
  const auto turn = co_await flush_turn_.Take();
  const Status flushed = co_await FlushInTurn(0, true);
  here_.OnFlushed(this, flushed.ok());
  WEIR_CO_TRY(flushed);
  std::shared_ptr<KvDb> db;
  if (has_tables_) {
    WEIR_CO_ASSIGN(db, co_await OpenDb());
  }
  co_return MakeKvScan(std::move(db), map_.keeps_times(), flushed_.log_offset, pool_, scans_);
}

}  // namespace weir
