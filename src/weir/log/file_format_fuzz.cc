// Takes any bytes for parts of journal and segment files. The first byte says which part; checksums
// are put right, or nothing would get behind them. What is accepted must come back from its
// encoding.
#include <algorithm>
#include <string>
#include <vector>

#include "weir/base/check.h"
#include "weir/base/crc32c.h"
#include "weir/log/file_format.h"
#include "weir/log/piece_builder.h"

using namespace weir;

namespace {

MutableBytes Writable(std::string& bytes) {
  return {reinterpret_cast<std::byte*>(bytes.data()), bytes.size()};
}

/// Puts the checksum at the end of a block right.
void SealBlock(MutableBytes block) {
  const size_t covered = block.size() - 4;
  StoreLittle(block.data() + covered, Crc32c(block.first(covered)));
}

void FuzzFileHeader(std::string bytes) {
  bytes.resize(kFileHeaderBytes);
  (void)DecodeFileHeader(AsBytes(bytes));
  SealBlock(Writable(bytes));
  const auto header = DecodeFileHeader(AsBytes(bytes));
  if (!header.ok()) return;
  WEIR_CHECK(DecodeFileHeader(AsBytes(EncodeFileHeader(*header))).value() == *header);
}

void FuzzSlot(std::string bytes) {
  if (bytes.size() < kSlotHeaderBytes) return;
  SealBlock(Writable(bytes).first(kSlotHeaderBytes));
  auto header = DecodeSlotHeader(AsBytes(bytes));
  if (!header.ok()) return;
  WEIR_CHECK(DecodeSlotHeader(AsBytes(EncodeSlotHeader(*header))).value() == *header);
  std::string index = bytes.substr(kSlotHeaderBytes);
  (void)DecodeSlotIndex(AsBytes(index), *header);

  const size_t count = index.size() / kIndexEntryBytes;
  header->entry_count = static_cast<uint32_t>(count);
  index.resize(count * kIndexEntryBytes);
  for (size_t i = 0; i < count; ++i) {
    SealBlock(Writable(index).subspan(i * kIndexEntryBytes, kIndexEntryBytes));
  }
  const std::string trailer = EncodeSlotIndex(header->slot, {});
  std::string sealed = index + trailer;
  StoreLittle(Writable(sealed).data() + index.size(), static_cast<uint32_t>(index.size()));
  StoreLittle(Writable(sealed).data() + index.size() + 4, Crc32c(AsBytes(index)));
  const auto entries = DecodeSlotIndex(AsBytes(sealed), *header);
  if (!entries.ok()) return;
  const std::string again = EncodeSlotIndex(header->slot, *entries);
  WEIR_CHECK(DecodeSlotIndex(AsBytes(again), *header).value() == *entries);
  for (const IndexEntry& entry : *entries) {
    WEIR_CHECK(entry.piece.position + entry.piece.bytes <= header->data_bytes);
  }
}

void FuzzFooter(std::string bytes) {
  if (bytes.size() < kFileFooterBytes) return;
  const MutableBytes foot = Writable(bytes).first(kFileFooterBytes);
  (void)DecodeFileFooter(foot);
  SealBlock(foot);
  auto footer = DecodeFileFooter(foot);
  if (!footer.ok()) return;
  std::string stored = bytes.substr(kFileFooterBytes);
  stored.resize(stored.size() / kDirectoryEntryBytes * kDirectoryEntryBytes);
  footer->directory_count = static_cast<uint32_t>(stored.size() / kDirectoryEntryBytes);
  footer->directory_crc = Crc32c(AsBytes(stored));
  const auto directory = DecodeDirectory(AsBytes(stored), *footer);
  if (!directory.ok()) return;
  for (const DirectoryEntry& range : *directory) {
    WEIR_CHECK(range.base < range.end && range.entry_count > 0);
    WEIR_CHECK(uint64_t{range.first_entry} + range.entry_count <= footer->entry_count);
  }
}

void FuzzPiece(std::string bytes) {
  Piece piece;
  if (bytes.size() <= sizeof(uint64_t)) return;
  piece.base = LogOffset(LoadLittle<int64_t>(AsBytes(bytes).data()));
  bytes.erase(0, sizeof(uint64_t));
  // The piece as an index would tell it, if these are batches.
  PieceBuilder builder;
  for (LogBatchReader reader(AsBytes(bytes)); !reader.at_end();) {
    const size_t position = reader.position();
    const auto batch = reader.Next();
    if (!batch.ok()) break;
    builder.Add(batch->header, batch->bytes, position);
  }
  for (const Piece& built : builder.pieces()) {
    const Bytes part = AsBytes(bytes).subspan(built.position, built.bytes);
    const auto batches = SplitPiece(built, part).value();
    size_t split = 0;
    for (const LogBatchView& batch : batches) split += batch.bytes.size();
    WEIR_CHECK(split == built.bytes);
  }
  piece.bytes = static_cast<uint32_t>(bytes.size());
  (void)SplitPiece(piece, AsBytes(bytes));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0: FuzzFileHeader(std::move(bytes)); break;
    case 1: FuzzSlot(std::move(bytes)); break;
    case 2: FuzzFooter(std::move(bytes)); break;
    case 3: FuzzPiece(std::move(bytes)); break;
  }
  return 0;
}
