#include "weir/log/group_log.h"

#include <gtest/gtest.h>

#include "weir/log/log_testing.h"

namespace weir {
namespace {

using Call = FaultFileSystem::Call;
using Fault = FaultFileSystem::Fault;

const TableBucket kA = BucketId(1);
const TableBucket kB = BucketId(2);

// --- Retention ---------------------------------------------------------------------------------

/// Five sealed files with one batch each: offsets 0..4, times 100, 200 ... 500.
std::vector<std::string> WriteFiveFiles(LogWorld& world) {
  world.config().journal_file_bytes = 500;
  world.config().sort_bytes_min = 1 << 30;
  world.Start();
  std::vector<std::string> texts;
  for (int i = 1; i <= 5; ++i) {
    texts.push_back(world.Put(kA, MakeBatch(1, 952, i), true, Timestamp(100 * i)));
    world.AwaitSealed(kA);
  }
  return texts;
}

LogOffset RetainA(LogWorld& world, RetentionLimits limits, LogOffset keep_from) {
  return world.OnLoop([&] {
    BucketLog& log = *world.Bucket(kA).log;
    world.log().Retain(log, limits, keep_from);
    return log.start;
  });
}

TEST(Retention, GivesUpWhatIsOlderThanItsTime) {
  LogWorld world;
  const auto texts = WriteFiveFiles(world);
  EXPECT_EQ(RetainA(world, {Timestamp(100), 0}, LogOffset(5)), LogOffset(0));
  EXPECT_EQ(RetainA(world, {Timestamp(301), 0}, LogOffset(5)), LogOffset(3));
  world.Await(world.log().Maintain());
  EXPECT_EQ(world.JournalFiles().size(), 2u);
  EXPECT_EQ(world.ReadAll(kA).value(), texts[3] + texts[4]);
  EXPECT_EQ(world.Read(kA, LogOffset(2), LogOffset(5), 100).error().code,
            ErrorCode::kOffsetOutOfRange);
  world.Kill();
  world.Start();
  EXPECT_EQ(world.Bucket(kA).log->start, LogOffset(3));
  EXPECT_EQ(world.ReadAll(kA).value(), texts[3] + texts[4]);
}

TEST(Retention, GivesUpTheOldestBytesThatAreTooMany) {
  LogWorld world;
  WriteFiveFiles(world);
  EXPECT_EQ(RetainA(world, {kNoTimestamp, 5000}, LogOffset(5)), LogOffset(0));
  EXPECT_EQ(RetainA(world, {kNoTimestamp, 2500}, LogOffset(5)), LogOffset(2));
  EXPECT_EQ(RetainA(world, {kNoTimestamp, 1}, LogOffset(5)), LogOffset(4));
}

TEST(Retention, KeepsWhatIsStillNeeded) {
  LogWorld world;
  WriteFiveFiles(world);
  EXPECT_EQ(RetainA(world, {Timestamp(1000), 1}, LogOffset(2)), LogOffset(2));
  world.files().HoldSyncs();
  ASSERT_TRUE(world.Append(kA, MakeBatch(1, 2000, 9), true, Timestamp(600)).ok());
  while (world.ExtentsOf(kA).size() < 4) {
    std::this_thread::yield();
  }
  // It is in a sealed file, but not committed.
  EXPECT_EQ(RetainA(world, {Timestamp(1000), 1}, LogOffset(6)), LogOffset(5));
  world.files().Release();
}

TEST(Retention, SealsAnOpenFileForTheOldDataInIt) {
  LogWorld world;
  world.Start();
  world.Put(kA, MakeBatch(1, 100, 1), true, Timestamp(100));
  const std::string b = world.Put(kB, MakeBatch(1, 100, 1), true, Timestamp(100));
  EXPECT_EQ(RetainA(world, {Timestamp(100), 0}, LogOffset(1)), LogOffset(0));
  EXPECT_EQ(world.Bucket(kA).log->tail.size(), 1u);
  EXPECT_EQ(RetainA(world, {Timestamp(200), 0}, LogOffset(1)), LogOffset(0));
  world.AwaitSealed(kA);
  EXPECT_EQ(RetainA(world, {Timestamp(200), 0}, LogOffset(1)), LogOffset(1));
  EXPECT_EQ(world.ReadAll(kB).value(), b);
  world.Put(kA, MakeBatch(1, 100, 1), true, Timestamp(300));
  EXPECT_EQ(world.Bucket(kA).log->end, LogOffset(2));
}

TEST(Trim, CutsWithinExtentsAndWithinTheTail) {
  LogWorld world;
  const auto texts = WriteFiveFiles(world);
  const auto trim = [&](int64_t start) {
    return world.OnLoop([&] {
      BucketLog& log = *world.Bucket(kA).log;
      world.log().Trim(log, LogOffset(start));
      return log.start;
    });
  };
  EXPECT_EQ(trim(2), LogOffset(2));
  EXPECT_EQ(trim(1), LogOffset(2));
  const std::string tail = world.Put(kA, MakeBatch(10, 100, 9));
  EXPECT_EQ(trim(9), LogOffset(9));
  EXPECT_EQ(world.ReadAll(kA).value(), tail);
  EXPECT_EQ(trim(100), LogOffset(15));
  world.Put(kA, MakeBatch(1, 600, 9));
  world.AwaitSealed(kA);
  EXPECT_EQ(world.JournalFiles().size(), 1u);
  world.Kill();
  world.Start();
  EXPECT_EQ(world.Bucket(kA).log->start, LogOffset(15));
  EXPECT_EQ(world.Bucket(kA).log->end, LogOffset(16));
}

// --- Dropped buckets -----------------------------------------------------------------------------

TEST(DropBucket, FreesWhatItHasOnTheDisk) {
  LogWorld world;
  WriteFiveFiles(world);
  ASSERT_EQ(world.JournalFiles().size(), 5u);
  world.Drop(kA);
  world.Await(world.log().Maintain());
  EXPECT_EQ(world.JournalFiles().size(), 0u);
  EXPECT_EQ(world.log().buckets().size(), 0u);
}

TEST(DropBucket, FreesAlsoMuchThatLiesInTheOpenFile) {
  LogWorld world;
  world.Start();
  const std::string b = world.Put(kB, MakeBatch(1, 100, 1));
  world.Put(kA, MakeBatch(1, 2 << 20, 1));
  world.Drop(kA);
  world.Await(world.log().Maintain());
  world.AwaitSealed(kB);
  world.config().sort_bytes_min = 1000;  // for the copy of what is left
  world.Stop();
  world.Start();
  world.Await(world.log().Maintain());
  EXPECT_EQ(world.JournalFiles().size(), 0u);
  EXPECT_EQ(world.ReadAll(kB).value(), b);
}

TEST(DropBucket, AReaderOfADroppedBucketEndsWithoutHarm) {
  LogWorld world;
  const auto texts = WriteFiveFiles(world);
  const auto log = world.Bucket(kA).log;
  const auto read =
      world.Await([](std::shared_ptr<BucketLog> shared, LogWorld* w) -> Task<Result<LogBytes>> {
        co_await w->loop().Enter();
        auto reading = ReadLog(shared, LogOffset(0), LogOffset(5), 100'000, w->pool());
        w->log().DropBucket(shared->id);
        co_return co_await std::move(reading);
      }(log, &world));
  EXPECT_EQ(read.error().code, ErrorCode::kOffsetOutOfRange);
}

// --- Checkpoints -------------------------------------------------------------------------------

TEST(Checkpoint, ThatFailsAtAnyCallLeavesTheGroupAsItWasAndNothingElse) {
  for (const ErrorCode code : {ErrorCode::kNoSpace, ErrorCode::kIo}) {
    for (int failing = 0;; ++failing) {
      LogWorld world;
      const auto texts = WriteFiveFiles(world);
      RetainA(world, {Timestamp(200), 0}, LogOffset(5));
      std::atomic<int> call = 0;
      std::atomic<bool> is_reached = false;
      world.files().SetJudge([&](Call what, const std::string& path) -> std::optional<Fault> {
        if (path.find("/groups/") == path.npos && what != Call::kRemove) return std::nullopt;
        if (call++ != failing) return std::nullopt;
        is_reached = true;
        return Fault{code, 20};
      });
      world.Await(world.log().Maintain());
      world.files().SetJudge(nullptr);
      size_t states = 0;
      for (const std::string& name : world.FilesIn("groups/0")) {
        EXPECT_FALSE(name.ends_with(".next")) << name << " after " << failing;
        states += name.ends_with(".states");
      }
      EXPECT_LE(states, 2u);
      // What the manifest names is there, now and after the next one.
      LogWorld copy;
      copy.CopyFrom(world);
      copy.Start();
      EXPECT_EQ(copy.ReadAll(kA).value(), copy.Bucket(kA).log->start == LogOffset(0)
                                              ? texts[0] + texts[1] + texts[2] + texts[3] + texts[4]
                                              : texts[1] + texts[2] + texts[3] + texts[4]);
      RetainA(world, {Timestamp(300), 0}, LogOffset(5));
      world.Await(world.log().Maintain());
      EXPECT_EQ(world.FilesIn("groups/0").size(), 2u) << failing;
      EXPECT_EQ(world.Bucket(kA).log->start, LogOffset(2));
      if (!is_reached) break;
      ASSERT_LT(failing, 40);
    }
  }
}

TEST(Checkpoint, NamesNoFileBeforeItIsDurable) {
  LogWorld world;
  world.config().journal_file_bytes = 500;
  world.config().sort_bytes_min = 1 << 30;
  world.Start();
  world.files().HoldSyncs();
  world.Put(kA, MakeBatch(1, 600, 1), false);
  while (world.ExtentsOf(kA).empty()) {
    std::this_thread::yield();
  }
  const auto manifest = DecodeManifest(world.FileText("groups/0/manifest")).value();
  EXPECT_EQ(manifest.files.size(), 0u);
  world.files().Release();
  world.Await(world.log().Maintain());
  EXPECT_EQ(DecodeManifest(world.FileText("groups/0/manifest"))->files.size(), 1u);
}

TEST(Checkpoint, IsNotWrittenWhenNothingChanged) {
  LogWorld world;
  WriteFiveFiles(world);
  const std::string manifest = world.FileText("groups/0/manifest");
  world.Await(world.log().Maintain());
  EXPECT_EQ(world.FileText("groups/0/manifest"), manifest);
}

}  // namespace
}  // namespace weir
