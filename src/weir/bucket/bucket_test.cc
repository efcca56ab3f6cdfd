#include "weir/bucket/bucket.h"

#include <numeric>

#include <gtest/gtest.h>

#include "weir/log/log_testing.h"
#include "weir/record/arrow_writer.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

constexpr Duration kLong = std::chrono::seconds(30);
const TableBucket kId = BucketId(5);

Buffer ArrowBatch(int64_t first, size_t rows, WriterId writer = kNoWriterId,
                  BatchSequence sequence = kNoBatchSequence, SchemaId schema = SchemaId(1)) {
  std::vector<int64_t> values(rows);
  std::iota(values.begin(), values.end(), first);
  const std::vector<std::string_view> texts(rows, "text");
  ArrowBatchWriter batch(ArrowCompression{ArrowCodec::kNone, 3});
  batch.AddNumbers(values);
  batch.AddStrings(texts);
  return batch.Finish(schema, writer, sequence);
}

/// A table of (BIGINT, STRING).
std::shared_ptr<BucketTable> ArrowTable() {
  auto table = std::make_shared<BucketTable>();
  table->columns = {ColumnLayout{{{LayoutNode::Kind::kFixed, 8, 0}}},
                    ColumnLayout{{{LayoutNode::Kind::kVariable, 0, 0}}}};
  table->columns_of_version = {2};
  const int32_t all[] = {0, 1};
  table->whole_batches.push_back(Projection::Make(all, table->columns, 2).value());
  return table;
}

class BucketTest : public testing::Test {
 protected:
  BucketTest() {
    world_.Start();
    Make(ArrowTable());
  }
  ~BucketTest() override {
    world_.OnLoop([&] { bucket_.reset(); });
  }

  void Make(std::shared_ptr<const BucketTable> table) {
    world_.OnLoop([&] {
      bucket_.reset();
      bucket_ = std::make_unique<weir::Bucket>(kId, std::move(table), world_.log(), world_.loop());
    });
  }

  Result<LogOffset> Append(Buffer batches, Acks acks = Acks::kAll, Duration timeout = kLong) {
    return world_.Await(bucket_->Append(std::move(batches), acks, Timestamp(1000), timeout));
  }
  Result<BucketRead> Read(int64_t from, std::optional<ProjectedColumns> columns = std::nullopt) {
    return world_.Await(bucket_->Read(LogOffset(from), 1 << 20, std::move(columns)));
  }

  LogWorld world_;
  std::unique_ptr<weir::Bucket> bucket_;
};

TEST_F(BucketTest, AnAcknowledgedAppendIsBelowTheHighWatermark) {
  EXPECT_EQ(*Append(ArrowBatch(0, 3)), LogOffset(0));
  EXPECT_EQ(*Append(ArrowBatch(3, 2)), LogOffset(3));
  EXPECT_EQ(bucket_->high_watermark(), LogOffset(5));
  const auto read = Read(0);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->records.next, LogOffset(5));
  EXPECT_EQ(HeadersOf(AsBytes(TextOf(read->records))).size(), 2u);
}

TEST_F(BucketTest, ARepeatedBatchIsAnsweredWithItsFirstOffsetAndNotAppended) {
  EXPECT_EQ(*Append(ArrowBatch(0, 3, WriterId(1), BatchSequence(0))), LogOffset(0));
  EXPECT_EQ(*Append(ArrowBatch(3, 3, WriterId(1), BatchSequence(1))), LogOffset(3));
  EXPECT_EQ(*Append(ArrowBatch(0, 3, WriterId(1), BatchSequence(0))), LogOffset(0));
  EXPECT_EQ(bucket_->high_watermark(), LogOffset(6));
  EXPECT_EQ(Append(ArrowBatch(9, 1, WriterId(1), BatchSequence(7))).error().code,
            ErrorCode::kOutOfOrderSequence);
}

TEST_F(BucketTest, RefusesWhatIsNoBatchOfTheTableAndChangesNothing) {
  Buffer damaged = ArrowBatch(0, 3);
  damaged.mutable_data()[damaged.size() - 1] ^= std::byte{1};
  EXPECT_EQ(Append(std::move(damaged)).error().code, ErrorCode::kCorruptBatch);
  Buffer whole = ArrowBatch(0, 3);
  EXPECT_EQ(Append(whole.Slice(0, whole.size() - 1)).error().code, ErrorCode::kCorruptBatch);
  EXPECT_EQ(Append(ArrowBatch(0, 3, kNoWriterId, kNoBatchSequence, SchemaId(2))).error().code,
            ErrorCode::kSchemaNotFound);
  EXPECT_EQ(Append(ArrowBatch(0, 3, kNoWriterId, kNoBatchSequence, SchemaId(0))).error().code,
            ErrorCode::kSchemaNotFound);
  // Its checksum is right, but there is no Arrow message of this schema in it.
  EXPECT_EQ(Append(MakeBatch(3, 400, 1)).error().code, ErrorCode::kCorruptBatch);
  EXPECT_EQ(*Append(Buffer()), kNoOffset);
  EXPECT_EQ(bucket_->high_watermark(), LogOffset(0));
}

TEST_F(BucketTest, ReadsOnlyWithinTheLog) {
  ASSERT_TRUE(Append(ArrowBatch(0, 3)).ok());
  EXPECT_EQ(Read(4).error().code, ErrorCode::kOffsetOutOfRange);
  EXPECT_EQ(Read(-1).error().code, ErrorCode::kOffsetOutOfRange);
  EXPECT_EQ(Read(3)->records.bytes, 0u);
  EXPECT_EQ(Read(-2)->records.next, LogOffset(3));
}

TEST_F(BucketTest, CutsColumnsOut) {
  ASSERT_TRUE(Append(ArrowBatch(0, 1000)).ok());
  const auto narrow = Read(0, ProjectedColumns{0});
  ASSERT_TRUE(narrow.ok());
  EXPECT_EQ(narrow->records.next, LogOffset(1000));
  EXPECT_LT(narrow->records.bytes, Read(0)->records.bytes - 4000);
  EXPECT_EQ(Read(0, ProjectedColumns{2}).error().code, ErrorCode::kInvalidProjection);
  EXPECT_EQ(Read(1000, ProjectedColumns{1, 0}).error().code, ErrorCode::kInvalidProjection);
}

TEST_F(BucketTest, CutsNoColumnsOutOfOtherFormats) {
  auto table = ArrowTable();
  table->is_arrow_log = false;
  Make(table);
  ASSERT_TRUE(Append(MakeBatch(3, 50, 1)).ok());
  EXPECT_EQ(Read(0, ProjectedColumns{0}).error().code, ErrorCode::kInvalidProjection);
  EXPECT_EQ(Read(0)->records.next, LogOffset(3));
}

TEST_F(BucketTest, WakesWhoWaitsForMoreAndNobodyElse) {
  int woken = 0, forgotten = 0;
  const auto wake = std::make_shared<std::function<void()>>([&] { ++woken; });
  world_.OnLoop([&] {
    const auto gone = std::make_shared<std::function<void()>>([&] { ++forgotten; });
    bucket_->NotifyAbove(LogOffset(0), wake);
    bucket_->NotifyAbove(LogOffset(0), gone);
  });
  EXPECT_EQ(woken, 0);
  ASSERT_TRUE(Append(ArrowBatch(0, 1)).ok());
  EXPECT_EQ(woken, 1);
  ASSERT_TRUE(Append(ArrowBatch(1, 1)).ok());
  EXPECT_EQ(woken, 1);
  world_.OnLoop([&] { bucket_->NotifyAbove(LogOffset(0), wake); });
  EXPECT_EQ(woken, 2);
  EXPECT_EQ(forgotten, 0);
}

TEST_F(BucketTest, NothingIsVisibleBeforeItIsDurable) {
  world_.files().SetJudge([](FaultFileSystem::Call call,
                             const std::string& path) -> std::optional<FaultFileSystem::Fault> {
    if (call == FaultFileSystem::Call::kSync && path.ends_with(".journal"))
      return FaultFileSystem::Fault{};
    return std::nullopt;
  });
  EXPECT_EQ(Append(ArrowBatch(0, 1), Acks::kAll).error().code, ErrorCode::kIo);
  EXPECT_EQ(bucket_->high_watermark(), LogOffset(0));
  EXPECT_EQ(Read(0)->records.bytes, 0u);
  // From here on the table is read-only, and says why.
  EXPECT_EQ(Append(ArrowBatch(0, 1), Acks::kLeader).error().code, ErrorCode::kIo);
}

TEST_F(BucketTest, WhoWaitsIsToldWhenTheBucketIsDropped) {
  struct Drop {
    static Task<void> Run(std::unique_ptr<weir::Bucket>* bucket, LogWorld* world,
                          std::optional<Result<LogOffset>>* answer) {
      TaskScope scope;
      scope.Spawn(Wait(bucket->get(), answer));
      bucket->reset();
      world->log().DropBucket(kId);
      co_await scope.Join();
    }
    static Task<void> Wait(weir::Bucket* bucket, std::optional<Result<LogOffset>>* answer) {
      answer->emplace(co_await bucket->Append(ArrowBatch(0, 1), Acks::kAll, Timestamp(1), kLong));
    }
  };
  std::optional<Result<LogOffset>> answer;
  world_.Await(Drop::Run(&bucket_, &world_, &answer));
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->error().code, ErrorCode::kUnknownBucket);
}

TEST_F(BucketTest, FindsOffsetsByTimeAndRefusesTheFuture) {
  ASSERT_TRUE(Append(ArrowBatch(0, 3)).ok());
  EXPECT_EQ(*world_.Await(bucket_->OffsetAt(Timestamp(1000), Timestamp(5000))), LogOffset(0));
  EXPECT_EQ(*world_.Await(bucket_->OffsetAt(Timestamp(1001), Timestamp(5000))), LogOffset(3));
  EXPECT_EQ(world_.Await(bucket_->OffsetAt(Timestamp(5001), Timestamp(5000))).error().code,
            ErrorCode::kInvalidTimestamp);
}

}  // namespace
}  // namespace weir
