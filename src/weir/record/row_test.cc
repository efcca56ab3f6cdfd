#include "weir/record/row.h"

#include <gtest/gtest.h>

#include "weir/record/row_testing.h"

namespace weir {
namespace {

constexpr KvFormat kFormats[] = {KvFormat::kCompacted, KvFormat::kIndexed};

std::string HexField(KvFormat format) {
  return format == KvFormat::kCompacted ? "compacted_hex" : "indexed_hex";
}

std::vector<FieldValue> Decoded(const RowCodec& codec, Bytes row) {
  std::vector<FieldValue> fields(codec.types().size());
  const Status decoded = codec.Decode(row, fields);
  EXPECT_TRUE(decoded.ok()) << decoded.error().message;
  return fields;
}

bool Accepts(KvFormat format, const DataType& type, std::string_view hex) {
  const std::vector<std::byte> row = FromHex(hex);
  std::vector<FieldValue> fields(1);
  const Status decoded = RowCodec(format, {type}).Decode(row, fields);
  EXPECT_TRUE(decoded.ok() || decoded.error().code == ErrorCode::kCorruptBatch);
  return decoded.ok();
}

bool AcceptsCompacted(const DataType& type, std::string_view hex) {
  return Accepts(KvFormat::kCompacted, type, hex);
}

bool AcceptsIndexed(const DataType& type, std::string_view hex) {
  return Accepts(KvFormat::kIndexed, type, hex);
}

TEST(RowCodec, ReadsEveryGoldenRow) {
  for (const nlohmann::json& vector : LoadVectors("rows.json")) {
    SCOPED_TRACE(vector.at("name").get<std::string>());
    const std::vector<DataType> types = TypesOf(vector.at("schema"));
    for (const KvFormat format : kFormats) {
      FieldMaker maker(format);
      const std::vector<std::byte> golden = HexOf(vector, HexField(format).c_str());
      ExpectSameRow(types, format, Decoded(RowCodec(format, types), golden),
                    maker.RowFromJson(types, vector.at("row")));
    }
  }
}

TEST(RowCodec, WritesEveryGoldenRowByteForByte) {
  for (const nlohmann::json& vector : LoadVectors("rows.json")) {
    SCOPED_TRACE(vector.at("name").get<std::string>());
    const std::vector<DataType> types = TypesOf(vector.at("schema"));
    for (const KvFormat format : kFormats) {
      FieldMaker maker(format);
      const RowCodec codec(format, types);
      const std::vector<std::byte> golden = HexOf(vector, HexField(format).c_str());
      std::string from_values;
      codec.Encode(maker.RowFromJson(types, vector.at("row")), from_values);
      std::string from_fields;
      codec.Encode(Decoded(codec, golden), from_fields);
      EXPECT_EQ(from_fields, AsText(golden));
      EXPECT_EQ(from_values, AsText(golden));
    }
  }
}

TEST(RowCodec, ReadsWhatItWroteOfEveryType) {
  const std::vector<DataType> types = EveryType();
  std::mt19937_64 random(7);
  for (const KvFormat format : kFormats) {
    const RowCodec codec(format, types);
    for (int i = 0; i < 200; ++i) {
      FieldMaker maker(format);
      const std::vector<FieldValue> fields = maker.RandomRow(types, random);
      std::string row = "before";
      codec.Encode(fields, row);
      ASSERT_TRUE(row.starts_with("before"));
      ExpectSameRow(types, format, Decoded(codec, AsBytes(row).subspan(6)), fields);
    }
  }
}

TEST(RowCodec, RefusesEveryBeginningOfARowAndBytesBehindIt) {
  const std::vector<DataType> types = EveryType();
  std::mt19937_64 random(8);
  for (const KvFormat format : kFormats) {
    const RowCodec codec(format, types);
    FieldMaker maker(format);
    std::string row;
    codec.Encode(maker.RandomRow(types, random), row);
    std::vector<FieldValue> fields(types.size());
    for (size_t size = 0; size < row.size(); ++size) {
      EXPECT_FALSE(codec.Decode(AsBytes(row).first(size), fields).ok()) << size;
    }
    row += '\0';
    EXPECT_FALSE(codec.Decode(AsBytes(row), fields).ok());
  }
}

TEST(RowCodec, RefusesNumbersThatAreTooLong) {
  EXPECT_TRUE(AcceptsCompacted(DataType::Of(TypeKind::kInt), "00ffffffff0f"));
  EXPECT_FALSE(AcceptsCompacted(DataType::Of(TypeKind::kInt), "00ffffffff1f"));
  EXPECT_FALSE(AcceptsCompacted(DataType::Of(TypeKind::kInt), "00ffffffff8f00"));
  EXPECT_TRUE(AcceptsCompacted(DataType::Of(TypeKind::kBigInt), "00ffffffffffffffffff01"));
  EXPECT_FALSE(AcceptsCompacted(DataType::Of(TypeKind::kBigInt), "00ffffffffffffffffff03"));
  EXPECT_FALSE(AcceptsCompacted(DataType::Of(TypeKind::kBigInt), "00ffffffffffffffffff8100"));
}

TEST(RowCodec, RefusesValuesThatTheirTypesDoNotHave) {
  EXPECT_FALSE(AcceptsCompacted(DataType::Of(TypeKind::kBoolean), "0002"));
  EXPECT_FALSE(AcceptsIndexed(DataType::Of(TypeKind::kBoolean), "0002"));
  // TIME ends before 86,400,000 ms.
  EXPECT_TRUE(AcceptsIndexed(DataType::Time(3), "00ff5b2605"));
  EXPECT_FALSE(AcceptsIndexed(DataType::Time(3), "00005c2605"));
  // 99 has two digits, 100 has three.
  EXPECT_TRUE(AcceptsCompacted(DataType::Decimal(2, 0), "0063"));
  EXPECT_FALSE(AcceptsCompacted(DataType::Decimal(2, 0), "0064"));
  // 10^19 - 1, and 10^19.
  EXPECT_TRUE(AcceptsCompacted(DataType::Decimal(19, 0), "0009008ac7230489e7ffff"));
  EXPECT_FALSE(AcceptsCompacted(DataType::Decimal(19, 0), "0009008ac7230489e80000"));
  // Not the fewest bytes, none, and too many.
  EXPECT_FALSE(AcceptsCompacted(DataType::Decimal(20, 0), "00020001"));
  EXPECT_FALSE(AcceptsCompacted(DataType::Decimal(20, 0), "0000"));
  EXPECT_FALSE(
      AcceptsCompacted(DataType::Decimal(38, 0), "00110100000000000000000000000000000000"));
  // 1,000,000 ns are a millisecond.
  EXPECT_TRUE(AcceptsCompacted(DataType::Timestamp(9), "0000bf843d"));
  EXPECT_FALSE(AcceptsCompacted(DataType::Timestamp(9), "0000c0843d"));
  EXPECT_FALSE(AcceptsCompacted(DataType::Timestamp(9), "00ffffffffffffffff7f00"));
  EXPECT_TRUE(AcceptsCompacted(DataType::Timestamp(3), "00ffffffffffffffff7f"));
  EXPECT_TRUE(AcceptsCompacted(DataType::Binary(2), "00020102"));
  EXPECT_FALSE(AcceptsCompacted(DataType::Binary(2), "000101"));
}

TEST(RowCodec, RefusesNullBitsOfColumnsThatAreNotThere) {
  EXPECT_TRUE(AcceptsCompacted(DataType::Of(TypeKind::kInt), "01"));
  EXPECT_FALSE(AcceptsCompacted(DataType::Of(TypeKind::kInt), "03"));
  EXPECT_FALSE(AcceptsIndexed(DataType::Of(TypeKind::kInt), "81"));
}

TEST(RowCodec, ReadsCharsOfIndexedRowsWithoutPadding) {
  const RowCodec codec(KvFormat::kIndexed, {DataType::Char(5), DataType::Binary(3)});
  const std::vector<std::byte> row = FromHex("006162000000616200");
  const std::vector<FieldValue> fields = Decoded(codec, row);
  EXPECT_EQ(AsText(fields[0].bytes), "ab");
  EXPECT_EQ(AsText(fields[1].bytes), std::string_view("ab\0", 3));
}

TEST(RowCodec, RefusesArraysWhoseElementsLieOutside) {
  const DataType ints = DataType::Array(DataType::Of(TypeKind::kInt));
  EXPECT_TRUE(AcceptsCompacted(ints, "000c010000000000000005000000"));
  EXPECT_FALSE(AcceptsCompacted(ints, "000b0100000000000000050000"));
  EXPECT_FALSE(AcceptsCompacted(ints, "000cffffffff0000000005000000"));
  const DataType texts = DataType::Array(DataType::Of(TypeKind::kString));
  // 8 bytes at 16, in an array of 24 and of 23.
  EXPECT_TRUE(AcceptsCompacted(texts, "0018010000000000000008000000100000006161616161616161"));
  EXPECT_FALSE(AcceptsCompacted(texts, "00170100000000000000080000001000000061616161616161"));
  EXPECT_FALSE(AcceptsCompacted(texts, "00180100000000000000080000fff00000006161616161616161"));
}

TEST(RowCodec, RefusesArraysThatAreLongerThanTheirBytes) {
  const DataType texts = DataType::Array(DataType::Of(TypeKind::kString));
  // Four elements of 44 bytes each that are the same 44 of an array of 84.
  std::string hex = "00540400000000000000";
  for (int i = 0; i < 4; ++i) hex += "2c00000028000000";
  const std::string one = hex + std::string(88, '6');
  EXPECT_FALSE(AcceptsCompacted(texts, one));
  // The same bytes with one element.
  EXPECT_TRUE(AcceptsCompacted(texts,
                               "0054"
                               "04000000"
                               "0e000000" +
                                   hex.substr(20) + std::string(88, '6')));
}

TEST(RowCodec, RefusesNullKeysOfMaps) {
  const DataType map = DataType::Map(DataType::Of(TypeKind::kInt), DataType::Of(TypeKind::kInt));
  const std::string values = "010000000000000005000000";
  EXPECT_TRUE(AcceptsCompacted(map,
                               "001c"
                               "0c000000" +
                                   values + values));
  EXPECT_FALSE(AcceptsCompacted(map,
                                "001c"
                                "0c000000"
                                "010000000100000005000000" +
                                    values));
  // A map of one key and no value.
  EXPECT_FALSE(AcceptsCompacted(map,
                                "0018"
                                "0c000000" +
                                    values + "0000000000000000"));
}

TEST(RowCodec, SaysWhichTypesStandInBytes) {
  EXPECT_FALSE(IsInBytes(DataType::Decimal(18, 2)));
  EXPECT_TRUE(IsInBytes(DataType::Decimal(19, 2)));
  EXPECT_FALSE(IsInBytes(DataType::Timestamp(9)));
  EXPECT_TRUE(IsInBytes(DataType::Char(3)));
  EXPECT_TRUE(IsInBytes(DataType::Row({})));
}

TEST(NestedValues, AreTheSameInTheOtherFormatAndBack) {
  std::mt19937_64 random(9);
  FieldMaker maker(KvFormat::kCompacted);
  for (const DataType& type : EveryType()) {
    const ValuePlan plan = PlanOf(type);
    if (!IsNested(plan.form)) continue;
    for (int i = 0; i < 20; ++i) {
      const FieldValue value = maker.RandomValue(type, random);
      FieldValue moved = value;
      std::string indexed;
      ASSERT_TRUE(Transcode(plan, KvFormat::kCompacted, KvFormat::kIndexed, moved, indexed));
      EXPECT_TRUE(IsNestedValue(plan, KvFormat::kIndexed, moved.bytes));
      std::string again;
      ASSERT_TRUE(Transcode(plan, KvFormat::kIndexed, KvFormat::kCompacted, moved, again));
      EXPECT_EQ(AsText(moved.bytes), AsText(value.bytes));
    }
  }
}

TEST(NestedValues, AreNotTheSameIfTextHasNoRoomInTheOtherFormat) {
  const DataType type = DataType::Row({{"c", DataType::Char(2), {}, -1}});
  FieldMaker maker(KvFormat::kCompacted);
  FieldValue value = maker.Row(type, std::vector{maker.Text("abc")});
  std::string scratch;
  EXPECT_FALSE(Transcode(PlanOf(type), KvFormat::kCompacted, KvFormat::kIndexed, value, scratch));
}

}  // namespace
}  // namespace weir
