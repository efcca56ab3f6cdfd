#include "weir/log/writer_table.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

AppendedBatch BatchOf(int32_t sequence, int64_t base, int64_t end) {
  return {BatchSequence(sequence), LogOffset(base), LogOffset(end)};
}

std::string Encoded(const WriterTable& table) {
  std::string bytes;
  table.EncodeTo(bytes);
  return bytes;
}

TEST(WriterTable, RemembersTheLastTenBatchesOfAWriter) {
  WriterTable table;
  for (int i = 0; i < 15; ++i) table.Record(WriterId(1), BatchOf(i, i, i + 1), Timestamp(i));
  const WriterState& state = *table.Find(WriterId(1));
  ASSERT_EQ(state.recent.size(), WriterTable::kRecentBatches);
  EXPECT_EQ(state.recent.front().sequence, BatchSequence(5));
  EXPECT_EQ(state.recent.back().sequence, BatchSequence(14));
  EXPECT_EQ(state.last_time, Timestamp(14));
  EXPECT_EQ(table.Find(WriterId(2)), nullptr);
}

TEST(WriterTable, ABatchThatIsReplayedChangesNothing) {
  WriterTable table;
  table.Record(WriterId(1), BatchOf(0, 0, 5), Timestamp(1));
  table.Record(WriterId(1), BatchOf(1, 5, 9), Timestamp(2));
  table.Record(WriterId(1), BatchOf(0, 0, 5), Timestamp(1));
  table.Record(WriterId(1), BatchOf(1, 5, 9), Timestamp(1));
  EXPECT_EQ(table.Find(WriterId(1))->recent.size(), 2u);
  EXPECT_EQ(table.Find(WriterId(1))->last_time, Timestamp(2));
}

TEST(WriterTable, ForgetsWhatDidNotBecomePartOfTheLog) {
  WriterTable table;
  table.Record(WriterId(1), BatchOf(0, 0, 5), Timestamp(1));
  table.Record(WriterId(1), BatchOf(1, 5, 9), Timestamp(1));
  table.Record(WriterId(2), BatchOf(0, 9, 12), Timestamp(1));
  table.ForgetFrom(LogOffset(5));
  EXPECT_EQ(table.Find(WriterId(1))->recent.back().sequence, BatchSequence(0));
  EXPECT_EQ(table.Find(WriterId(2)), nullptr);
}

TEST(WriterTable, ForgetsWritersThatAreSilentForTooLong) {
  WriterTable table;
  table.Record(WriterId(1), BatchOf(0, 0, 5), Timestamp(1000));
  table.Record(WriterId(2), BatchOf(0, 5, 6), Timestamp(2000));
  table.ForgetIdle(Timestamp(3000), 1000);
  EXPECT_EQ(table.Find(WriterId(1)), nullptr);
  EXPECT_NE(table.Find(WriterId(2)), nullptr);
}

TEST(WriterTable, IsBoundedAndForgetsTheSilentestButNeverTheNewest) {
  WriterTable table;
  const auto count = static_cast<int>(WriterTable::kWritersMax);
  // The newest has the oldest time: a clock that went back, or a replay.
  for (int i = 0; i < count + 10; ++i) {
    table.Record(WriterId(i), BatchOf(0, i, i + 1), Timestamp(100'000 - i));
    ASSERT_NE(table.Find(WriterId(i)), nullptr);
  }
  EXPECT_EQ(table.size(), WriterTable::kWritersMax);
  EXPECT_NE(table.Find(WriterId(0)), nullptr);
}

TEST(WriterTable, ComesBackAsItWas) {
  WriterTable table;
  for (int i = 0; i < 50; ++i) {
    table.Record(WriterId(i % 7), BatchOf(i, 10 * i, 10 * i + 3), Timestamp(i));
  }
  table.Record(WriterId(-5), BatchOf(-1, 1000, 1001), kNoTimestamp);
  const std::string bytes = Encoded(table) + "rest";
  Bytes rest = AsBytes(bytes);
  const WriterTable again = WriterTable::DecodeFrom(rest).value();
  EXPECT_EQ(AsText(rest), "rest");
  EXPECT_EQ(Encoded(again), Encoded(table));
  EXPECT_EQ(again.Find(WriterId(3))->recent.size(), table.Find(WriterId(3))->recent.size());
  EXPECT_EQ(again.Find(WriterId(-5))->last_time, kNoTimestamp);
}

TEST(WriterTable, WhatIsCutShortIsRefused) {
  WriterTable table;
  for (int i = 0; i < 5; ++i) table.Record(WriterId(i), BatchOf(i, i, i + 1), Timestamp(i));
  const std::string bytes = Encoded(table);
  for (size_t size = 0; size < bytes.size(); ++size) {
    Bytes part = AsBytes(bytes).first(size);
    EXPECT_EQ(WriterTable::DecodeFrom(part).error().code, ErrorCode::kCorruptData);
  }
}

TEST(WriterTable, OffsetsThatWouldOverflowAreRefused) {
  std::string bytes;
  bytes += '\x01';                          // one writer
  bytes += std::string("\x01\x01\x01", 3);  // id, time, one batch
  bytes += '\x00';
  bytes += "\xff\xff\xff\xff\xff\xff\xff\xff\x7f";  // base: the largest offset
  bytes += '\x01';                                  // and one record more
  Bytes rest = AsBytes(bytes);
  EXPECT_FALSE(WriterTable::DecodeFrom(rest).ok());
}

}  // namespace
}  // namespace weir
