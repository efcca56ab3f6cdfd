// The journal: a shard's batches of all its buckets, in the order of arrival, made durable by group
// commit.
//
// Two loops work beside each other. The write loop gathers whatever waits into one slot and writes
// it at the end of the current file; when a file is full it is sealed with an index and the next
// one begun. The sync loop makes what was written durable, as often as somebody waits for that. So
// an append that asks only for the page cache never waits for the disk, and all that wait for the
// disk share one sync.
//
// Format: docs/formats/journal.md.
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
  };
  using OnSealed = std::function<void(std::shared_ptr<DataFile>)>;

  /// Starts the loops. Files are made when there is something to write. `on_sealed` is told of each
  /// file when it is written and sealed, not yet durable; the buckets' extents show it by then.
  Journal(Config config, EventLoop& loop, BlockingPool& pool, FileSystem& files,
          OnSealed on_sealed);

  /// Puts an append in line. Its bucket's listener is told the rest.
  /// Errors: kIo if the journal has failed; it then takes no more until the server is started
  /// again.
  Status Append(PendingAppend append);

  /// Whether appends are taken. The error says why not.
  Status health() const { return failure_ ? Status(*failure_) : Ok(); }

  /// Waits until everything written before is durable. Errors: kIo.
  Task<Status> Sync();

  /// Seals the current file, if there is one with data, when what waits is written.
  void RequestSeal();

  /// The first slot that is not in a sealed file.
  Slot unsealed_from() const { return file_ ? file_->header.first_slot : next_slot_; }

  /// Writes and syncs what waits, seals the file and ends the loops. Append must not be called any
  /// more.
  Task<void> Stop();

 private:
  struct SlotEnd {
    std::shared_ptr<BucketLog> bucket;
    LogOffset end;
    bool needs_sync;
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

  Task<void> WriteLoop();
  Task<void> SyncLoop();
  Task<Status> EnsureFile();
  OpenSlot BuildSlot();
  Task<Status> WriteSlot(OpenSlot& slot);
  void AfterWrite(OpenSlot& slot);
  void UndoUnwritten(OpenSlot& slot, const Error& why);
  Task<void> SealFile();
  void BreakDown(Error why);
  void WakeWriter();
  void WakeSyncer();

  const Config config_;
  EventLoop& loop_;
  BlockingPool& pool_;
  FileSystem& files_;
  const OnSealed on_sealed_;
  TaskScope loops_;

  std::vector<PendingAppend> pending_;
  std::shared_ptr<DataFile> file_;  // null before the first append and between files
  uint64_t position_ = 0;           // where the next slot goes
  size_t pieces_in_file_ = 0;
  std::vector<std::shared_ptr<BucketLog>> buckets_in_file_;
  Slot next_slot_{0};
  Slot durable_below_{0};
  bool is_seal_requested_ = false;
  bool is_stopping_ = false;
  bool is_writer_done_ = false;
  std::optional<Error> failure_;

  std::vector<SlotEnd> unsynced_;
  std::vector<std::shared_ptr<DataFile>> unsynced_files_;
  bool is_sync_wanted_ = false;
  struct SyncWaiter {
    Event done;
    Status status;
  };
  std::vector<SyncWaiter*> sync_waiters_;

  std::unique_ptr<Event> writer_wakeup_;
  std::unique_ptr<Event> syncer_wakeup_;
};

}  // namespace weir
