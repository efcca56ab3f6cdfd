// Puts and lookups of one bucket, over a real group log and a state in memory.
#include <gtest/gtest.h>

#include "weir/bucket/bucket.h"
#include "weir/log/log_testing.h"
#include "weir/record/kv_batch.h"

namespace weir {
namespace {

constexpr Duration kLong = std::chrono::seconds(30);
const TableBucket kId = BucketId(5);

struct TableKind {
  /// Keyed by both columns, where v is the partition.
  bool is_partitioned = false;
  int64_t row_ttl_ms = 0;
  MergeEngine engine = MergeEngine::kNone;
};

/// A table of (k INT, v STRING), keyed by k.
std::shared_ptr<const BucketTable> KeyedTable(TableKind kind) {
  const std::vector<DataType> types = {DataType::Of(TypeKind::kInt).NotNull(),
                                       DataType::Of(TypeKind::kString)};
  auto rules = std::make_shared<MergeRules>();
  rules->columns = {Column{"k", types[0], 0, std::nullopt, std::nullopt},
                    Column{"v", types[1], 1, std::nullopt, std::nullopt}};
  rules->primary_key = {0};
  if (kind.is_partitioned) rules->primary_key.push_back(1);
  rules->engine = kind.engine;
  auto rows = std::make_shared<RowTable>(
      KvFormat::kCompacted, KeyCodec::Make(KeyEncoding::kCompacted, {types[0]}).value());
  rows->merge = rules;
  rows->codecs.emplace_back(KvFormat::kCompacted, types);
  rows->key_columns = {0};
  rows->row_ttl_ms = kind.row_ttl_ms;
  auto table = std::make_shared<BucketTable>();
  table->rows = rows;
  for (const DataType& type : types) table->columns.push_back(LayoutOf(type));
  table->columns_of_version = {2};
  return table;
}

std::string Key(int32_t k) {
  return std::string(1, static_cast<char>(k));
}
std::string Row(int32_t k, const std::string& v) {
  return std::string(1, '\0') + static_cast<char>(k) + static_cast<char>(v.size()) + v;
}
std::string Value(int32_t k, const std::string& v) {
  return std::string("\1\0", 2) + Row(k, v);
}

class NoNumbers final : public NumberSource {
 public:
  Task<Result<NumberRange>> Reserve(TableId, int64_t) override {
    co_return Fail(ErrorCode::kInternal, "no table of these tests has numbers");
  }
};

class BucketRowsTest : public testing::Test {
 protected:
  BucketRowsTest() {
    world_.Start();
    Open();
  }
  ~BucketRowsTest() override { Close(); }

  void Open(TableKind kind = {}) {
    auto state = KvState::Open(::testing::TempDir() + "weir_no_state", world_.files(), memory_,
                               world_.loop(), world_.pool(), kind.row_ttl_ms > 0);
    ASSERT_TRUE(state.ok());
    world_.OnLoop([&] {
      bucket_ = std::make_shared<Bucket>(kId, KeyedTable(kind), world_.log(), world_.loop(),
                                         *std::move(state), numbers_);
    });
  }
  /// As a crash leaves it: what is in memory is gone.
  void Close() {
    world_.OnLoop([&] { bucket_->Close(); });
    world_.Await(bucket_->Stop());
    world_.OnLoop([&] { bucket_.reset(); });
  }

  Result<LogOffset> Put(Buffer batch, PutMode mode = {}) {
    return world_.Await(bucket_->Put(std::move(batch), std::move(mode), Acks::kAll, now_, kLong));
  }
  Result<LogOffset> PutRow(int32_t k, const std::string& v, WriterId writer = kNoWriterId,
                           BatchSequence sequence = kNoBatchSequence) {
    KvBatchWriter batch;
    batch.Put(AsBytes(Key(k)), AsBytes(Row(k, v)));
    return Put(batch.Finish(SchemaId(1), writer, sequence));
  }
  Result<LogOffset> Delete(int32_t k) {
    KvBatchWriter batch;
    batch.Delete(AsBytes(Key(k)));
    return Put(batch.Finish(SchemaId(1)));
  }
  /// The stored value, or "absent".
  std::string Look(int32_t k) {
    const std::string key = Key(k);
    const Result<RowValues> found = world_.Await(bucket_->Lookup({AsBytes(key)}));
    if (!found.ok()) return found.error().message;
    return found->sizes[0] == RowValues::kAbsent ? "absent"
                                                 : std::string(AsText(found->bytes.bytes()));
  }
  int64_t rows() {
    return world_.OnLoop([&] { return bucket_->Count().value(); });
  }
  LogOffset end() {
    return world_.OnLoop([&] { return bucket_->high_watermark(); });
  }

  LogWorld world_;
  KvMemory memory_{KvMemoryConfig{.bytes_max = 64 << 20}, {&world_.loop()}};
  NoNumbers numbers_;
  std::shared_ptr<Bucket> bucket_;
  Timestamp now_{1000};
};

TEST_F(BucketRowsTest, APutIsTheCurrentRowAndItsChangelog) {
  EXPECT_EQ(*PutRow(1, "a"), LogOffset(1));
  EXPECT_EQ(*PutRow(1, "b"), LogOffset(3)) << "-U and +U";
  EXPECT_EQ(*PutRow(2, "c"), LogOffset(4));
  EXPECT_EQ(Look(1), Value(1, "b"));
  EXPECT_EQ(Look(3), "absent");
  EXPECT_EQ(rows(), 2);
  EXPECT_EQ(*Delete(1), LogOffset(5));
  EXPECT_EQ(Look(1), "absent");
  EXPECT_EQ(rows(), 1);
}

TEST_F(BucketRowsTest, APutThatChangesNothingTakesOneOffset) {
  EXPECT_EQ(*Delete(9), LogOffset(1));
  EXPECT_EQ(rows(), 0);
}

TEST_F(BucketRowsTest, ARepeatedPutIsAnsweredWithItsEndAndLandsOnce) {
  EXPECT_EQ(*PutRow(1, "a", WriterId(7), BatchSequence(0)), LogOffset(1));
  EXPECT_EQ(*PutRow(1, "b", WriterId(7), BatchSequence(1)), LogOffset(3));
  EXPECT_EQ(*PutRow(1, "a", WriterId(7), BatchSequence(0)), LogOffset(1));
  EXPECT_EQ(Look(1), Value(1, "b"));
  EXPECT_EQ(end(), LogOffset(3));
  EXPECT_EQ(PutRow(1, "c", WriterId(7), BatchSequence(5)).error().code,
            ErrorCode::kOutOfOrderSequence);
}

TEST_F(BucketRowsTest, APutThatFailsHalfWayLeavesNothing) {
  ASSERT_TRUE(PutRow(1, "a").ok());
  KvBatchWriter batch;
  batch.Put(AsBytes(Key(1)), AsBytes(Row(1, "b")));
  batch.Put(AsBytes(Key(2)), AsBytes(Row(3, "the row of another key")));
  EXPECT_EQ(Put(batch.Finish(SchemaId(1))).error().code, ErrorCode::kCorruptBatch);
  EXPECT_EQ(Look(1), Value(1, "a"));
  EXPECT_EQ(Look(2), "absent");
  EXPECT_EQ(end(), LogOffset(1));
  EXPECT_EQ(rows(), 1);
}

TEST_F(BucketRowsTest, RefusesWhatIsNoPutOfTheTable) {
  KvBatchWriter batch;
  batch.Put(AsBytes(Key(1)), AsBytes(Row(1, "a")));
  EXPECT_EQ(Put(batch.Finish(SchemaId(2))).error().code, ErrorCode::kSchemaNotFound);
  EXPECT_EQ(Put(Buffer()).error().code, ErrorCode::kCorruptBatch);
  batch.Put(AsBytes(Key(1)), AsBytes(Row(1, "a")));
  PutMode mode;
  mode.target_columns = {1};
  EXPECT_EQ(Put(batch.Finish(SchemaId(1)), mode).error().code, ErrorCode::kInvalidTargetColumn);
  const Result<LogOffset> records =
      world_.Await(bucket_->Append(Buffer::Allocate(1), Acks::kAll, Timestamp(1), kLong));
  EXPECT_EQ(records.error().code, ErrorCode::kInvalidTable);
  EXPECT_EQ(end(), LogOffset(0));
}

TEST_F(BucketRowsTest, ARestartMakesTheRowsOfTheChangelog) {
  for (int32_t k = 1; k <= 20; ++k) ASSERT_TRUE(PutRow(k, "old").ok());
  for (int32_t k = 1; k <= 10; ++k) ASSERT_TRUE(PutRow(k, "new").ok());
  for (int32_t k = 1; k <= 5; ++k) ASSERT_TRUE(Delete(k).ok());
  Close();
  Open();
  EXPECT_EQ(Look(7), "absent") << "nothing is there before the replay";
  const Result<int64_t> replayed = world_.Await(bucket_->Recover());
  EXPECT_EQ(*replayed, 20 + 2 * 10 + 5);
  EXPECT_EQ(rows(), 15);
  EXPECT_EQ(Look(3), "absent");
  EXPECT_EQ(Look(7), Value(7, "new"));
  EXPECT_EQ(Look(17), Value(17, "old"));
  EXPECT_EQ(*PutRow(17, "again"), LogOffset(47));
}

TEST_F(BucketRowsTest, ALookupMayMakeTheRow) {
  ASSERT_TRUE(PutRow(1, "a").ok());
  const std::string keys = Key(1) + Key(2);
  const auto found = world_.Await(bucket_->LookupOrInsert(
      {AsBytes(keys).first(1), AsBytes(keys).last(1)}, Acks::kAll, Timestamp(1), kLong));
  ASSERT_TRUE(found.ok());
  // Column v is null: the second bit of the first byte.
  const std::string made = std::string("\1\0\2", 3) + Key(2);
  EXPECT_EQ(AsText(found->bytes.bytes()), Value(1, "a") + made);
  EXPECT_EQ(rows(), 2);
  EXPECT_EQ(end(), LogOffset(2));
}

TEST_F(BucketRowsTest, NoLookupMakesRowsWhoseKeysDoNotTellThePartition) {
  Close();
  Open({.is_partitioned = true});
  const std::string key = Key(1);
  const auto refused =
      world_.Await(bucket_->LookupOrInsert({AsBytes(key)}, Acks::kAll, Timestamp(1), kLong));
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(end(), LogOffset(0));
}

TEST_F(BucketRowsTest, PrefixesAndFirstRowsAreInKeyOrder) {
  for (const int32_t k : {9, 3, 5}) ASSERT_TRUE(PutRow(k, "v").ok());
  ASSERT_TRUE(Delete(3).ok());
  const auto lists = world_.Await(bucket_->LookupPrefixes({Bytes(), AsBytes(Key(5))}));
  ASSERT_TRUE(lists.ok());
  EXPECT_EQ(AsText((*lists)[0].bytes.bytes()), Value(5, "v") + Value(9, "v"));
  EXPECT_EQ(AsText((*lists)[1].bytes.bytes()), Value(5, "v"));
  ValueBatchWriter first;
  first.Add(AsBytes(Value(5, "v")));
  EXPECT_EQ(AsText(world_.Await(bucket_->FirstRows(1))->bytes()), AsText(first.Finish().bytes()));
}

class ExpiryTest : public BucketRowsTest {
 protected:
  static constexpr int64_t kTtl = 8000;

  void OpenWithTtl(MergeEngine engine = MergeEngine::kNone) {
    Close();
    Open({.row_ttl_ms = kTtl, .engine = engine});
  }
  void PutAt(int64_t time, int32_t k, const std::string& v) {
    now_ = Timestamp(time);
    ASSERT_TRUE(PutRow(k, v).ok());
  }
  /// Maintains the bucket, and waits for the log's end that is expected then.
  void MaintainAt(int64_t time, int64_t end_expected) {
    world_.OnLoop([&] { bucket_->Maintain(Timestamp(time), 1'000'000, std::nullopt); });
    for (int i = 0; i < 1000 && end() < LogOffset(end_expected); ++i) {
      world_.Await(Nap(&world_.loop()));
    }
    EXPECT_EQ(end(), LogOffset(end_expected));
  }
  /// Gives a sweep that should do nothing the time to do it wrong.
  static Task<void> Nap(EventLoop* loop) { co_await loop->Sleep(std::chrono::milliseconds(5)); }
  void ExpectQuietAt(int64_t time) {
    const LogOffset before = end();
    world_.OnLoop([&] { bucket_->Maintain(Timestamp(time), 1'000'000, std::nullopt); });
    for (int i = 0; i < 10; ++i) world_.Await(Nap(&world_.loop()));
    EXPECT_EQ(end(), before);
  }
};

TEST_F(ExpiryTest, RowsGoWhenTheirLastWriteIsOldEnough) {
  OpenWithTtl();
  PutAt(1000, 1, "a");
  PutAt(1500, 2, "b");
  PutAt(2000, 1, "c");
  ExpectQuietAt(1500 + kTtl - 1);
  Close();
  Open({.row_ttl_ms = kTtl});
  ASSERT_TRUE(world_.Await(bucket_->Recover()).ok());
  MaintainAt(1500 + kTtl, 4 + 1);
  EXPECT_EQ(Look(1), Value(1, "c"));
  EXPECT_EQ(Look(2), "absent");
  EXPECT_EQ(rows(), 1);
  MaintainAt(2000 + 2 * kTtl, 4 + 2);
  EXPECT_EQ(rows(), 0);
}

TEST_F(ExpiryTest, TheMergeEngineIsNotAsked) {
  OpenWithTtl(MergeEngine::kFirstRow);
  PutAt(1000, 1, "a");
  PutAt(5000, 1, "b");
  EXPECT_EQ(Look(1), Value(1, "a"));
  // The second write took an offset and changed nothing, so it does not keep the row.
  MaintainAt(1000 + kTtl, 3);
  EXPECT_EQ(Look(1), "absent");
  PutAt(9500, 1, "c");
  EXPECT_EQ(Look(1), Value(1, "c"));
}

TEST_F(ExpiryTest, ARowThatIsWrittenWhileItWouldBeDeletedStays) {
  OpenWithTtl();
  for (int32_t k = 1; k <= 100; ++k) PutAt(1000, k, "a");
  KvBatchWriter batch;
  for (int32_t k = 1; k <= 50; ++k) batch.Put(AsBytes(Key(k)), AsBytes(Row(k, "b")));
  const auto put = [](Bucket* bucket, Buffer batch) -> Task<void> {
    const Result<LogOffset> end =
        co_await bucket->Put(std::move(batch), PutMode(), Acks::kAll, Timestamp(9000), kLong);
    EXPECT_TRUE(end.ok());
  };
  // The put has its turn before the sweep, and is not in the rows that the sweep has seen.
  world_.OnLoop([&] {
    Spawn(put(bucket_.get(), batch.Finish(SchemaId(1))));
    bucket_->Maintain(Timestamp(1000 + kTtl), 1'000'000, std::nullopt);
  });
  MaintainAt(1000 + kTtl, 100 + 100 + 50);
  EXPECT_EQ(rows(), 50);
  EXPECT_EQ(Look(50), Value(50, "b"));
  EXPECT_EQ(Look(51), "absent");
}

TEST_F(ExpiryTest, ADropInTheMiddleOfASweepEndsIt) {
  OpenWithTtl();
  for (int32_t k = 1; k <= 100; ++k) PutAt(1000, k, "a");
  world_.OnLoop([&] {
    bucket_->Maintain(Timestamp(1000 + kTtl), 1'000'000, std::nullopt);
    bucket_->Close();
  });
}

/// Puts many rows, and does something in the middle of that.
class LongPutTest : public BucketRowsTest {
 protected:
  static constexpr int32_t kRows = 100;
  static constexpr int kTimes = 100;

  /// The same rows over and over, so that merging them takes many turns of the loop.
  static Buffer LongBatch() {
    KvBatchWriter batch;
    for (int i = 0; i < kTimes; ++i) {
      for (int32_t k = 1; k <= kRows; ++k) {
        batch.Put(AsBytes(Key(k)), AsBytes(Row(k, "long" + std::to_string(i))));
      }
    }
    return batch.Finish(SchemaId(1));
  }
  static constexpr int64_t kChanges = kRows + int64_t{kRows} * (kTimes - 1) * 2;

  Result<LogOffset> LongPut(const std::function<void()>& meanwhile) {
    return world_.Await(PutAnd(this, &meanwhile));
  }

 private:
  static Task<Result<LogOffset>> PutAnd(LongPutTest* test, const std::function<void()>* meanwhile) {
    std::optional<Result<LogOffset>> end;
    TaskScope scope;
    scope.Spawn(Keep(test, &end));
    // The first turns read what is there, the others merge.
    for (int i = 0; i < 20; ++i) co_await test->world_.loop().NextTurn();
    EXPECT_FALSE(end.has_value());
    (*meanwhile)();
    co_await scope.Join();
    co_return *std::move(end);
  }
  static Task<void> Keep(LongPutTest* test, std::optional<Result<LogOffset>>* end) {
    *end = co_await test->bucket_->Put(LongBatch(), PutMode(), Acks::kAll, Timestamp(1000), kLong);
  }
};

TEST_F(LongPutTest, OthersReadWhatIsCommittedInTheMiddleOfIt) {
  ASSERT_TRUE(PutRow(1, "a").ok());
  std::string seen = "nothing";
  const std::string key = Key(1);
  const auto look = [](Bucket* bucket, Bytes key, std::string* seen) -> Task<void> {
    std::vector<Bytes> keys(1, key);
    const Result<RowValues> found = co_await bucket->Lookup(std::move(keys));
    *seen = found.ok() ? AsText(found->bytes.bytes()) : found.error().message;
  };
  const Result<LogOffset> end = LongPut([&] {
    Spawn(look(bucket_.get(), AsBytes(key), &seen));
    EXPECT_EQ(seen, Value(1, "a")) << "at once: it is in memory";
  });
  EXPECT_EQ(*end, LogOffset(1 + kChanges + 1)) << "the first row was there, so -U and +U";
  EXPECT_EQ(Look(1), Value(1, "long99"));
  EXPECT_EQ(rows(), kRows);
}

TEST_F(LongPutTest, PutsThatComeMeanwhileTakeEffectInTheirOrder) {
  std::vector<std::string> done;
  const auto put = [](Bucket* bucket, std::string v, Buffer batch,
                      std::vector<std::string>* done) -> Task<void> {
    const Result<LogOffset> end =
        co_await bucket->Put(std::move(batch), PutMode(), Acks::kAll, Timestamp(1000), kLong);
    EXPECT_TRUE(end.ok());
    done->push_back(v);
  };
  ASSERT_TRUE(LongPut([&] {
                for (const char* v : {"b", "c", "d"}) {
                  KvBatchWriter batch;
                  batch.Put(AsBytes(Key(1)), AsBytes(Row(1, v)));
                  Spawn(put(bucket_.get(), v, batch.Finish(SchemaId(1)), &done));
                }
              }).ok());
  // The last of them may be on its way still.
  EXPECT_EQ(*PutRow(2, "e"), LogOffset(kChanges + 3 * 2 + 2));
  EXPECT_EQ(done, (std::vector<std::string>{"b", "c", "d"}));
  EXPECT_EQ(Look(1), Value(1, "d"));
}

TEST_F(LongPutTest, ADropInTheMiddleOfItLeavesNothing) {
  const Result<LogOffset> end = LongPut([&] { bucket_->Close(); });
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().code, ErrorCode::kUnknownBucket);
}

TEST_F(LongPutTest, ALossInTheMiddleOfItEndsItToo) {
  ASSERT_TRUE(PutRow(1, "a").ok());
  // As the log tells it when a write before this one has failed.
  const Result<LogOffset> end = LongPut(
      [&] { bucket_->OnLost(LogOffset(1), Fail(ErrorCode::kNoSpace, "the disk is full")); });
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().code, ErrorCode::kNoSpace);
  EXPECT_EQ(Look(1), Value(1, "a"));
  EXPECT_EQ(Look(2), "absent");
  EXPECT_EQ(rows(), 1);
  EXPECT_EQ(*PutRow(2, "b"), LogOffset(2)) << "and the next put is as if it had never been";
}

TEST_F(BucketRowsTest, WhoWaitsHearsThatTheBucketWasDropped) {
  ASSERT_TRUE(PutRow(1, "a").ok());
  world_.OnLoop([&] { bucket_->Close(); });
  EXPECT_EQ(PutRow(1, "b").error().code, ErrorCode::kUnknownBucket);
}

}  // namespace
}  // namespace weir
