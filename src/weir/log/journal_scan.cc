#include "weir/log/journal_scan.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "weir/base/buffer.h"
#include "weir/log/piece_builder.h"

namespace weir {
namespace {

constexpr std::string_view kSuffix = ".journal";
// How much is searched at once for slots behind an end.
constexpr size_t kWindowBytes = 4 << 20;

/// The slot that a journal file begins with, by its name.
std::optional<Slot> SlotOfName(std::string_view name) {
  if (!name.ends_with(kSuffix)) return std::nullopt;
  name.remove_suffix(kSuffix.size());
  uint64_t slot = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), slot);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return Slot(slot);
}

/// Where, and why, the walk could not go on.
struct JournalEnd {
  std::string file;
  uint64_t position = 0;
  Slot slot;
  std::string reason;
};

/// Checks the batches of a piece against their checksums and their index.
Result<std::vector<ScannedBatch>> CheckPiece(const Piece& piece, Bytes data) {
  WEIR_ASSIGN(const std::vector<LogBatchView> batches,
              SplitPiece(piece, data.subspan(piece.position, piece.bytes)));
  std::vector<ScannedBatch> of_writers;
  uint64_t position = piece.position;
  for (const LogBatchView& batch : batches) {
    WEIR_TRY(CheckStoredBatch(batch, position));
    position += batch.bytes.size();
    const LogBatchHeader& header = batch.header;
    if (header.writer_id == kNoWriterId) continue;
    of_writers.push_back({header.writer_id, header.batch_sequence, header.base_offset,
                          header.end_offset(), header.commit_timestamp});
  }
  return of_writers;
}

class Scanner {
 public:
  Scanner(FileSystem& files, const std::string& data_dir, JournalId journal, Slot floor,
          GroupId group, Epoch epoch)
      : files_(files),
        data_dir_(data_dir),
        journal_(journal),
        group_(group),
        epoch_(epoch),
        next_(floor) {}

  Result<JournalScan> Run() {
    WEIR_ASSIGN(const std::vector<Found> found, ListFiles());
    for (const Found& file : found) WEIR_TRY(ScanFile(file));
    return std::move(scan_);
  }

 private:
  struct Found {
    std::string name;
    Slot first_slot;
  };

  /// The journal's files from the floor on. One that holds the floor begins with it: a floor is
  /// always where a file begins or will begin.
  Result<std::vector<Found>> ListFiles() {
    std::vector<Found> found;
    const std::string directory = "journals/" + ToString(journal_);
    if (!files_.Exists(data_dir_ + "/" + directory)) return found;
    WEIR_ASSIGN(const std::vector<std::string> names, files_.List(data_dir_ + "/" + directory));
    for (const std::string& name : names) {
      const std::optional<Slot> slot = SlotOfName(name);
      if (slot && *slot >= next_) found.push_back({directory + "/" + name, *slot});
    }
    std::sort(found.begin(), found.end(),
              [](const Found& a, const Found& b) { return a.first_slot < b.first_slot; });
    return found;
  }

  Status ScanFile(const Found& found) {
    DataFile file;
    file.name = found.name;
    const std::string path = data_dir_ + "/" + found.name;
    WEIR_ASSIGN(file.file, files_.OpenFile(path, FileSystem::Open::kRead));
    ScannedFile scanned;
    scanned.name = found.name;
    WEIR_ASSIGN(scanned.size, file.file->Size());
    WEIR_ASSIGN(const bool has_header, ReadHeader(file, found));
    std::optional<FileFooter> footer;
    if (auto read = ReadFooter(file, scanned.size); read.ok()) {
      footer = *read;
    } else if (read.error().code == ErrorCode::kIo) {
      return std::move(read).error();
    }
    // The file before it was complete: what stands at its end was an index.
    if (end_ && has_header && found.first_slot == next_) end_.reset();
    if (!end_ && found.first_slot != next_) EndAt(found.name, 0, "slots before it are missing");
    if (!end_ && !has_header) EndAt(found.name, 0, "the file has no valid header");
    uint64_t position = kFileHeaderBytes;
    if (!end_) {
      scanned.header = file.header;
      WEIR_TRY(WalkSlots(file, footer ? footer->entries_position : scanned.size, scanned));
      position = scanned.slots_end;
    }
    if (end_) {
      WEIR_TRY(CheckOnlyTorn(file, position, scanned.size, footer));
      const bool is_torn_whole = position == kFileHeaderBytes;
      scan_.torn_bytes += scanned.size - std::min(is_torn_whole ? 0 : position, scanned.size);
    }
    if (position == kFileHeaderBytes) {
      scan_.torn_files.push_back(found.name);
    } else {
      scan_.files.push_back(std::move(scanned));
    }
    return Ok();
  }

  Result<bool> ReadHeader(DataFile& file, const Found& found) {
    std::byte head[kFileHeaderBytes] = {};
    WEIR_TRY(file.file->ReadAt(0, head));
    const Result<FileHeader> header = DecodeFileHeader(head);
    if (!header.ok() && header.error().code == ErrorCode::kUnsupported) return header.error();
    if (!header.ok() || header->kind != FileKind::kJournal || header->journal != journal_ ||
        header->first_slot != found.first_slot) {
      return false;
    }
    file.header = *header;
    return true;
  }

  /// Reads slots up to `end` or to the first one that is not whole, which ends the journal.
  Status WalkSlots(const DataFile& file, uint64_t end, ScannedFile& scanned) {
    scanned.slots_end = kFileHeaderBytes;
    while (scanned.slots_end < end) {
      const Result<uint64_t> size = ReadSlot(file, scanned.slots_end, end, scanned);
      if (!size.ok() && size.error().code == ErrorCode::kIo) return size.error();
      if (!size.ok()) {
        EndAt(file.name, scanned.slots_end, size.error().message);
        break;
      }
      scanned.slots_end += *size;
      scan_.slot_bytes += *size;
      next_ = Slot(next_.value + 1);
    }
    return Ok();
  }

  /// Size of the slot at `position`, whose pieces are added to `scanned`. Errors: kIo; any other:
  /// there is no whole slot.
  Result<uint64_t> ReadSlot(const DataFile& file, uint64_t position, uint64_t end,
                            ScannedFile& scanned) const {
    const auto cut_short = [&] { return Fail(ErrorCode::kCorruptData, "slot is cut short"); };
    if (end - position < kSlotHeaderBytes) return cut_short();
    std::byte head[kSlotHeaderBytes];
    WEIR_TRY(ReadExactly(file, position, head));
    WEIR_ASSIGN(const SlotHeader header, DecodeSlotHeader(head));
    if (header.journal != journal_ || header.slot != next_) {
      return Fail(ErrorCode::kCorruptData, "another slot stands there: found={}", header.slot);
    }
    const uint64_t size = uint64_t{header.data_bytes} +
                          uint64_t{header.entry_count} * kIndexEntryBytes + kSlotTrailerBytes;
    if (size > end - position - kSlotHeaderBytes) return cut_short();
    Buffer body = Buffer::Allocate(size);
    WEIR_TRY(ReadExactly(file, position + kSlotHeaderBytes, body.mutable_bytes()));
    const Bytes data = body.bytes().first(header.data_bytes);
    WEIR_ASSIGN(std::vector<IndexEntry> entries,
                DecodeSlotIndex(body.bytes().subspan(header.data_bytes), header));
    std::vector<ScannedPiece> pieces;
    for (IndexEntry& entry : entries) {
      WEIR_ASSIGN(std::vector<ScannedBatch> batches, CheckPiece(entry.piece, data));
      // What another owner wrote, or another group, is none of ours.
      if (entry.group != group_ || entry.epoch != epoch_) continue;
      entry.piece.position += position + kSlotHeaderBytes;
      pieces.push_back({entry, std::move(batches)});
    }
    std::move(pieces.begin(), pieces.end(), std::back_inserter(scanned.pieces));
    return kSlotHeaderBytes + size;
  }

  void EndAt(const std::string& file, uint64_t position, std::string reason) {
    end_ = JournalEnd{file, position, next_, std::move(reason)};
  }

  /// Fails if `file` has something from `position` on that says that the slot at the journal's end
  /// was durable. Then it is damaged, and no torn tail.
  Status CheckOnlyTorn(const DataFile& file, uint64_t position, uint64_t size,
                       const std::optional<FileFooter>& footer) const {
    bool is_damage = footer && footer->durable_below > end_->slot;
    if (!is_damage) {
      WEIR_ASSIGN(is_damage, HasLaterSlot(file, position, size));
    }
    if (!is_damage) return Ok();
    return Fail(ErrorCode::kCorruptData,
                "the journal is damaged: file={} position={} slot={} reason={}; the slot was "
                "durable, as {} says; restore the file from a backup",
                data_dir_ + "/" + end_->file, end_->position, end_->slot, end_->reason, file.name);
  }

  /// Whether there is a slot of this journal that was written when the one at the end was durable.
  Result<bool> HasLaterSlot(const DataFile& file, uint64_t position, uint64_t size) const {
    Buffer window = Buffer::Allocate(std::min<uint64_t>(kWindowBytes, size));
    while (position < size && size - position >= kSlotHeaderBytes) {
      const size_t wanted = std::min<uint64_t>(window.size(), size - position);
      WEIR_TRY(ReadExactly(file, position, window.mutable_bytes().first(wanted)));
      for (size_t i = 0; i + kSlotHeaderBytes <= wanted; ++i) {
        const Bytes bytes = window.bytes().subspan(i, kSlotHeaderBytes);
        if (!MayBeSlotHeader(bytes)) continue;
        const Result<SlotHeader> header = DecodeSlotHeader(bytes);
        if (header.ok() && header->journal == journal_ && header->durable_below > end_->slot) {
          return true;
        }
      }
      position += wanted - (kSlotHeaderBytes - 1);
    }
    return false;
  }

  FileSystem& files_;
  const std::string& data_dir_;
  const JournalId journal_;
  const GroupId group_;
  const Epoch epoch_;
  Slot next_;
  std::optional<JournalEnd> end_;
  JournalScan scan_;
};

}  // namespace

Result<JournalScan> ScanJournal(FileSystem& files, const std::string& data_dir, JournalId journal,
                                Slot floor, GroupId group, Epoch epoch) {
  return Scanner(files, data_dir, journal, floor, group, epoch).Run();
}

}  // namespace weir
