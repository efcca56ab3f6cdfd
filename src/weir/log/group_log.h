// The log of a group of buckets: one journal, the sealed files behind it, and where each bucket's
// batches lie in them. It owns the files: seals, sorts, trims and frees them, and keeps the
// manifest true.
//
// Lives on one event loop. Format: docs/formats/journal.md.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weir/log/bucket_log.h"
#include "weir/log/checkpoint.h"
#include "weir/log/compaction.h"
#include "weir/log/journal.h"
#include "weir/log/manifest.h"
#include "weir/log/recovery.h"
#include "weir/record/log_batch.h"
#include "weir/runtime/clock.h"

namespace weir {

/// What retention wants of a bucket.
struct RetentionLimits {
  /// Batches with commit times before this one may go.
  Timestamp oldest = kNoTimestamp;
  /// The newest batches are kept up to so many bytes; 0: no limit.
  uint64_t bytes_max = 0;
};

class GroupLog {
 public:
  struct Config {
    std::string data_dir;
    GroupId group;
    uint64_t journal_file_bytes = 64ull << 20;
    size_t journal_file_pieces = 65'536;
    /// Sealed journal files wait until so many bytes can be sorted at once.
    uint64_t sort_bytes_min = 32ull << 20;
    /// So much of the disk is left to checkpoints: without them nothing could be freed.
    uint64_t free_bytes_min = 16ull << 20;
  };

  /// Takes what was recovered, raises the epoch and begins a new journal. The log must be stopped
  /// before it is destroyed. Errors: kIo, kNoSpace.
  static Task<Result<std::unique_ptr<GroupLog>>> Start(Config config, RecoveredGroup recovered,
                                                       EventLoop& loop, BlockingPool& pool,
                                                       FileSystem& files, Random& random);

  /// Seals, writes the last checkpoint and ends; what is appended from here on is refused.
  Task<void> Stop();

  /// The log of a bucket; a new and empty one if there is none.
  std::shared_ptr<BucketLog> OpenBucket(const TableBucket& id);

  /// All buckets that are known, in order.
  std::vector<TableBucket> buckets() const;

  /// Forgets a bucket; its place on the disk is freed in the background. The listener is not told
  /// any more. The same id must not be opened again, also not after a restart: what the files still
  /// have of it would be taken for its records.
  void DropBucket(const TableBucket& id);

  /// Stamps `batches` (one or more, whole, checked) with offsets and the commit time, remembers
  /// their writers, and puts them in line. Returns the first offset. The listener is told the rest.
  /// Errors: nothing changed. kIo: the journal has failed. kOverloaded: too much waits for the
  /// disk. kNoSpace: listeners are just hearing that the disk is full. kUnknownBucket: it was
  /// dropped. kCancelled: the log is stopping.
  Result<LogOffset> Append(const std::shared_ptr<BucketLog>& log, Buffer batches,
                           const std::vector<LogBatchHeader>& headers, Timestamp now,
                           bool needs_sync);

  /// Waits until everything that was appended and written before is on the disk. Errors: kIo.
  Task<Status> Sync() { return journal_->Sync(); }

  /// Whether appends are taken; the error says why not.
  Status health() const { return journal_->health(); }

  /// Moves the log's start over whole extents that `limits` gives up, but not beyond `keep_from`
  /// nor what is committed.
  void Retain(BucketLog& log, const RetentionLimits& limits, LogOffset keep_from);

  /// Moves the log's start to `start`, but not beyond what is committed.
  void Trim(BucketLog& log, LogOffset start);

  /// Frees files that nothing needs any more, rewrites those that are mostly dead, merges small
  /// ones. What cannot be done now is logged, and tried again the next time. Returns when it is
  /// done.
  Task<void> Maintain();

  BlockingPool& pool() { return pool_; }

 private:
  GroupLog(Config config, RecoveredGroup recovered, EventLoop& loop, BlockingPool& pool,
           FileSystem& files, Random& random);

  using DataFiles = std::vector<std::shared_ptr<DataFile>>;

  Task<Status> WriteCheckpoint();
  Task<void> AwaitMaintenance();
  Task<void> FreeDeadFiles();
  Task<void> CompactFiles();
  std::vector<CompactionCandidate> Candidates() const;
  Task<Status> RewriteFiles(DataFiles inputs);
  void ReplaceFiles(const DataFiles& inputs, const std::vector<OpenedFile>& outputs);

  const Config config_;
  EventLoop& loop_;
  BlockingPool& pool_;
  FileSystem& files_;
  Random& random_;
  const Epoch epoch_;
  const JournalId journal_id_;
  CheckpointWriter checkpoints_;
  std::unique_ptr<Journal> journal_;
  std::map<TableBucket, std::shared_ptr<BucketLog>> buckets_;
  /// Oldest first, with segments in the place of what they were made of.
  DataFiles sealed_;
  /// Names of files to be removed as soon as no manifest names them.
  std::vector<std::string> doomed_;
  /// Bytes in the current journal file that belong to dropped buckets.
  uint64_t dropped_tail_bytes_ = 0;
  TaskScope background_;
  bool is_checkpoint_wanted_ = false;
  bool is_maintenance_wanted_ = false;
  bool is_maintaining_ = false;
  /// Of those who wait for the maintenance that is under way.
  std::vector<Event*> maintenance_waiters_;
  /// Also read by who copies files, on the pool.
  std::atomic<bool> is_stopping_ = false;
};

}  // namespace weir
