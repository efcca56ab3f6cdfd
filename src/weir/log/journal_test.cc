#include "weir/log/journal.h"

#include <gtest/gtest.h>

#include "weir/log/log_testing.h"

namespace weir {
namespace {

using Call = FaultFileSystem::Call;
using Fault = FaultFileSystem::Fault;

const TableBucket kA = BucketId(1);
const TableBucket kB = BucketId(2);
const TableBucket kC = BucketId(3);

struct FoundSlot {
  SlotHeader header;
  std::vector<IndexEntry> entries;
};

/// The slots of a journal file, by its bytes.
std::vector<FoundSlot> SlotsIn(const std::string& text) {
  std::vector<FoundSlot> slots;
  Bytes rest = AsBytes(text).subspan(kFileHeaderBytes);
  for (auto header = DecodeSlotHeader(rest); header.ok(); header = DecodeSlotHeader(rest)) {
    const size_t index_bytes = header->entry_count * kIndexEntryBytes + kSlotTrailerBytes;
    const Bytes index = rest.subspan(kSlotHeaderBytes + header->data_bytes, index_bytes);
    slots.push_back({*header, DecodeSlotIndex(index, *header).value()});
    rest = rest.subspan(kSlotHeaderBytes + header->data_bytes + index_bytes);
  }
  return slots;
}

/// Lets the calls of one kind on journal files fail.
FaultFileSystem::Judge FailJournal(Call which, Fault fault) {
  return [=](Call call, const std::string& path) -> std::optional<Fault> {
    if (call == which && path.ends_with(".journal")) return fault;
    return std::nullopt;
  };
}

TEST(Journal, CommitsWhatIsAppendedAndReadsItBack) {
  LogWorld world;
  world.Start();
  std::string expected;
  for (int i = 0; i < 20; ++i) expected += world.Put(kA, MakeBatch(3, 100, i));
  EXPECT_EQ(world.Bucket(kA).log->end, LogOffset(60));
  EXPECT_EQ(world.ReadAll(kA).value(), expected);
}

TEST(Journal, GathersWhatWaitsIntoOneSlotSortedByBucket) {
  LogWorld world;
  world.Start();
  auto& a = world.Bucket(kA);
  auto& b = world.Bucket(kB);
  world.OnLoop([&] {
    for (int i = 0; i < 6; ++i) {
      Buffer batch = MakeBatch(1, 50, i);
      auto& bucket = i % 2 == 0 ? b : a;
      ASSERT_TRUE(world.AppendOnLoop(bucket, batch, true).ok());
    }
  });
  ASSERT_TRUE(world.AwaitCommit(kA) && world.AwaitCommit(kB));
  const auto slots = SlotsIn(world.FileText(world.JournalFiles().at(0)));
  ASSERT_EQ(slots.size(), 2u);
  EXPECT_EQ(slots[0].entries.size(), 1u);  // the first did not wait for the others
  ASSERT_EQ(slots[1].entries.size(), 2u);  // neighbours of a bucket are one piece
  EXPECT_EQ(slots[1].entries[0].bucket, kA);
  EXPECT_EQ(slots[1].entries[0].piece.end, LogOffset(3));
  EXPECT_EQ(slots[1].entries[1].bucket, kB);
  EXPECT_EQ(slots[1].header.slot, Slot(1));
}

TEST(Journal, SaysInASlotWhichSlotsAreDurable) {
  LogWorld world;
  world.Start();
  world.Put(kA, MakeBatch(1, 50, 1));
  world.Put(kA, MakeBatch(1, 50, 2), false);
  world.Put(kA, MakeBatch(1, 50, 3));
  world.Put(kA, MakeBatch(1, 50, 4));
  const auto slots = SlotsIn(world.FileText(world.JournalFiles().at(0)));
  ASSERT_EQ(slots.size(), 4u);
  EXPECT_EQ(slots[0].header.durable_below, Slot(0));
  EXPECT_EQ(slots[1].header.durable_below, Slot(1));
  EXPECT_EQ(slots[2].header.durable_below, Slot(1));  // slot 1 asked for no sync
  EXPECT_EQ(slots[3].header.durable_below, Slot(3));
}

TEST(Journal, AnAppendForThePageCacheDoesNotWaitForTheDisk) {
  LogWorld world;
  world.Start();
  world.files().HoldSyncs();
  ASSERT_TRUE(world.Append(kA, MakeBatch(1, 50, 1), true).ok());
  ASSERT_TRUE(world.AwaitWrite(kA));
  for (int i = 0; i < 5; ++i) EXPECT_NE(world.Put(kB, MakeBatch(1, 50, i), false), "");
  EXPECT_EQ(world.Bucket(kA).listener->committed, LogOffset(0));
  world.files().Release();
  EXPECT_TRUE(world.AwaitCommit(kA));
}

TEST(Journal, CommitsNothingBehindAnAppendThatWaitsForTheDisk) {
  LogWorld world;
  world.Start();
  world.Put(kA, MakeBatch(1, 50, 1), false);
  world.files().HoldSyncs();
  ASSERT_TRUE(world.Append(kA, MakeBatch(1, 50, 2), true).ok());
  ASSERT_TRUE(world.Append(kA, MakeBatch(1, 50, 3), false).ok());
  ASSERT_TRUE(world.AwaitWrite(kA));
  EXPECT_EQ(world.Bucket(kA).listener->committed, LogOffset(1));
  world.files().Release();
  EXPECT_TRUE(world.AwaitCommit(kA));
  EXPECT_EQ(world.Bucket(kA).listener->committed, LogOffset(3));
}

TEST(Journal, SealsAFileThatIsLargeEnough) {
  LogWorld world;
  world.config().journal_file_bytes = 1000;
  world.Start();
  std::string expected;
  for (int i = 0; i < 10; ++i) expected += world.Put(kA, MakeBatch(2, 300, i));
  EXPECT_GE(world.ExtentsOf(kA).size(), 3u);
  EXPECT_EQ(world.ReadAll(kA).value(), expected);
}

TEST(Journal, SealsAFileThatHasManyPieces) {
  LogWorld world;
  world.config().journal_file_pieces = 4;
  world.Start();
  for (int i = 0; i < 8; ++i) world.Put(kA, MakeBatch(1, 50, i));
  EXPECT_LE(world.OnLoop([&a = world.Bucket(kA)] { return a.log->tail.size(); }), 4u);
  EXPECT_GE(world.JournalFiles().size(), 2u);
}

TEST(Journal, WritesWhatTheLastSlotHadNoRoomFor) {
  LogWorld world;
  world.Start();
  auto& a = world.Bucket(kA);
  std::string expected;
  world.OnLoop([&] {
    for (int i = 0; i < 4; ++i) {
      Buffer batch = Buffer::Allocate(5 << 20);
      std::memset(batch.mutable_data(), i, batch.size());
      LogBatchHeader header;
      header.schema_id = SchemaId(1);
      header.record_count = 1;
      SealLogBatch(header, batch.mutable_bytes());
      ASSERT_TRUE(world.AppendOnLoop(a, batch, true).ok());
      expected += AsText(batch.bytes());
    }
  });
  ASSERT_TRUE(world.AwaitCommit(kA));
  EXPECT_EQ(SlotsIn(world.FileText(world.JournalFiles().at(0))).size(), 4u);
  EXPECT_TRUE(world.ReadAll(kA).value() == expected);
}

TEST(Journal, RefusesWhatWouldWaitBehindTooMuch) {
  LogWorld world;
  world.Start();
  auto& a = world.Bucket(kA);
  const auto append = [&](size_t bytes) {
    Buffer batch = Buffer::Allocate(bytes);
    std::memset(batch.mutable_data(), 0, batch.size());
    LogBatchHeader header;
    header.schema_id = SchemaId(1);
    header.record_count = 1;
    SealLogBatch(header, batch.mutable_bytes());
    return world.AppendOnLoop(a, batch, false);
  };
  world.OnLoop([&] {
    EXPECT_TRUE(append(1000).ok());  // is being written from here on
    EXPECT_TRUE(append(Journal::kPendingBytesMax / 2).ok());
    EXPECT_TRUE(append(Journal::kPendingBytesMax / 2).ok());
    EXPECT_EQ(append(1000).error().code, ErrorCode::kOverloaded);
    EXPECT_EQ(a.log->end, LogOffset(3));
  });
  ASSERT_TRUE(world.AwaitCommit(kA));
  EXPECT_NE(world.Put(kA, MakeBatch(1, 10, 1)), "");
}

TEST(Journal, UndoesWhatDoesNotFitTheDiskAndTakesItWhenThereIsRoom) {
  LogWorld world;
  world.Start();
  std::string expected = world.Put(kA, MakeBatch(2, 200, 1, WriterId(7), BatchSequence(0)));
  world.files().SetJudge(FailJournal(Call::kWrite, {ErrorCode::kNoSpace, 77}));
  auto& a = world.Bucket(kA);
  auto& b = world.Bucket(kB);
  world.OnLoop([&] {
    for (int i = 1; i < 4; ++i) {
      Buffer batch = MakeBatch(2, 200, i, WriterId(7), BatchSequence(i));
      EXPECT_TRUE(world.AppendOnLoop(a, batch, true).ok());
    }
    Buffer batch = MakeBatch(2, 200, 9, WriterId(8), BatchSequence(0));
    EXPECT_TRUE(world.AppendOnLoop(b, batch, true).ok());
  });
  EXPECT_FALSE(world.AwaitCommit(kA));
  // Of another bucket that waited behind them nothing is left either.
  world.OnLoop([&] {
    EXPECT_EQ(a.listener->lost_from, std::vector{LogOffset(2)});
    EXPECT_EQ(a.listener->lost_why, std::vector{ErrorCode::kNoSpace});
    EXPECT_EQ(b.listener->lost_from, std::vector{LogOffset(0)});
    EXPECT_EQ(a.log->end, LogOffset(2));
    EXPECT_EQ(a.log->writers.Find(WriterId(7))->recent.back().sequence, BatchSequence(0));
    EXPECT_EQ(b.log->writers.Find(WriterId(8)), nullptr);
    EXPECT_TRUE(world.log().health().ok());
  });
  world.files().SetJudge(nullptr);
  expected += world.Put(kA, MakeBatch(2, 200, 1, WriterId(7), BatchSequence(1)));
  EXPECT_EQ(world.ReadAll(kA).value(), expected);
  world.Kill();
  world.Start();
  EXPECT_EQ(world.recovered().cut_bytes, 0u);
  EXPECT_EQ(world.ReadAll(kA).value(), expected);
}

TEST(Journal, MakesItsFirstFileAgainIfThereWasNoRoomForIt) {
  for (const Call call : {Call::kCreate, Call::kWrite, Call::kMake, Call::kSyncDirectory}) {
    LogWorld world;
    world.Start();
    world.files().SetJudge([call](Call now, const std::string& path) -> std::optional<Fault> {
      if (now == call && path.find("journals") != std::string::npos) {
        return Fault{ErrorCode::kNoSpace, 10};
      }
      return std::nullopt;
    });
    EXPECT_EQ(world.Put(kA, MakeBatch(1, 50, 1)), "");
    EXPECT_EQ(world.Put(kA, MakeBatch(1, 50, 1)), "");
    world.files().SetJudge(nullptr);
    const std::string expected = world.Put(kA, MakeBatch(1, 50, 1));
    EXPECT_NE(expected, "");
    EXPECT_EQ(world.ReadAll(kA).value(), expected);
  }
}

TEST(Journal, LeavesTheLastBytesOfADiskToCheckpoints) {
  LogWorld world;
  world.config().free_bytes_min = 1 << 20;
  world.Start();
  world.files().SetFreeBytes((1 << 20) + 100);
  EXPECT_EQ(world.Put(kA, MakeBatch(1, 5000, 1)), "");
  EXPECT_EQ(world.Bucket(kA).listener->lost_why, std::vector{ErrorCode::kNoSpace});
  world.files().SetFreeBytes(2 << 20);
  EXPECT_NE(world.Put(kA, MakeBatch(1, 5000, 1)), "");
}

TEST(Journal, IsReadOnlyAfterAFailedSyncUntilARestart) {
  LogWorld world;
  world.Start();
  std::string expected = world.Put(kA, MakeBatch(1, 50, 1));
  world.files().SetJudge(FailJournal(Call::kSync, {}));
  EXPECT_EQ(world.Put(kA, MakeBatch(1, 50, 2)), "");
  world.files().SetJudge(nullptr);
  auto& a = world.Bucket(kA);
  EXPECT_EQ(a.listener->lost_from, std::vector{LogOffset(1)});
  EXPECT_EQ(a.listener->lost_why, std::vector{ErrorCode::kIo});
  EXPECT_EQ(world.Append(kA, MakeBatch(1, 50, 3)).error().code, ErrorCode::kIo);
  EXPECT_EQ(world.Append(kB, MakeBatch(1, 50, 3), false).error().code, ErrorCode::kIo);
  EXPECT_EQ(TextOf(world.Read(kA, LogOffset(0), LogOffset(1), 1000).value()), expected);
  const std::string manifest = world.FileText("groups/0/manifest");
  world.Stop();
  EXPECT_EQ(world.FileText("groups/0/manifest"), manifest);  // nothing is vouched for

  world.Start();
  EXPECT_NE(world.Put(kA, MakeBatch(1, 50, 4)), "");
  EXPECT_TRUE(world.ReadAll(kA)->starts_with(expected));
}

TEST(Journal, IsReadOnlyAfterAFailedWriteOrOneThatCannotBeUndone) {
  for (const bool is_undo : {false, true}) {
    LogWorld world;
    world.Start();
    std::string expected = world.Put(kA, MakeBatch(1, 50, 1));
    world.files().SetJudge([=](Call call, const std::string& path) -> std::optional<Fault> {
      if (!path.ends_with(".journal")) return std::nullopt;
      if (call == Call::kWrite) return Fault{is_undo ? ErrorCode::kNoSpace : ErrorCode::kIo, 99};
      if (call == Call::kTruncate && is_undo) return Fault{};
      return std::nullopt;
    });
    EXPECT_EQ(world.Put(kA, MakeBatch(1, 500, 2)), "");
    world.files().SetJudge(nullptr);
    EXPECT_EQ(world.Append(kA, MakeBatch(1, 50, 3)).error().code, ErrorCode::kIo);
    world.Stop();
    world.Start();
    EXPECT_EQ(world.ReadAll(kA).value(), expected);
    EXPECT_EQ(world.recovered().cut_bytes, is_undo ? 99u : 0u);
  }
}

TEST(Journal, TellsNobodyOfWhatIsWrittenWhileASyncFails) {
  LogWorld world;
  world.Start();
  world.Put(kA, MakeBatch(1, 50, 1));
  auto& b = world.Bucket(kB);
  // The sync of A's append fails while a slot with B's is being written.
  world.files().SetJudge(FailJournal(Call::kSync, {}));
  auto& a = world.Bucket(kA);
  world.OnLoop([&] {
    a.listener->on_written = [&] {
      Buffer batch = MakeBatch(1, 50, 3);
      (void)world.AppendOnLoop(b, batch, true);
    };
  });
  EXPECT_EQ(world.Put(kA, MakeBatch(1, 50, 2)), "");
  world.AwaitCommit(kB);
  EXPECT_EQ(b.listener->committed, LogOffset(0));
  EXPECT_EQ(b.listener->lost_why, std::vector{ErrorCode::kIo});
}

TEST(Journal, GoesOnWithAFileThatCouldNotBeSealed) {
  LogWorld world;
  world.config().journal_file_bytes = 500;
  world.Start();
  std::atomic<int> writes = 0;
  world.files().SetJudge([&](Call call, const std::string& path) -> std::optional<Fault> {
    // 1: header, 2: the slot, 3: the index.
    if (call != Call::kWrite || !path.ends_with(".journal") || ++writes != 3) return std::nullopt;
    return Fault{ErrorCode::kNoSpace, 50};
  });
  std::string expected = world.Put(kA, MakeBatch(1, 600, 1));
  while (writes < 3) std::this_thread::yield();
  EXPECT_EQ(world.ExtentsOf(kA).size(), 0u);
  expected += world.Put(kA, MakeBatch(1, 600, 2));
  world.AwaitSealed(kA);
  EXPECT_EQ(world.JournalFiles().size(), 1u);
  EXPECT_EQ(world.ExtentsOf(kA).size(), 1u);
  EXPECT_EQ(world.ReadAll(kA).value(), expected);
}

TEST(Journal, AListenerMayDropItsBucket) {
  LogWorld world;
  world.Start();
  auto& a = world.Bucket(kA);
  auto& b = world.Bucket(kB);
  world.OnLoop([&] {
    b.listener->on_written = [&] { world.log().DropBucket(kB); };
    for (int i = 0; i < 6; ++i) {
      Buffer batch = MakeBatch(1, 50, i);
      auto& bucket = i % 2 == 0 ? a : b;
      ASSERT_TRUE(world.AppendOnLoop(bucket, batch, false).ok());
    }
  });
  ASSERT_TRUE(world.AwaitCommit(kA));
  EXPECT_EQ(b.listener->committed, LogOffset(0));
  Buffer batch = MakeBatch(1, 50, 9);
  EXPECT_EQ(world
                .OnLoop([&] {
                  return world.log().Append(b.log, batch, HeadersOf(batch.bytes()), Timestamp(1),
                                            true);
                })
                .error()
                .code,
            ErrorCode::kUnknownBucket);
}

TEST(Journal, AListenerThatTriesAgainAtOnceIsRefusedWhileAppendsAreUndone) {
  LogWorld world;
  world.Start();
  world.Put(kA, MakeBatch(1, 50, 1));
  world.files().SetJudge(FailJournal(Call::kWrite, {ErrorCode::kNoSpace}));
  auto& b = world.Bucket(kB);
  std::optional<ErrorCode> again;
  auto& a = world.Bucket(kA);
  world.OnLoop([&] {
    a.listener->on_lost = [&] {
      Buffer batch = MakeBatch(1, 50, 3);
      again = world.AppendOnLoop(b, batch, true).error().code;
    };
  });
  EXPECT_EQ(world.Put(kA, MakeBatch(1, 50, 2)), "");
  EXPECT_EQ(again, ErrorCode::kNoSpace);
  EXPECT_EQ(b.log->end, LogOffset(0));
}

TEST(Journal, WritesNothingOfABucketThatWasDroppedWhileItWaited) {
  LogWorld world;
  world.Start();
  world.Put(kA, MakeBatch(1, 50, 1));
  auto& a = world.Bucket(kA);
  auto& c = world.Bucket(kC);
  world.OnLoop([&] {
    for (auto* bucket : {&a, &c, &a}) {
      Buffer batch = MakeBatch(1, 50, 2);
      ASSERT_TRUE(world.AppendOnLoop(*bucket, batch, true).ok());
    }
    world.log().DropBucket(kC);
  });
  ASSERT_TRUE(world.AwaitCommit(kA));
  for (const FoundSlot& slot : SlotsIn(world.FileText(world.JournalFiles().at(0)))) {
    for (const IndexEntry& entry : slot.entries) EXPECT_EQ(entry.bucket, kA);
  }
}

TEST(Journal, GivesCommitTimesThatNeverGoBack) {
  LogWorld world;
  world.Start();
  world.Put(kA, MakeBatch(1, 50, 1), true, Timestamp(5000));
  const std::string second = world.Put(kA, MakeBatch(1, 50, 2), true, Timestamp(4000));
  EXPECT_EQ(HeadersOf(AsBytes(second)).at(0).commit_timestamp, Timestamp(5000));
}

}  // namespace
}  // namespace weir
