#include "weir/kv/kv_state.h"

#include <chrono>

#include "weir/base/log.h"
#include "weir/kv/kv_db.h"
#include "weir/kv/kv_scan.h"
#include "weir/kv/kv_state_parts.h"
#include "weir/kv/state_file.h"

namespace weir {
namespace {

constexpr Duration kClosePoll = std::chrono::milliseconds(5);
constexpr int kClosePollsMax = 2000;

}  // namespace

Result<std::unique_ptr<KvState>> KvState::Open(std::string directory, FileSystem& files,
                                               KvMemory& memory, EventLoop& loop,
                                               BlockingPool& pool, bool keeps_times) {
  StateFile state;
  const std::string path = StatePath(directory);
  if (files.Exists(path)) {
    WEIR_ASSIGN(const std::string bytes, ReadWholeFile(files, path, kStateFileBytes));
    auto decoded = DecodeStateFile(AsBytes(bytes));
    if (!decoded.ok()) {
      return Fail(decoded.error().code, "{} path={}", decoded.error().message, path);
    }
    state = *decoded;
  }
  // Of a process that died between its first table and its first STATE.
  state.has_tables = state.has_tables || files.Exists(DbPath(directory) + "/CURRENT");
  return std::unique_ptr<KvState>(new KvState(std::move(directory), files, memory, loop, pool,
                                              state.checkpoint, state.has_tables, keeps_times));
}

KvState::KvState(std::string directory, FileSystem& files, KvMemory& memory, EventLoop& loop,
                 BlockingPool& pool, KvCheckpoint checkpoint, bool has_tables, bool keeps_times)
    : directory_(std::move(directory)),
      files_(files),
      memory_(memory),
      loop_(loop),
      pool_(pool),
      here_(memory.Of(loop)),
      checkpoint_(checkpoint),
      rows_per_turn_(memory.config().rows_per_turn),
      map_(checkpoint, !has_tables, memory.config().flush_step_bytes / 16, keeps_times),
      scans_(std::make_shared<KvScans>()),
      has_tables_(has_tables),
      flushed_(checkpoint),
      is_exact_(!has_tables) {}

KvState::~KvState() {
  WEIR_CHECK(reads_.empty());
  WEIR_CHECK(!is_known_to_memory_);
}

void KvState::Account() {
  if (is_stopped_) return;
  if (!is_known_to_memory_) {
    // Idle states are not on its list.
    here_.Add(this);
    is_known_to_memory_ = true;
  }
  const size_t hot_bytes = map_.bytes();
  const size_t unflushed_bytes = map_.dirty_bytes() + map_.pending_bytes();
  here_.OnChange(static_cast<ptrdiff_t>(hot_bytes - told_hot_bytes_),
                 static_cast<ptrdiff_t>(unflushed_bytes - told_unflushed_bytes_));
  told_hot_bytes_ = hot_bytes;
  told_unflushed_bytes_ = unflushed_bytes;
}

void KvState::AccountAndBalance() {
  Account();
  here_.Balance();
}

void KvState::Seal(LogOffset end, int64_t row_count_change) {
  map_.Seal(end, row_count_change);
  AccountAndBalance();
}

void KvState::Unstage() {
  map_.Unstage();
  Account();
}

void KvState::OnCommitted(LogOffset high_watermark) {
  map_.OnCommitted(high_watermark);
  AccountAndBalance();
}

void KvState::OnLost(LogOffset from) {
  map_.OnLost(from);
  Account();
}

Task<bool> KvState::AwaitRoom(Duration time_max) {
  return here_.AwaitRoom(time_max);
}

size_t KvState::Evict(size_t rows_max, size_t bytes_min) {
  if (holds_ > 0) {
    owes_rows_ = true;
    return 0;
  }
  const LogOffset barrier = reads_.empty() ? HotRow::kStagedEnd : reads_.begin()->first;
  const size_t freed = map_.Evict(rows_max, bytes_min, barrier);
  Account();
  return freed;
}

/// Others may wait for the memory, and what held the rows need not write anything.
void KvState::EndHold() {
  if (--holds_ == 0 && std::exchange(owes_rows_, false)) here_.Balance();
}

void KvState::OnFlushWanted() {
  if (hooks_.flush_wanted) hooks_.flush_wanted();
}

Task<Result<std::shared_ptr<KvDb>>> KvState::OpenDb() {
  const auto turn = co_await open_turn_.Take();
  if (is_stopped_) co_return Stopped();
  if (db_ != nullptr) co_return db_;
  auto open = [this, must_exist = has_tables_]() -> Result<std::shared_ptr<KvDb>> {
    if (!must_exist) {
      WEIR_TRY(MakeDurableDirectories(files_, directory_));
      WEIR_TRY(MakeDurableDirectories(files_, DbPath(directory_)));
    }
    return KvDb::Open(DbPath(directory_), memory_, must_exist);
  };
  auto opened = co_await pool_.Run(open);
  if (opened.ok()) {
    db_ = *opened;
    has_tables_ = true;
  }
  co_return opened;
}

/// A database in which a write has failed is closed, and the next who needs it opens it anew.
Task<Status> KvState::CloseFailedDb() {
  if (db_ == nullptr || !db_->has_failed()) co_return Ok();
  LogWarn("kv", "opens a state anew after a failure: path={}", directory_);
  co_return co_await CloseDb();
}

Task<Status> KvState::CloseDb() {
  const auto turn = co_await open_turn_.Take();
  if (db_ == nullptr) co_return Ok();
  std::shared_ptr<KvDb> db = std::exchange(db_, nullptr);
  scans_->EndAll();
  // Reads that are under way hold it for a moment.
  for (int polls = 0; db.use_count() > 1; ++polls) {
    if (polls == kClosePollsMax) {
      db_ = std::move(db);
      co_return Fail(ErrorCode::kIo, "a state that is to be closed is read: path={}", directory_);
    }
    co_await loop_.Sleep(kClosePoll);
  }
  auto close = [&db] {
    db->StopCompactions();
    db.reset();
    return true;
  };
  co_await pool_.Run(close);
  co_return Ok();
}

Task<void> KvState::Stop() {
  is_stopped_ = true;
  {
    const auto turn = co_await flush_turn_.Take();
    const Status closed = co_await CloseDb();
    if (!closed.ok()) LogError("kv", "leaves a state open: {}", closed.error().message);
  }
  // A large state takes its time.
  while (map_.Clear(rows_per_turn_)) co_await loop_.NextTurn();
  if (!is_known_to_memory_) co_return;
  here_.OnChange(-static_cast<ptrdiff_t>(told_hot_bytes_),
                 -static_cast<ptrdiff_t>(told_unflushed_bytes_));
  here_.Remove(this);
  is_known_to_memory_ = false;
}

Status RemoveKvState(FileSystem& files, const std::string& directory) {
  if (!files.Exists(directory)) return Ok();
  return files.RemoveTree(directory);
}

}  // namespace weir
