#include "weir/log/group_log.h"

#include <algorithm>

#include "weir/base/log.h"
#include "weir/log/compaction.h"

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
      buckets_(std::move(recovered.buckets)),
      sealed_(std::move(recovered.files)),
      states_name_(std::move(recovered.manifest.states)) {
  Journal::Config journal;
  journal.data_dir = config_.data_dir;
  journal.id = journal_id_;
  journal.group = config_.group;
  journal.epoch = epoch_;
  journal.file_bytes = config_.journal_file_bytes;
  journal_ = std::make_unique<Journal>(std::move(journal), loop_, pool_, files_,
                                       [this](std::shared_ptr<DataFile> file) {
                                         sealed_.push_back(std::move(file));
                                         is_checkpoint_wanted_ = true;
                                         if (!is_stopping_) background_.Spawn(Maintain());
                                       });
}

Task<Result<std::unique_ptr<GroupLog>>> GroupLog::Start(Config config, RecoveredGroup recovered,
                                                        EventLoop& loop, BlockingPool& pool,
                                                        FileSystem& files, Random& random) {
  std::unique_ptr<GroupLog> log(
      new GroupLog(std::move(config), std::move(recovered), loop, pool, files, random));
  // From here on the new journal is the group's: nothing may be appended before the manifest says
  // so.
  if (Status written = co_await log->WriteCheckpoint(); !written.ok()) {
    log->is_stopping_ = true;
    co_await log->journal_->Stop();
    co_return std::move(written).error();
  }
  co_return log;
}

Task<void> GroupLog::Stop() {
  is_stopping_ = true;
  co_await journal_->Stop();
  co_await background_.Join();
  if (const Status written = co_await WriteCheckpoint(); !written.ok()) {
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
  log.extents.clear();
  log.tail.clear();
  buckets_.erase(found);
}

Result<LogOffset> GroupLog::Append(const std::shared_ptr<BucketLog>& shared, Buffer batches,
                                   const std::vector<LogBatchHeader>& headers, Timestamp now,
                                   bool needs_sync) {
  WEIR_TRY(journal_->health());
  BucketLog& log = *shared;
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
  const Status taken = journal_->Append({shared, std::move(batches), log.end, needs_sync});
  WEIR_CHECK(taken.ok());
  return base;
}

void GroupLog::Retain(BucketLog& log, const RetentionLimits& limits, LogOffset keep_from) {
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
  if (start <= log.start) return;
  log.start = start;
  std::erase_if(log.extents, [start](const Extent& extent) { return extent.range.end <= start; });
  is_checkpoint_wanted_ = true;
}

Task<void> GroupLog::Maintain() {
  if (is_stopping_) co_return;
  is_maintenance_wanted_ = true;
  if (is_maintaining_) co_return;  // who is at it sees to it
  is_maintaining_ = true;
  while (std::exchange(is_maintenance_wanted_, false) && !is_stopping_) {
    co_await FreeDeadFiles();
    co_await CompactFiles();
  }
  is_maintaining_ = false;
}

std::map<const DataFile*, uint64_t> GroupLog::LiveBytes() const {
  std::map<const DataFile*, uint64_t> live;
  for (const auto& [id, log] : buckets_) {
    for (const Extent& extent : log->extents) live[extent.file.get()] += extent.range.bytes;
  }
  return live;
}

Task<void> GroupLog::FreeDeadFiles() {
  const std::map<const DataFile*, uint64_t> live = LiveBytes();
  std::vector<std::string> dead;
  std::erase_if(sealed_, [&](const std::shared_ptr<DataFile>& file) {
    if (live.contains(file.get())) return false;
    dead.push_back(file->name);
    return true;
  });
  // Also when nothing is dead: a file was sealed, or a log's start has moved.
  if (dead.empty() && !is_checkpoint_wanted_) co_return;
  is_checkpoint_wanted_ = false;
  if (Status written = co_await WriteCheckpoint(); !written.ok()) {
    is_checkpoint_wanted_ = true;
    LogError("log", "cannot write a checkpoint: group={} reason={}", config_.group,
             written.error().message);
    co_return;  // the files stay on the disk; a restart finds and removes them
  }
  auto remove = [&]() -> Status {
    for (const std::string& name : dead) WEIR_TRY(files_.Remove(config_.data_dir + "/" + name));
    return Ok();
  };
  if (dead.empty()) co_return;
  if (const Status removed = co_await pool_.Run(remove); !removed.ok()) {
    LogWarn("log", "cannot remove a file: group={} reason={}", config_.group,
            removed.error().message);
  }
}

Task<void> GroupLog::CompactFiles() {
  while (!is_stopping_) {
    std::map<const DataFile*, CompactionCandidate> known;
    for (const auto& [id, log] : buckets_) {
      for (const Extent& extent : log->extents) {
        CompactionCandidate& candidate = known[extent.file.get()];
        candidate.live_bytes += extent.range.bytes;
        candidate.buckets += 1;
        candidate.pieces += extent.range.entry_count;
      }
    }
    std::vector<CompactionCandidate> candidates;
    for (const auto& file : sealed_) {
      CompactionCandidate candidate = known[file.get()];
      candidate.file = file;
      candidates.push_back(std::move(candidate));
    }
    CompactionLimits limits;
    limits.sort_bytes_min = config_.sort_bytes_min;
    const std::vector<size_t> chosen = PlanCompaction(candidates, limits);
    if (chosen.empty()) co_return;

    std::vector<std::shared_ptr<DataFile>> inputs;
    CompactionOutput output;
    output.data_dir = config_.data_dir;
    output.group = config_.group;
    output.epoch = epoch_;
    output.nonce = random_.Next();
    for (const size_t i : chosen) inputs.push_back(candidates[i].file);
    const DataFile& first = *inputs.front();
    output.level = first.header.kind == FileKind::kSegment && inputs.size() > 1 ? first.level + 1
                                                                                : first.level;
    const auto is_input = [&](const Extent& extent) {
      return std::find(inputs.begin(), inputs.end(), extent.file) != inputs.end();
    };
    std::vector<LiveRange> ranges;
    for (const auto& [id, log] : buckets_) {
      for (const Extent& extent : log->extents) {
        if (is_input(extent)) ranges.push_back({extent.file, extent.range});
      }
    }
    auto write = [&] { return WriteSegments(files_, output, ranges); };
    const Result<std::vector<OpenedFile>> written = co_await pool_.Run(write);
    if (!written.ok()) {
      LogError("log", "cannot rewrite log files, they stay as they are: group={} reason={}",
               config_.group, written.error().message);
      co_return;
    }

    // Since then buckets may have been dropped and starts may have moved; what was copied for them
    // is dead.
    for (const auto& [id, log] : buckets_) std::erase_if(log->extents, is_input);
    for (const OpenedFile& opened : *written) {
      for (const DirectoryEntry& range : opened.directory) {
        const auto found = buckets_.find(range.bucket);
        if (found == buckets_.end() || range.end <= found->second->start) continue;
        std::vector<Extent>& extents = found->second->extents;
        const auto place =
            std::upper_bound(extents.begin(), extents.end(), range.base,
                             [](LogOffset base, const Extent& e) { return base < e.range.base; });
        extents.insert(place, Extent{opened.file, range});
      }
    }
    const auto place = std::find(sealed_.begin(), sealed_.end(), inputs.front()) - sealed_.begin();
    std::erase_if(sealed_, [&](const auto& file) {
      return std::find(inputs.begin(), inputs.end(), file) != inputs.end();
    });
    std::vector<std::shared_ptr<DataFile>> outputs;
    for (const OpenedFile& opened : *written) outputs.push_back(opened.file);
    sealed_.insert(
        sealed_.begin() + std::min<ptrdiff_t>(place, static_cast<ptrdiff_t>(sealed_.size())),
        outputs.begin(), outputs.end());
    if (Status saved = co_await WriteCheckpoint(); !saved.ok()) {
      LogError("log", "cannot write a checkpoint: group={} reason={}", config_.group,
               saved.error().message);
      co_return;
    }
    auto remove = [&]() -> Status {
      for (const auto& file : inputs) WEIR_TRY(files_.Remove(config_.data_dir + "/" + file->name));
      return Ok();
    };
    if (const Status removed = co_await pool_.Run(remove); !removed.ok()) {
      LogWarn("log", "cannot remove a file: group={} reason={}", config_.group,
              removed.error().message);
    }
    LogDebug("log", "rewrote log files: group={} inputs={} outputs={} level={}", config_.group,
             inputs.size(), outputs.size(), output.level);
  }
}

Task<Status> GroupLog::WriteCheckpoint() {
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
    if (log->end == LogOffset(0)) continue;
    states.emplace(id, BucketState{log->start, log->max_timestamp, log->writers});
  }
  if (!is_stopping_) WEIR_CO_TRY(co_await journal_->Sync());

  auto write = [&]() -> Status {
    WEIR_TRY(files_.MakeDirectories(fmt::format("{}/groups/{}", config_.data_dir, config_.group)));
    WEIR_TRY(
        ReplaceFile(files_, config_.data_dir + "/" + manifest.states, EncodeBucketStates(states)));
    WEIR_TRY(ReplaceFile(files_, ManifestPath(config_.data_dir, config_.group),
                         EncodeManifest(manifest)));
    if (!states_name_.empty()) WEIR_TRY(files_.Remove(config_.data_dir + "/" + states_name_));
    return Ok();
  };
  WEIR_CO_TRY(co_await pool_.Run(write));
  states_name_ = manifest.states;
  co_return Ok();
}

}  // namespace weir
