#include "weir/load/rows.h"

#include <gtest/gtest.h>

#include "weir/base/bytes.h"
#include "weir/record/log_batch.h"

namespace weir::load {
namespace {

TEST(ReadyBatch, IsAnotherSoundBatchEachTime) {
  auto batches = MakeBatches(10, 100, "zstd");
  ASSERT_TRUE(batches.ok());
  EXPECT_EQ(batches->size(), 200u);
  ReadyBatch& batch = batches->front();
  for (int32_t sequence = 0; sequence < 2; ++sequence) {
    const std::string_view records = batch.Address(WriterId(9), BatchSequence(sequence));
    const auto header = DecodeLogBatchHeader(AsBytes(records));
    ASSERT_TRUE(header.ok());
    EXPECT_TRUE(CheckLogBatchCrc(AsBytes(records), *header).ok());
    EXPECT_EQ(header->writer_id, WriterId(9));
    EXPECT_EQ(header->batch_sequence, BatchSequence(sequence));
    EXPECT_EQ(header->record_count, 100);
  }
}

TEST(MakeBatches, MakesTheSameRowsInEveryRun) {
  auto one = MakeBatches(50, 100, "none");
  auto other = MakeBatches(50, 100, "none");
  ASSERT_TRUE(one.ok() && other.ok());
  const auto bytes = [](auto& batches) {
    return std::string(batches->back().Address(WriterId(0), BatchSequence(0)));
  };
  EXPECT_EQ(bytes(one), bytes(other));
}

TEST(MakeBatches, RefusesACompressionItDoesNotKnow) {
  EXPECT_FALSE(MakeBatches(10, 100, "zip").ok());
}

}  // namespace
}  // namespace weir::load
