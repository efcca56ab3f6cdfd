#include "weir/load/keyed_rows.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "weir/record/kv_batch.h"
#include "weir/record/table_descriptor.h"

namespace weir::load {
namespace {

std::string ValueOf(KeyedRows& rows, int64_t number, int64_t version) {
  std::string value = {1, 0};  // the schema
  rows.AddRow(number, version, value);
  return value;
}

TEST(KeyedRows, AreKnownByTheirValues) {
  KeyedRows rows(KeyShape::kNumber, 1000);
  const std::string value = ValueOf(rows, 77, 3);
  EXPECT_GT(value.size(), 963u);
  EXPECT_EQ(rows.NumberOf(AsBytes(value)).value(), 77);
  for (size_t i = 0; i < value.size(); ++i) {
    std::string changed = value;
    changed[i] ^= 1;
    EXPECT_FALSE(rows.NumberOf(AsBytes(changed)).ok()) << i;
  }
  EXPECT_FALSE(rows.NumberOf({}).ok());
}

TEST(KeyedRows, HaveATableThatFitsThem) {
  for (const KeyShape shape : {KeyShape::kNumber, KeyShape::kGroupAndNumber}) {
    const auto table = DecodeTableDescriptor(KeyedRows(shape, 100).TableJson(3, "zstd", "os"));
    ASSERT_TRUE(table.ok());
    EXPECT_EQ(table->bucket_count, 3);
    EXPECT_EQ(table->schema->columns.size(), 10u);
    EXPECT_EQ(table->schema->primary_key.size(), shape == KeyShape::kNumber ? 1u : 2u);
    EXPECT_EQ(table->bucket_key.size(), 1u);
    EXPECT_EQ(table->bucket_key[0], table->schema->primary_key[0]);
  }
}

TEST(KeyedRows, OfAGroupShareThePrefixOfTheirKeysAndTheirBucket) {
  KeyedRows rows(KeyShape::kGroupAndNumber, 100);
  std::string prefix;
  rows.AddPrefix(12, prefix);
  for (int64_t number = 120; number < 130; ++number) {
    std::string key;
    rows.AddKey(number, key);
    EXPECT_TRUE(key.starts_with(prefix));
    EXPECT_EQ(rows.BucketOf(number, 7), rows.BucketOfGroup(12, 7));
  }
}

TEST(MakeKvBatches, PutsEachRowIntoABatchOfItsBucket) {
  constexpr int kBuckets = 3;
  KeyedRows rows(KeyShape::kNumber, 100);
  std::vector<RowVersion> versions;
  for (int64_t number = 0; number < 1000; ++number) versions.push_back({number, 0});
  auto batches = MakeKvBatches(rows, versions, kBuckets, 5, 100);
  ASSERT_EQ(batches.size(), 5u);
  std::vector<bool> seen(versions.size());
  for (size_t writer = 0; writer < batches.size(); ++writer) {
    EXPECT_FALSE(batches[writer].empty());
    for (ReadyBatch& batch : batches[writer]) {
      const auto view = DecodeKvBatch(AsBytes(batch.Address(WriterId(1), BatchSequence(0))));
      ASSERT_TRUE(view.ok());
      EXPECT_EQ(view->header.record_count, batch.row_count());
      EXPECT_LE(batch.row_count(), 100);
      for (const KvRecord& record : view->records) {
        std::string value = {1, 0};
        value += AsText(*record.row);
        const int64_t number = rows.NumberOf(AsBytes(value)).value();
        EXPECT_EQ(rows.BucketOf(number, kBuckets), static_cast<int32_t>(writer % kBuckets));
        std::string key;
        rows.AddKey(number, key);
        EXPECT_EQ(AsText(record.key), key);
        EXPECT_FALSE(seen[static_cast<size_t>(number)]);
        seen[static_cast<size_t>(number)] = true;
      }
    }
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), false), 0);
}

TEST(MakeKvBatches, FillsBatchesAsClientsDo) {
  KeyedRows rows(KeyShape::kNumber, 1000);
  const std::vector<RowVersion> versions(3000);
  auto batches = MakeKvBatches(rows, versions, 1, 1, 0);
  ASSERT_EQ(batches[0].size(), 2u);
  EXPECT_LE(batches[0][0].size(), size_t{2} << 20);
  EXPECT_GT(batches[0][0].size(), (size_t{2} << 20) - 2000);
}

TEST(ReadyBatch, OfRowsIsAnotherSoundBatchEachTime) {
  KeyedRows rows(KeyShape::kNumber, 100);
  auto batches = MakeKvBatches(rows, {{1, 0}, {2, 0}}, 1, 1, 0);
  ReadyBatch& batch = batches[0][0];
  for (int32_t sequence = 0; sequence < 2; ++sequence) {
    const auto view = DecodeKvBatch(AsBytes(batch.Address(WriterId(9), BatchSequence(sequence))));
    ASSERT_TRUE(view.ok());
    EXPECT_EQ(view->header.writer_id, WriterId(9));
    EXPECT_EQ(view->header.batch_sequence, BatchSequence(sequence));
  }
}

}  // namespace
}  // namespace weir::load
