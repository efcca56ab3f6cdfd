// The journal: a shard's batches of all its buckets, in the order of arrival, made durable by group
// commit. Format: docs/formats/journal.md.
//
// Two loops work beside each other. The write loop gathers whatever waits into one slot and writes
// it at the end of the current file; when a file is full it is sealed with an index and the next
// one begun. The sync loop makes what was written durable, as often as somebody waits for that. So
// an append that asks only for the page cache never waits for the disk, and all that wait for the
// disk share one sync.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "weir/base/buffer.h"
#include "weir/log/bucket_log.h"
#include "weir/runtime/blocking_pool.h"
#include "weir/runtime/event_loop.h"
#include "weir/runtime/file.h"

namespace weir {

/// Batches of one bucket that are stamped and counted, on their way into the journal.
struct PendingAppend {
  std::shared_ptr<BucketLog> bucket;
  Buffer batches;
  LogOffset end;
  bool needs_sync = false;
};

class Journal {
 public:
  struct Config {
    std::string data_dir;
    JournalId id;
    GroupId group;
    Epoch epoch;
    /// A file is sealed when it has grown to this size ...
    uint64_t file_bytes = 64ull << 20;
    /// ... or has so many pieces, which are in memory until then.
    size_t file_pieces = 65'536;
    /// So much of the disk is left to checkpoints: without them nothing could be freed.
    uint64_t free_bytes_min = 16ull << 20;
  };
  using OnSealed = std::function<void(std::shared_ptr<DataFile>)>;

  /// So many bytes may wait for the write loop.
  static constexpr size_t kPendingBytesMax = size_t{128} << 20;

  /// Starts the loops. Files are made when there is something to write. `on_sealed` is told of each
  /// file when it is written and sealed, not yet durable; the buckets' extents show it by then.
  Journal(Config config, EventLoop& loop, BlockingPool& pool, FileSystem& files,
          OnSealed on_sealed);

  /// Whether an append of so many bytes is taken now. Errors: kIo: the journal has failed and takes
  /// no more until the server is started again. kOverloaded: too much waits already. kNoSpace:
  /// while listeners hear that the disk is full. kCancelled: it is stopping.
  Status MayAppend(size_t bytes) const;

  /// Puts an append in line that MayAppend let in. Its bucket's listener is told the rest.
  void Append(PendingAppend append);

  /// Whether the journal works. The error says why not.
  Status health() const { return failure_ ? Status(*failure_) : Ok(); }

  /// Waits until everything written before is durable. Errors: kIo.
  Task<Status> Sync();

  /// Seals the current file, if there is one with data, when what waits is written.
  void RequestSeal();

  /// The first slot that is not in a sealed file.
  Slot unsealed_from() const { return file_ ? file_->header.first_slot : next_slot_; }

  /// Writes and syncs what waits, seals the file and ends the loops; must be called. No append is
  /// taken from here on.
  Task<void> Stop();

 private:
  struct SlotEnd {
    std::shared_ptr<BucketLog> bucket;
    LogOffset end;
  };
  struct SlotPieces {
    std::shared_ptr<BucketLog> bucket;
    std::vector<Piece> pieces;
  };
  struct OpenSlot {
    std::vector<PendingAppend> appends;
    std::vector<SlotPieces> index;
    std::string head, tail;
    std::vector<Bytes> bytes;
    uint64_t size = 0;
  };
  struct SyncWaiter {
    Event done;
    Status status;
  };

  Task<void> WriteLoop();
  Task<void> SyncLoop();
  std::vector<PendingAppend> TakePending();
  OpenSlot BuildSlot(std::vector<PendingAppend> appends) const;
  std::shared_ptr<DataFile> NextFile() const;
  Status CreateFile(DataFile& file) const;
  Status CheckRoom(uint64_t bytes) const;
  Task<Status> WriteSlot(OpenSlot& slot);
  void AfterWrite(OpenSlot& slot);
  void TellWritten(const PendingAppend& append);
  void Undo(std::vector<PendingAppend> lost, const Error& why);
  Task<void> SealFile();
  void ShowSealed(const std::vector<DirectoryEntry>& directory);
  void AfterSync(const std::vector<SlotEnd>& ends, const Status& synced);
  static void Commit(BucketLog& bucket, LogOffset end);
  void BreakDown(const Error& why);
  void WakeWriter();
  void WakeSyncer();

  const Config config_;
  EventLoop& loop_;
  BlockingPool& pool_;
  FileSystem& files_;
  const OnSealed on_sealed_;
  TaskScope loops_;

  std::vector<PendingAppend> pending_;
  size_t pending_bytes_ = 0;
  std::shared_ptr<DataFile> file_;  // null before the first append and between files
  uint64_t position_ = 0;           // where the next slot goes
  size_t pieces_in_file_ = 0;
  std::vector<std::shared_ptr<BucketLog>> buckets_in_file_;
  Slot next_slot_{0};
  Slot durable_below_{0};
  bool is_seal_requested_ = false;
  bool is_stopping_ = false;
  bool is_writer_done_ = false;
  bool is_syncer_done_ = false;
  std::optional<Error> failure_;
  std::optional<Error> refusal_;  // while appends are undone

  std::vector<SlotEnd> unsynced_;
  std::vector<std::shared_ptr<DataFile>> unsynced_files_;
  bool is_sync_wanted_ = false;
  std::vector<SyncWaiter*> sync_waiters_;

  std::unique_ptr<Event> writer_wakeup_;
  std::unique_ptr<Event> syncer_wakeup_;
};

}  // namespace weir
