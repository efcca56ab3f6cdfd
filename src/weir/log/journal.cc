#include "weir/log/journal.h"

#include <algorithm>
#include <tuple>

#include "weir/base/log.h"
#include "weir/log/piece_builder.h"

namespace weir {
namespace {

// A slot is closed when it has so many bytes, so that what waits for a slot never waits for long.
constexpr size_t kSlotBytes = 8 << 20;

std::string JournalDirectory(JournalId id) {
  return "journals/" + ToString(id);
}

bool IsBefore(const std::shared_ptr<BucketLog>& a, const std::shared_ptr<BucketLog>& b) {
  return a->id < b->id;
}

}  // namespace

Journal::Journal(Config config, EventLoop& loop, BlockingPool& pool, FileSystem& files,
                 OnSealed on_sealed)
    : config_(std::move(config)),
      loop_(loop),
      pool_(pool),
      files_(files),
      on_sealed_(std::move(on_sealed)) {
  loops_.Spawn(WriteLoop());
  loops_.Spawn(SyncLoop());
}

Status Journal::MayAppend(size_t bytes) const {
  if (failure_) return *failure_;
  if (refusal_) return *refusal_;
  if (is_stopping_) return Fail(ErrorCode::kCancelled, "the server is stopping");
  if (!pending_.empty() && pending_bytes_ + bytes > kPendingBytesMax) {
    return Fail(ErrorCode::kOverloaded, "too much waits for the disk: group={} pending_bytes={}",
                config_.group, pending_bytes_);
  }
  return Ok();
}

void Journal::Append(PendingAppend append) {
  WEIR_CHECK(MayAppend(append.batches.size()).ok());
  pending_bytes_ += append.batches.size();
  pending_.push_back(std::move(append));
  WakeWriter();
}

Task<Status> Journal::Sync() {
  if (failure_) co_return *failure_;
  if (is_syncer_done_) co_return Ok();  // it ended with a sync
  SyncWaiter waiter{Event(loop_), Ok()};
  sync_waiters_.push_back(&waiter);
  is_sync_wanted_ = true;
  WakeSyncer();
  co_await waiter.done.Wait();
  co_return waiter.status;
}

void Journal::RequestSeal() {
  is_seal_requested_ = true;
  WakeWriter();
}

Task<void> Journal::Stop() {
  is_stopping_ = true;
  is_seal_requested_ = true;
  WakeWriter();
  WakeSyncer();
  co_await loops_.Join();
}

void Journal::WakeWriter() {
  if (writer_wakeup_) writer_wakeup_->Set();
}

void Journal::WakeSyncer() {
  if (syncer_wakeup_) syncer_wakeup_->Set();
}

Task<void> Journal::WriteLoop() {
  while (true) {
    if (failure_) {
      Undo(std::exchange(pending_, {}), *failure_);
    } else if (std::vector<PendingAppend> appends = TakePending(); !appends.empty()) {
      OpenSlot slot = BuildSlot(std::move(appends));
      Status written = co_await WriteSlot(slot);
      // A sync may have failed meanwhile: behind a slot that may be missing, none may be told of.
      if (failure_) written = *failure_;
      if (written.ok()) {
        AfterWrite(slot);
      } else {
        std::vector<PendingAppend> lost = std::move(slot.appends);
        std::move(pending_.begin(), pending_.end(), std::back_inserter(lost));
        pending_.clear();
        Undo(std::move(lost), written.error());
      }
    }
    const bool is_full = position_ >= config_.file_bytes || pieces_in_file_ >= config_.file_pieces;
    const bool is_seal_due = is_seal_requested_ && pending_.empty();
    if (file_ && !failure_ && (is_full || is_seal_due)) co_await SealFile();
    if (is_seal_due) is_seal_requested_ = false;
    if (!pending_.empty()) continue;
    if (is_stopping_) break;
    writer_wakeup_ = std::make_unique<Event>(loop_);
    co_await writer_wakeup_->Wait();
    writer_wakeup_.reset();
  }
  is_writer_done_ = true;
  WakeSyncer();
}

/// Takes what fits into the next slot off the line, a bucket's appends together and in their order.
std::vector<PendingAppend> Journal::TakePending() {
  size_t taken = 0;
  size_t bytes = 0;
  while (taken < pending_.size() &&
         (taken == 0 || bytes + pending_[taken].batches.size() <= kSlotBytes)) {
    bytes += pending_[taken++].batches.size();
  }
  const auto end = pending_.begin() + static_cast<ptrdiff_t>(taken);
  std::vector<PendingAppend> appends(std::make_move_iterator(pending_.begin()),
                                     std::make_move_iterator(end));
  pending_.erase(pending_.begin(), end);
  pending_bytes_ -= bytes;
  std::erase_if(appends, [](const PendingAppend& append) { return append.bucket->is_dropped; });
  // Whose batches come first does not matter.
  std::sort(appends.begin(), appends.end(), [](const PendingAppend& a, const PendingAppend& b) {
    return std::tie(a.bucket->id, a.end) < std::tie(b.bucket->id, b.end);
  });
  return appends;
}

Journal::OpenSlot Journal::BuildSlot(std::vector<PendingAppend> appends) const {
  OpenSlot slot;
  slot.appends = std::move(appends);
  std::vector<IndexEntry> entries;
  uint64_t position = 0;
  slot.bytes.push_back({});  // the head, when it is known
  for (size_t i = 0; i < slot.appends.size();) {
    const std::shared_ptr<BucketLog>& bucket = slot.appends[i].bucket;
    PieceBuilder builder;
    for (; i < slot.appends.size() && slot.appends[i].bucket == bucket; ++i) {
      for (LogBatchReader reader(slot.appends[i].batches.bytes()); !reader.at_end();) {
        const Result<LogBatchView> batch = reader.Next();
        WEIR_CHECK(batch.ok());  // it was judged before it came here
        builder.Add(batch->header, batch->bytes, position);
        position += batch->bytes.size();
      }
      slot.bytes.push_back(slot.appends[i].batches.bytes());
    }
    slot.index.push_back({bucket, builder.Take()});
    for (const Piece& piece : slot.index.back().pieces) {
      entries.push_back({bucket->id, config_.group, config_.epoch, piece});
    }
  }
  slot.tail = EncodeSlotIndex(next_slot_, entries);
  slot.head =
      EncodeSlotHeader({config_.id, next_slot_, durable_below_, static_cast<uint32_t>(position),
                        static_cast<uint32_t>(entries.size())});
  slot.bytes.front() = AsBytes(slot.head);
  slot.bytes.push_back(AsBytes(slot.tail));
  slot.size = slot.head.size() + position + slot.tail.size();
  return slot;
}

std::shared_ptr<DataFile> Journal::NextFile() const {
  auto file = std::make_shared<DataFile>();
  file->name = fmt::format("{}/{:020}.journal", JournalDirectory(config_.id), next_slot_.value);
  file->header = {FileKind::kJournal, config_.group, config_.id, next_slot_};
  return file;
}

Status Journal::CreateFile(DataFile& file) const {
  const std::string directory = JournalDirectory(config_.id);
  if (next_slot_ == Slot(0)) WEIR_TRY(MakeDirectory(files_, config_.data_dir, directory));
  const std::string path = config_.data_dir + "/" + file.name;
  // A file is left over here if its making failed.
  if (files_.Exists(path)) WEIR_TRY(files_.Remove(path));
  WEIR_ASSIGN(file.file, files_.OpenFile(path, FileSystem::Open::kCreate));
  const std::string header = EncodeFileHeader(file.header);
  const Bytes bytes = AsBytes(header);
  WEIR_TRY(file.file->WriteAt(0, {&bytes, 1}));
  return files_.SyncDirectory(config_.data_dir + "/" + directory);
}

Status Journal::CheckRoom(uint64_t bytes) const {
  const Result<uint64_t> free = files_.FreeBytes(config_.data_dir);
  // Where the system cannot tell, writing will.
  if (!free.ok() || *free >= config_.free_bytes_min + bytes) return Ok();
  return Fail(ErrorCode::kNoSpace, "the disk is almost full: free_bytes={} reserved_bytes={}",
              *free, config_.free_bytes_min);
}

Task<Status> Journal::WriteSlot(OpenSlot& slot) {
  std::shared_ptr<DataFile> file = file_;
  const uint64_t position = file ? position_ : kFileHeaderBytes;
  bool is_unknown = false;
  auto write = [&]() -> Status {
    WEIR_TRY(CheckRoom(slot.size));
    if (!file) {
      std::shared_ptr<DataFile> made = NextFile();
      const Status created = CreateFile(*made);
      is_unknown = !created.ok() && created.error().code != ErrorCode::kNoSpace;
      WEIR_TRY(created);
      file = std::move(made);
    }
    const Status written = file->file->WriteAt(position, slot.bytes);
    if (written.ok()) return Ok();
    // What was written of the slot must not stand there when the next one is tried.
    const Status cut = file->file->Truncate(position);
    is_unknown = written.error().code != ErrorCode::kNoSpace || !cut.ok();
    return written;
  };
  Status written = co_await pool_.Run(write);
  file_ = file;
  position_ = position;
  if (is_unknown) BreakDown(written.error());
  co_return written;
}

void Journal::AfterWrite(OpenSlot& slot) {
  const uint64_t data_position = position_ + kSlotHeaderBytes;
  for (SlotPieces& part : slot.index) {
    BucketLog& bucket = *part.bucket;
    if (bucket.is_dropped) continue;
    if (bucket.tail.empty() || bucket.tail.back().file != file_) {
      buckets_in_file_.push_back(part.bucket);
    }
    for (Piece piece : part.pieces) {
      piece.position += data_position;
      bucket.tail.push_back({file_, piece});
    }
    pieces_in_file_ += part.pieces.size();
    bucket.written_end = part.pieces.back().end;
  }
  position_ += slot.size;
  next_slot_ = Slot(next_slot_.value + 1);
  if (unsynced_files_.empty() || unsynced_files_.back() != file_) unsynced_files_.push_back(file_);
  for (const PendingAppend& append : slot.appends) TellWritten(append);
  if (is_sync_wanted_) WakeSyncer();
}

void Journal::TellWritten(const PendingAppend& append) {
  BucketLog& bucket = *append.bucket;
  if (bucket.is_dropped) return;  // also by a listener that was told just now
  if (append.needs_sync) {
    bucket.sync_end = append.end;
    unsynced_.push_back({append.bucket, append.end});
    is_sync_wanted_ = true;
  }
  if (bucket.listener != nullptr) bucket.listener->OnWritten(append.end);
  // What asks for the page cache waits for no disk, unless it stands behind what does.
  if (!append.needs_sync && bucket.sync_end <= bucket.committed_end) Commit(bucket, append.end);
}

void Journal::Commit(BucketLog& bucket, LogOffset end) {
  if (end <= bucket.committed_end) return;
  bucket.committed_end = end;
  if (bucket.listener != nullptr) bucket.listener->OnCommitted(end);
}

// Nothing of `lost` is in the file: its buckets go back to where the file ends.
void Journal::Undo(std::vector<PendingAppend> lost, const Error& why) {
  pending_bytes_ = 0;
  if (lost.empty()) return;
  LogWarn("log", "appends are refused: group={} reason={}", config_.group, why.message);
  std::vector<std::shared_ptr<BucketLog>> buckets;
  for (PendingAppend& append : lost) {
    BucketLog& bucket = *append.bucket;
    if (bucket.end != bucket.written_end) {
      bucket.end = bucket.written_end;
      bucket.writers.ForgetFrom(bucket.end);
    }
    buckets.push_back(std::move(append.bucket));
  }
  std::sort(buckets.begin(), buckets.end(), IsBefore);
  buckets.erase(std::unique(buckets.begin(), buckets.end()), buckets.end());
  // A listener that tries again at once would hear next that this new append is lost.
  refusal_ = why;
  for (const auto& bucket : buckets) {
    if (bucket->listener != nullptr) bucket->listener->OnLost(bucket->written_end, why);
  }
  refusal_.reset();
}

Task<void> Journal::SealFile() {
  if (position_ == kFileHeaderBytes) co_return;  // a file whose first slot did not fit the disk
  std::erase_if(buckets_in_file_, [](const auto& bucket) { return bucket->is_dropped; });
  std::sort(buckets_in_file_.begin(), buckets_in_file_.end(), IsBefore);
  std::vector<IndexEntry> entries;
  entries.reserve(pieces_in_file_);
  for (const auto& bucket : buckets_in_file_) {
    for (const TailPiece& tail : bucket->tail) {
      if (tail.file != file_) continue;
      entries.push_back({bucket->id, config_.group, config_.epoch, tail.piece});
    }
  }
  std::vector<DirectoryEntry> directory;
  const Slot durable_below = durable_below_;
  bool is_unknown = false;
  auto write = [&]() -> Status {
    const std::string tail = EncodeFileTail(entries, position_, durable_below, &directory);
    const Bytes bytes = AsBytes(tail);
    const Status written = file_->file->WriteAt(position_, {&bytes, 1});
    if (written.ok()) return Ok();
    const Status cut = file_->file->Truncate(position_);
    is_unknown = written.error().code != ErrorCode::kNoSpace || !cut.ok();
    return written;
  };
  if (const Status written = co_await pool_.Run(write); !written.ok()) {
    // The file goes on without its index, which a restart can make again; sealing is tried with the
    // next slot.
    LogWarn("log", "cannot seal a journal file: file={} reason={}", file_->name,
            written.error().message);
    if (is_unknown) BreakDown(written.error());
    co_return;
  }
  ShowSealed(directory);
}

// Moves the buckets' pieces in the current file from their tails to their extents.
void Journal::ShowSealed(const std::vector<DirectoryEntry>& directory) {
  file_->entries_position = position_;
  file_->data_bytes = position_ - kFileHeaderBytes;
  if (unsynced_files_.empty() || unsynced_files_.back() != file_) unsynced_files_.push_back(file_);
  size_t next = 0;
  for (const auto& bucket : buckets_in_file_) {
    std::erase_if(bucket->tail, [&](const TailPiece& tail) { return tail.file == file_; });
    for (; next < directory.size() && directory[next].bucket == bucket->id; ++next) {
      const bool is_dead = bucket->is_dropped || directory[next].end <= bucket->start;
      if (!is_dead) bucket->extents.push_back({file_, directory[next]});
    }
  }
  const std::shared_ptr<DataFile> sealed = std::exchange(file_, nullptr);
  buckets_in_file_.clear();
  pieces_in_file_ = 0;
  position_ = 0;
  on_sealed_(sealed);
}

Task<void> Journal::SyncLoop() {
  while (true) {
    if (!is_sync_wanted_) {
      if (is_writer_done_) {
        if (unsynced_files_.empty() || failure_) break;
        is_sync_wanted_ = true;
        continue;
      }
      syncer_wakeup_ = std::make_unique<Event>(loop_);
      co_await syncer_wakeup_->Wait();
      syncer_wakeup_.reset();
      continue;
    }
    is_sync_wanted_ = false;
    const std::vector<SlotEnd> ends = std::exchange(unsynced_, {});
    const std::vector<SyncWaiter*> waiters = std::exchange(sync_waiters_, {});
    const std::vector<std::shared_ptr<DataFile>> files = std::exchange(unsynced_files_, {});
    const Slot written_below = next_slot_;
    Status synced = health();
    if (synced.ok() && !files.empty()) {
      // Oldest first: a slot must never be known as durable before those in front of it.
      auto sync = [&]() -> Status {
        for (const auto& file : files) WEIR_TRY(file->file->Sync());
        return Ok();
      };
      synced = co_await pool_.Run(sync);
      if (!synced.ok()) BreakDown(synced.error());
    }
    if (synced.ok()) durable_below_ = written_below;
    AfterSync(ends, synced);
    for (SyncWaiter* waiter : waiters) {
      waiter->status = synced.ok() ? Ok() : health();
      waiter->done.Set();
    }
  }
  is_syncer_done_ = true;
}

void Journal::AfterSync(const std::vector<SlotEnd>& ends, const Status& synced) {
  for (const auto& [bucket, end] : ends) {
    if (synced.ok()) {
      // With the last one that waits for a sync, those behind it that do not are committed as well.
      Commit(*bucket, end == bucket->sync_end ? bucket->written_end : end);
    } else if (bucket->listener != nullptr) {
      bucket->listener->OnLost(bucket->committed_end, *failure_);
    }
  }
}

// After a failed write or sync nobody knows what is on the disk: the kernel may have dropped pages
// that it could not write, and a later sync would report success. So no append is taken until a
// restart has read what is really there.
void Journal::BreakDown(const Error& why) {
  if (failure_) return;
  failure_ = Fail(ErrorCode::kIo,
                  "the journal has failed, tables are read-only until the server is restarted: {}",
                  why.message);
  LogError("log", "journal failed: group={} reason={}", config_.group, why.message);
}

}  // namespace weir
