// What a group's log does in the background: frees dead files, sorts and merges the others.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "weir/base/log.h"
#include "weir/log/group_log.h"

namespace weir {
namespace {

// The current journal file is sealed for what dropped buckets have in it, if that is so much.
constexpr uint64_t kDroppedBytesMin = 1 << 20;

bool Contains(const std::vector<std::shared_ptr<DataFile>>& files,
              const std::shared_ptr<DataFile>& file) {
  return std::find(files.begin(), files.end(), file) != files.end();
}

}  // namespace

Task<void> GroupLog::Maintain() {
  if (is_stopping_) co_return;
  is_maintenance_wanted_ = true;
  if (is_maintaining_) {
    co_await AwaitMaintenance();  // who is at it goes around once more
    co_return;
  }
  is_maintaining_ = true;
  // Without a journal no checkpoint is true, and nothing may be removed.
  while (std::exchange(is_maintenance_wanted_, false) && !is_stopping_ && health().ok()) {
    if (dropped_tail_bytes_ >= kDroppedBytesMin) {
      dropped_tail_bytes_ = 0;
      journal_->RequestSeal();
    }
    co_await FreeDeadFiles();
    co_await CompactFiles();
  }
  is_maintaining_ = false;
  for (Event* waiter : std::exchange(maintenance_waiters_, {})) waiter->Set();
}

Task<void> GroupLog::AwaitMaintenance() {
  if (!is_maintaining_) co_return;
  Event done(loop_);
  maintenance_waiters_.push_back(&done);
  co_await done.Wait();
}

Task<void> GroupLog::FreeDeadFiles() {
  std::unordered_set<const DataFile*> live;
  for (const auto& [id, log] : buckets_) {
    for (const Extent& extent : log->extents) live.insert(extent.file.get());
  }
  std::erase_if(sealed_, [&](const std::shared_ptr<DataFile>& file) {
    if (live.contains(file.get())) return false;
    doomed_.push_back(file->name);
    return true;
  });
  // Also when nothing is dead: a file was sealed, or a log's start has moved.
  if (doomed_.empty() && !is_checkpoint_wanted_) co_return;
  if (const Status written = co_await WriteCheckpoint(); !written.ok()) {
    LogError("log", "cannot write a checkpoint: group={} reason={}", config_.group,
             written.error().message);
  }
}

Task<void> GroupLog::CompactFiles() {
  CompactionLimits limits;
  limits.sort_bytes_min = config_.sort_bytes_min;
  while (!is_stopping_) {
    const std::vector<CompactionCandidate> candidates = Candidates();
    DataFiles inputs;
    for (const size_t i : PlanCompaction(candidates, limits)) inputs.push_back(candidates[i].file);
    if (inputs.empty()) co_return;
    const Status rewritten = co_await RewriteFiles(inputs);
    if (rewritten.ok()) continue;
    LogError("log", "cannot rewrite log files, they stay as they are: group={} reason={}",
             config_.group, rewritten.error().message);
    if (rewritten.error().code != ErrorCode::kCorruptData) co_return;
    // Not again and again; what else there is can go on.
    for (const auto& file : inputs) file->is_damaged = true;
  }
}

std::vector<CompactionCandidate> GroupLog::Candidates() const {
  std::unordered_map<const DataFile*, CompactionCandidate> known;
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
  return candidates;
}

/// Copies what is alive in `inputs`, neighbours in `sealed_`, and puts the copies in their place.
Task<Status> GroupLog::RewriteFiles(DataFiles inputs) {
  const DataFile& first = *inputs.front();
  CompactionOutput output;
  output.data_dir = config_.data_dir;
  output.group = config_.group;
  output.epoch = epoch_;
  output.nonce = random_.Next();
  const bool is_merge = first.header.kind == FileKind::kSegment && inputs.size() > 1;
  output.level = is_merge ? first.level + 1 : first.level;
  output.is_cancelled = &is_stopping_;
  std::vector<LiveRange> ranges;
  uint64_t bytes = config_.free_bytes_min;
  for (const auto& [id, log] : buckets_) {
    for (const Extent& extent : log->extents) {
      if (!Contains(inputs, extent.file)) continue;
      ranges.push_back({extent.file, extent.range});
      bytes += extent.range.bytes;
    }
  }
  auto write = [&]() -> Result<std::vector<OpenedFile>> {
    const Result<uint64_t> free = files_.FreeBytes(config_.data_dir);
    if (free.ok() && *free < bytes) {
      return Fail(ErrorCode::kNoSpace, "too little room for copies: free_bytes={} needed_bytes={}",
                  *free, bytes);
    }
    return WriteSegments(files_, output, ranges);
  };
  const Result<std::vector<OpenedFile>> outputs = co_await pool_.Run(write);
  if (!outputs.ok()) {
    if (outputs.error().code == ErrorCode::kCancelled) co_return Ok();
    co_return outputs.error();
  }
  ReplaceFiles(inputs, *outputs);
  WEIR_CO_TRY(co_await WriteCheckpoint());
  LogDebug("log", "rewrote log files: group={} inputs={} outputs={} level={}", config_.group,
           inputs.size(), outputs->size(), output.level);
  co_return Ok();
}

// Since `outputs` were begun, buckets may have been dropped and starts may have moved; what was
// copied for them is dead.
void GroupLog::ReplaceFiles(const DataFiles& inputs, const std::vector<OpenedFile>& outputs) {
  for (const auto& [id, log] : buckets_) {
    std::erase_if(log->extents,
                  [&](const Extent& extent) { return Contains(inputs, extent.file); });
  }
  for (const OpenedFile& opened : outputs) {
    for (const DirectoryEntry& range : opened.directory) {
      const auto found = buckets_.find(range.bucket);
      if (found == buckets_.end() || range.end <= found->second->start) continue;
      std::vector<Extent>& extents = found->second->extents;
      const auto place = std::upper_bound(
          extents.begin(), extents.end(), range.base,
          [](LogOffset base, const Extent& extent) { return base < extent.range.base; });
      extents.insert(place, Extent{opened.file, range});
    }
  }
  const auto place = std::find(sealed_.begin(), sealed_.end(), inputs.front());
  WEIR_CHECK(place != sealed_.end());
  const auto index = place - sealed_.begin();
  std::erase_if(sealed_, [&](const auto& file) { return Contains(inputs, file); });
  DataFiles files;
  for (const OpenedFile& opened : outputs) files.push_back(opened.file);
  sealed_.insert(sealed_.begin() + index, files.begin(), files.end());
  for (const auto& file : inputs) doomed_.push_back(file->name);
}

}  // namespace weir
