#include "weir/record/arrow_writer.h"

#include <array>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "weir/record/batch_testing.h"

namespace weir {
namespace {

constexpr ArrowCodec kCodecs[] = {ArrowCodec::kNone, ArrowCodec::kLz4Frame, ArrowCodec::kZstd};

template <typename Builder>
std::shared_ptr<arrow::Array> Built(const auto& values, const std::vector<uint8_t>& nulls) {
  Builder builder;
  for (size_t i = 0; i < std::size(values); ++i) {
    EXPECT_TRUE(
        (!nulls.empty() && nulls[i] != 0 ? builder.AppendNull() : builder.Append(values[i])).ok());
  }
  return builder.Finish().ValueOrDie();
}

TEST(ArrowBatchWriter, WritesTheGoldenBatchByteForByteButForTheMetadata) {
  const std::vector<std::byte> golden = HexOf(LoadVectors("log_batches.json").at(1), "batch_hex");
  const ArrowBatchParts expected = SplitArrowBatch(golden);

  ArrowBatchWriter writer({.codec = ArrowCodec::kNone});
  const std::vector<std::string_view> strings = {"a", "bcd", ""};
  writer.AddNumbers(std::array<int32_t, 3>{1, 0, 3}, std::array<uint8_t, 3>{0, 1, 0});
  writer.AddStrings(strings, std::array<uint8_t, 3>{0, 0, 1});
  const Buffer batch = writer.Finish(SchemaId{1}, WriterId{42}, BatchSequence{5});

  const ArrowBatchParts parts = SplitArrowBatch(batch.bytes());
  EXPECT_EQ(AsText(parts.body), AsText(expected.body));
  EXPECT_EQ(DecodeArrowMessage(parts.message_head).value(),
            DecodeArrowMessage(expected.message_head).value());
  LogBatchHeader header = parts.header;
  EXPECT_TRUE(CheckLogBatchCrc(batch.bytes(), header).ok());
  header.crc = expected.header.crc;
  header.batch_bytes = expected.header.batch_bytes;
  EXPECT_EQ(header, expected.header);
}

TEST(ArrowBatchWriter, ArrowReadsEveryTypeInEveryCompression) {
  const std::vector<int8_t> tiny = {1, -2, 3, 127, -128};
  const std::vector<int16_t> small = {1, -2, 3, 32767, -32768};
  const std::vector<int32_t> ints = {1, -2, 3, 1 << 30, -(1 << 30)};
  const std::vector<int64_t> bigs = {1, -2, 3, 1ll << 60, -(1ll << 60)};
  const std::vector<float> floats = {0.5f, -1.5f, 0, 1e30f, -1e-30f};
  const std::vector<double> doubles = {0.5, -1.5, 0, 1e300, -1e-300};
  const std::array<bool, 5> bools = {true, false, true, true, false};
  const std::vector<std::string_view> strings = {"", "a", "longer", "\xc3\xa4", "end"};
  const std::vector<DataType> types = {
      DataType::Of(TypeKind::kTinyInt), DataType::Of(TypeKind::kSmallInt),
      DataType::Of(TypeKind::kInt),     DataType::Of(TypeKind::kBigInt),
      DataType::Of(TypeKind::kFloat),   DataType::Of(TypeKind::kDouble),
      DataType::Of(TypeKind::kBoolean), DataType::Of(TypeKind::kString),
      DataType::Of(TypeKind::kBytes)};

  for (const ArrowCodec codec : kCodecs) {
    ArrowBatchWriter writer({.codec = codec});
    // One writer makes batch after batch.
    for (const std::vector<uint8_t>& nulls :
         {std::vector<uint8_t>{}, {1, 0, 0, 1, 0}, {1, 1, 1, 1, 1}}) {
      writer.AddNumbers(tiny, nulls);
      writer.AddNumbers(small, nulls);
      writer.AddNumbers(ints, nulls);
      writer.AddNumbers(bigs, nulls);
      writer.AddNumbers(floats, nulls);
      writer.AddNumbers(doubles, nulls);
      writer.AddBooleans(bools, nulls);
      writer.AddStrings(strings, nulls);
      writer.AddStrings(strings, nulls);
      const Buffer batch = writer.Finish(SchemaId{3});
      const LogBatchHeader header = DecodeLogBatchHeader(batch.bytes()).value();
      EXPECT_TRUE(CheckLogBatchCrc(batch.bytes(), header).ok());
      EXPECT_TRUE(header.is_append_only);
      EXPECT_EQ(header.schema_id, SchemaId{3});
      EXPECT_EQ(header.writer_id, kNoWriterId);
      EXPECT_EQ(header.batch_sequence, kNoBatchSequence);

      const auto read = ReadWithArrow(batch.bytes(), types);
      const std::vector<std::shared_ptr<arrow::Array>> expected = {
          Built<arrow::Int8Builder>(tiny, nulls),     Built<arrow::Int16Builder>(small, nulls),
          Built<arrow::Int32Builder>(ints, nulls),    Built<arrow::Int64Builder>(bigs, nulls),
          Built<arrow::FloatBuilder>(floats, nulls),  Built<arrow::DoubleBuilder>(doubles, nulls),
          Built<arrow::BooleanBuilder>(bools, nulls), Built<arrow::StringBuilder>(strings, nulls),
          Built<arrow::BinaryBuilder>(strings, nulls)};
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_TRUE(read->column(static_cast<int>(i))->Equals(expected[i])) << i;
        EXPECT_EQ(read->column(static_cast<int>(i))->null_count(), expected[i]->null_count()) << i;
      }
    }
  }
}

TEST(ArrowBatchWriter, ArrowReadsLargeBuffers) {
  std::vector<int64_t> repeating(100'000);
  std::iota(repeating.begin(), repeating.end(), 0);
  std::vector<int64_t> noise(repeating.size());
  std::mt19937_64 random(5);
  for (int64_t& value : noise) value = static_cast<int64_t>(random());
  for (const ArrowCodec codec : kCodecs) {
    ArrowBatchWriter writer({.codec = codec});
    writer.AddNumbers(repeating);
    writer.AddNumbers(noise);
    const Buffer batch = writer.Finish(SchemaId{1});
    const auto read = ReadWithArrow(
        batch.bytes(), {DataType::Of(TypeKind::kBigInt), DataType::Of(TypeKind::kBigInt)});
    EXPECT_TRUE(read->column(0)->Equals(Built<arrow::Int64Builder>(repeating, {})));
    EXPECT_TRUE(read->column(1)->Equals(Built<arrow::Int64Builder>(noise, {})));
  }
}

// Readers in Java refuse frames whose blocks depend on each other.
TEST(ArrowBatchWriter, MakesLz4FramesOfIndependentBlocks) {
  std::vector<int64_t> values(100'000);
  std::iota(values.begin(), values.end(), 0);
  ArrowBatchWriter writer({.codec = ArrowCodec::kLz4Frame});
  writer.AddNumbers(values);
  const Buffer batch = writer.Finish(SchemaId{1});
  const ArrowBatchParts parts = SplitArrowBatch(batch.bytes());
  const ArrowBuffer data = DecodeArrowMessage(parts.message_head).value().buffers.at(1);
  const std::byte* at = parts.body.data() + data.position;
  EXPECT_EQ(LoadLittle<int64_t>(at), 800'000);
  EXPECT_LT(data.bytes, 800'000);
  EXPECT_EQ(LoadLittle<uint32_t>(at + 8), 0x184d2204u);
  // LZ4 frame format: version 01, block independence, no checksums, no sizes; blocks of 64 KB.
  EXPECT_EQ(LoadLittle<uint8_t>(at + 12), 0x60);
  EXPECT_EQ(LoadLittle<uint8_t>(at + 13), 0x40);
}

TEST(ArrowBatchWriter, StoresRawWhatCompressionDoesNotShrink) {
  for (const ArrowCodec codec : {ArrowCodec::kLz4Frame, ArrowCodec::kZstd}) {
    ArrowBatchWriter writer({.codec = codec});
    writer.AddNumbers(std::array<int64_t, 1>{0x0123456789abcdef});
    const Buffer batch = writer.Finish(SchemaId{1});
    const ArrowBatchParts parts = SplitArrowBatch(batch.bytes());
    const ArrowBuffer data = DecodeArrowMessage(parts.message_head).value().buffers.at(1);
    EXPECT_EQ(data.bytes, 16);
    EXPECT_EQ(LoadLittle<int64_t>(parts.body.data() + data.position), kArrowStoredRaw);
    EXPECT_EQ(LoadLittle<int64_t>(parts.body.data() + data.position + 8), 0x0123456789abcdef);
  }
}

TEST(ArrowBatchWriter, WithoutRowsMakesAHeaderAlone) {
  ArrowBatchWriter writer({.codec = ArrowCodec::kZstd});
  writer.AddNumbers(std::vector<int32_t>{});
  const Buffer batch = writer.Finish(SchemaId{1}, WriterId{42}, BatchSequence{10});
  EXPECT_EQ(batch.size(), kLogBatchHeaderBytes);
  const LogBatchHeader header = DecodeLogBatchHeader(batch.bytes()).value();
  EXPECT_EQ(header.record_count, 0);
  EXPECT_EQ(header.last_offset_delta, 0);
  EXPECT_TRUE(CheckLogBatchCrc(batch.bytes(), header).ok());
}

}  // namespace
}  // namespace weir
