#include "weir/record/projection.h"

#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/record/arrow_message.h"
#include "weir/record/arrow_writer.h"
#include "weir/record/batch_testing.h"

namespace weir {
namespace {

using nlohmann::json;
using testing::ElementsAre;

// Where the fields that a projection changes or makes wrong lie.
constexpr size_t kLengthAt = 8;

std::vector<std::byte> Assemble(const ProjectedBatch& projected, Bytes source) {
  std::vector<std::byte> batch;
  const auto append = [&](Bytes part) { batch.insert(batch.end(), part.begin(), part.end()); };
  append(projected.head.bytes());
  for (const ByteRange& range : projected.ranges)
    append(source.subspan(range.position, range.bytes));
  append(projected.tail.bytes());
  EXPECT_EQ(batch.size(), projected.bytes());
  return batch;
}

Result<ProjectedBatch> Project(Bytes source, const std::vector<int32_t>& positions,
                               const std::vector<DataType>& latest, size_t batch_columns) {
  WEIR_ASSIGN(const Projection projection,
              Projection::Make(positions, LayoutsOf(latest), batch_columns));
  WEIR_ASSIGN(const LogBatchHeader header, DecodeLogBatchHeader(source));
  return projection.Plan(header, source);
}

void ExpectSameProjection(Bytes source, const std::vector<int32_t>& positions,
                          const std::vector<DataType>& types, Bytes expected) {
  const auto projected = Project(source, positions, types, types.size());
  ASSERT_TRUE(projected.ok()) << projected.error().message;
  const std::vector<std::byte> batch = Assemble(*projected, source);

  // Metadata may be laid out in another way, so lengths differ and the rest is compared part by
  // part.
  const ArrowBatchParts got = SplitArrowBatch(batch);
  const ArrowBatchParts want = SplitArrowBatch(expected);
  EXPECT_EQ(AsText(Bytes(batch).first(kLengthAt)), AsText(expected.first(kLengthAt)));
  const size_t header_bytes = want.header.header_bytes();
  EXPECT_EQ(AsText(Bytes(batch).first(header_bytes).subspan(kLengthAt + 4)),
            AsText(expected.first(header_bytes).subspan(kLengthAt + 4)));
  EXPECT_EQ(AsText(got.change_types), AsText(want.change_types));
  EXPECT_EQ(DecodeArrowMessage(got.message_head).value(),
            DecodeArrowMessage(want.message_head).value());
  EXPECT_EQ(AsText(got.body), AsText(want.body));
  const std::vector<DataType> wanted = Select(types, positions);
  EXPECT_TRUE(ReadWithArrow(batch, wanted)->Equals(*ReadWithArrow(expected, wanted)));
}

/// A batch of the columns a INT, b STRING, c BIGINT with some nulls.
Buffer ThreeColumns(ArrowCodec codec, size_t rows) {
  std::vector<int32_t> a(rows);
  std::vector<std::string_view> b(rows);
  std::vector<int64_t> c(rows);
  std::vector<uint8_t> nulls(rows);
  for (size_t i = 0; i < rows; ++i) {
    a[i] = static_cast<int32_t>(i);
    b[i] = i % 2 == 0 ? "even" : "odd";
    c[i] = -static_cast<int64_t>(i);
    nulls[i] = i % 3 == 0;
  }
  ArrowBatchWriter writer({.codec = codec});
  writer.AddNumbers(a);
  writer.AddStrings(b, nulls);
  writer.AddNumbers(c, nulls);
  return writer.Finish(SchemaId{1});
}

const std::vector<DataType> kThreeColumns = {
    DataType::Of(TypeKind::kInt), DataType::Of(TypeKind::kString), DataType::Of(TypeKind::kBigInt)};

/// Makes a batch of the given parts, which may be nonsense.
std::vector<std::byte> BatchOf(const ArrowMessage& message, size_t body_bytes,
                               int32_t record_count) {
  const std::string head = EncodeArrowMessage(message);
  std::vector<std::byte> batch(kLogBatchHeaderBytes + head.size() + body_bytes);
  std::ranges::copy(AsBytes(head), batch.begin() + kLogBatchHeaderBytes);
  LogBatchHeader header;
  header.is_append_only = true;
  header.record_count = record_count;
  header.last_offset_delta = record_count - 1;
  SealLogBatch(header, batch);
  return batch;
}

TEST(LayoutOf, CountsNodesAndBuffersInTheOrderOfArrow) {
  using Kind = LayoutNode::Kind;
  const auto layout = [](std::string_view text) { return LayoutOf(TypeTextReader(text).Read()); };
  EXPECT_THAT(layout("BOOLEAN").nodes, ElementsAre(LayoutNode{Kind::kBits}));
  EXPECT_THAT(layout("DECIMAL(10, 2)").nodes, ElementsAre(LayoutNode{Kind::kFixed, 16}));
  EXPECT_THAT(layout("BINARY(7)").nodes, ElementsAre(LayoutNode{Kind::kFixed, 7}));
  EXPECT_THAT(layout("TIME(3)").nodes, ElementsAre(LayoutNode{Kind::kFixed, 4}));
  EXPECT_THAT(layout("TIME(4)").nodes, ElementsAre(LayoutNode{Kind::kFixed, 8}));
  EXPECT_THAT(layout("MAP<STRING, ARRAY<INT>>").nodes,
              ElementsAre(LayoutNode{Kind::kList, 0, 4}, LayoutNode{Kind::kStruct, 0, 3},
                          LayoutNode{Kind::kVariable}, LayoutNode{Kind::kList, 0, 1},
                          LayoutNode{Kind::kFixed, 4}));
  EXPECT_EQ(layout("MAP<STRING, ARRAY<INT>>").buffer_count(), 2u + 1 + 3 + 2 + 2);
  EXPECT_THAT(layout("ROW<`x` ROW<`y` INT>, `z` STRING>").nodes,
              ElementsAre(LayoutNode{Kind::kStruct, 0, 3}, LayoutNode{Kind::kStruct, 0, 1},
                          LayoutNode{Kind::kFixed, 4}, LayoutNode{Kind::kVariable}));
}

TEST(Projection, GivesWhatFlussGivesForBatchesOfJava) {
  for (const json& vector : LoadVectors("projection.json")) {
    SCOPED_TRACE(vector.at("name").get<std::string>());
    const auto source = HexOf(vector, "source_batch_hex");
    const auto expected = HexOf(vector, "projected_batch_hex");
    const auto positions = vector.at("selected_fields").get<std::vector<int32_t>>();
    const std::vector<DataType> types = TypesOf(vector.at("schema"));
    if (vector.at("name") == "empty_batch_passthrough") {
      EXPECT_EQ(Assemble(Project(source, positions, types, types.size()).value(), source),
                expected);
    } else {
      ExpectSameProjection(source, positions, types, expected);
    }
  }
}

TEST(Projection, GivesWhatFlussGivesForBatchesOfRust) {
  const json sources = LoadVectors("log_batches_rust.json");
  const std::vector<DataType> types = {DataType::Of(TypeKind::kInt),
                                       DataType::Of(TypeKind::kString)};
  for (const json& vector : LoadVectors("projection_rust_source.json")) {
    SCOPED_TRACE(vector.at("name").get<std::string>());
    const auto source = std::ranges::find_if(
        sources, [&](const json& s) { return s.at("name") == vector.at("source"); });
    ASSERT_NE(source, sources.end());
    ExpectSameProjection(HexOf(*source, "batch_hex"),
                         vector.at("selected_fields").get<std::vector<int32_t>>(), types,
                         HexOf(vector, "projected_batch_hex"));
  }
}

TEST(Projection, LeavesStatisticsOut) {
  for (const json& vector : LoadVectors("log_batches_v1_v2_stats.json")) {
    SCOPED_TRACE(vector.at("name").get<std::string>());
    ExpectSameProjection(HexOf(vector, "batch_hex"),
                         vector.at("projected_fields").get<std::vector<int32_t>>(),
                         TypesOf(vector.at("schema")), HexOf(vector, "projected_batch_hex"));
  }
}

TEST(Projection, SelectsEveryColumnOfEveryWriter) {
  const json java = LoadVectors("log_batches.json");
  const std::vector<DataType> types = TypesOf(java.at(8).at("schema"));
  std::vector<std::vector<std::byte>> sources = {HexOf(java.at(8), "batch_hex"),
                                                 HexOf(java.at(9), "batch_hex")};
  for (const json& vector : LoadVectors("log_batches_arrow_cpp.json")) {
    if (vector.contains("schema_ref")) sources.push_back(HexOf(vector, "batch_hex"));
  }
  for (const std::vector<std::byte>& source : sources) {
    const auto whole = ReadWithArrow(source, types);
    for (int32_t column = 0; column < static_cast<int32_t>(types.size()); ++column) {
      for (const std::vector<int32_t>& positions : {std::vector{column}, std::vector{0, column}}) {
        if (positions.size() == 2 && column == 0) continue;
        const auto projected = Project(source, positions, types, types.size());
        ASSERT_TRUE(projected.ok()) << projected.error().message;
        const std::vector<std::byte> batch = Assemble(*projected, source);
        const auto read = ReadWithArrow(batch, Select(types, positions));
        for (size_t i = 0; i < positions.size(); ++i) {
          EXPECT_TRUE(read->column(static_cast<int>(i))->Equals(whole->column(positions[i])))
              << positions[i];
        }
      }
    }
  }
}

TEST(Projection, CopiesOneRangeForNeighbours) {
  const Buffer source = ThreeColumns(ArrowCodec::kNone, 100);
  EXPECT_EQ(Project(source.bytes(), {0, 1, 2}, kThreeColumns, 3).value().ranges.size(), 1u);
  EXPECT_EQ(Project(source.bytes(), {1, 2}, kThreeColumns, 3).value().ranges.size(), 1u);
  EXPECT_EQ(Project(source.bytes(), {0, 2}, kThreeColumns, 3).value().ranges.size(), 2u);
}

// docs/formats/log_batch.md
TEST(Projection, MakesTheExampleOfTheFormatPage) {
  const json vector = LoadVectors("log_batches.json").at(1);
  const auto source = HexOf(vector, "batch_hex");
  const ProjectedBatch projected = Project(source, {1}, TypesOf(vector.at("schema")), 2).value();
  EXPECT_THAT(projected.ranges, ElementsAre(ByteRange{280, 32}));
  EXPECT_EQ(projected.head.size(), 216u);
  EXPECT_EQ(
      AsText(projected.head.bytes().first(56)),
      AsText(FromHex("0000000000000000ec000000000000000000000000"
                     "12de3db6010001020000002a000000000000000500000003000000ffffffffa0000000")));
  EXPECT_TRUE(projected.tail.empty());
}

TEST(Projection, NeedsOnlyTheHeadOfABatch) {
  for (const json& vector : LoadVectors("projection.json")) {
    SCOPED_TRACE(vector.at("name").get<std::string>());
    const auto source = HexOf(vector, "source_batch_hex");
    const std::vector<DataType> types = TypesOf(vector.at("schema"));
    const LogBatchHeader header = DecodeLogBatchHeader(source).value();

    size_t known = header.header_bytes();
    int reads = 1;
    for (size_t needed;
         (needed = ProjectionHeadBytes(header, Bytes(source).first(known)).value()) > known;
         ++reads) {
      known = needed;
    }
    EXPECT_LE(reads, 3);
    const auto positions = vector.at("selected_fields").get<std::vector<int32_t>>();
    const Projection projection =
        Projection::Make(positions, LayoutsOf(types), types.size()).value();
    // Memory of just this size, so that a sanitizer sees a read beyond it.
    const Buffer head = Buffer::CopyOf(Bytes(source).first(known));
    EXPECT_EQ(Assemble(projection.Plan(header, head.bytes()).value(), source),
              Assemble(projection.Plan(header, source).value(), source));
  }
}

TEST(Projection, RefusesColumnsThatCannotBeProjected) {
  const auto code = [](const std::vector<int32_t>& positions) {
    const auto projection = Projection::Make(positions, LayoutsOf(kThreeColumns), 2);
    return projection.ok() ? ErrorCode::kInternal : projection.error().code;
  };
  EXPECT_EQ(code({}), ErrorCode::kInvalidProjection);
  EXPECT_EQ(code({-1}), ErrorCode::kInvalidProjection);
  EXPECT_EQ(code({3}), ErrorCode::kInvalidProjection);
  EXPECT_EQ(code({std::numeric_limits<int32_t>::max()}), ErrorCode::kInvalidProjection);
  EXPECT_EQ(code({1, 0}), ErrorCode::kInvalidProjection);
  EXPECT_EQ(code({1, 1}), ErrorCode::kInvalidProjection);
  EXPECT_EQ(code({0, 1, 2}), ErrorCode::kInternal);
}

TEST(Projection, MakesNullsOfColumnsThatAnOlderBatchDoesNotHave) {
  const json all = LoadVectors("log_batches.json").at(8).at("schema");
  std::vector<DataType> types = kThreeColumns;
  for (const DataType& type : TypesOf(all)) types.push_back(type);
  std::vector<int32_t> positions = {0, 2};
  for (size_t i = 3; i < types.size(); ++i) positions.push_back(static_cast<int32_t>(i));

  for (const ArrowCodec codec : {ArrowCodec::kNone, ArrowCodec::kLz4Frame, ArrowCodec::kZstd}) {
    for (const size_t rows : {1u, 8u, 1000u}) {
      const Buffer source = ThreeColumns(codec, rows);
      const auto projected = Project(source.bytes(), positions, types, 3);
      ASSERT_TRUE(projected.ok()) << projected.error().message;
      const std::vector<std::byte> batch = Assemble(*projected, source.bytes());
      const auto read = ReadWithArrow(batch, Select(types, positions));
      const auto whole = ReadWithArrow(source.bytes(), kThreeColumns);
      EXPECT_TRUE(read->column(0)->Equals(whole->column(0)));
      EXPECT_TRUE(read->column(1)->Equals(whole->column(2)));
      for (int i = 2; i < read->num_columns(); ++i) {
        EXPECT_EQ(read->column(i)->null_count(), static_cast<int64_t>(rows)) << i;
        EXPECT_TRUE(read->column(i)->Equals(
            arrow::MakeArrayOfNull(read->column(i)->type(), rows).ValueOrDie()))
            << i;
      }
    }
  }
}

TEST(Projection, MakesABatchOfNullsAlone) {
  const Buffer source = ThreeColumns(ArrowCodec::kZstd, 10);
  std::vector<DataType> types = kThreeColumns;
  types.push_back(DataType::Of(TypeKind::kBoolean));
  const ProjectedBatch projected = Project(source.bytes(), {3}, types, 3).value();
  EXPECT_TRUE(projected.ranges.empty());
  EXPECT_EQ(ReadWithArrow(Assemble(projected, source.bytes()), {types[3]})->column(0)->null_count(),
            10);
}

TEST(Projection, BoundsTheNullsThatItMakes) {
  const std::vector<DataType> types = {DataType::Of(TypeKind::kBoolean),
                                       DataType::Of(TypeKind::kBigInt),
                                       DataType::Binary(std::numeric_limits<int32_t>::max())};
  const auto plan = [&](int32_t record_count, std::vector<int32_t> positions) {
    const ArrowMessage message{.row_count = record_count,
                               .codec = ArrowCodec::kNone,
                               .nodes = {{record_count, 0}},
                               .buffers = {{0, 0}, {0, 0}},
                               .body_bytes = 0};
    return Project(BatchOf(message, 0, record_count), positions, types, 1);
  };
  // 65 bits a row, and the rows a multiple of 64.
  const auto rows_max = static_cast<int32_t>(kNullColumnBytesMax * 8 / 65 / 64 * 64);
  EXPECT_TRUE(plan(rows_max, {1}).ok());
  for (const auto& refused :
       {plan(rows_max + 128, {1}), plan(std::numeric_limits<int32_t>::max(), {1}),
        plan(std::numeric_limits<int32_t>::max(), {1, 2}), plan(1, {2})}) {
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidProjection);
  }
}

TEST(Projection, RefusesBatchesThatAreNotOfTheirSchema) {
  const Buffer source = ThreeColumns(ArrowCodec::kNone, 5);
  std::vector<DataType> types = kThreeColumns;
  const auto refused_as = [](const Result<ProjectedBatch>& projected) {
    return projected.ok() ? ErrorCode::kInternal : projected.error().code;
  };
  EXPECT_EQ(refused_as(Project(source.bytes(), {0}, types, 2)), ErrorCode::kCorruptBatch);
  types.push_back(DataType::Of(TypeKind::kInt));
  EXPECT_EQ(refused_as(Project(source.bytes(), {0}, types, 4)), ErrorCode::kCorruptBatch);

  const ArrowMessage message{.row_count = 2,
                             .codec = ArrowCodec::kNone,
                             .nodes = {{2, 0}},
                             .buffers = {{0, 1}, {8, 8}},
                             .body_bytes = 16};
  const std::vector<DataType> one = {DataType::Of(TypeKind::kInt)};
  EXPECT_EQ(refused_as(Project(BatchOf(message, 16, 2), {0}, one, 1)), ErrorCode::kInternal);
  EXPECT_EQ(refused_as(Project(BatchOf(message, 16, 3), {0}, one, 1)), ErrorCode::kCorruptBatch);
  EXPECT_EQ(refused_as(Project(BatchOf(message, 15, 2), {0}, one, 1)), ErrorCode::kCorruptBatch);
  EXPECT_EQ(refused_as(Project(BatchOf(message, 17, 2), {0}, one, 1)), ErrorCode::kCorruptBatch);

  for (const json& vector : LoadVectors("log_batches.json")) {
    if (vector.value("log_format", "ARROW") == "ARROW") continue;
    EXPECT_EQ(refused_as(Project(HexOf(vector, "batch_hex"), {0}, one, 1)),
              ErrorCode::kCorruptBatch);
  }
}

TEST(Projection, KeepsBodiesOfOddLengthApartFromItsNulls) {
  const ArrowMessage message{.row_count = 2,
                             .codec = ArrowCodec::kNone,
                             .nodes = {{2, 0}},
                             .buffers = {{0, 1}, {5, 8}},
                             .body_bytes = 13};
  const std::vector<std::byte> source = BatchOf(message, 13, 2);
  const std::vector<DataType> types = {DataType::Of(TypeKind::kInt), DataType::Of(TypeKind::kInt)};
  const std::vector<std::byte> batch = Assemble(Project(source, {0, 1}, types, 1).value(), source);
  const ArrowMessage projected = DecodeArrowMessage(SplitArrowBatch(batch).message_head).value();
  EXPECT_EQ(projected.buffers[2].position, 16);
  EXPECT_EQ(projected.body_bytes, 32);
}

TEST(Projection, SurvivesRandomDamage) {
  std::mt19937 random(17);
  for (const json& vector : LoadVectors("projection.json")) {
    const auto source = HexOf(vector, "source_batch_hex");
    const std::vector<DataType> types = TypesOf(vector.at("schema"));
    const auto positions = vector.at("selected_fields").get<std::vector<int32_t>>();
    for (int round = 0; round < 1000; ++round) {
      std::vector<std::byte> damaged = source;
      for (int i = 0; i <= round % 4; ++i) {
        damaged[13 + random() % std::min<size_t>(damaged.size() - 13, 400)] =
            static_cast<std::byte>(random());
      }
      const auto header = DecodeLogBatchHeader(damaged);
      if (!header.ok() || header->batch_bytes != damaged.size()) continue;
      const auto projected = Project(damaged, positions, types, types.size());
      if (projected.ok()) {
        EXPECT_TRUE(DecodeLogBatchHeader(Assemble(*projected, damaged)).ok());
      }
    }
  }
}

}  // namespace
}  // namespace weir
