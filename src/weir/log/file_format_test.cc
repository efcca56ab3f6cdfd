#include "weir/log/file_format.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

const JournalId kJournal{0x0123456789abcdef, 0xfedcba9876543210};

IndexEntry EntryOf(int64_t table, int64_t base, int64_t end, uint64_t position, uint32_t bytes) {
  return {TableBucket{TableId(table), PartitionId(5), 3}, GroupId(2), Epoch(9),
          Piece{LogOffset(base), LogOffset(end), Timestamp(100 + base), position, bytes, 77}};
}

/// Calls `decode` with each single bit of `bytes` flipped; it says whether it noticed.
template <typename F>
void EachFlippedBit(std::string bytes, F decode) {
  for (size_t i = 0; i < bytes.size() * 8; ++i) {
    const auto flip = [&] { bytes[i / 8] = static_cast<char>(bytes[i / 8] ^ (1 << i % 8)); };
    flip();
    EXPECT_TRUE(decode(AsBytes(bytes))) << "byte " << i / 8;
    flip();
  }
}

TEST(JournalId, IsWrittenAs32DigitsAndReadBack) {
  EXPECT_EQ(ToString(kJournal), "0123456789abcdeffedcba9876543210");
  EXPECT_EQ(ParseJournalId(ToString(kJournal)).value(), kJournal);
  EXPECT_FALSE(ParseJournalId("0123456789abcdef").ok());
  EXPECT_FALSE(ParseJournalId("0123456789ABCDEFfedcba9876543210").ok());
}

TEST(FileFormat, FileHeadersComeBackAsTheyWere) {
  const FileHeader header{FileKind::kJournal, GroupId(4), kJournal, Slot(17)};
  const std::string bytes = EncodeFileHeader(header);
  ASSERT_EQ(bytes.size(), kFileHeaderBytes);
  EXPECT_EQ(DecodeFileHeader(AsBytes(bytes)).value(), header);
  EachFlippedBit(bytes, [](Bytes damaged) { return !DecodeFileHeader(damaged).ok(); });
  EXPECT_FALSE(DecodeFileHeader(AsBytes(bytes).first(63)).ok());
}

TEST(FileFormat, AFileOfANewerVersionIsToldFromADamagedOne) {
  std::string bytes = EncodeFileHeader({FileKind::kJournal, GroupId(4), kJournal, Slot(17)});
  bytes[8] = 2;
  EXPECT_EQ(DecodeFileHeader(AsBytes(bytes)).error().code, ErrorCode::kUnsupported);
  std::fill(bytes.begin() + 8, bytes.end(), '\0');  // torn behind the magic
  EXPECT_EQ(DecodeFileHeader(AsBytes(bytes)).error().code, ErrorCode::kCorruptData);
}

TEST(FileFormat, SlotHeadersComeBackAsTheyWere) {
  const SlotHeader header{kJournal, Slot(12), Slot(10), 4096, 3};
  const std::string bytes = EncodeSlotHeader(header);
  ASSERT_EQ(bytes.size(), kSlotHeaderBytes);
  EXPECT_EQ(DecodeSlotHeader(AsBytes(bytes)).value(), header);
  EachFlippedBit(bytes, [](Bytes damaged) { return !DecodeSlotHeader(damaged).ok(); });
}

TEST(FileFormat, SlotIndexesComeBackAsTheyWere) {
  const std::vector<IndexEntry> entries{EntryOf(1, 0, 10, 0, 100), EntryOf(2, 5, 6, 100, 50)};
  const std::string bytes = EncodeSlotIndex(Slot(12), entries);
  const SlotHeader header{kJournal, Slot(12), Slot(10), 150, 2};
  EXPECT_EQ(DecodeSlotIndex(AsBytes(bytes), header).value(), entries);
  EachFlippedBit(bytes, [&](Bytes damaged) { return !DecodeSlotIndex(damaged, header).ok(); });

  SlotHeader other = header;
  other.slot = Slot(13);
  EXPECT_FALSE(DecodeSlotIndex(AsBytes(bytes), other).ok());
  other = header;
  other.data_bytes = 149;  // the last piece would end outside
  EXPECT_FALSE(DecodeSlotIndex(AsBytes(bytes), other).ok());
  other = header;
  other.entry_count = 1;
  EXPECT_FALSE(DecodeSlotIndex(AsBytes(bytes), other).ok());
}

TEST(FileFormat, AnIndexEntryShowsItsOwnDamage) {
  std::string bytes;
  AppendIndexEntry(bytes, EntryOf(1, 0, 10, 64, 100));
  ASSERT_EQ(bytes.size(), kIndexEntryBytes);
  EXPECT_EQ(DecodeIndexEntry(AsBytes(bytes)).value(), EntryOf(1, 0, 10, 64, 100));
  EachFlippedBit(bytes, [](Bytes damaged) { return !DecodeIndexEntry(damaged).ok(); });
}

TEST(FileFormat, EntriesThatMakeNoSenseAreRefusedThoughTheirChecksumFits) {
  for (const IndexEntry& entry :
       {EntryOf(1, 10, 10, 64, 100), EntryOf(1, -1, 10, 64, 100), EntryOf(1, 0, 10, 64, 0),
        EntryOf(1, 0, 10, ~uint64_t{0} - 5, 100)}) {
    std::string bytes;
    AppendIndexEntry(bytes, entry);
    EXPECT_EQ(DecodeIndexEntry(AsBytes(bytes)).error().code, ErrorCode::kCorruptData);
  }
}

TEST(FileFormat, ABucketWithoutPartitionComesBackWithout) {
  IndexEntry entry = EntryOf(1, 0, 10, 64, 100);
  entry.bucket = TableBucket{TableId(-1), std::nullopt, 0};
  std::string bytes;
  AppendIndexEntry(bytes, entry);
  EXPECT_EQ(DecodeIndexEntry(AsBytes(bytes)).value(), entry);
}

TEST(FileFormat, ADirectoryHasARangeForEachUnbrokenRowOfEntries) {
  const std::vector<IndexEntry> entries{EntryOf(1, 0, 10, 64, 100), EntryOf(1, 10, 15, 200, 50),
                                        EntryOf(1, 20, 25, 250, 50), EntryOf(2, 3, 4, 300, 60)};
  std::vector<DirectoryEntry> directory;
  const std::string bytes = EncodeFileTail(entries, 400, Slot(8), &directory);
  ASSERT_EQ(directory.size(), 3u);
  EXPECT_EQ(directory[0], (DirectoryEntry{entries[0].bucket, LogOffset(0), LogOffset(15),
                                          Timestamp(110), 150, 0, 2}));
  EXPECT_EQ(directory[1], (DirectoryEntry{entries[0].bucket, LogOffset(20), LogOffset(25),
                                          Timestamp(120), 50, 2, 1}));
  EXPECT_EQ(directory[2], (DirectoryEntry{entries[3].bucket, LogOffset(3), LogOffset(4),
                                          Timestamp(103), 60, 3, 1}));

  const Bytes all = AsBytes(bytes);
  const FileFooter footer = DecodeFileFooter(all.last(kFileFooterBytes)).value();
  EXPECT_EQ(footer.entries_position, 400u);
  EXPECT_EQ(footer.durable_below, Slot(8));
  EXPECT_EQ(footer.entry_count, 4u);
  const std::string stored(AsText(all.subspan(4 * kIndexEntryBytes, 3 * kDirectoryEntryBytes)));
  EXPECT_EQ(DecodeDirectory(AsBytes(stored), footer).value(), directory);
  EachFlippedBit(stored, [&](Bytes damaged) { return !DecodeDirectory(damaged, footer).ok(); });
  EachFlippedBit(std::string(AsText(all.last(kFileFooterBytes))),
                 [](Bytes damaged) { return !DecodeFileFooter(damaged).ok(); });
}

}  // namespace
}  // namespace weir
