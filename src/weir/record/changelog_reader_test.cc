#include <gtest/gtest.h>

#include "weir/record/changelog.h"
#include "weir/record/row_testing.h"

namespace weir {
namespace {

constexpr ArrowCodec kCodecs[] = {ArrowCodec::kNone, ArrowCodec::kLz4Frame, ArrowCodec::kZstd};
constexpr KvFormat kKvFormats[] = {KvFormat::kCompacted, KvFormat::kIndexed};

LogBatchView ViewOf(Bytes batch) {
  return {DecodeLogBatchHeader(batch).value(), batch};
}

ChangelogFormat FormatNamed(const nlohmann::json& name, KvFormat rows = KvFormat::kCompacted) {
  return {.log_format = name == "ARROW"     ? LogFormat::kArrow
                        : name == "INDEXED" ? LogFormat::kIndexed
                                            : LogFormat::kCompacted,
          .compression = {},
          .kv_format = rows};
}

/// Reads a batch and compares it with the golden rows.
void ExpectRows(Bytes batch, ChangelogFormat format, const std::vector<DataType>& types,
                const nlohmann::json& rows, const nlohmann::json& change_types) {
  ChangelogReader reader = ChangelogReader::Open(ViewOf(batch), format, types).value();
  std::vector<FieldValue> fields(types.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::optional<ChangeType> type = reader.Next(fields).value();
    ASSERT_TRUE(type.has_value());
    EXPECT_EQ(ToString(*type),
              change_types.is_null() ? "+A" : change_types.at(i).get<std::string>());
    FieldMaker maker(format.kv_format);
    ExpectSameRow(types, format.kv_format, fields, maker.RowFromJson(types, rows[i]));
  }
  EXPECT_EQ(reader.Next(fields).value(), std::nullopt);
}

TEST(ChangelogReader, ReadsTheGoldenBatchesOfWritersInJava) {
  int batches = 0;
  for (const char* file : {"log_batches.json", "log_batches_v1_v2_stats.json"}) {
    for (const nlohmann::json& vector : LoadVectors(file)) {
      const auto name = vector.at("name").get<std::string>();
      if (!vector.contains("rows") || vector.at("rows").is_null() ||
          name.starts_with("arrow_magic1_AS_DEFINED_IN_0_9_1")) {
        continue;
      }
      SCOPED_TRACE(name);
      ++batches;
      for (const KvFormat rows : kKvFormats) {
        ExpectRows(HexOf(vector, "batch_hex"),
                   FormatNamed(vector.value("log_format", "ARROW"), rows),
                   TypesOf(vector.at("schema")), vector.at("rows"),
                   vector.contains("change_types") ? vector.at("change_types") : nlohmann::json());
      }
    }
  }
  EXPECT_EQ(batches, 17);
}

TEST(ChangelogReader, ReadsTheGoldenBatchesOfArrowInCpp) {
  for (const nlohmann::json& vector : LoadVectors("log_batches_arrow_cpp.json")) {
    if (!vector.contains("rows") || vector.at("rows").is_null()) continue;
    SCOPED_TRACE(vector.at("name").get<std::string>());
    ExpectRows(HexOf(vector, "batch_hex"), FormatNamed("ARROW"), TypesOf(vector.at("schema")),
               vector.at("rows"), nullptr);
  }
}

TEST(ChangelogReader, ReadsTheGoldenBatchesOfArrowInRust) {
  const nlohmann::json rows = LoadVectors("log_batches_rust.json", "rows");
  const std::vector<DataType> types = {DataType::Of(TypeKind::kInt),
                                       DataType::Of(TypeKind::kString)};
  for (const nlohmann::json& vector : LoadVectors("log_batches_rust.json")) {
    const auto name = vector.at("name").get<std::string>();
    SCOPED_TRACE(name);
    ExpectRows(HexOf(vector, "batch_hex"), FormatNamed("ARROW"), types,
               rows.at(name.find("with_nulls") != std::string::npos ? "with_nulls" : "no_nulls"),
               nullptr);
  }
}

struct Record {
  ChangeType type;
  std::vector<FieldValue> row;
};

void ExpectRecords(Bytes batch, ChangelogFormat format, const std::vector<DataType>& types,
                   const std::vector<Record>& expected) {
  ChangelogReader reader = ChangelogReader::Open(ViewOf(batch), format, types).value();
  std::vector<FieldValue> fields(types.size());
  for (const Record& record : expected) {
    ASSERT_EQ(reader.Next(fields).value(), record.type);
    ExpectSameRow(types, format.kv_format, fields, record.row);
  }
  ASSERT_EQ(reader.Next(fields).value(), std::nullopt);
}

TEST(ChangelogReader, ReadsWhatTheWriterWroteOfEveryTypeInEveryFormat) {
  const std::vector<DataType> types = EveryType();
  std::mt19937_64 random(5);
  std::vector<ChangelogFormat> formats;
  for (const KvFormat rows : kKvFormats) {
    for (const ArrowCodec codec : kCodecs)
      formats.push_back({LogFormat::kArrow, {.codec = codec}, rows});
    formats.push_back({LogFormat::kCompacted, {}, rows});
  }
  formats.push_back({LogFormat::kIndexed, {}, KvFormat::kIndexed});
  for (const ChangelogFormat& format : formats) {
    ChangelogWriter writer(format, types);
    for (const size_t count : {0, 1, 8, 65}) {
      FieldMaker maker(format.kv_format);
      std::vector<Record> records;
      for (size_t i = 0; i < count; ++i) {
        const auto type = static_cast<ChangeType>(1 + random() % 4);
        records.push_back({type, maker.RandomRow(types, random)});
        writer.Add(type, records.back().row);
      }
      const Buffer batch = writer.Finish(SchemaId{1}, WriterId{2}, BatchSequence{3}).value();
      ExpectRecords(batch.bytes(), format, types, records);
    }
  }
}

TEST(ChangelogReader, ReadsLargeColumns) {
  const std::vector<DataType> types = {DataType::Of(TypeKind::kBigInt),
                                       DataType::Of(TypeKind::kString)};
  std::mt19937_64 random(6);
  for (const ArrowCodec codec : kCodecs) {
    const ChangelogFormat format{LogFormat::kArrow, {.codec = codec}, KvFormat::kCompacted};
    ChangelogWriter writer(format, types);
    FieldMaker maker(KvFormat::kCompacted);
    std::vector<Record> records;
    for (size_t i = 0; i < 50'000; ++i) {
      records.push_back({ChangeType::kInsert, maker.RandomRow(types, random)});
      writer.Add(ChangeType::kInsert, records.back().row);
    }
    const Buffer batch = writer.Finish(SchemaId{1}, WriterId{2}, BatchSequence{3}).value();
    ExpectRecords(batch.bytes(), format, types, records);
  }
}

/// A batch of one BIGINT column of `rows` rows, with a body of one's own.
std::vector<std::byte> BatchOf(int32_t rows, ArrowMessage message, std::string_view body) {
  message.row_count = rows;
  message.body_bytes = static_cast<int64_t>(body.size());
  const std::string types(static_cast<size_t>(rows), '\1');
  const Buffer batch =
      MakeLogBatch({.schema_id = SchemaId{1}, .record_count = rows},
                   {AsBytes(types), AsBytes(EncodeArrowMessage(message)), AsBytes(body)})
          .value();
  return {batch.bytes().begin(), batch.bytes().end()};
}

ErrorCode OpenError(Bytes batch, std::vector<DataType> types,
                    LogFormat format = LogFormat::kArrow) {
  const Result<ChangelogReader> reader =
      ChangelogReader::Open(ViewOf(batch), {format, {}, KvFormat::kCompacted}, std::move(types));
  return reader.ok() ? ErrorCode::kInternal : reader.error().code;
}

std::string Little(int64_t number) {
  return std::string(AsText(std::as_bytes(std::span(&number, 1))));
}

TEST(ChangelogReader, AcceptsColumnsWithoutValidity) {
  const std::vector<std::byte> batch =
      BatchOf(2, {.nodes = {{2, 0}}, .buffers = {{0, 0}, {0, 16}}}, Little(7) + Little(-8));
  ExpectRecords(batch, {LogFormat::kArrow, {}, KvFormat::kCompacted},
                {DataType::Of(TypeKind::kBigInt)},
                {{ChangeType::kInsert, {FieldMaker::Number(7)}},
                 {ChangeType::kInsert, {FieldMaker::Number(-8)}}});
}

TEST(ChangelogReader, RefusesColumnsThatDoNotFitTheRows) {
  const std::vector<DataType> types = {DataType::Of(TypeKind::kBigInt)};
  const std::string body = Little(7) + Little(-8);
  const ArrowMessage sound{.nodes = {{2, 0}}, .buffers = {{0, 0}, {0, 16}}};
  EXPECT_EQ(OpenError(BatchOf(2, sound, body), types), ErrorCode::kInternal);  // none
  const auto refuses = [&](ArrowMessage message) {
    return OpenError(BatchOf(2, std::move(message), body), types) == ErrorCode::kCorruptBatch;
  };
  EXPECT_TRUE(refuses({.nodes = {{1, 0}}, .buffers = {{0, 0}, {0, 16}}}));
  EXPECT_TRUE(refuses({.nodes = {{2, 0}}, .buffers = {{0, 0}, {0, 15}}}));
  EXPECT_TRUE(refuses({.nodes = {{2, 1}}, .buffers = {{0, 0}, {0, 16}}}));
  EXPECT_TRUE(refuses({.nodes = {{2, 0}}, .buffers = {{0, 0}}}));
  EXPECT_TRUE(refuses({.nodes = {{2, 0}}, .buffers = {{0, 0}, {0, 16}, {16, 0}}}));
  EXPECT_TRUE(refuses({.nodes = {{2, 0}, {2, 0}}, .buffers = {{0, 0}, {0, 16}}}));
  EXPECT_TRUE(refuses({.nodes = {}, .buffers = {}}));
}

TEST(ChangelogReader, DecompressesNoMoreThanTheRowsMayHold) {
  const std::vector<DataType> types = {DataType::Of(TypeKind::kBigInt)};
  const auto refuses = [&](int64_t uncompressed_bytes) {
    const std::string body = Little(uncompressed_bytes) + std::string(16, '\0');
    const ArrowMessage message{
        .codec = ArrowCodec::kZstd, .nodes = {{2, 0}}, .buffers = {{0, 0}, {0, 24}}};
    return OpenError(BatchOf(2, message, body), types) == ErrorCode::kCorruptBatch;
  };
  EXPECT_FALSE(refuses(-1));  // stored as it is
  EXPECT_TRUE(refuses(-2));
  EXPECT_TRUE(refuses(16));  // zeros are no frame
  EXPECT_TRUE(refuses(1000));
  EXPECT_TRUE(refuses(int64_t{1} << 40));
}

TEST(ChangelogReader, RefusesOffsetsThatLieOutside) {
  const std::vector<DataType> types = {DataType::Of(TypeKind::kString)};
  const auto refuses = [&](std::array<int32_t, 3> offsets) {
    const std::string body =
        std::string(AsText(std::as_bytes(std::span(offsets)))) + std::string(4, '\0') + "abcdefgh";
    const ArrowMessage message{.nodes = {{2, 0}}, .buffers = {{0, 0}, {0, 12}, {16, 5}}};
    return OpenError(BatchOf(2, message, body), types) == ErrorCode::kCorruptBatch;
  };
  EXPECT_FALSE(refuses({0, 2, 5}));
  EXPECT_FALSE(refuses({1, 1, 1}));
  EXPECT_TRUE(refuses({0, 2, 6}));
  EXPECT_TRUE(refuses({0, 6, 5}));
  EXPECT_TRUE(refuses({-1, 2, 5}));
}

// 100 million elements that are bits, of which an array in a row would have 800 MB.
TEST(ChangelogReader, RefusesNestedValuesThatAreTooLarge) {
  const std::vector<DataType> types = {
      DataType::Array(DataType::Row({{"b", DataType::Of(TypeKind::kBoolean), {}, -1}}))};
  constexpr int64_t kCount = 100'000'000;
  const std::array<int32_t, 2> offsets = {0, static_cast<int32_t>(kCount)};
  const std::string body =
      std::string(AsText(std::as_bytes(std::span(offsets)))) + std::string(kCount / 8, '\0');
  const ArrowMessage message{.nodes = {{1, 0}, {kCount, 0}, {kCount, 0}},
                             .buffers = {{0, 0}, {0, 8}, {8, 0}, {8, 0}, {8, kCount / 8}}};
  const std::vector<std::byte> batch = BatchOf(1, message, body);
  ChangelogReader reader =
      ChangelogReader::Open(ViewOf(batch), {LogFormat::kArrow, {}, KvFormat::kCompacted}, types)
          .value();
  std::vector<FieldValue> fields(1);
  const auto record = reader.Next(fields);
  ASSERT_FALSE(record.ok());
  EXPECT_EQ(record.error().code, ErrorCode::kCorruptBatch);
}

TEST(ChangelogReader, RefusesRecordsThatDoNotFillTheBatch) {
  const std::vector<DataType> types = {DataType::Of(TypeKind::kTinyInt)};
  const auto reads = [&](std::string records, int32_t count) {
    const Buffer batch =
        MakeLogBatch({.schema_id = SchemaId{1}, .record_count = count}, {AsBytes(records)}).value();
    ChangelogReader reader =
        ChangelogReader::Open(ViewOf(batch.bytes()),
                              {LogFormat::kCompacted, {}, KvFormat::kCompacted}, types)
            .value();
    std::vector<FieldValue> fields(1);
    for (int32_t i = 0; i <= count; ++i) {
      const auto record = reader.Next(fields);
      if (!record.ok()) {
        EXPECT_EQ(record.error().code, ErrorCode::kCorruptBatch);
        return false;
      }
      EXPECT_EQ(record->has_value(), i < count);
    }
    return true;
  };
  const std::string record("\3\0\0\0\4\0\7", 7);
  EXPECT_TRUE(reads(record, 1));
  EXPECT_TRUE(reads(record + record, 2));
  EXPECT_FALSE(reads(record, 2));
  EXPECT_FALSE(reads(record + record, 1));
  EXPECT_FALSE(reads(record.substr(0, 6), 1));
  EXPECT_FALSE(reads(std::string("\0\0\0\0", 4), 1));
  EXPECT_FALSE(reads(std::string("\3\0\0\0\5\0\7", 7), 1));
}

TEST(ChangelogReader, RefusesChangeTypesThatThereAreNot) {
  std::vector<std::byte> batch =
      BatchOf(1, {.nodes = {{1, 0}}, .buffers = {{0, 0}, {0, 8}}}, Little(7));
  batch[kLogBatchHeaderBytes] = std::byte{5};
  ChangelogReader reader =
      ChangelogReader::Open(ViewOf(batch), {LogFormat::kArrow, {}, KvFormat::kCompacted},
                            {DataType::Of(TypeKind::kBigInt)})
          .value();
  std::vector<FieldValue> fields(1);
  EXPECT_FALSE(reader.Next(fields).ok());
}

}  // namespace
}  // namespace weir
