#include "weir/record/kv_batch.h"

#include <gtest/gtest.h>

#include "weir/base/crc32c.h"
#include "weir/record/row_testing.h"

namespace weir {
namespace {

std::vector<std::byte> GoldenBatch() {
  return HexOf(LoadVectors("kv.json", "kv_batches").at(0), "batch_hex");
}

// So that it is not the checksum that is wrong.
void Seal(std::vector<std::byte>& batch) {
  StoreLittle(batch.data(), static_cast<int32_t>(batch.size() - 4));
  StoreLittle(&batch[5], Crc32c(Bytes(batch).subspan(9)));
}

bool IsRefused(const std::vector<std::byte>& batch) {
  const Result<KvBatchView> view = DecodeKvBatch(batch);
  return !view.ok() && view.error().code == ErrorCode::kCorruptBatch;
}

KvFormat FormatOf(const nlohmann::json& vector) {
  return vector.at("kv_format") == "COMPACTED" ? KvFormat::kCompacted : KvFormat::kIndexed;
}

TEST(KvBatch, ReadsAndWritesTheGoldenBatches) {
  for (const nlohmann::json& vector : LoadVectors("kv.json", "kv_batches")) {
    SCOPED_TRACE(vector.at("name").get<std::string>());
    const KvFormat format = FormatOf(vector);
    const std::vector<DataType> types = TypesOf(vector.at("schema"));
    const RowCodec codec(format, types);
    const std::vector<std::byte> golden = HexOf(vector, "batch_hex");
    const KvBatchView view = DecodeKvBatch(golden).value();
    EXPECT_EQ(view.header.schema_id, SchemaId(vector.at("schema_id").get<int16_t>()));
    EXPECT_EQ(view.header.writer_id, WriterId(vector.value("writer_id", -1)));
    EXPECT_EQ(view.header.batch_sequence, BatchSequence(vector.value("batch_sequence", -1)));
    const nlohmann::json& records = vector.at("records");
    ASSERT_EQ(view.records.size(), records.size());
    KvBatchWriter writer;
    for (size_t i = 0; i < records.size(); ++i) {
      EXPECT_EQ(AsText(view.records[i].key), AsText(HexOf(records[i], "key_hex")));
      const nlohmann::json& row = records[i].at("row");
      ASSERT_EQ(view.records[i].row.has_value(), !row.is_null());
      if (row.is_null()) {
        writer.Delete(view.records[i].key);
        continue;
      }
      std::string encoded;
      FieldMaker maker(format);
      codec.Encode(maker.RowFromJson(types, row), encoded);
      EXPECT_EQ(AsText(*view.records[i].row), encoded);
      writer.Put(view.records[i].key, AsBytes(encoded));
    }
    EXPECT_EQ(
        AsText(
            writer.Finish(view.header.schema_id, view.header.writer_id, view.header.batch_sequence)
                .bytes()),
        AsText(golden));
  }
}

TEST(KvBatch, IsRefusedIfAnyByteDiffers) {
  const std::vector<std::byte> golden = GoldenBatch();
  for (size_t i = 0; i < golden.size(); ++i) {
    std::vector<std::byte> broken = golden;
    broken[i] ^= std::byte{1};
    EXPECT_TRUE(IsRefused(broken)) << i;
  }
}

TEST(KvBatch, IsRefusedIfItEndsEarlyOrLate) {
  std::vector<std::byte> golden = GoldenBatch();
  for (size_t size = 0; size < golden.size(); ++size) {
    std::vector<std::byte> part(golden.begin(), golden.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_TRUE(IsRefused(part));
    if (size >= 28) Seal(part);
    EXPECT_TRUE(IsRefused(part)) << size;
  }
  golden.push_back({});
  Seal(golden);
  EXPECT_TRUE(IsRefused(golden));
}

TEST(KvBatch, AllocatesNothingForRecordsThatCannotBeThere) {
  std::vector<std::byte> batch = GoldenBatch();
  for (const int32_t count : {-1, 2, 4, 7, 1 << 30}) {
    StoreLittle(&batch[24], count);
    Seal(batch);
    EXPECT_TRUE(IsRefused(batch)) << count;
  }
}

TEST(KvBatch, MayHaveNoRecords) {
  const Buffer batch = KvBatchWriter().Finish(SchemaId{3});
  const KvBatchView view = DecodeKvBatch(batch.bytes()).value();
  EXPECT_TRUE(view.records.empty());
  EXPECT_EQ(view.header.schema_id, SchemaId{3});
  EXPECT_EQ(view.header.writer_id, kNoWriterId);
}

TEST(StoredValue, IsASchemaIdAndARow) {
  for (const nlohmann::json& vector : LoadVectors("kv.json", "values")) {
    const std::vector<std::byte> value = HexOf(vector, "value_hex");
    EXPECT_EQ(SchemaIdOf(value), SchemaId(vector.at("schema_id").get<int16_t>()));
    const std::vector<DataType> types = {DataType::Of(TypeKind::kInt),
                                         DataType::Of(TypeKind::kString),
                                         DataType::Of(TypeKind::kBigInt)};
    std::vector<FieldValue> fields(types.size());
    FieldMaker maker(FormatOf(vector));
    ASSERT_TRUE(RowCodec(FormatOf(vector), types).Decode(RowOf(value), fields).ok());
    ExpectSameRow(types, FormatOf(vector), fields, maker.RowFromJson(types, vector.at("row")));
  }
}

TEST(ValueBatchWriter, WritesTheGoldenBatches) {
  const nlohmann::json batches = LoadVectors("kv.json", "value_batches");
  ValueBatchWriter writer;
  EXPECT_EQ(AsText(writer.Finish().bytes()), AsText(HexOf(batches.at(1), "batch_hex")));
  writer.Add(FromHex("01000001036f6e6564"));
  writer.Add(FromHex("01000602"));
  const std::vector<std::byte> golden = HexOf(batches.at(0), "batch_hex");
  EXPECT_EQ(writer.record_count(), 2);
  EXPECT_EQ(writer.bytes(), golden.size());
  EXPECT_EQ(AsText(writer.Finish().bytes()), AsText(golden));
  EXPECT_EQ(writer.record_count(), 0);
}

}  // namespace
}  // namespace weir
