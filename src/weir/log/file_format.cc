#include "weir/log/file_format.h"

#include <algorithm>
#include <limits>

#include "weir/base/crc32c.h"

namespace weir {
namespace {

constexpr uint64_t kFileMagic = 0x31474f4c52494557;    // "WEIRLOG1"
constexpr uint32_t kSlotMagic = 0x544f4c53;            // "SLOT"
constexpr uint64_t kFooterMagic = 0x31544f4f46524557;  // "WERFOOT1"
constexpr uint32_t kFormat = 1;

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}
  template <typename T>
  Writer& Put(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Writer& PadTo(size_t size) {
    out_.resize(size, '\0');
    return *this;
  }

 private:
  std::string& out_;
};

class Reader {
 public:
  explicit Reader(const std::byte* at) : at_(at) {}
  template <typename T>
  T Take() {
    const T value = LoadLittle<T>(at_);
    at_ += sizeof(T);
    return value;
  }

 private:
  const std::byte* at_;
};

void PutBucket(Writer& writer, const TableBucket& bucket) {
  writer.Put<int64_t>(bucket.table_id.value)
      .Put<int64_t>(bucket.partition_id ? bucket.partition_id->value : -1)
      .Put<int32_t>(bucket.bucket_id);
}

TableBucket TakeBucket(Reader& reader) {
  TableBucket bucket;
  bucket.table_id = TableId(reader.Take<int64_t>());
  const auto partition = reader.Take<int64_t>();
  if (partition >= 0) bucket.partition_id = PartitionId(partition);
  bucket.bucket_id = reader.Take<int32_t>();
  return bucket;
}

// A block of fixed size whose last four bytes are the checksum of the rest.
std::string WithCrc(std::string block, size_t size) {
  block.resize(size - 4, '\0');
  const uint32_t crc = Crc32c(AsBytes(block));
  block.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  return block;
}

bool HasCrc(Bytes block) {
  const size_t covered = block.size() - 4;
  return Crc32c(block.first(covered)) == LoadLittle<uint32_t>(block.data() + covered);
}

}  // namespace

std::string ToString(JournalId id) {
  return fmt::format("{:016x}{:016x}", id.high, id.low);
}

Result<JournalId> ParseJournalId(std::string_view text) {
  const auto bad = [&] { return Fail(ErrorCode::kCorruptData, "not a journal id: text={}", text); };
  if (text.size() != 32) return bad();
  uint64_t halves[2] = {0, 0};
  for (size_t i = 0; i < 32; ++i) {
    const char c = text[i];
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return bad();
    halves[i / 16] = halves[i / 16] << 4 | static_cast<uint64_t>(digit);
  }
  return JournalId{halves[0], halves[1]};
}

std::string EncodeFileHeader(const FileHeader& header) {
  std::string out;
  Writer(out)
      .Put(kFileMagic)
      .Put(kFormat)
      .Put(static_cast<uint32_t>(header.kind))
      .Put(header.group.value)
      .Put<uint32_t>(0)
      .Put(header.journal.high)
      .Put(header.journal.low)
      .Put(header.first_slot.value);
  return WithCrc(std::move(out), kFileHeaderBytes);
}

Result<FileHeader> DecodeFileHeader(Bytes bytes) {
  if (bytes.size() < kFileHeaderBytes || LoadLittle<uint64_t>(bytes.data()) != kFileMagic) {
    return Fail(ErrorCode::kCorruptData, "not a journal or segment file");
  }
  Reader reader(bytes.data() + 8);
  // 0: torn behind the magic.
  if (const auto format = reader.Take<uint32_t>(); format > kFormat) {
    return Fail(ErrorCode::kUnsupported, "file has a format of a newer version: format={}", format);
  }
  if (!HasCrc(bytes.first(kFileHeaderBytes)))
    return Fail(ErrorCode::kCorruptData, "file header checksum differs");
  FileHeader header;
  header.kind = static_cast<FileKind>(reader.Take<uint32_t>());
  header.group = GroupId(reader.Take<uint32_t>());
  reader.Take<uint32_t>();
  header.journal.high = reader.Take<uint64_t>();
  header.journal.low = reader.Take<uint64_t>();
  header.first_slot = Slot(reader.Take<uint64_t>());
  if (header.kind != FileKind::kJournal && header.kind != FileKind::kSegment) {
    return Fail(ErrorCode::kCorruptData, "file header names an unknown kind");
  }
  return header;
}

std::string EncodeSlotHeader(const SlotHeader& header) {
  std::string out;
  Writer(out)
      .Put(kSlotMagic)
      .Put(header.data_bytes)
      .Put(header.journal.high)
      .Put(header.journal.low)
      .Put(header.slot.value)
      .Put(header.durable_below.value)
      .Put(header.entry_count);
  return WithCrc(std::move(out), kSlotHeaderBytes);
}

bool MayBeSlotHeader(Bytes bytes) {
  return LoadLittle<uint32_t>(bytes.data()) == kSlotMagic;
}

Result<SlotHeader> DecodeSlotHeader(Bytes bytes) {
  if (bytes.size() < kSlotHeaderBytes || !MayBeSlotHeader(bytes) ||
      !HasCrc(bytes.first(kSlotHeaderBytes))) {
    return Fail(ErrorCode::kCorruptData, "not a slot header");
  }
  Reader reader(bytes.data() + 4);
  SlotHeader header;
  header.data_bytes = reader.Take<uint32_t>();
  header.journal.high = reader.Take<uint64_t>();
  header.journal.low = reader.Take<uint64_t>();
  header.slot = Slot(reader.Take<uint64_t>());
  header.durable_below = Slot(reader.Take<uint64_t>());
  header.entry_count = reader.Take<uint32_t>();
  return header;
}

void AppendIndexEntry(std::string& out, const IndexEntry& entry) {
  const size_t begin = out.size();
  Writer writer(out);
  PutBucket(writer, entry.bucket);
  writer.Put(entry.group.value)
      .Put(entry.epoch.value)
      .Put(entry.piece.base.value)
      .Put(entry.piece.end.value)
      .Put(entry.piece.max_timestamp.value)
      .Put(entry.piece.position)
      .Put(entry.piece.bytes)
      .Put(entry.piece.heads_crc)
      .PadTo(begin + kIndexEntryBytes - 4)
      .Put(Crc32c(AsBytes(out).subspan(begin)));
}

Result<IndexEntry> DecodeIndexEntry(Bytes bytes) {
  WEIR_CHECK(bytes.size() == kIndexEntryBytes);
  if (!HasCrc(bytes)) return Fail(ErrorCode::kCorruptData, "index entry checksum differs");
  Reader reader(bytes.data());
  IndexEntry entry;
  entry.bucket = TakeBucket(reader);
  entry.group = GroupId(reader.Take<uint32_t>());
  entry.epoch = Epoch(reader.Take<uint64_t>());
  entry.piece.base = LogOffset(reader.Take<int64_t>());
  entry.piece.end = LogOffset(reader.Take<int64_t>());
  entry.piece.max_timestamp = Timestamp(reader.Take<int64_t>());
  entry.piece.position = reader.Take<uint64_t>();
  entry.piece.bytes = reader.Take<uint32_t>();
  entry.piece.heads_crc = reader.Take<uint32_t>();
  const Piece& piece = entry.piece;
  if (piece.base.value < 0 || piece.end <= piece.base || piece.bytes == 0 ||
      piece.position > std::numeric_limits<uint64_t>::max() - piece.bytes) {
    return Fail(ErrorCode::kCorruptData, "index entry makes no sense: bucket={}", entry.bucket);
  }
  return entry;
}

std::string EncodeSlotIndex(Slot slot, const std::vector<IndexEntry>& entries) {
  std::string out;
  out.reserve(entries.size() * kIndexEntryBytes + kSlotTrailerBytes);
  for (const IndexEntry& entry : entries) AppendIndexEntry(out, entry);
  const auto index_bytes = static_cast<uint32_t>(out.size());
  const uint32_t crc = Crc32c(AsBytes(out));
  Writer(out).Put(index_bytes).Put(crc).Put(slot.value);
  return out;
}

Result<std::vector<IndexEntry>> DecodeSlotIndex(Bytes bytes, const SlotHeader& header) {
  const size_t index_bytes = size_t{header.entry_count} * kIndexEntryBytes;
  if (bytes.size() != index_bytes + kSlotTrailerBytes) {
    return Fail(ErrorCode::kCorruptData, "slot index is cut short: slot={}", header.slot);
  }
  Reader trailer(bytes.data() + index_bytes);
  const auto told_bytes = trailer.Take<uint32_t>();
  const auto crc = trailer.Take<uint32_t>();
  const auto slot = trailer.Take<uint64_t>();
  if (told_bytes != index_bytes || slot != header.slot.value ||
      Crc32c(bytes.first(index_bytes)) != crc) {
    return Fail(ErrorCode::kCorruptData, "slot index checksum differs: slot={}", header.slot);
  }
  std::vector<IndexEntry> entries;
  entries.reserve(header.entry_count);
  for (size_t i = 0; i < header.entry_count; ++i) {
    WEIR_ASSIGN(IndexEntry entry,
                DecodeIndexEntry(bytes.subspan(i * kIndexEntryBytes, kIndexEntryBytes)));
    if (entry.piece.position + entry.piece.bytes > header.data_bytes) {
      return Fail(ErrorCode::kCorruptData, "slot index points outside of its slot: slot={}",
                  header.slot);
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::string EncodeFileTail(const std::vector<IndexEntry>& entries, uint64_t position,
                           Slot durable_below, std::vector<DirectoryEntry>* directory) {
  std::string out;
  out.reserve(entries.size() * kIndexEntryBytes + kFileFooterBytes);
  directory->clear();
  for (size_t i = 0; i < entries.size(); ++i) {
    const IndexEntry& entry = entries[i];
    AppendIndexEntry(out, entry);
    const bool goes_on = !directory->empty() && directory->back().bucket == entry.bucket &&
                         directory->back().end == entry.piece.base;
    if (!goes_on) {
      directory->push_back({entry.bucket, entry.piece.base, entry.piece.base, kNoTimestamp, 0,
                            static_cast<uint32_t>(i), 0});
    }
    DirectoryEntry& range = directory->back();
    range.end = entry.piece.end;
    range.max_timestamp = std::max(range.max_timestamp, entry.piece.max_timestamp);
    range.bytes += entry.piece.bytes;
    ++range.entry_count;
  }
  FileFooter footer;
  footer.entries_position = position;
  footer.durable_below = durable_below;
  footer.entry_count = static_cast<uint32_t>(entries.size());
  footer.directory_count = static_cast<uint32_t>(directory->size());
  const size_t directory_at = out.size();
  for (const DirectoryEntry& range : *directory) {
    const size_t end = out.size() + kDirectoryEntryBytes;
    Writer writer(out);
    PutBucket(writer, range.bucket);
    writer.Put(range.first_entry)
        .Put(range.base.value)
        .Put(range.end.value)
        .Put(range.max_timestamp.value)
        .Put(range.bytes)
        .Put(range.entry_count)
        .PadTo(end);
  }
  footer.directory_crc = Crc32c(AsBytes(out).subspan(directory_at));
  std::string tail;
  Writer(tail)
      .Put(kFooterMagic)
      .Put(footer.entries_position)
      .Put(footer.durable_below.value)
      .Put(footer.entry_count)
      .Put(footer.directory_count)
      .Put(footer.directory_crc);
  return out + WithCrc(std::move(tail), kFileFooterBytes);
}

Result<FileFooter> DecodeFileFooter(Bytes bytes) {
  if (bytes.size() != kFileFooterBytes || !HasCrc(bytes) ||
      LoadLittle<uint64_t>(bytes.data()) != kFooterMagic) {
    return Fail(ErrorCode::kCorruptData, "file has no valid footer");
  }
  Reader reader(bytes.data() + 8);
  FileFooter footer;
  footer.entries_position = reader.Take<uint64_t>();
  footer.durable_below = Slot(reader.Take<uint64_t>());
  footer.entry_count = reader.Take<uint32_t>();
  footer.directory_count = reader.Take<uint32_t>();
  footer.directory_crc = reader.Take<uint32_t>();
  return footer;
}

Result<std::vector<DirectoryEntry>> DecodeDirectory(Bytes bytes, const FileFooter& footer) {
  if (bytes.size() != size_t{footer.directory_count} * kDirectoryEntryBytes ||
      Crc32c(bytes) != footer.directory_crc) {
    return Fail(ErrorCode::kCorruptData, "file directory checksum differs");
  }
  std::vector<DirectoryEntry> directory;
  directory.reserve(footer.directory_count);
  for (size_t i = 0; i < footer.directory_count; ++i) {
    Reader reader(bytes.data() + i * kDirectoryEntryBytes);
    DirectoryEntry range;
    range.bucket = TakeBucket(reader);
    range.first_entry = reader.Take<uint32_t>();
    range.base = LogOffset(reader.Take<int64_t>());
    range.end = LogOffset(reader.Take<int64_t>());
    range.max_timestamp = Timestamp(reader.Take<int64_t>());
    range.bytes = reader.Take<uint64_t>();
    range.entry_count = reader.Take<uint32_t>();
    if (range.base.value < 0 || range.end <= range.base || range.entry_count == 0 ||
        range.bytes > footer.entries_position || range.first_entry > footer.entry_count ||
        range.entry_count > footer.entry_count - range.first_entry) {
      return Fail(ErrorCode::kCorruptData, "file directory makes no sense");
    }
    directory.push_back(range);
  }
  return directory;
}

}  // namespace weir
