#include <gtest/gtest.h>

#include "weir/record/changelog.h"
#include "weir/record/row_testing.h"

namespace weir {
namespace {

constexpr ArrowCodec kCodecs[] = {ArrowCodec::kNone, ArrowCodec::kLz4Frame, ArrowCodec::kZstd};
constexpr KvFormat kKvFormats[] = {KvFormat::kCompacted, KvFormat::kIndexed};

ChangelogFormat ArrowFormat(ArrowCodec codec, KvFormat rows = KvFormat::kCompacted) {
  return {.log_format = LogFormat::kArrow, .compression = {.codec = codec}, .kv_format = rows};
}

/// What Arrow C++ sees in a column, as fields.
class ArrowFields {
 public:
  explicit ArrowFields(FieldMaker& maker) : maker_(maker) {}

  FieldValue Read(const DataType& type, const arrow::Array& array, int64_t i) {
    if (array.IsNull(i)) return {};
    switch (type.kind()) {
      case TypeKind::kBoolean:
        return maker_.Number(static_cast<const arrow::BooleanArray&>(array).Value(i));
      case TypeKind::kTinyInt: return Number<arrow::Int8Array>(array, i);
      case TypeKind::kSmallInt: return Number<arrow::Int16Array>(array, i);
      case TypeKind::kInt: return Number<arrow::Int32Array>(array, i);
      case TypeKind::kBigInt: return Number<arrow::Int64Array>(array, i);
      case TypeKind::kDate: return Number<arrow::Date32Array>(array, i);
      case TypeKind::kFloat:
        return maker_.Number(
            std::bit_cast<uint32_t>(static_cast<const arrow::FloatArray&>(array).Value(i)));
      case TypeKind::kDouble:
        return maker_.Number(
            std::bit_cast<int64_t>(static_cast<const arrow::DoubleArray&>(array).Value(i)));
      case TypeKind::kDecimal: {
        const uint8_t* bytes = static_cast<const arrow::FixedSizeBinaryArray&>(array).GetValue(i);
        return maker_.Unscaled(type, LoadLittle<Int128>(reinterpret_cast<const std::byte*>(bytes)));
      }
      case TypeKind::kChar:
      case TypeKind::kString:
      case TypeKind::kBytes:
        return maker_.Text(std::string(static_cast<const arrow::BinaryArray&>(array).GetView(i)));
      case TypeKind::kBinary:
        return maker_.Text(
            std::string(static_cast<const arrow::FixedSizeBinaryArray&>(array).GetView(i)));
      case TypeKind::kTime: return Time(type, array, i);
      case TypeKind::kTimestamp:
      case TypeKind::kTimestampLtz: return Timestamp(type, array, i);
      case TypeKind::kArray: {
        const auto& list = static_cast<const arrow::ListArray&>(array);
        return maker_.Array(
            PlanOf(type.element()),
            Range(type.element(), *list.values(), list.value_offset(i), list.value_offset(i + 1)));
      }
      case TypeKind::kMap: {
        const auto& map = static_cast<const arrow::MapArray&>(array);
        return maker_.Map(
            type, Range(type.key(), *map.keys(), map.value_offset(i), map.value_offset(i + 1)),
            Range(type.value(), *map.items(), map.value_offset(i), map.value_offset(i + 1)));
      }
      case TypeKind::kRow: {
        const auto& row = static_cast<const arrow::StructArray&>(array);
        std::vector<FieldValue> fields;
        for (size_t f = 0; f < type.fields().size(); ++f) {
          fields.push_back(Read(type.fields()[f].type, *row.field(static_cast<int>(f)), i));
        }
        return maker_.Row(type, fields);
      }
    }
    WEIR_UNREACHABLE();
  }

 private:
  template <typename Array>
  FieldValue Number(const arrow::Array& array, int64_t i) {
    return maker_.Number(static_cast<const Array&>(array).Value(i));
  }

  FieldValue Time(const DataType& type, const arrow::Array& array, int64_t i) {
    if (type.precision() > 3) {
      const int64_t value = static_cast<const arrow::Time64Array&>(array).Value(i);
      return maker_.Number(value / (type.precision() <= 6 ? 1000 : 1'000'000));
    }
    const int64_t value = static_cast<const arrow::Time32Array&>(array).Value(i);
    return maker_.Number(type.precision() == 0 ? value * 1000 : value);
  }

  FieldValue Timestamp(const DataType& type, const arrow::Array& array, int64_t i) {
    const int64_t value = static_cast<const arrow::TimestampArray&>(array).Value(i);
    if (type.precision() <= 3) return maker_.Number(type.precision() == 0 ? value * 1000 : value);
    const int64_t in_milli = type.precision() <= 6 ? 1000 : 1'000'000;
    const int64_t rest = (value % in_milli + in_milli) % in_milli;
    FieldValue field = maker_.Number((value - rest) / in_milli);
    field.nanos = static_cast<int32_t>(rest * (1'000'000 / in_milli));
    return field;
  }

  std::vector<FieldValue> Range(const DataType& type, const arrow::Array& array, int64_t begin,
                                int64_t end) {
    std::vector<FieldValue> values;
    for (int64_t i = begin; i < end; ++i) values.push_back(Read(type, array, i));
    return values;
  }

  FieldMaker& maker_;
};

void ExpectArrowReads(const Buffer& batch, const std::vector<DataType>& types, KvFormat rows,
                      const std::vector<std::vector<FieldValue>>& expected) {
  const auto read = ReadWithArrow(batch.bytes(), types);
  ASSERT_EQ(read->num_rows(), static_cast<int64_t>(expected.size()));
  FieldMaker maker(rows);
  ArrowFields fields(maker);
  for (size_t i = 0; i < expected.size(); ++i) {
    std::vector<FieldValue> row;
    for (size_t c = 0; c < types.size(); ++c) {
      row.push_back(
          fields.Read(types[c], *read->column(static_cast<int>(c)), static_cast<int64_t>(i)));
    }
    ExpectSameRow(types, rows, row, expected[i]);
  }
}

TEST(ChangelogWriter, ArrowReadsEveryTypeInEveryCompression) {
  const std::vector<DataType> types = EveryType();
  std::mt19937_64 random(3);
  for (const KvFormat rows : kKvFormats) {
    for (const ArrowCodec codec : kCodecs) {
      ChangelogWriter writer(ArrowFormat(codec, rows), types);
      // One writer makes batch after batch.
      for (const size_t count : {1, 70, 9}) {
        FieldMaker maker(rows);
        std::vector<std::vector<FieldValue>> expected;
        for (size_t i = 0; i < count; ++i) {
          expected.push_back(maker.RandomRow(types, random));
          writer.Add(ChangeType::kInsert, expected.back());
        }
        const Buffer batch = writer.Finish(SchemaId{2}, WriterId{1}, BatchSequence{2}).value();
        const LogBatchHeader header = DecodeLogBatchHeader(batch.bytes()).value();
        EXPECT_TRUE(CheckLogBatchCrc(batch.bytes(), header).ok());
        EXPECT_EQ(header.magic, 0);
        EXPECT_FALSE(header.is_append_only);
        EXPECT_EQ(header.schema_id, SchemaId{2});
        ExpectArrowReads(batch, types, rows, expected);
      }
    }
  }
}

ChangeType ChangeTypeOf(const nlohmann::json& text) {
  for (const ChangeType type : {ChangeType::kAppend, ChangeType::kInsert, ChangeType::kUpdateBefore,
                                ChangeType::kUpdateAfter}) {
    if (ToString(type) == text.get<std::string>()) return type;
  }
  EXPECT_EQ(text, "-D");
  return ChangeType::kDelete;
}

void AddAll(const nlohmann::json& vector, const std::vector<DataType>& types, FieldMaker& maker,
            ChangelogWriter& writer) {
  for (size_t i = 0; i < vector.at("rows").size(); ++i) {
    writer.Add(ChangeTypeOf(vector.at("change_types").at(i)),
               maker.RowFromJson(types, vector.at("rows")[i]));
  }
}

nlohmann::json VectorNamed(std::string_view name) {
  for (const nlohmann::json& vector : LoadVectors("log_batches.json")) {
    if (vector.at("name") == name) return vector;
  }
  ADD_FAILURE() << name;
  return {};
}

TEST(ChangelogWriter, WritesTheGoldenBatchesOfRowsByteForByte) {
  int batches = 0;
  for (const nlohmann::json& vector : LoadVectors("log_batches.json")) {
    if (vector.at("log_format") == "ARROW" || vector.at("append_only")) continue;
    ++batches;
    SCOPED_TRACE(vector.at("name").get<std::string>());
    const bool is_indexed = vector.at("log_format") == "INDEXED";
    const KvFormat rows = is_indexed ? KvFormat::kIndexed : KvFormat::kCompacted;
    const std::vector<DataType> types = TypesOf(vector.at("schema"));
    const std::vector<std::byte> golden = HexOf(vector, "batch_hex");
    const LogBatchHeader header = DecodeLogBatchHeader(golden).value();
    ChangelogWriter writer({.log_format = is_indexed ? LogFormat::kIndexed : LogFormat::kCompacted,
                            .compression = {},
                            .kv_format = rows},
                           types);
    FieldMaker maker(rows);
    AddAll(vector, types, maker, writer);
    const Buffer batch =
        writer.Finish(header.schema_id, header.writer_id, header.batch_sequence).value();
    EXPECT_EQ(AsText(batch.bytes()), AsText(golden));
  }
  EXPECT_EQ(batches, 2);
}

TEST(ChangelogWriter, WritesTheGoldenArrowBatchByteForByteButForTheMetadata) {
  const nlohmann::json vector = VectorNamed("arrow_v0_changelog_none");
  const std::vector<DataType> types = TypesOf(vector.at("schema"));
  const std::vector<std::byte> golden = HexOf(vector, "batch_hex");
  const ArrowBatchParts expected = SplitArrowBatch(golden);
  ChangelogWriter writer(ArrowFormat(ArrowCodec::kNone), types);
  FieldMaker maker(KvFormat::kCompacted);
  AddAll(vector, types, maker, writer);
  EXPECT_EQ(writer.record_count(), 4);
  const Buffer batch = writer
                           .Finish(expected.header.schema_id, expected.header.writer_id,
                                   expected.header.batch_sequence)
                           .value();
  const ArrowBatchParts parts = SplitArrowBatch(batch.bytes());
  EXPECT_EQ(AsText(parts.change_types), AsText(expected.change_types));
  EXPECT_EQ(AsText(parts.body), AsText(expected.body));
  EXPECT_EQ(DecodeArrowMessage(parts.message_head).value(),
            DecodeArrowMessage(expected.message_head).value());
}

TEST(ChangelogWriter, WithoutRecordsMakesTheGoldenHeaderAlone) {
  const std::vector<std::byte> golden = HexOf(VectorNamed("arrow_v0_changelog_empty"), "batch_hex");
  for (const LogFormat format : {LogFormat::kArrow, LogFormat::kIndexed, LogFormat::kCompacted}) {
    ChangelogWriter writer(
        {.log_format = format, .compression = {}, .kv_format = KvFormat::kIndexed},
        {DataType::Of(TypeKind::kInt)});
    EXPECT_EQ(AsText(writer.Finish(SchemaId{1}, WriterId{42}, BatchSequence{10}).value().bytes()),
              AsText(golden));
  }
}

TEST(ChangelogWriter, FillsRowsOfOlderSchemasWithNulls) {
  const std::vector<DataType> types = {DataType::Of(TypeKind::kInt),
                                       DataType::Of(TypeKind::kString),
                                       DataType::Array(DataType::Of(TypeKind::kInt))};
  ChangelogWriter writer(ArrowFormat(ArrowCodec::kNone), types);
  writer.Add(ChangeType::kInsert, std::vector{FieldMaker::Number(5)});
  const Buffer batch = writer.Finish(SchemaId{2}, kNoWriterId, kNoBatchSequence).value();
  ExpectArrowReads(batch, types, KvFormat::kCompacted,
                   {{FieldMaker::Number(5), FieldValue{}, FieldValue{}}});
}

TEST(ChangelogWriter, ForgetsWhatWasAddedOnClear) {
  const std::vector<DataType> types = {DataType::Of(TypeKind::kInt)};
  ChangelogWriter writer(ArrowFormat(ArrowCodec::kZstd), types);
  writer.Add(ChangeType::kInsert, std::vector{FieldValue{}});
  EXPECT_GT(writer.bytes(), kLogBatchHeaderBytes);
  writer.Clear();
  EXPECT_EQ(writer.record_count(), 0);
  writer.Add(ChangeType::kDelete, std::vector{FieldMaker::Number(7)});
  const Buffer batch = writer.Finish(SchemaId{1}, kNoWriterId, kNoBatchSequence).value();
  ExpectArrowReads(batch, types, KvFormat::kCompacted, {{FieldMaker::Number(7)}});
}

TEST(ChangelogWriter, RefusesABatchThatIsTooLargeAndBeginsAnew) {
  const std::vector<DataType> types = {DataType::Of(TypeKind::kBytes)};
  const std::string large(60 << 20, 'x');
  FieldValue field;
  field.is_null = false;
  field.bytes = AsBytes(large);
  for (const LogFormat format : {LogFormat::kArrow, LogFormat::kCompacted}) {
    ChangelogWriter writer({.log_format = format,
                            .compression = {.codec = ArrowCodec::kNone},
                            .kv_format = KvFormat::kCompacted},
                           types);
    writer.Add(ChangeType::kInsert, std::vector{field});
    writer.Add(ChangeType::kInsert, std::vector{field});
    const Result<Buffer> batch = writer.Finish(SchemaId{1}, kNoWriterId, kNoBatchSequence);
    ASSERT_FALSE(batch.ok());
    EXPECT_EQ(batch.error().code, ErrorCode::kRecordTooLarge);
    writer.Add(ChangeType::kInsert, std::vector{field});
    EXPECT_TRUE(writer.Finish(SchemaId{1}, kNoWriterId, kNoBatchSequence).ok());
  }
}

// A null of a BINARY is a bit in a row and all of its bytes in a column.
TEST(ChangelogWriter, HoldsNoMoreMemoryThanItsBudget) {
  const std::vector<DataType> types = {
      DataType::Of(TypeKind::kInt), DataType::Of(TypeKind::kBoolean),
      DataType::Array(DataType::Binary(200'000'000)), DataType::Binary(2'000'000'000)};
  ChangelogWriter writer(ArrowFormat(ArrowCodec::kZstd), types);
  FieldMaker maker(KvFormat::kCompacted);
  std::vector<FieldValue> row(types.size());
  row[2] = maker.Array(PlanOf(types[2].element()), std::vector<FieldValue>(100));
  for (int i = 0; i < 20; ++i) writer.Add(ChangeType::kInsert, row);
  EXPECT_LT(writer.bytes(), size_t{1} << 30);
  const Result<Buffer> batch = writer.Finish(SchemaId{1}, kNoWriterId, kNoBatchSequence);
  ASSERT_FALSE(batch.ok());
  EXPECT_EQ(batch.error().code, ErrorCode::kRecordTooLarge);
  EXPECT_EQ(writer.Finish(SchemaId{1}, kNoWriterId, kNoBatchSequence).value().size(),
            kLogBatchHeaderBytes);
}

TEST(ChangelogWriter, MakesCompactedLogsOfIndexedRows) {
  const std::vector<DataType> types = EveryType();
  std::mt19937_64 random(4);
  FieldMaker indexed(KvFormat::kIndexed);
  ChangelogWriter writer(
      {.log_format = LogFormat::kCompacted, .compression = {}, .kv_format = KvFormat::kIndexed},
      types);
  writer.Add(ChangeType::kDelete, indexed.RandomRow(types, random));
  const Buffer batch = writer.Finish(SchemaId{1}, kNoWriterId, kNoBatchSequence).value();
  const Bytes records = batch.bytes().subspan(kLogBatchHeaderBytes);
  EXPECT_EQ(LoadLittle<int32_t>(records.data()), static_cast<int32_t>(records.size() - 4));
  EXPECT_EQ(records[4], std::byte{4});
  std::vector<FieldValue> fields(types.size());
  EXPECT_TRUE(RowCodec(KvFormat::kCompacted, types).Decode(records.subspan(5), fields).ok());
}

TEST(ChangelogWriter, StoresSmallBuffersAsTheyAre) {
  ChangelogWriter writer(ArrowFormat(ArrowCodec::kZstd), {DataType::Of(TypeKind::kInt)});
  writer.Add(ChangeType::kInsert, std::vector{FieldMaker::Number(1)});
  const Buffer batch = writer.Finish(SchemaId{1}, kNoWriterId, kNoBatchSequence).value();
  const ArrowBatchParts parts = SplitArrowBatch(batch.bytes());
  const ArrowMessage message = DecodeArrowMessage(parts.message_head).value();
  EXPECT_EQ(message.buffers, (std::vector<ArrowBuffer>{{0, 9}, {16, 12}}));
  EXPECT_EQ(LoadLittle<int64_t>(parts.body.data()), kArrowStoredRaw);
}

}  // namespace
}  // namespace weir
