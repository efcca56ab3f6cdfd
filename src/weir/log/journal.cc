#include "weir/log/journal.h"

#include <algorithm>

#include "weir/base/log.h"
#include "weir/log/piece_builder.h"

namespace weir {
namespace {

// A slot is closed when it has so many bytes, so that what waits for a slot never waits for long.
constexpr size_t kSlotBytes = 8 << 20;

std::string JournalDirectory(JournalId id) {
  return "journals/" + ToString(id);
}

// Appends one file's pieces of one bucket to `entries`.
void CollectEntries(const BucketLog& bucket, const DataFile* file, GroupId group, Epoch epoch,
                    std::vector<IndexEntry>& entries) {
  for (const TailPiece& tail : bucket.tail) {
    if (tail.file.get() == file) entries.push_back({bucket.id, group, epoch, tail.piece});
  }
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

Status Journal::Append(PendingAppend append) {
  if (failure_) return *failure_;
  WEIR_CHECK(!is_stopping_);
  pending_.push_back(std::move(append));
  WakeWriter();
  return Ok();
}

Task<Status> Journal::Sync() {
  if (failure_) co_return *failure_;
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
    if (!pending_.empty()) {
      OpenSlot slot = BuildSlot();
      Status written = co_await EnsureFile();
      if (written.ok()) written = co_await WriteSlot(slot);
      if (written.ok()) {
        AfterWrite(slot);
      } else {
        UndoUnwritten(slot, written.error());
      }
    }
    const bool is_full = position_ >= config_.file_bytes || pieces_in_file_ >= config_.file_pieces;
    if (file_ && (is_full || is_seal_requested_)) co_await SealFile();
    is_seal_requested_ = false;
    if (!pending_.empty()) continue;
    if (is_stopping_) break;
    writer_wakeup_ = std::make_unique<Event>(loop_);
    co_await writer_wakeup_->Wait();
    writer_wakeup_.reset();
  }
  is_writer_done_ = true;
  WakeSyncer();
}

Journal::OpenSlot Journal::BuildSlot() {
  OpenSlot slot;
  size_t taken = 0;
  size_t bytes = 0;
  while (taken < pending_.size() &&
         (taken == 0 || bytes + pending_[taken].batches.size() <= kSlotBytes)) {
    bytes += pending_[taken++].batches.size();
  }
  const auto end = pending_.begin() + static_cast<ptrdiff_t>(taken);
  slot.appends.assign(std::make_move_iterator(pending_.begin()), std::make_move_iterator(end));
  pending_.erase(pending_.begin(), end);
  // A bucket's batches lie together in their order; whose come first does not matter.
  std::stable_sort(
      slot.appends.begin(), slot.appends.end(),
      [](const PendingAppend& a, const PendingAppend& b) { return a.bucket->id < b.bucket->id; });

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

Task<Status> Journal::EnsureFile() {
  if (file_) co_return Ok();
  auto file = std::make_shared<DataFile>();
  const std::string directory = JournalDirectory(config_.id);
  file->name = fmt::format("{}/{:020}.journal", directory, next_slot_.value);
  file->header = {FileKind::kJournal, config_.group, config_.id, next_slot_};
  auto create = [&]() -> Status {
    const std::string path = config_.data_dir + "/" + file->name;
    if (next_slot_ == Slot(0)) {
      WEIR_TRY(files_.MakeDirectories(config_.data_dir + "/" + directory));
      WEIR_TRY(files_.SyncDirectory(config_.data_dir + "/journals"));
    }
    // A file is left over here if its first write failed.
    if (files_.Exists(path)) WEIR_TRY(files_.Remove(path));
    WEIR_ASSIGN(file->file, files_.OpenFile(path, FileSystem::Open::kCreate));
    const std::string header = EncodeFileHeader(file->header);
    const Bytes bytes = AsBytes(header);
    WEIR_TRY(file->file->WriteAt(0, {&bytes, 1}));
    return files_.SyncDirectory(config_.data_dir + "/" + directory);
  };
  WEIR_CO_TRY(co_await pool_.Run(create));
  file_ = std::move(file);
  position_ = kFileHeaderBytes;
  co_return Ok();
}

Task<Status> Journal::WriteSlot(OpenSlot& slot) {
  auto write = [&]() -> Status { return file_->file->WriteAt(position_, slot.bytes); };
  Status written = co_await pool_.Run(write);
  if (written.ok()) co_return Ok();
  // What was written of the slot must not stand there when the next one is tried.
  auto cut = [&]() -> Status { return file_->file->Truncate(position_); };
  const Status undone = co_await pool_.Run(cut);
  if (written.error().code != ErrorCode::kNoSpace || !undone.ok()) BreakDown(written.error());
  co_return written;
}

void Journal::AfterWrite(OpenSlot& slot) {
  const uint64_t data_position = position_ + kSlotHeaderBytes;
  for (SlotPieces& part : slot.index) {
    BucketLog& bucket = *part.bucket;
    if (bucket.is_dropped) continue;
    if (bucket.tail.empty() || bucket.tail.back().file != file_)
      buckets_in_file_.push_back(part.bucket);
    for (Piece piece : part.pieces) {
      piece.position += data_position;
      file_->data_bytes += piece.bytes;
      bucket.tail.push_back({file_, piece});
    }
    pieces_in_file_ += part.pieces.size();
    bucket.written_end = part.pieces.back().end;
  }
  position_ += slot.size;
  next_slot_ = Slot(next_slot_.value + 1);
  if (unsynced_files_.empty() || unsynced_files_.back() != file_) unsynced_files_.push_back(file_);

  for (PendingAppend& append : slot.appends) {
    BucketLog& bucket = *append.bucket;
    if (bucket.is_dropped) continue;
    if (append.needs_sync) {
      is_sync_wanted_ = true;
      unsynced_.push_back({append.bucket, append.end, true});
    }
    if (bucket.listener == nullptr) continue;
    bucket.listener->OnWritten(append.end);
    if (!append.needs_sync) bucket.listener->OnCommitted(append.end);
  }
  if (is_sync_wanted_) WakeSyncer();
}

// Nothing of `slot` nor of what waits behind it is in the file: its buckets go back to where the
// file ends.
void Journal::UndoUnwritten(OpenSlot& slot, const Error& why) {
  LogWarn("log", "appends are refused: group={} reason={}", config_.group, why.message);
  std::vector<PendingAppend> lost = std::move(slot.appends);
  std::move(pending_.begin(), pending_.end(), std::back_inserter(lost));
  pending_.clear();
  for (PendingAppend& append : lost) {
    BucketLog& bucket = *append.bucket;
    if (bucket.end == bucket.written_end) continue;
    bucket.end = bucket.written_end;
    bucket.writers.ForgetFrom(bucket.end);
  }
  for (PendingAppend& append : lost) {
    if (append.bucket->listener != nullptr)
      append.bucket->listener->OnLost(append.bucket->written_end, why);
  }
}

Task<void> Journal::SealFile() {
  std::vector<IndexEntry> entries;
  entries.reserve(pieces_in_file_);
  std::sort(buckets_in_file_.begin(), buckets_in_file_.end(),
            [](const auto& a, const auto& b) { return a->id < b->id; });
  for (const auto& bucket : buckets_in_file_) {
    if (!bucket->is_dropped)
      CollectEntries(*bucket, file_.get(), config_.group, config_.epoch, entries);
  }
  std::vector<DirectoryEntry> directory;
  auto write = [&]() -> Status {
    const std::string tail = EncodeFileTail(entries, position_, &directory);
    const Bytes bytes = AsBytes(tail);
    Status written = file_->file->WriteAt(position_, {&bytes, 1});
    if (!written.ok()) WEIR_TRY(file_->file->Truncate(position_));
    return written;
  };
  if (const Status written = co_await pool_.Run(write); !written.ok()) {
    // The file goes on without its index, which a restart can make again; sealing is tried with the
    // next slot.
    LogWarn("log", "cannot seal a journal file: file={} reason={}", file_->name,
            written.error().message);
    co_return;
  }
  file_->entries_position = position_;
  file_->is_sealed = true;
  if (unsynced_files_.empty() || unsynced_files_.back() != file_) unsynced_files_.push_back(file_);
  size_t next = 0;
  for (const auto& bucket : buckets_in_file_) {
    std::erase_if(bucket->tail, [&](const TailPiece& tail) { return tail.file == file_; });
    for (; next < directory.size() && directory[next].bucket == bucket->id; ++next) {
      if (!bucket->is_dropped) bucket->extents.push_back({file_, directory[next]});
    }
  }
  const std::shared_ptr<DataFile> sealed = std::move(file_);
  file_.reset();
  buckets_in_file_.clear();
  pieces_in_file_ = 0;
  position_ = 0;
  on_sealed_(sealed);
}

Task<void> Journal::SyncLoop() {
  while (true) {
    if (!is_sync_wanted_) {
      if (is_stopping_ && is_writer_done_) {
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
      // Oldest first: a slot must never be durable before those in front of it.
      auto sync = [&]() -> Status {
        for (const auto& file : files) WEIR_TRY(file->file->Sync());
        return Ok();
      };
      synced = co_await pool_.Run(sync);
      if (!synced.ok()) BreakDown(synced.error());
    }
    if (synced.ok()) durable_below_ = written_below;
    for (const SlotEnd& slot_end : ends) {
      BucketLogListener* const listener = slot_end.bucket->listener;
      if (listener == nullptr) continue;
      if (synced.ok()) {
        listener->OnCommitted(slot_end.end);
      } else {
        listener->OnLost(LogOffset(0), synced.error());
      }
    }
    for (SyncWaiter* waiter : waiters) {
      waiter->status = synced;
      waiter->done.Set();
    }
  }
}

// After a failed write or sync nobody knows what is on the disk: the kernel may have dropped pages
// that it could not write, and a later sync would report success. So no append is taken until a
// restart has read what is really there.
void Journal::BreakDown(Error why) {
  if (failure_) return;
  failure_ = Fail(ErrorCode::kIo,
                  "the journal has failed, tables are read-only until the server is restarted: {}",
                  why.message);
  LogError("log", "journal failed: group={} reason={}", config_.group, why.message);
}

}  // namespace weir
