#include "weir/log/recovery.h"

#include <fstream>

#include <gtest/gtest.h>

#include "weir/log/log_testing.h"

namespace weir {
namespace {

using Call = FaultFileSystem::Call;
using Fault = FaultFileSystem::Fault;

const TableBucket kA = BucketId(1);
const TableBucket kB = BucketId(2);
const TableBucket kC = BucketId(3);

TEST(Recovery, ReplaysNothingAfterACleanStop) {
  LogWorld world;
  world.Start();
  const std::string a = world.Put(kA, MakeBatch(3, 100, 1, WriterId(7), BatchSequence(0)));
  const std::string b = world.Put(kB, MakeBatch(2, 100, 2), false);
  world.Stop();
  world.Start();
  EXPECT_EQ(world.recovered().replayed_bytes, 0u);
  EXPECT_EQ(world.recovered().cut_bytes, 0u);
  EXPECT_EQ(world.ReadAll(kA).value(), a);
  EXPECT_EQ(world.ReadAll(kB).value(), b);
  EXPECT_EQ(world.Bucket(kA).log->end, LogOffset(3));
  EXPECT_EQ(world.Bucket(kA).log->committed_end, LogOffset(3));
  EXPECT_EQ(world.Bucket(kA).log->writers.Find(WriterId(7))->recent.at(0).base, LogOffset(0));
  EXPECT_EQ(world.Bucket(kA).log->max_timestamp, Timestamp(1000));
}

TEST(Recovery, FindsWhatAKilledProcessHadInThePageCache) {
  LogWorld world;
  world.config().journal_file_bytes = 600;
  world.Start();
  std::string a, b;
  for (int i = 0; i < 10; ++i) {
    a += world.Put(kA, MakeBatch(1, 100, i, WriterId(7), BatchSequence(i)), i % 2 == 0);
    b += world.Put(kB, MakeBatch(2, 50, i, WriterId(7), BatchSequence(i)), false);
  }
  world.Kill();
  world.Start();
  EXPECT_EQ(world.ReadAll(kA).value(), a);
  EXPECT_EQ(world.ReadAll(kB).value(), b);
  const WriterState* const writer = world.Bucket(kB).log->writers.Find(WriterId(7));
  ASSERT_NE(writer, nullptr);
  EXPECT_EQ(writer->recent.back().sequence, BatchSequence(9));
  EXPECT_EQ(writer->recent.back().base, LogOffset(18));
  EXPECT_EQ(writer->recent.size(), WriterTable::kRecentBatches);
}

TEST(Recovery, RaisesTheEpochAndBeginsAJournalWithEachStart) {
  LogWorld world;
  JournalId before;
  for (uint64_t i = 1; i <= 4; ++i) {
    world.Start();
    const Manifest manifest = DecodeManifest(world.FileText("groups/0/manifest")).value();
    EXPECT_EQ(manifest.epoch, Epoch(i));
    EXPECT_NE(manifest.owner, before);
    EXPECT_EQ(manifest.floor, Slot(0));
    before = manifest.owner;
    i % 2 == 0 ? world.Stop() : world.Kill();
  }
}

TEST(Recovery, StartsOverAndOverWithoutLeavingAnythingBehind) {
  LogWorld world;
  std::string expected;
  for (int i = 0; i < 30; ++i) {
    world.Start();
    if (i < 10) expected += world.Put(kA, MakeBatch(1, 100, i));
    EXPECT_EQ(world.ReadAll(kA).value(), expected);
    i % 3 == 0 ? world.Stop() : world.Kill();
  }
  world.Start();
  world.Await(world.log().Maintain());
  EXPECT_LE(world.AllFiles().size(), 10u);
  EXPECT_EQ(world.ReadAll(kA).value(), expected);
}

/// Three slots; the first two are known to be durable.
std::string WriteThreeSlots(LogWorld& world, std::string* without_last) {
  world.Start();
  std::string all;
  for (int i = 0; i < 3; ++i) {
    *without_last = all;
    all += world.Put(kA, MakeBatch(1, 80, i, WriterId(1), BatchSequence(i)));
  }
  world.Kill();
  return all;
}

TEST(Recovery, CutsALastSlotThatIsTornAtAnyByte) {
  LogWorld original;
  std::string without_last;
  const std::string all = WriteThreeSlots(original, &without_last);
  const std::string name = original.JournalFiles().at(0);
  const std::string text = original.FileText(name);
  const size_t slot_bytes = kSlotHeaderBytes + 128 + kIndexEntryBytes + kSlotTrailerBytes;
  ASSERT_EQ(text.size(), kFileHeaderBytes + 3 * slot_bytes);
  for (size_t size = text.size() - slot_bytes; size <= text.size(); ++size) {
    LogWorld world;
    world.CopyFrom(original);
    world.SetFileText(name, text.substr(0, size));
    world.Start();
    const bool is_whole = size == text.size();
    ASSERT_EQ(world.ReadAll(kA).value(), is_whole ? all : without_last) << size;
    EXPECT_EQ(world.recovered().cut_bytes, is_whole ? 0 : size - (text.size() - slot_bytes));
    // The lost batch is new again.
    const auto sequence = world.Bucket(kA).log->writers.Find(WriterId(1))->recent.back().sequence;
    EXPECT_EQ(sequence, BatchSequence(is_whole ? 2 : 1));
    EXPECT_NE(world.Put(kA, MakeBatch(1, 80, 9)), "");
  }
}

TEST(Recovery, CutsALastSlotWithAnyDamage) {
  LogWorld original;
  std::string without_last;
  WriteThreeSlots(original, &without_last);
  const std::string name = original.JournalFiles().at(0);
  const size_t bytes = original.FileText(name).size();
  for (size_t position = bytes - 288; position < bytes; position += 5) {
    LogWorld world;
    world.CopyFrom(original);
    world.FlipBit(name, position);
    world.Start();
    ASSERT_EQ(world.ReadAll(kA).value(), without_last) << position;
  }
}

TEST(Recovery, DropsTailsOfZeroesAndOfGarbage) {
  LogWorld original;
  std::string without_last;
  const std::string all = WriteThreeSlots(original, &without_last);
  const std::string name = original.JournalFiles().at(0);
  const std::string text = original.FileText(name);
  std::string noise(10'000, '\0');
  std::mt19937_64 random(5);
  for (char& c : noise) c = static_cast<char>(random());
  const std::string old_slot = text.substr(kFileHeaderBytes, 288);
  for (const std::string& tail :
       {std::string(40, '\0'), std::string(5000, '\0'), noise.substr(0, 7), noise,
        std::string("SLOT"), old_slot, noise + old_slot, std::string(9'000'000, 'S')}) {
    LogWorld world;
    world.CopyFrom(original);
    world.SetFileText(name, text + tail);
    world.Start();
    EXPECT_EQ(world.ReadAll(kA).value(), all);
    EXPECT_EQ(world.recovered().cut_bytes, tail.size());
    EXPECT_NE(world.Put(kA, MakeBatch(1, 80, 9)), "");
  }
}

TEST(Recovery, RefusesADamagedSlotThatWasDurableAndSaysWhere) {
  LogWorld original;
  std::string without_last;
  WriteThreeSlots(original, &without_last);
  const std::string name = original.JournalFiles().at(0);
  // Any byte of the second slot: its header, batch, index or trailer.
  for (size_t position = kFileHeaderBytes + 288; position < kFileHeaderBytes + 2 * 288;
       position += 3) {
    LogWorld world;
    world.CopyFrom(original);
    world.FlipBit(name, position);
    const auto before = world.AllFiles();
    const Status started = world.TryStart();
    ASSERT_FALSE(started.ok()) << position;
    EXPECT_EQ(started.error().code, ErrorCode::kCorruptData);
    EXPECT_NE(started.error().message.find(name), std::string::npos);
    EXPECT_NE(started.error().message.find("position=352"), std::string::npos)
        << started.error().message;
    EXPECT_EQ(world.AllFiles(), before);
  }
}

TEST(Recovery, RefusesADamagedSlotThatALaterFileKnowsToBeDurable) {
  LogWorld world;
  world.config().journal_file_bytes = 500;
  world.Start();
  world.Put(kA, MakeBatch(1, 400, 1));
  world.AwaitSealed(kA);
  // From here on no checkpoint takes part.
  world.files().SetJudge([](Call, const std::string& path) -> std::optional<Fault> {
    if (path.find("groups") != std::string::npos) return Fault{};
    return std::nullopt;
  });
  for (int i = 0; i < 3; ++i) world.Put(kA, MakeBatch(1, 400, i));
  world.Kill();
  const auto names = world.JournalFiles();
  ASSERT_GE(names.size(), 3u);
  const std::string second = names.at(1);
  for (int damage = 0; damage < 3; ++damage) {
    LogWorld copy;
    copy.CopyFrom(world);
    if (damage == 0) copy.FlipBit(second, kFileHeaderBytes + 100);
    if (damage == 1) copy.FlipBit(second, 20);  // its header
    if (damage == 2) std::filesystem::remove(copy.data_dir() + "/" + second);
    const auto before = copy.AllFiles();
    const Status started = copy.TryStart();
    ASSERT_FALSE(started.ok()) << damage;
    EXPECT_EQ(started.error().code, ErrorCode::kCorruptData);
    EXPECT_NE(started.error().message.find("slot=1"), std::string::npos) << started.error().message;
    EXPECT_EQ(copy.AllFiles(), before);
  }
}

TEST(Recovery, ASealThatReachedTheDiskBeforeItsSlotsIsATornTail) {
  LogWorld world;
  world.config().journal_file_bytes = 700;
  world.Start();
  world.files().HoldSyncs();
  std::vector<std::string> puts;
  for (int i = 0; i < 6; ++i) puts.push_back(world.Put(kA, MakeBatch(1, 200, i), false));
  world.files().Die();
  world.files().Release();
  world.Stop();
  world.files().Revive();
  const auto names = world.JournalFiles();
  ASSERT_GE(names.size(), 2u);
  world.FlipBit(names[0], kFileHeaderBytes + 408 + 80);  // in slot 1
  world.Start();
  EXPECT_EQ(world.ReadAll(kA).value(), puts[0]);
  EXPECT_NE(world.Put(kA, MakeBatch(1, 80, 9)), "");
}

TEST(Recovery, AnIndexThatIsNotWholeIsMadeAgain) {
  LogWorld original;
  original.config().journal_file_bytes = 700;
  original.Start();
  original.files().HoldSyncs();
  std::string all;
  for (int i = 0; i < 6; ++i) all += original.Put(kA, MakeBatch(1, 200, i), false);
  original.files().Die();
  original.files().Release();
  original.Stop();
  original.files().Revive();
  const std::string name = original.JournalFiles().at(0);
  const std::string text = original.FileText(name);
  const size_t index_at = kFileHeaderBytes + 2 * 408;
  ASSERT_LT(index_at, text.size());
  for (size_t size = index_at; size <= text.size(); size += 8) {
    LogWorld world;
    world.CopyFrom(original);
    world.SetFileText(name, text.substr(0, size));
    world.Start();
    EXPECT_EQ(world.ReadAll(kA).value(), all) << size;
  }
  for (size_t position = index_at; position < text.size(); position += 3) {
    LogWorld world;
    world.CopyFrom(original);
    world.FlipBit(name, position);
    world.Start();
    EXPECT_EQ(world.ReadAll(kA).value(), all) << position;
  }
}

TEST(Recovery, RefusesToStartWithoutTheManifestOfAGroupThatHasData) {
  LogWorld world;
  world.config().journal_file_bytes = 500;
  world.config().sort_bytes_min = 500;
  world.Start();
  world.Put(kA, MakeBatch(1, 600, 1));
  world.AwaitSealed(kA);
  ASSERT_EQ(world.JournalFiles().size(), 0u);  // all is in a segment
  world.Stop();
  for (const bool has_segment : {true, false}) {
    std::filesystem::remove(world.data_dir() + "/groups/0/manifest");
    const auto before = world.AllFiles();
    ASSERT_EQ(world.TryStart().error().code, ErrorCode::kCorruptData) << has_segment;
    EXPECT_EQ(world.AllFiles(), before);
    std::filesystem::remove_all(world.data_dir());
    std::filesystem::create_directory(world.data_dir());
    if (!has_segment) break;
    LogWorld other;
    other.Start();
    other.Put(kA, MakeBatch(1, 600, 1));
    other.Kill();
    world.CopyFrom(other);
  }
}

TEST(Recovery, RefusesDamagedManifestsAndStates) {
  LogWorld original;
  original.Start();
  original.Put(kA, MakeBatch(1, 100, 1));
  original.Stop();
  const Manifest manifest = DecodeManifest(original.FileText("groups/0/manifest")).value();
  for (const std::string& name :
       {std::string("groups/0/manifest"), manifest.states, manifest.files.at(0).name}) {
    LogWorld world;
    world.CopyFrom(original);
    world.FlipBit(name, world.FileText(name).size() - 10);
    const Status started = world.TryStart();
    ASSERT_EQ(started.error().code, ErrorCode::kCorruptData);
    EXPECT_NE(started.error().message.find(name), std::string::npos) << started.error().message;
    EXPECT_NE(started.error().message.find("backup"), std::string::npos);
  }
  LogWorld world;
  world.CopyFrom(original);
  std::filesystem::remove(world.data_dir() + "/" + manifest.files.at(0).name);
  EXPECT_EQ(world.TryStart().error().code, ErrorCode::kCorruptData);
}

TEST(Recovery, RefusesAJournalThatIsShorterThanItsManifestKnows) {
  LogWorld world;
  world.Start();
  world.Put(kA, MakeBatch(1, 100, 1));
  world.Put(kA, MakeBatch(1, 100, 2));
  world.Bucket(kB);
  world.Drop(kB);  // so that a checkpoint is wanted
  world.Await(world.log().Maintain());
  world.Kill();
  const std::string name = world.JournalFiles().at(0);
  const std::string text = world.FileText(name);
  world.SetFileText(name, text.substr(0, text.size() - 1));
  const Status started = world.TryStart();
  ASSERT_EQ(started.error().code, ErrorCode::kCorruptData);
  EXPECT_NE(started.error().message.find("lost its end"), std::string::npos);
  world.SetFileText(name, text);
  world.Start();
}

TEST(Recovery, RemovesWhatNothingNames) {
  LogWorld world;
  world.Start();
  const std::string a = world.Put(kA, MakeBatch(1, 100, 1));
  world.Stop();
  const auto before = world.AllFiles();
  const auto make = [&](const std::string& name) {
    std::filesystem::create_directories(
        std::filesystem::path(world.data_dir() + "/" + name).parent_path());
    std::ofstream(world.data_dir() + "/" + name) << "leftover";
  };
  make("groups/0/manifest.next");
  make("groups/0/1-0000000000000001.states");
  make("groups/0/1-0000000000000001.states.next");
  make("groups/0/1-0000000000000001-0.seg");
  make("journals/0123456789abcdef0123456789abcdef/00000000000000000000.journal");
  world.files().Adopt();
  world.Start();
  EXPECT_EQ(world.AllFiles().size(), before.size());
  EXPECT_EQ(world.FilesIn("journals").size(), 1u);
  EXPECT_EQ(world.ReadAll(kA).value(), a);
}

TEST(Recovery, ABucketThatWasDroppedLeavesNoHoleInTheFilesItShared) {
  for (const bool is_kill : {false, true}) {
    LogWorld world;
    world.config().journal_file_bytes = 500;
    world.config().sort_bytes_min = 1 << 20;  // nothing is sorted
    world.Start();
    world.Put(kB, MakeBatch(5, 600, 1));  // a file of its own
    world.AwaitSealed(kB);
    std::string a = world.Put(kA, MakeBatch(1, 100, 2));
    world.Put(kB, MakeBatch(5, 500, 3));  // shares a file with A, which is sealed
    world.AwaitSealed(kB);
    a += world.Put(kA, MakeBatch(1, 100, 4));
    world.Put(kB, MakeBatch(5, 10, 5));  // and one that is open
    world.Drop(kB);
    world.Await(world.log().Maintain());
    is_kill ? world.Kill() : world.Stop();
    for (int i = 0; i < 3; ++i) {
      world.Start();
      EXPECT_EQ(world.ReadAll(kA).value(), a);
      EXPECT_EQ(world.log().buckets(), std::vector{kA});
      a += world.Put(kA, MakeBatch(1, 100, 4));
      is_kill ? world.Kill() : world.Stop();
    }
  }
}

TEST(Recovery, AFileThatOnlyDroppedBucketsHaveIsNotMissedByAnotherStart) {
  LogWorld world;
  world.config().journal_file_bytes = 300;
  world.Start();
  world.Put(kB, MakeBatch(1, 250, 1));
  world.AwaitSealed(kB);
  world.files().HoldSyncs();  // no checkpoint any more
  world.Put(kB, MakeBatch(1, 250, 2), false);
  world.Drop(kB);
  const std::string a = world.Put(kA, MakeBatch(1, 250, 3), false);
  world.files().Die();
  world.files().Release();
  world.Stop();
  world.files().Revive();
  // A start that dies before its manifest is in place.
  for (int i = 0; i < 3; ++i) {
    const auto group = RecoverGroup(world.files(), world.data_dir(), GroupId(0));
    ASSERT_TRUE(group.ok()) << group.error().message;
    std::set<std::string> names;
    for (const auto& file : group->files) names.insert(file->name);
    RemoveUnnamedJournals(world.files(), world.data_dir(), names);
  }
  world.Start();
  EXPECT_EQ(world.ReadAll(kA).value(), a);
}

TEST(Recovery, ACheckpointKnowsNoAppendThatIsUndoneLater) {
  LogWorld world;
  world.Start();
  std::string a = world.Put(kA, MakeBatch(1, 100, 1, WriterId(5), BatchSequence(0)));
  // An append is under way while a checkpoint is written, and does not fit then.
  world.files().HoldWrites(".journal");
  ASSERT_TRUE(world.Append(kA, MakeBatch(1, 100, 2, WriterId(5), BatchSequence(1))).ok());
  world.Bucket(kB);
  world.Drop(kB);
  const std::string manifest = world.FileText("groups/0/manifest");
  world.Await(world.log().Maintain());
  ASSERT_NE(world.FileText("groups/0/manifest"), manifest);
  world.files().SetJudge([](Call call, const std::string& path) -> std::optional<Fault> {
    if (call == Call::kWrite && path.ends_with(".journal")) return Fault{ErrorCode::kNoSpace};
    return std::nullopt;
  });
  world.files().Release();
  ASSERT_FALSE(world.AwaitCommit(kA));
  world.files().SetJudge(nullptr);
  // Its place is given to another writer's.
  a += world.Put(kA, MakeBatch(3, 100, 3, WriterId(6), BatchSequence(0)));
  world.Kill();
  world.Start();
  EXPECT_EQ(world.ReadAll(kA).value(), a);
  const WriterState& writer = *world.Bucket(kA).log->writers.Find(WriterId(5));
  ASSERT_EQ(writer.recent.size(), 1u);
  EXPECT_EQ(writer.recent.back().sequence, BatchSequence(0));
}

TEST(Recovery, TellsOfAFullDiskAndStartsWhenThereIsRoom) {
  LogWorld world;
  world.Start();
  const std::string a = world.Put(kA, MakeBatch(1, 100, 1));
  world.Kill();
  world.files().SetJudge([](Call call, const std::string&) -> std::optional<Fault> {
    if (call == Call::kWrite) return Fault{ErrorCode::kNoSpace, 30};
    return std::nullopt;
  });
  EXPECT_EQ(world.TryStart().error().code, ErrorCode::kNoSpace);
  world.files().SetJudge(nullptr);
  world.Start();
  EXPECT_EQ(world.ReadAll(kA).value(), a);
}

TEST(Recovery, WhatAPowerLossTookIsNeverWhatWasSynced) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    LogWorld world;
    world.config().journal_file_bytes = 2000;
    world.Start();
    std::string synced, more;
    for (int i = 0; i < 8; ++i) {
      more += world.Put(kA, MakeBatch(1, 500, i), i % 3 != 2);
      if (i % 3 != 2) synced = more;
    }
    world.files().Die();
    world.Stop();
    world.files().Revive();
    world.files().PowerLoss(seed, seed % 4 != 0);
    const Status started = world.TryStart();
    ASSERT_TRUE(started.ok()) << "seed " << seed << ": " << started.error().message;
    const std::string found = world.ReadAll(kA).value();
    EXPECT_TRUE(found.starts_with(synced)) << seed;
    EXPECT_TRUE(more.starts_with(found)) << seed;
  }
}

}  // namespace
}  // namespace weir
