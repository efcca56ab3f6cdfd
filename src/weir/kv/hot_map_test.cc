#include "weir/kv/hot_map.h"

#include <string>

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr size_t kMarkBytes = 1 << 20;
constexpr LogOffset kNoBarrier = HotRow::kStagedEnd;

class HotMapTest : public testing::Test {
 protected:
  void Put(const std::string& key, const std::string& row) {
    map_.StagePut(AsBytes(key), SchemaId(1), AsBytes(row), kNoTimestamp);
  }
  void Delete(const std::string& key) { map_.StageDelete(AsBytes(key)); }
  void PutAt(int64_t end, const std::string& key, const std::string& row) {
    Put(key, row);
    map_.Seal(LogOffset(end), 1);
    map_.OnCommitted(LogOffset(end));
  }

  std::string Newest(const std::string& key) {
    HotRowRef row;
    return Told(map_.FindNewest(AsBytes(key), &row), row);
  }
  std::string Committed(const std::string& key) {
    HotRowRef row;
    return Told(map_.FindCommitted(AsBytes(key), &row), row);
  }

  /// Flushes all that is committed.
  void Flush() {
    HotMap::FlushStep step = map_.BeginFlush(1 << 20, true);
    while (map_.CollectFlush(step, 1)) continue;
    while (map_.FinishFlush(step, 1)) continue;
  }
  void EvictAll() {
    for (int round = 0; round < 3; ++round) map_.Evict(1000, 1 << 30, kNoBarrier);
  }

  HotMap map_{{LogOffset(0), 0}, true, kMarkBytes, false};

 private:
  static std::string Told(HotLookup lookup, const HotRowRef& row) {
    if (lookup == HotLookup::kAbsent) return "absent";
    return lookup == HotLookup::kCold ? "cold" : std::string(AsText(row.row()));
  }
};

TEST_F(HotMapTest, AWriteIsSeenByWritersAtOnceAndByReadersWhenItIsCommitted) {
  Put("k", "new");
  EXPECT_EQ(Newest("k"), "new");
  EXPECT_EQ(Committed("k"), "absent");
  map_.Seal(LogOffset(5), 1);
  EXPECT_EQ(Committed("k"), "absent");
  EXPECT_EQ(map_.row_count(), 0);
  map_.OnCommitted(LogOffset(5));
  EXPECT_EQ(Committed("k"), "new");
  EXPECT_EQ(map_.row_count(), 1);
}

TEST_F(HotMapTest, ReadersSeeTheLastVersionBelowTheHighWatermark) {
  PutAt(1, "k", "one");
  Put("k", "two");
  map_.Seal(LogOffset(2), 0);
  Delete("k");
  map_.Seal(LogOffset(3), -1);
  EXPECT_EQ(Committed("k"), "one");
  EXPECT_EQ(Newest("k"), "absent");
  map_.OnCommitted(LogOffset(2));
  EXPECT_EQ(Committed("k"), "two");
  map_.OnCommitted(LogOffset(3));
  EXPECT_EQ(Committed("k"), "absent");
}

TEST_F(HotMapTest, WhatIsUnstagedWasNeverThere) {
  PutAt(1, "k", "one");
  Put("k", "two");
  Put("k", "three");
  Delete("other");
  map_.Unstage();
  EXPECT_EQ(Newest("k"), "one");
  EXPECT_EQ(Newest("other"), "absent");
  EXPECT_EQ(map_.pending_bytes(), 0u);
}

TEST_F(HotMapTest, WhatIsLostGivesWayToTheVersionBefore) {
  PutAt(1, "k", "one");
  Put("k", "two");
  map_.Seal(LogOffset(2), 0);
  Put("k", "three");
  map_.Seal(LogOffset(3), 0);
  Put("l", "four");
  map_.Seal(LogOffset(4), 1);
  map_.OnLost(LogOffset(2));
  EXPECT_EQ(Newest("k"), "two");
  EXPECT_EQ(Newest("l"), "absent");
  map_.OnLost(LogOffset(1));
  EXPECT_EQ(Newest("k"), "one");
  map_.OnCommitted(LogOffset(1));
  EXPECT_EQ(map_.row_count(), 1);
}

TEST_F(HotMapTest, AHotKeyCostsOneRowHoweverOftenItIsWritten) {
  PutAt(1, "k", "row");
  const size_t bytes = map_.bytes();
  for (int64_t end = 2; end < 1000; ++end) PutAt(end, "k", "row");
  EXPECT_EQ(map_.bytes(), bytes);
  const HotRowRef one(HotRow::MakeStored(AsBytes("k"), AsBytes("..row"), false));
  EXPECT_EQ(map_.dirty_bytes(), one.get()->allocated_bytes());
}

TEST_F(HotMapTest, AHeldRowStaysWhateverBecomesOfItsKey) {
  PutAt(1, "k", "one");
  HotRowRef held;
  map_.FindCommitted(AsBytes("k"), &held);
  PutAt(2, "k", "two");
  EXPECT_EQ(AsText(held.row()), "one");
  EXPECT_EQ(held.schema_id(), SchemaId(1));
}

TEST_F(HotMapTest, OnlyRowsThatAreOnTheDiskCanBeForgotten) {
  PutAt(1, "a", "row");
  EvictAll();
  EXPECT_EQ(Committed("a"), "row");
  Flush();
  EXPECT_EQ(map_.dirty_bytes(), 0u);
  EvictAll();
  EXPECT_EQ(Committed("a"), "cold");
  EXPECT_EQ(map_.bytes(), 0u);
}

TEST_F(HotMapTest, UntilSomethingIsForgottenAMissNeedsNoDisk) {
  PutAt(1, "a", "row");
  Flush();
  EXPECT_EQ(Committed("b"), "absent");
  EvictAll();
  EXPECT_EQ(Committed("b"), "cold");
}

TEST_F(HotMapTest, ADeletedKeyIsRememberedOnlyIfTheDiskMayHaveIt) {
  PutAt(1, "a", "row");
  Delete("a");
  map_.Seal(LogOffset(2), -1);
  map_.OnCommitted(LogOffset(2));
  EXPECT_EQ(map_.bytes(), 0u);
  PutAt(3, "b", "row");
  Flush();
  Delete("b");
  map_.Seal(LogOffset(4), -1);
  map_.OnCommitted(LogOffset(4));
  EXPECT_GT(map_.dirty_bytes(), 0u);
  EXPECT_EQ(Committed("b"), "absent");
}

TEST_F(HotMapTest, RowsThatWereReadOrAreHeldOutliveOthers) {
  PutAt(1, "read", "row");
  PutAt(2, "held", "row");
  PutAt(3, "idle", "row");
  Flush();
  Committed("read");
  HotRowRef held;
  map_.FindCommitted(AsBytes("held"), &held);
  map_.Evict(3, 1 << 30, kNoBarrier);
  EXPECT_EQ(Committed("idle"), "cold");
  EXPECT_EQ(Committed("read"), "row");
  EvictAll();
  EXPECT_EQ(Committed("read"), "cold");
  EXPECT_EQ(Committed("held"), "row");
}

TEST_F(HotMapTest, RowsAboveTheBarrierAreNotForgotten) {
  PutAt(1, "a", "row");
  PutAt(2, "b", "row");
  Flush();
  map_.Evict(10, 1 << 30, LogOffset(1));
  EXPECT_EQ(Committed("a"), "cold");
  EXPECT_EQ(Committed("b"), "row");
}

TEST_F(HotMapTest, WhatTheDiskSaysDoesNotHideWhatIsNewer) {
  PutAt(1, "a", "old");
  Flush();
  EvictAll();
  Put("a", "pending");
  map_.Seal(LogOffset(2), 0);
  // The version before is the disk's.
  EXPECT_EQ(Committed("a"), "cold");
  EXPECT_EQ(AsText(map_.AddClean(AsBytes("a"), AsBytes("..old")).value()), "..old");
  EXPECT_EQ(Committed("a"), "old");
  EXPECT_EQ(Newest("a"), "pending");
  map_.OnCommitted(LogOffset(2));
  EXPECT_EQ(AsText(map_.AddClean(AsBytes("a"), AsBytes("..old")).row()), "pending");
  EXPECT_EQ(Committed("a"), "pending");
}

TEST_F(HotMapTest, ALoadedAbsenceIsKnownAsSuch) {
  PutAt(1, "a", "row");
  Flush();
  EvictAll();
  const HotRowRef absent = map_.AddClean(AsBytes("b"), std::nullopt);
  EXPECT_TRUE(absent.is_tombstone());
  EXPECT_EQ(Committed("b"), "absent");
}

TEST_F(HotMapTest, AnExactFlushHasWhatWasCommittedWhenItBeganWhateverIsCommittedMeanwhile) {
  for (int64_t end = 1; end <= 5; ++end) PutAt(end, "key" + std::to_string(end), "old");
  HotMap::FlushStep step = map_.BeginFlush(1 << 20, true);
  ASSERT_TRUE(map_.CollectFlush(step, 2));
  for (int64_t end = 6; end <= 10; ++end) PutAt(end, "key" + std::to_string(end - 5), "new");
  PutAt(11, "another", "new");
  while (map_.CollectFlush(step, 2)) continue;
  EXPECT_EQ(step.end, LogOffset(5));
  EXPECT_EQ(step.row_count, 5);
  ASSERT_EQ(step.rows.size(), 5u);
  for (const HotRowRef& row : step.rows) EXPECT_EQ(AsText(row.row()), "old");
  while (map_.FinishFlush(step, 2)) continue;
  EXPECT_EQ(Committed("key1"), "new");
  EXPECT_GT(map_.dirty_bytes(), 0u);
}

TEST_F(HotMapTest, AFlushThatFailedLeavesTheRowsAsTheyWere) {
  for (int64_t end = 1; end <= 5; ++end) PutAt(end, "key" + std::to_string(end), "row");
  const size_t dirty_bytes = map_.dirty_bytes();
  HotMap::FlushStep step = map_.BeginFlush(1 << 20, true);
  ASSERT_TRUE(map_.CollectFlush(step, 3));
  map_.UndoFlush(step);
  EXPECT_EQ(map_.dirty_bytes(), dirty_bytes);
  EvictAll();
  EXPECT_EQ(Committed("key1"), "row");
  Flush();
  EXPECT_EQ(map_.dirty_bytes(), 0u);
}

TEST_F(HotMapTest, AStepEndsWhereTheNumberOfRowsIsKnown) {
  HotMap map({LogOffset(0), 0}, true, 1000, false);
  for (int64_t end = 1; end <= 100; ++end) {
    const std::string key = "key" + std::to_string(end);
    map.StagePut(AsBytes(key), SchemaId(1), AsBytes("row"), kNoTimestamp);
    map.Seal(LogOffset(end), 1);
    map.OnCommitted(LogOffset(end));
  }
  HotMap::FlushStep step = map.BeginFlush(2500, false);
  while (map.CollectFlush(step, 1000)) continue;
  EXPECT_GE(step.bytes, 2500u);
  EXPECT_LT(step.bytes, 3600u);
  EXPECT_EQ(step.end->value, step.row_count);
  EXPECT_EQ(step.rows.size(), static_cast<size_t>(step.row_count));
  while (map.FinishFlush(step, 1000)) continue;
}

TEST_F(HotMapTest, IsClearedInPieces) {
  for (int64_t end = 1; end <= 5; ++end) PutAt(end, "key" + std::to_string(end), "row");
  Flush();
  PutAt(6, "dirty", "row");
  Put("staged", "row");
  int calls = 1;
  while (map_.Clear(2)) ++calls;
  EXPECT_GE(calls, 4);
  EXPECT_EQ(map_.bytes(), 0u);
  EXPECT_EQ(Committed("key1"), "cold");
}

}  // namespace
}  // namespace weir
