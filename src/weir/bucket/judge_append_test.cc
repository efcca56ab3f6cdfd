#include "weir/bucket/judge_append.h"

#include <limits>

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr int32_t kLast = std::numeric_limits<int32_t>::max();

LogBatchHeader Batch(int64_t writer, int32_t sequence) {
  LogBatchHeader header;
  header.writer_id = WriterId(writer);
  header.batch_sequence = BatchSequence(sequence);
  return header;
}

/// A writer 7 with the batches 3 (at offset 80) and 4 (at offset 90).
WriterTable WriterSeven() {
  WriterTable writers;
  writers.Record(WriterId(7), {BatchSequence(3), LogOffset(80), LogOffset(90)}, Timestamp(1));
  writers.Record(WriterId(7), {BatchSequence(4), LogOffset(90), LogOffset(95)}, Timestamp(2));
  return writers;
}

bool IsNew(const Result<std::optional<OffsetRange>>& verdict) {
  return verdict.ok() && !verdict->has_value();
}

TEST(JudgeAppend, TakesTheNextBatchOfAWriter) {
  EXPECT_TRUE(IsNew(JudgeAppend(WriterSeven(), {Batch(7, 5)})));
}

TEST(JudgeAppend, AnswersARepeatedBatchWithItsOffsets) {
  const auto verdict = JudgeAppend(WriterSeven(), {Batch(7, 3)});
  ASSERT_TRUE(verdict.ok());
  EXPECT_EQ(*verdict, (OffsetRange{LogOffset(80), LogOffset(90)}));
}

TEST(JudgeAppend, RefusesAGapAndAnOldBatch) {
  EXPECT_EQ(JudgeAppend(WriterSeven(), {Batch(7, 6)}).error().code, ErrorCode::kOutOfOrderSequence);
  EXPECT_EQ(JudgeAppend(WriterSeven(), {Batch(7, 2)}).error().code, ErrorCode::kOutOfOrderSequence);
  EXPECT_EQ(JudgeAppend(WriterSeven(), {Batch(7, -1)}).error().code,
            ErrorCode::kOutOfOrderSequence);
}

TEST(JudgeAppend, AnUnknownWriterBeginsAtZero) {
  EXPECT_TRUE(IsNew(JudgeAppend(WriterTable(), {Batch(1, 0)})));
  EXPECT_EQ(JudgeAppend(WriterTable(), {Batch(1, 1)}).error().code, ErrorCode::kOutOfOrderSequence);
}

TEST(JudgeAppend, SequencesGoRoundAfterTheLargest) {
  WriterTable writers;
  writers.Record(WriterId(1), {BatchSequence(kLast), LogOffset(0), LogOffset(1)}, Timestamp(1));
  EXPECT_TRUE(IsNew(JudgeAppend(writers, {Batch(1, 0)})));
  EXPECT_EQ(JudgeAppend(writers, {Batch(1, 1)}).error().code, ErrorCode::kOutOfOrderSequence);
}

TEST(JudgeAppend, TakesBatchesWithoutAWriterAsTheyCome) {
  EXPECT_TRUE(IsNew(JudgeAppend(WriterSeven(), {Batch(-1, -1), Batch(-1, -1)})));
}

TEST(JudgeAppend, CountsOnWithinOneAppend) {
  EXPECT_TRUE(
      IsNew(JudgeAppend(WriterSeven(), {Batch(7, 5), Batch(7, 6), Batch(8, 0), Batch(8, 1)})));
  EXPECT_EQ(JudgeAppend(WriterSeven(), {Batch(7, 5), Batch(7, 7)}).error().code,
            ErrorCode::kOutOfOrderSequence);
}

TEST(JudgeAppend, RefusesAnAppendThatIsPartlyKnown) {
  const auto both_known = JudgeAppend(WriterSeven(), {Batch(7, 3), Batch(7, 4)});
  ASSERT_TRUE(both_known.ok());
  EXPECT_EQ(*both_known, (OffsetRange{LogOffset(80), LogOffset(95)}));
  EXPECT_EQ(JudgeAppend(WriterSeven(), {Batch(7, 4), Batch(7, 5)}).error().code,
            ErrorCode::kOutOfOrderSequence);
  EXPECT_EQ(JudgeAppend(WriterSeven(), {Batch(7, 5), Batch(7, 4)}).error().code,
            ErrorCode::kOutOfOrderSequence);
}

}  // namespace
}  // namespace weir
