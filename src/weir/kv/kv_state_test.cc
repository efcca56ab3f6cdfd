#include "weir/kv/kv_state.h"

#include <fstream>
#include <map>

#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include "weir/base/log.h"
#include "weir/kv/kv_testing.h"

namespace weir {
namespace {

namespace fs = std::filesystem;
using Rows = std::map<std::string, std::string>;

template <typename T>
std::optional<ErrorCode> CodeOf(const Result<T>& result) {
  return result.ok() ? std::nullopt : std::optional(result.error().code);
}

class KvStateTest : public testing::Test {
 protected:
  explicit KvStateTest(KvMemoryConfig config = {}) : world_(config) {
    SetLogLevel(LogLevel::kOff);
    state_ = world_.Open();
  }
  ~KvStateTest() override {
    if (state_ != nullptr) world_.Close(std::move(state_));
  }

  std::string path(const std::string& name = "") const { return world_.root() + "/state" + name; }

  /// One write of some rows, an empty one is a delete; committed.
  void Write(const Rows& rows) {
    const int64_t before = row_count();
    for (const auto& [key, row] : rows) {
      rows_.erase(key);
      if (!row.empty()) rows_[key] = row;
    }
    writes_.push_back({rows, row_count() - before});
    world_.OnLoop([&] { Replay(writes_.size() - 1); });
  }
  void WriteMany(const std::string& prefix, size_t count, const std::string& row) {
    Rows rows;
    for (size_t i = 0; i < count; ++i) rows[prefix + std::to_string(10'000 + i)] = row;
    Write(rows);
  }

  Status Flush() { return world_.Await(state_->Flush(0)); }
  void FlushAndForget() {
    ASSERT_TRUE(Flush().ok());
    Reopen();
  }
  void Reopen() {
    world_.Close(std::move(state_));
    state_ = world_.Open();
    world_.OnLoop([&] {
      const int64_t from = state_->checkpoint().log_offset.value;
      for (size_t i = static_cast<size_t>(from); i < writes_.size(); ++i) Replay(i);
    });
  }

  Result<std::vector<HotRowRef>> Load(const std::vector<std::string>& keys) {
    std::vector<Bytes> asked;
    for (const std::string& key : keys) asked.push_back(AsBytes(key));
    return world_.Await(state_->Load(asked));
  }
  Rows All(const std::string& prefix = "", size_t page = 1 << 20) {
    Rows all;
    std::optional<std::string> after;
    while (true) {
      const auto rows = world_.Await(state_->ScanPrefix(prefix, after, page, 1 << 20));
      EXPECT_TRUE(rows.ok()) << rows.error().message;
      if (!rows.ok() || rows->empty()) return all;
      for (const HotRowRef& row : *rows) {
        all[std::string(AsText(row.key()))] = AsText(row.row());
        after = AsText(row.key());
      }
    }
  }
  std::vector<std::string> ReadAll(KvScan& scan) {
    std::vector<std::string> values;
    while (true) {
      const auto more = world_.Await(scan.Read(1000, 10, &values));
      EXPECT_TRUE(more.ok()) << more.error().message;
      if (!more.ok() || !*more) return values;
    }
  }
  void Drop(std::unique_ptr<KvScan> scan) {
    world_.OnLoop([&] { scan.reset(); });
  }

  int64_t row_count() const { return static_cast<int64_t>(rows_.size()); }

  KvWorld world_;
  std::unique_ptr<KvState> state_;
  Rows rows_;

 private:
  struct OneWrite {
    Rows rows;
    int64_t row_count_change;
  };

  void Replay(size_t index) {
    for (const auto& [key, row] : writes_[index].rows) {
      if (row.empty()) {
        state_->StageDelete(AsBytes(key));
      } else {
        state_->StagePut(AsBytes(key), SchemaId(1), AsBytes(row));
      }
    }
    const LogOffset end(static_cast<int64_t>(index) + 1);
    state_->Seal(end, writes_[index].row_count_change);
    state_->OnCommitted(end);
  }

  std::vector<OneWrite> writes_;
};

TEST_F(KvStateTest, HasNothingOnTheDiskUntilARowIsWrittenThere) {
  Write({{"a", "1"}});
  EXPECT_FALSE(fs::exists(path()));
  ASSERT_TRUE(Flush().ok());
  EXPECT_TRUE(fs::exists(path("/STATE")));
  EXPECT_TRUE(fs::exists(path("/db/CURRENT")));
}

TEST_F(KvStateTest, ARestartBeginsWithWhatWasFlushed) {
  Write({{"a", "1"}, {"b", "2"}});
  ASSERT_TRUE(Flush().ok());
  Write({{"b", ""}, {"c", "3"}, {"d", "4"}});
  EXPECT_EQ(state_->flushed_offset(), LogOffset(1));
  Reopen();
  EXPECT_EQ(state_->checkpoint().log_offset, LogOffset(1));
  EXPECT_EQ(state_->checkpoint().row_count, 2);
  EXPECT_EQ(state_->row_count(), 3);
  EXPECT_EQ(All(), rows_);
}

TEST_F(KvStateTest, WritesThatChangeNothingMoveTheOffsetOfARestart) {
  Write({{"a", "1"}});
  ASSERT_TRUE(Flush().ok());
  Write({});
  Write({});
  ASSERT_TRUE(Flush().ok());
  EXPECT_EQ(state_->flushed_offset(), LogOffset(3));
  Reopen();
  EXPECT_EQ(state_->checkpoint().log_offset, LogOffset(3));
}

TEST_F(KvStateTest, AStateWithoutRowsHasAnOffsetToo) {
  Write({});
  ASSERT_TRUE(Flush().ok());
  Reopen();
  EXPECT_EQ(state_->checkpoint().log_offset, LogOffset(1));
  HotRowRef row;
  EXPECT_EQ(state_->FindCommitted(AsBytes("a"), &row), HotLookup::kAbsent);
}

TEST_F(KvStateTest, ColdKeysAreLoadedAndStayWhileTheyAreHeld) {
  Write({{"a", "1"}, {"b", "2"}});
  FlushAndForget();
  HotRowRef row;
  EXPECT_EQ(state_->FindCommitted(AsBytes("a"), &row), HotLookup::kCold);
  const auto loaded = Load({"b", "x", "a"});
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(AsText((*loaded)[0].row()), "2");
  EXPECT_TRUE((*loaded)[1].is_tombstone());
  EXPECT_EQ(AsText((*loaded)[2].row()), "1");
  EXPECT_EQ(state_->FindCommitted(AsBytes("a"), &row), HotLookup::kRow);
  EXPECT_EQ(state_->FindCommitted(AsBytes("x"), &row), HotLookup::kAbsent);
}

TEST_F(KvStateTest, RowsAreReadByPrefixInPagesFromMapAndDisk) {
  WriteMany("order/", 50, "cold");
  WriteMany("other/", 5, "cold");
  FlushAndForget();
  Rows changes;
  for (size_t i = 0; i < 60; i += 3) changes["order/" + std::to_string(10'000 + i)] = "hot";
  for (size_t i = 1; i < 60; i += 5) changes["order/" + std::to_string(10'000 + i)] = "";
  Write(changes);
  Rows expected;
  for (const auto& [key, row] : rows_) {
    if (key.starts_with("order/")) expected[key] = row;
  }
  EXPECT_EQ(All("order/"), expected);
  EXPECT_EQ(All("order/", 7), expected);
  EXPECT_EQ(All("nothing"), Rows());
}

TEST_F(KvStateTest, AReadByPrefixGivesARowHoweverSmallTheBoundIs) {
  WriteMany("k", 3, "row");
  for (const bool is_cold : {false, true}) {
    if (is_cold) FlushAndForget();
    const auto rows = world_.Await(state_->ScanPrefix("k", std::nullopt, 100, 0));
    ASSERT_TRUE(rows.ok());
    EXPECT_EQ(rows->size(), 1u);
  }
}

TEST_F(KvStateTest, AScanSeesOneOffsetWhateverIsWrittenMeanwhile) {
  WriteMany("k", 100, "old");
  auto scan = world_.Await(state_->OpenScan());
  ASSERT_TRUE(scan.ok()) << scan.error().message;
  EXPECT_EQ((*scan)->log_offset(), LogOffset(1));
  WriteMany("k", 150, "new");
  ASSERT_TRUE(Flush().ok());
  const std::vector<std::string> values = ReadAll(**scan);
  EXPECT_EQ(values.size(), 100u);
  for (const std::string& value : values) EXPECT_EQ(value.substr(2), "old");
  Drop(*std::move(scan));
}

TEST_F(KvStateTest, AScanOfAnEmptyStateIsEmptyAndMakesNoFiles) {
  auto scan = world_.Await(state_->OpenScan());
  ASSERT_TRUE(scan.ok());
  EXPECT_TRUE(ReadAll(**scan).empty());
  EXPECT_FALSE(fs::exists(path("/db")));
  Drop(*std::move(scan));
}

TEST_F(KvStateTest, AScanMayOutliveItsState) {
  WriteMany("k", 100, "row");
  auto scan = world_.Await(state_->OpenScan());
  ASSERT_TRUE(scan.ok());
  world_.Close(std::move(state_));
  std::vector<std::string> values;
  const auto more = world_.Await((*scan)->Read(1000, 10, &values));
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(CodeOf(more), ErrorCode::kCancelled);
  Drop(*std::move(scan));
}

TEST_F(KvStateTest, TheFirstTableSurvivesCompactionsUnderAScan) {
  // RocksDB takes a snapshot with the number 0 for none, and drops rows with the number 0 below it.
  WriteMany("k", 300, "first");
  ASSERT_TRUE(Flush().ok());
  auto scan = world_.Await(state_->OpenScan());
  ASSERT_TRUE(scan.ok());
  for (int i = 0; i < 12; ++i) {
    Write({{"k", std::to_string(i)}, {"z", std::to_string(i)}});
    ASSERT_TRUE(Flush().ok());
  }
  EXPECT_EQ(ReadAll(**scan).size(), 300u);
  Drop(*std::move(scan));
  Reopen();
  EXPECT_EQ(All(), rows_);
}

TEST_F(KvStateTest, TimesAreKeptBesideTheValuesAndNotInThem) {
  auto state = world_.Open("timed", 0, true);
  const auto write = [&](const std::string& key, int64_t time) {
    state->StagePut(AsBytes(key), SchemaId(1), AsBytes("row of " + key), Timestamp(time));
    const LogOffset end(state->row_count() + 1);
    state->Seal(end, 1);
    state->OnCommitted(end);
  };
  world_.OnLoop([&] {
    write("a", 1000);
    write("b", 2000);
  });
  ASSERT_TRUE(world_.Await(state->Flush(0)).ok());
  world_.Close(std::move(state));
  state = world_.Open("timed", 0, true);
  world_.OnLoop([&] { write("c", 3000); });

  const std::string b = "b";
  const auto loaded = world_.Await(state->Load({AsBytes(b)}));
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(AsText((*loaded)[0].row()), "row of b");
  EXPECT_EQ((*loaded)[0].written_at(), Timestamp(2000));
  const auto rows = world_.Await(state->ScanPrefix("", std::nullopt, 10, 1000));
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*rows)[i].written_at(), Timestamp(1000 * (static_cast<int64_t>(i) + 1)));
    EXPECT_EQ(AsText((*rows)[i].row()), "row of " + std::string(AsText((*rows)[i].key())));
  }
  auto scan = world_.Await(state->OpenScan());
  ASSERT_TRUE(scan.ok()) << scan.error().message;
  const std::vector<std::string> values = ReadAll(**scan);
  ASSERT_EQ(values.size(), 3u);
  EXPECT_EQ(values[2].substr(2), "row of c");
  Drop(*std::move(scan));
  world_.Close(std::move(state));
}

TEST_F(KvStateTest, ASnapshotIsADatabaseWithTheRowsOfItsOffset) {
  WriteMany("k", 100, "row");
  Write({{"k10050", ""}});
  const std::string copy = world_.root() + "/copy";
  const auto made = world_.Await(state_->Snapshot(copy));
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->log_offset, LogOffset(2));
  EXPECT_EQ(made->row_count, 99);
  rocksdb::DB* opened = nullptr;
  ASSERT_TRUE(rocksdb::DB::OpenForReadOnly(rocksdb::Options(), copy, &opened).ok());
  const std::unique_ptr<rocksdb::DB> db(opened);
  const std::unique_ptr<rocksdb::Iterator> at(db->NewIterator(rocksdb::ReadOptions()));
  int64_t rows = 0;
  for (at->SeekToFirst(); at->Valid(); at->Next()) ++rows;
  EXPECT_EQ(rows, 99);
  EXPECT_FALSE(world_.Await(state_->Snapshot(copy)).ok());
}

TEST_F(KvStateTest, ASnapshotOfAnEmptyStateIsAnEmptyDatabase) {
  const auto made = world_.Await(state_->Snapshot(world_.root() + "/copy"));
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_TRUE(fs::exists(world_.root() + "/copy/CURRENT"));
}

TEST_F(KvStateTest, TheChangelogIsDurableBeforeTheDiskHasItsRows) {
  std::vector<LogOffset> durable;
  KvHooks hooks;
  hooks.make_durable = [&](LogOffset end) -> Task<Status> {
    durable.push_back(end);
    return [](bool has_tables) -> Task<Status> {
      if (has_tables) co_return Fail(ErrorCode::kInternal, "too late");
      co_return Fail(ErrorCode::kIo, "not durable");
    }(fs::exists(path("/STATE")));
  };
  world_.OnLoop([&] { state_->SetHooks(std::move(hooks)); });
  Write({{"a", "1"}});
  const Status flushed = Flush();
  ASSERT_FALSE(flushed.ok());
  EXPECT_EQ(flushed.error().message, "not durable");
  EXPECT_EQ(durable, std::vector{LogOffset(1)});
  EXPECT_FALSE(fs::exists(path("/STATE")));
  world_.OnLoop([&] { state_->SetHooks({}); });
}

TEST_F(KvStateTest, AfterAStopAllFails) {
  Write({{"a", "1"}});
  ASSERT_TRUE(Flush().ok());
  world_.Await(state_->Stop());
  EXPECT_EQ(CodeOf(Flush()), ErrorCode::kCancelled);
  EXPECT_EQ(CodeOf(Load({"a"})), ErrorCode::kCancelled);
  EXPECT_FALSE(world_.Await(state_->OpenScan()).ok());
}

TEST_F(KvStateTest, IsRemovedAsAWhole) {
  Write({{"a", "1"}});
  ASSERT_TRUE(Flush().ok());
  world_.Close(std::move(state_));
  ASSERT_TRUE(RemoveKvState(world_.files(), path()).ok());
  EXPECT_FALSE(fs::exists(path()));
  EXPECT_TRUE(RemoveKvState(world_.files(), path()).ok());
}

// --- Faults

TEST_F(KvStateTest, AFullDiskCostsNothingButTheFlush) {
  WriteMany("k", 100, "one");
  ASSERT_TRUE(Flush().ok());
  WriteMany("k", 100, "two");
  auto scan = world_.Await(state_->OpenScan());
  ASSERT_TRUE(scan.ok());
  WriteMany("k", 100, "three");
  for (size_t call = 0; call < 25; ++call) {
    world_.faults().FailFrom(call, ErrorCode::kNoSpace);
    const Status flushed = Flush();
    if (call == 0) {
      ASSERT_FALSE(flushed.ok());
      EXPECT_EQ(CodeOf(flushed), ErrorCode::kNoSpace) << flushed.error().message;
      EXPECT_EQ(state_->flushed_offset(), LogOffset(2));
    }
    EXPECT_EQ(All(), rows_);
    world_.faults().Heal();
    // A compaction that failed before and tells of it only now may cost one more flush.
    if (const Status late = Flush(); !late.ok()) {
      EXPECT_EQ(CodeOf(late), ErrorCode::kNoSpace) << late.error().message;
      const Status again = Flush();
      ASSERT_TRUE(again.ok()) << again.error().message;
    }
    WriteMany("k", 100, "more" + std::to_string(call));
  }
  EXPECT_EQ(All(), rows_);
  Drop(*std::move(scan));
  Reopen();
  EXPECT_EQ(All(), rows_);
}

TEST_F(KvStateTest, ADeathAtAnyCallOfAFlushLosesNothing) {
  WriteMany("k", 100, "start");
  size_t deaths = 0;
  for (size_t call = 0; call < 120; ++call) {
    WriteMany("k", 50 + call % 60, "row" + std::to_string(call));
    Write({{"k1000" + std::to_string(call % 10), ""}});
    world_.faults().FailFrom(call % 40, ErrorCode::kIo);
    if (!Flush().ok()) ++deaths;
    world_.Close(std::move(state_));
    world_.faults().Heal();
    state_ = world_.Open();
    Reopen();
    ASSERT_EQ(All(), rows_) << "call " << call;
    ASSERT_EQ(state_->row_count(), row_count());
  }
  EXPECT_GT(deaths, 20u);
}

TEST_F(KvStateTest, ADamagedFileStateIsTold) {
  Write({{"a", "1"}});
  ASSERT_TRUE(Flush().ok());
  world_.Close(std::move(state_));
  fs::resize_file(path("/STATE"), 20);
  const auto opened = world_.TryOpen();
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(CodeOf(opened), ErrorCode::kCorruptData);
  EXPECT_NE(opened.error().message.find("path="), std::string::npos);
}

TEST_F(KvStateTest, ALostDatabaseIsToldAndNotMadeAnew) {
  Write({{"a", "1"}});
  FlushAndForget();
  world_.Close(std::move(state_));
  fs::remove_all(path("/db"));
  state_ = world_.Open();
  EXPECT_EQ(CodeOf(Load({"a"})), ErrorCode::kCorruptData);
  Write({{"b", "1"}});
  EXPECT_EQ(CodeOf(Flush()), ErrorCode::kCorruptData);
}

TEST_F(KvStateTest, ADamagedTableIsToldAndNeverServed) {
  WriteMany("k", 1000, "a row that is long enough to fill some blocks");
  ASSERT_TRUE(Flush().ok());
  world_.Close(std::move(state_));
  for (const auto& entry : fs::directory_iterator(path("/db"))) {
    if (entry.path().extension() != ".sst") continue;
    std::fstream table(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    table.seekp(100);
    table << "damage";
  }
  state_ = world_.Open();
  EXPECT_EQ(CodeOf(Load({"k10000"})), ErrorCode::kCorruptData);
  const auto rows = world_.Await(state_->ScanPrefix("k", std::nullopt, 10, 1000));
  EXPECT_EQ(CodeOf(rows), ErrorCode::kCorruptData);
}

}  // namespace
}  // namespace weir
