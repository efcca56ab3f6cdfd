#include "weir/record/data_type.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

struct TypeCase {
  const char* json;
  DataType type;
};

std::vector<TypeCase> EveryType() {
  const RowField x{
      .name = "x", .type = DataType::Of(TypeKind::kDouble), .description = {}, .field_id = 7};
  const RowField history{.name = "hist",
                         .type = DataType::Array(DataType::Of(TypeKind::kInt).NotNull()),
                         .description = "history",
                         .field_id = 8};
  return {
      {R"({"type":"BOOLEAN"})", DataType::Of(TypeKind::kBoolean)},
      {R"({"type":"TINYINT"})", DataType::Of(TypeKind::kTinyInt)},
      {R"({"type":"SMALLINT"})", DataType::Of(TypeKind::kSmallInt)},
      {R"({"type":"INTEGER"})", DataType::Of(TypeKind::kInt)},
      {R"({"type":"BIGINT"})", DataType::Of(TypeKind::kBigInt)},
      {R"({"type":"FLOAT"})", DataType::Of(TypeKind::kFloat)},
      {R"({"type":"DOUBLE"})", DataType::Of(TypeKind::kDouble)},
      {R"({"precision":38,"scale":18,"type":"DECIMAL"})", DataType::Decimal(38, 18)},
      {R"({"length":5,"type":"CHAR"})", DataType::Char(5)},
      {R"({"type":"STRING"})", DataType::Of(TypeKind::kString)},
      {R"({"length":4,"type":"BINARY"})", DataType::Binary(4)},
      {R"({"type":"BYTES"})", DataType::Of(TypeKind::kBytes)},
      {R"({"type":"DATE"})", DataType::Of(TypeKind::kDate)},
      {R"({"precision":0,"type":"TIME_WITHOUT_TIME_ZONE"})", DataType::Time(0)},
      {R"({"precision":9,"type":"TIMESTAMP_WITHOUT_TIME_ZONE"})", DataType::Timestamp(9)},
      {R"({"precision":3,"type":"TIMESTAMP_WITH_LOCAL_TIME_ZONE"})", DataType::TimestampLtz(3)},
      {R"({"nullable":false,"type":"INTEGER"})", DataType::Of(TypeKind::kInt).NotNull()},
      {R"({"element_type":{"type":"INTEGER"},"type":"ARRAY"})",
       DataType::Array(DataType::Of(TypeKind::kInt))},
      {R"({"key_type":{"nullable":false,"type":"STRING"},"type":"MAP","value_type":{"length":16,"type":"BINARY"}})",
       DataType::Map(DataType::Of(TypeKind::kString).NotNull(), DataType::Binary(16))},
      {R"({"fields":[{"field_id":7,"field_type":{"type":"DOUBLE"},"name":"x"},)"
       R"({"description":"history","field_id":8,"field_type":{"element_type":{"nullable":false,"type":"INTEGER"},)"
       R"("type":"ARRAY"},"name":"hist"}],"type":"ROW"})",
       DataType::Row({x, history})},
  };
}

std::string ArraysAround(int depth) {
  std::string json = R"({"type":"INTEGER"})";
  for (int i = 1; i < depth; ++i) json = R"({"type":"ARRAY","element_type":)" + json + "}";
  return json;
}

TEST(DataType, IsWrittenAndReadAsTheProtocolSays) {
  for (const auto& [json, type] : EveryType()) {
    EXPECT_EQ(EncodeDataType(type), json);
    const auto decoded = DecodeDataType(json);
    ASSERT_TRUE(decoded.ok()) << json << ": " << decoded.error().message;
    EXPECT_EQ(*decoded, type) << json;
  }
}

TEST(DataType, OfRustClientsMayLackScaleAndFractionDigits) {
  EXPECT_EQ(*DecodeDataType(R"({"type":"DECIMAL","precision":7})"), DataType::Decimal(7, 0));
  EXPECT_EQ(*DecodeDataType(R"({"type":"TIME_WITHOUT_TIME_ZONE"})"), DataType::Time(0));
  EXPECT_EQ(*DecodeDataType(R"({"type":"TIMESTAMP_WITHOUT_TIME_ZONE"})"), DataType::Timestamp(6));
}

TEST(DataType, RefusesWhatIsNoType) {
  for (
      const char* json : {
          "",
          "{not json",
          "[]",
          "7",
          R"({})",
          R"({"type":7})",
          R"({"type":"VARCHAR","length":3})",
          R"({"type":"integer"})",
          R"({"type":"INTEGER","nullable":"no"})",
          R"({"type":"DECIMAL","scale":2})",
          R"({"type":"DECIMAL","precision":39,"scale":2})",
          R"({"type":"DECIMAL","precision":0})",
          R"({"type":"DECIMAL","precision":3,"scale":5})",
          R"({"type":"DECIMAL","precision":3,"scale":-1})",
          R"({"type":"DECIMAL","precision":3.5})",
          R"({"type":"CHAR"})",
          R"({"type":"CHAR","length":0})",
          R"({"type":"CHAR","length":18446744073709551615})",
          R"({"type":"BINARY","length":2147483648})",
          R"({"type":"TIMESTAMP_WITHOUT_TIME_ZONE","precision":10})",
          R"({"type":"TIME_WITHOUT_TIME_ZONE","precision":-1})",
          R"({"type":"ARRAY"})",
          R"({"type":"ARRAY","element_type":"INTEGER"})",
          R"({"type":"MAP","key_type":{"type":"INTEGER"}})",
          R"({"type":"ROW"})",
          R"({"type":"ROW","fields":[{"name":"","field_type":{"type":"INTEGER"}}]})",
          R"({"type":"ROW","fields":[{"field_type":{"type":"INTEGER"}}]})",
          R"({"type":"ROW","fields":[{"name":"x"}]})",
          R"({"type":"ROW","fields":[{"name":"x","field_type":{"type":"INTEGER"},"field_id":-2}]})",
          R"({"type":"ROW","fields":[{"name":"x","field_type":{"type":"INTEGER"}},)"
          R"({"name":"x","field_type":{"type":"STRING"}}]})",
      }) {
    const auto decoded = DecodeDataType(json);
    ASSERT_FALSE(decoded.ok()) << json;
    EXPECT_EQ(decoded.error().code, ErrorCode::kInvalidTable) << json;
  }
}

TEST(DataType, IsNestedSoDeepAndNoDeeper) {
  EXPECT_TRUE(DecodeDataType(ArraysAround(kTypeDepthMax)).ok());
  EXPECT_FALSE(DecodeDataType(ArraysAround(kTypeDepthMax + 1)).ok());
  EXPECT_FALSE(DecodeDataType(ArraysAround(1000)).ok());
  EXPECT_FALSE(DecodeDataType(std::string(1'000'000, '[')).ok());
}

TEST(DataType, DiffersIfAnythingInsideDiffers) {
  const DataType ints = DataType::Array(DataType::Of(TypeKind::kInt));
  EXPECT_EQ(ints, DataType::Array(DataType::Of(TypeKind::kInt)));
  EXPECT_NE(ints, DataType::Array(DataType::Of(TypeKind::kInt).NotNull()));
  EXPECT_NE(ints, ints.NotNull());
  EXPECT_NE(ints, DataType::Of(TypeKind::kInt));
}

TEST(DataType, ReadsWell) {
  EXPECT_EQ(ToString(DataType::Decimal(10, 2).NotNull()), "DECIMAL(10,2) NOT NULL");
  EXPECT_EQ(ToString(EveryType().back().type), "ROW<x DOUBLE, hist ARRAY<INT NOT NULL>>");
  EXPECT_EQ(ToString(DataType::Map(DataType::Char(3), DataType::TimestampLtz(3))),
            "MAP<CHAR(3), TIMESTAMP_LTZ(3)>");
}

}  // namespace
}  // namespace weir
