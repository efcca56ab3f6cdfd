#include "weir/log/piece_builder.h"

#include <gtest/gtest.h>

#include "weir/log/log_testing.h"

namespace weir {
namespace {

/// Batches one behind the other, stamped from `base` on.
class Row {
 public:
  explicit Row(int64_t base) : end_(base) {}

  Bytes Add(size_t bytes, int64_t time = 7) {
    Buffer batch = MakeBatch(2, bytes, batches_.size());
    StampLogBatch(batch.mutable_bytes(), end_, Timestamp(time));
    end_ = end_ + 2;
    text_ += AsText(batch.bytes());
    batches_.push_back(batch);
    return batches_.back().bytes();
  }
  LogOffset end() const { return end_; }
  const std::string& text() const { return text_; }

 private:
  LogOffset end_;
  std::string text_;
  std::vector<Buffer> batches_;
};

void AddTo(PieceBuilder& builder, Bytes batch, uint64_t position) {
  builder.Add(DecodeLogBatchHeader(batch).value(), batch, position);
}

TEST(PieceBuilder, NeighboursAreOnePiece) {
  Row row(10);
  PieceBuilder builder;
  AddTo(builder, row.Add(100, 5), 1000);
  AddTo(builder, row.Add(100, 6), 1148);
  ASSERT_EQ(builder.pieces().size(), 1u);
  const Piece& piece = builder.pieces()[0];
  EXPECT_EQ(piece.base, LogOffset(10));
  EXPECT_EQ(piece.end, LogOffset(14));
  EXPECT_EQ(piece.position, 1000u);
  EXPECT_EQ(piece.bytes, 296u);
  EXPECT_EQ(piece.max_timestamp, Timestamp(6));
}

TEST(PieceBuilder, AGapInTheFileOrInTheOffsetsBeginsANewPiece) {
  Row row(0);
  PieceBuilder builder;
  AddTo(builder, row.Add(100), 0);
  AddTo(builder, row.Add(100), 149);
  EXPECT_EQ(builder.pieces().size(), 2u);
  row.Add(100);
  AddTo(builder, row.Add(100), 149 + 148);
  EXPECT_EQ(builder.pieces().size(), 3u);
}

TEST(PieceBuilder, CutsWhereAPieceWouldBecomeTooLarge) {
  Row row(0);
  PieceBuilder builder;
  uint64_t position = 0;
  for (const size_t bytes : {30'000, 30'000, 30'000, 200'000, 100}) {
    const Bytes batch = row.Add(bytes);
    AddTo(builder, batch, position);
    position += batch.size();
  }
  ASSERT_EQ(builder.pieces().size(), 4u);
  EXPECT_EQ(builder.pieces()[0].bytes, 60'096u);
  EXPECT_EQ(builder.pieces()[2].bytes, 200'048u);  // a large batch is a piece of its own
}

TEST(SplitPiece, GivesTheBatchesOfAPieceAndNoticesEveryChangedByteOutsideOfTheirChecksums) {
  Row row(10);
  PieceBuilder builder;
  for (int i = 0; i < 3; ++i) AddTo(builder, row.Add(60), static_cast<uint64_t>(i) * 108);
  const Piece piece = builder.pieces().at(0);
  std::string text = row.text();
  const auto batches = SplitPiece(piece, AsBytes(text));
  ASSERT_TRUE(batches.ok());
  ASSERT_EQ(batches->size(), 3u);
  EXPECT_EQ((*batches)[2].header.base_offset, LogOffset(14));

  for (size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<char>(text[i] ^ 1);
    const auto damaged = SplitPiece(piece, AsBytes(text));
    bool is_noticed = !damaged.ok();
    for (size_t k = 0; !is_noticed && k < damaged->size(); ++k) {
      is_noticed = !CheckStoredBatch((*damaged)[k], 0).ok();
    }
    EXPECT_TRUE(is_noticed) << i;
    text[i] = static_cast<char>(text[i] ^ 1);
  }
}

TEST(SplitPiece, NoticesABatchThatIsMissingOrInAnotherPlace) {
  Row row(0);
  PieceBuilder builder;
  for (int i = 0; i < 3; ++i) AddTo(builder, row.Add(60), static_cast<uint64_t>(i) * 108);
  Piece piece = builder.pieces().at(0);
  const std::string text = row.text();
  std::string swapped = text.substr(108, 108) + text.substr(0, 108) + text.substr(216);
  EXPECT_FALSE(SplitPiece(piece, AsBytes(swapped)).ok());
  piece.bytes = 216;
  EXPECT_FALSE(SplitPiece(piece, AsBytes(text).first(216)).ok());
}

}  // namespace
}  // namespace weir
