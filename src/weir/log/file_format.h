// The bytes of journal files and segment files: headers, slots, index, directory. Source:
// docs/formats/journal.md.
//
//   journal file   FileHeader  slot*  [entries  directory  FileFooter]     the tail is written when
//   the file is sealed segment file   FileHeader  data    entries  directory  FileFooter batches
//   sorted by bucket and offset slot           SlotHeader  data    entries  SlotTrailer one group
//   commit
#pragma once

#include <string>
#include <vector>

#include "weir/base/bytes.h"
#include "weir/base/ids.h"
#include "weir/base/result.h"

namespace weir {

/// A journal belongs to one start of one process and is never continued by another.
struct JournalId {
  uint64_t high = 0;
  uint64_t low = 0;
  auto operator<=>(const JournalId&) const = default;
};

/// 32 hexadecimal digits; the name of the journal's directory.
std::string ToString(JournalId id);
Result<JournalId> ParseJournalId(std::string_view text);

/// A part of a bucket's log that lies in one place: whole batches, one behind the other, with dense
/// offsets.
struct Piece {
  LogOffset base;
  LogOffset end;
  Timestamp max_timestamp;
  uint64_t position = 0;
  uint32_t bytes = 0;
  /// CRC-32C over those bytes of the batches, in order, that their own CRC does not cover: base
  /// offset, length, magic, commit timestamp (and leader epoch).
  uint32_t heads_crc = 0;

  bool operator==(const Piece&) const = default;
};

/// Pieces are cut at this size, so that a position within the log is found by reading no more than
/// this.
inline constexpr uint32_t kPieceBytes = 64 << 10;

/// Where a piece of which bucket lies. In a slot, positions count from the beginning of the slot's
/// data; in a file's entries, from the beginning of the file. Each has a checksum of its own,
/// because a reader takes single entries out of a long index.
struct IndexEntry {
  TableBucket bucket;
  GroupId group;
  Epoch epoch;
  Piece piece;

  bool operator==(const IndexEntry&) const = default;
};
inline constexpr size_t kIndexEntryBytes = 80;

/// What a sealed file has of one bucket, in one unbroken range of offsets.
struct DirectoryEntry {
  TableBucket bucket;
  LogOffset base;
  LogOffset end;
  Timestamp max_timestamp;
  uint64_t bytes = 0;
  uint32_t first_entry = 0;
  uint32_t entry_count = 0;

  bool operator==(const DirectoryEntry&) const = default;
};
inline constexpr size_t kDirectoryEntryBytes = 64;

enum class FileKind : uint32_t { kJournal = 1, kSegment = 2 };

struct FileHeader {
  FileKind kind = FileKind::kJournal;
  GroupId group;
  JournalId journal;  // of a journal file
  Slot first_slot;    // of a journal file

  bool operator==(const FileHeader&) const = default;
};
inline constexpr size_t kFileHeaderBytes = 64;

struct SlotHeader {
  JournalId journal;
  Slot slot;
  /// All slots below this one were durable when this one was written.
  Slot durable_below;
  uint32_t data_bytes = 0;
  uint32_t entry_count = 0;

  bool operator==(const SlotHeader&) const = default;
};
inline constexpr size_t kSlotHeaderBytes = 64;
inline constexpr size_t kSlotTrailerBytes = 16;

struct FileFooter {
  uint64_t entries_position = 0;
  /// Of a journal file: all slots below this one were durable when it was sealed. Sealing itself is
  /// no proof: the system may write the end of a file before its middle.
  Slot durable_below;
  uint32_t entry_count = 0;
  uint32_t directory_count = 0;
  uint32_t directory_crc = 0;

  bool operator==(const FileFooter&) const = default;
};
inline constexpr size_t kFileFooterBytes = 40;

std::string EncodeFileHeader(const FileHeader& header);
/// Errors: kCorruptData; kUnsupported if a newer version wrote it.
Result<FileHeader> DecodeFileHeader(Bytes bytes);

std::string EncodeSlotHeader(const SlotHeader& header);
/// Whether bytes begin as a slot header does; for searches. `bytes`: four at least.
bool MayBeSlotHeader(Bytes bytes);
/// Errors: kCorruptData, also for anything that is no slot header at all.
Result<SlotHeader> DecodeSlotHeader(Bytes bytes);

/// Entries with the trailer that ends a slot.
std::string EncodeSlotIndex(Slot slot, const std::vector<IndexEntry>& entries);
/// `bytes`: entries and trailer. Errors: kCorruptData.
Result<std::vector<IndexEntry>> DecodeSlotIndex(Bytes bytes, const SlotHeader& header);

void AppendIndexEntry(std::string& out, const IndexEntry& entry);
/// `bytes`: kIndexEntryBytes. Errors: kCorruptData.
Result<IndexEntry> DecodeIndexEntry(Bytes bytes);

/// The tail of a sealed file: entries, directory and footer. `entries` are sorted by bucket, then
/// offset; `position` is where the tail begins.
std::string EncodeFileTail(const std::vector<IndexEntry>& entries, uint64_t position,
                           Slot durable_below, std::vector<DirectoryEntry>* directory);

/// The last kFileFooterBytes of a file. Errors: kCorruptData: the file was not sealed, or is
/// damaged.
Result<FileFooter> DecodeFileFooter(Bytes bytes);
/// Errors: kCorruptData.
Result<std::vector<DirectoryEntry>> DecodeDirectory(Bytes bytes, const FileFooter& footer);

}  // namespace weir
