#include "weir/log/group_log.h"

#include <algorithm>

#include "weir/base/log.h"

namespace weir {

GroupLog::GroupLog(Config config, RecoveredGroup recovered, EventLoop& loop, BlockingPool& pool,
                   FileSystem& files, Random& random)
    : config_(std::move(config)),
      loop_(loop),
      pool_(pool),
      files_(files),
      random_(random),
      epoch_(recovered.manifest.epoch.value + 1),
      journal_id_{random.Next(), random.Next()},
      checkpoints_(files, config_.data_dir, recovered.manifest.states),
      buckets_(std::move(recovered.buckets)),
      sealed_(std::move(recovered.files)) {
  Journal::Config journal;
  journal.data_dir = config_.data_dir;
  journal.id = journal_id_;
  journal.group = config_.group;
  journal.epoch = epoch_;
  journal.file_bytes = config_.journal_file_bytes;
  journal.file_pieces = config_.journal_file_pieces;
  journal.free_bytes_min = config_.free_bytes_min;
  journal_ = std::make_unique<Journal>(std::move(journal), loop_, pool_, files_,
                                       [this](std::shared_ptr<DataFile> file) {
                                         sealed_.push_back(std::move(file));
                                         dropped_tail_bytes_ = 0;
                                         is_checkpoint_wanted_ = true;
                                         is_maintenance_wanted_ = true;
                                         if (is_stopping_ || is_maintaining_) return;
                                         background_.Spawn(Maintain());
                                       });
}

Task<Result<std::unique_ptr<GroupLog>>> GroupLog::Start(Config config, RecoveredGroup recovered,
                                                        EventLoop& loop, BlockingPool& pool,
                                                        FileSystem& files, Random& random) {
  std::unique_ptr<GroupLog> log(
      new GroupLog(std::move(config), std::move(recovered), loop, pool, files, random));
  auto make_directory = [&] {
    return MakeDirectory(files, log->config_.data_dir,
                         fmt::format("groups/{}", log->config_.group));
  };
  Status ready = co_await pool.Run(make_directory);
  // From here on the new journal is the group's: nothing may be appended before the manifest says
  // so.
  if (ready.ok()) ready = co_await log->WriteCheckpoint();
  if (!ready.ok()) {
    log->is_stopping_ = true;
    co_await log->journal_->Stop();
    co_return std::move(ready).error();
  }
  co_return log;
}

Task<void> GroupLog::Stop() {
  is_stopping_ = true;
  co_await journal_->Stop();
  co_await background_.Join();
  co_await AwaitMaintenance();
  Status written = journal_->health();
  if (written.ok()) written = co_await WriteCheckpoint();
  if (!written.ok()) {
    // The next start reads the journal instead.
    LogWarn("log", "cannot write the last checkpoint: group={} reason={}", config_.group,
            written.error().message);
  }
}

std::shared_ptr<BucketLog> GroupLog::OpenBucket(const TableBucket& id) {
  std::shared_ptr<BucketLog>& log = buckets_[id];
  if (!log) {
    log = std::make_shared<BucketLog>();
    log->id = id;
    log->max_timestamp = kNoTimestamp;
  }
  return log;
}

std::vector<TableBucket> GroupLog::buckets() const {
  std::vector<TableBucket> ids;
  ids.reserve(buckets_.size());
  for (const auto& [id, log] : buckets_) ids.push_back(id);
  return ids;
}

void GroupLog::DropBucket(const TableBucket& id) {
  const auto found = buckets_.find(id);
  if (found == buckets_.end()) return;
  BucketLog& log = *found->second;
  log.is_dropped = true;
  log.listener = nullptr;
  for (const TailPiece& tail : log.tail) dropped_tail_bytes_ += tail.piece.bytes;
  log.extents.clear();
  log.tail.clear();
  buckets_.erase(found);
  is_checkpoint_wanted_ = true;
}

Result<LogOffset> GroupLog::Append(const std::shared_ptr<BucketLog>& shared, Buffer batches,
                                   const std::vector<LogBatchHeader>& headers, Timestamp now,
                                   bool needs_sync) {
  WEIR_TRY(journal_->MayAppend(batches.size()));
  BucketLog& log = *shared;
  if (log.is_dropped) {
    return Fail(ErrorCode::kUnknownBucket, "the bucket was dropped: bucket={}", log.id);
  }
  const LogOffset base = log.end;
  const Timestamp time = std::max(log.max_timestamp, now);
  log.max_timestamp = time;
  size_t position = 0;
  for (const LogBatchHeader& header : headers) {
    StampLogBatch(batches.mutable_bytes().subspan(position, header.batch_bytes), log.end, time);
    position += header.batch_bytes;
    const LogOffset end = log.end + (header.last_offset_delta + 1);
    if (header.writer_id != kNoWriterId) {
      log.writers.Record(header.writer_id, {header.batch_sequence, log.end, end}, time);
    }
    log.end = end;
  }
  journal_->Append({shared, std::move(batches), log.end, needs_sync});
  return base;
}

void GroupLog::Retain(BucketLog& log, const RetentionLimits& limits, LogOffset keep_from) {
  keep_from = std::min(keep_from, log.committed_end);
  uint64_t kept = 0;
  for (const TailPiece& tail : log.tail) kept += tail.piece.bytes;
  for (const Extent& extent : log.extents) kept += extent.range.bytes;
  size_t gone = 0;
  for (; gone < log.extents.size(); ++gone) {
    const DirectoryEntry& range = log.extents[gone].range;
    const bool is_old = range.max_timestamp < limits.oldest;
    const bool is_surplus = limits.bytes_max > 0 && kept - range.bytes >= limits.bytes_max;
    if (range.end > keep_from || !(is_old || is_surplus)) break;
    kept -= range.bytes;
    log.start = range.end;
  }
  log.extents.erase(log.extents.begin(), log.extents.begin() + static_cast<ptrdiff_t>(gone));
  if (gone > 0) is_checkpoint_wanted_ = true;

  // What has to go and still lies in the open file can go once that is sealed.
  if (log.extents.empty() && !log.tail.empty()) {
    const Piece& oldest = log.tail.front().piece;
    const bool is_old = log.tail.back().piece.max_timestamp < limits.oldest;
    const bool is_surplus = limits.bytes_max > 0 && kept - oldest.bytes >= 2 * limits.bytes_max;
    if (is_old || is_surplus) journal_->RequestSeal();
  }
}

void GroupLog::Trim(BucketLog& log, LogOffset start) {
  start = std::min(start, log.committed_end);
  if (start <= log.start) return;
  log.start = start;
  std::erase_if(log.extents, [start](const Extent& extent) { return extent.range.end <= start; });
  is_checkpoint_wanted_ = true;
}

Task<Status> GroupLog::WriteCheckpoint() {
  // All of it is taken before the first suspension, so that it belongs together.
  is_checkpoint_wanted_ = false;
  Manifest manifest;
  manifest.group = config_.group;
  manifest.epoch = epoch_;
  manifest.owner = journal_id_;
  manifest.floor = journal_->unsealed_from();
  for (const auto& file : sealed_) manifest.files.push_back({file->name, file->level});
  manifest.states =
      fmt::format("groups/{}/{}-{:016x}.states", config_.group, epoch_, random_.Next());
  BucketStates states;
  for (const auto& [id, log] : buckets_) {
    // A bucket that never had a record is known by its table alone.
    if (log->written_end == LogOffset(0)) continue;
    BucketState state{log->start, log->written_end, log->max_timestamp, log->writers};
    // What is under way may be undone, and its place given to others.
    state.writers.ForgetFrom(state.end);
    states.emplace(id, std::move(state));
  }
  const std::vector<std::string> doomed = doomed_;

  // The manifest promises that what it knows of is durable.
  Status written = co_await journal_->Sync();
  auto write = [&]() -> Status {
    WEIR_TRY(checkpoints_.Write(manifest, states));
    for (const std::string& name : doomed) {
      const Status removed = files_.Remove(config_.data_dir + "/" + name);
      if (!removed.ok()) {
        LogWarn("log", "cannot remove a file, the next start will: group={} reason={}",
                config_.group, removed.error().message);
      }
    }
    return Ok();
  };
  if (written.ok()) written = co_await pool_.Run(write);
  if (written.ok()) {
    doomed_.erase(doomed_.begin(), doomed_.begin() + static_cast<ptrdiff_t>(doomed.size()));
  } else {
    is_checkpoint_wanted_ = true;
  }
  co_return written;
}

}  // namespace weir
