// See keyed_rows.h.
#include "weir/load/keyed_rows.h"

#include <array>
#include <bit>

#include <nlohmann/json.hpp>

#include "weir/load/key_choice.h"
#include "weir/record/kv_batch.h"

namespace weir::load {
namespace {

constexpr int64_t kFirstTime = 1'700'000'000'000;
constexpr SchemaId kFirstSchema{1};
// What clients collect for a bucket before they send it (client.writer.batch-size).
constexpr size_t kBatchBytes = 2 << 20;
// Of a record: its length, and that of its key.
constexpr size_t kRecordHeadBytes = 5;

enum Position { kId, kTime, kGroup, kItem, kPrice, kQuantity, kFlag, kText1, kText2, kText3 };

struct ColumnOf {
  const char* name;
  TypeKind kind;
  const char* type;
};
constexpr std::array<ColumnOf, 10> kColumns = {{{"id", TypeKind::kBigInt, "BIGINT"},
                                                {"ts", TypeKind::kBigInt, "BIGINT"},
                                                {"group_id", TypeKind::kInt, "INTEGER"},
                                                {"item_id", TypeKind::kInt, "INTEGER"},
                                                {"price", TypeKind::kDouble, "DOUBLE"},
                                                {"qty", TypeKind::kInt, "INTEGER"},
                                                {"flag", TypeKind::kBoolean, "BOOLEAN"},
                                                {"s1", TypeKind::kString, "STRING"},
                                                {"s2", TypeKind::kString, "STRING"},
                                                {"s3", TypeKind::kString, "STRING"}}};
constexpr size_t kText1Bytes = 16;
constexpr size_t kText2Bytes = 20;
constexpr size_t kText3BytesMin = 27;

std::vector<DataType> ColumnTypes() {
  std::vector<DataType> types;
  for (const ColumnOf& column : kColumns) types.push_back(DataType::Of(column.kind));
  return types;
}

std::vector<DataType> KeyTypes(KeyShape shape) {
  const DataType number = DataType::Of(TypeKind::kBigInt);
  if (shape == KeyShape::kNumber) return {number};
  return {DataType::Of(TypeKind::kInt), number};
}

KeyCodec CodecOf(std::vector<DataType> types) {
  return KeyCodec::Make(KeyEncoding::kCompacted, std::move(types)).value();
}

FieldValue Number(int64_t number) {
  return {.is_null = false, .nanos = 0, .number = number, .bytes = {}};
}

FieldValue Text(std::string_view text) {
  return {.is_null = false, .nanos = 0, .number = 0, .bytes = AsBytes(text)};
}

/// Fills `out` with hexadecimal digits that follow from `seed`.
void FillDigits(uint64_t seed, std::string& out) {
  uint64_t bits = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    if (i % 16 == 0) bits = Scatter(seed + i + 1);
    out[i] = "0123456789abcdef"[bits & 15];
    bits >>= 4;
  }
}

}  // namespace

KeyedRows::KeyedRows(KeyShape shape, int row_bytes)
    : shape_(shape),
      last_text_bytes_(kText3BytesMin + static_cast<size_t>(row_bytes - kKeyedRowBytesMin)),
      rows_(KvFormat::kCompacted, ColumnTypes()),
      keys_(CodecOf(KeyTypes(shape))),
      prefixes_(CodecOf({DataType::Of(TypeKind::kInt)})),
      texts_(kText1Bytes + kText2Bytes + last_text_bytes_, '0') {}

std::string KeyedRows::TableJson(int buckets, const std::string& compression,
                                 const std::string& durability) const {
  const bool has_group = shape_ == KeyShape::kGroupAndNumber;
  nlohmann::json fields = nlohmann::json::array();
  for (size_t i = 0; i < kColumns.size(); ++i) {
    const bool is_key = i == kId || (i == kGroup && has_group);
    fields.push_back({{"id", i},
                      {"name", kColumns[i].name},
                      {"data_type", {{"type", kColumns[i].type}, {"nullable", !is_key}}}});
  }
  nlohmann::json primary_key = {"id"};
  if (has_group) primary_key = {"group_id", "id"};
  nlohmann::json properties = {
      {"table.log.arrow.compression.type", compression == "lz4" ? "lz4_frame" : compression}};
  if (!durability.empty()) properties["table.durability"] = durability;
  return nlohmann::json{{"version", 1},
                        {"schema",
                         {{"version", 1},
                          {"columns", fields},
                          {"primary_key", primary_key},
                          {"highest_field_id", kColumns.size() - 1}}},
                        {"partition_key", nlohmann::json::array()},
                        {"bucket_key", nlohmann::json::array({has_group ? "group_id" : "id"})},
                        {"bucket_count", buckets},
                        {"properties", properties},
                        {"custom_properties", nlohmann::json::object()}}
      .dump();
}

void KeyedRows::SetKey(int64_t number) {
  key_.clear();
  if (shape_ == KeyShape::kGroupAndNumber) key_.push_back(Number(number / kRowsPerPrefix));
  key_.push_back(Number(number));
}

void KeyedRows::AddKey(int64_t number, std::string& out) {
  SetKey(number);
  WEIR_CHECK(keys_.Encode(key_, out).ok());
}

void KeyedRows::AddPrefix(int64_t group, std::string& out) {
  key_.assign(1, Number(group));
  WEIR_CHECK(prefixes_.Encode(key_, out).ok());
}

void KeyedRows::AddRow(int64_t number, int64_t version, std::string& out) {
  const uint64_t seed =
      Scatter(static_cast<uint64_t>(number) ^ Scatter(static_cast<uint64_t>(version)));
  const auto below = [seed](int bits, uint64_t bound) {
    return static_cast<int64_t>((seed >> bits) % bound);
  };
  FillDigits(seed, texts_);
  const std::string_view texts = texts_;
  std::array<FieldValue, kColumns.size()> fields;
  fields[kId] = Number(number);
  fields[kTime] = Number(kFirstTime + version);
  fields[kGroup] = Number(number / kRowsPerPrefix);
  fields[kItem] = Number(below(0, 10'000));
  fields[kPrice] = Number(std::bit_cast<int64_t>(static_cast<double>(below(14, 100'000)) / 100));
  fields[kQuantity] = Number(below(31, 100));
  fields[kFlag] = Number(below(40, 2));
  fields[kText1] = Text(texts.substr(0, kText1Bytes));
  fields[kText2] = Text(texts.substr(kText1Bytes, kText2Bytes));
  fields[kText3] = Text(texts.substr(kText1Bytes + kText2Bytes));
  rows_.Encode(fields, out);
}

int32_t KeyedRows::BucketOf(int64_t number, int32_t buckets) {
  if (shape_ == KeyShape::kGroupAndNumber) return BucketOfGroup(number / kRowsPerPrefix, buckets);
  scratch_.clear();
  AddKey(number, scratch_);
  return weir::BucketOf(std::nullopt, AsBytes(scratch_), buckets).value();
}

int32_t KeyedRows::BucketOfGroup(int64_t group, int32_t buckets) {
  scratch_.clear();
  AddPrefix(group, scratch_);
  return weir::BucketOf(std::nullopt, AsBytes(scratch_), buckets).value();
}

Result<int64_t> KeyedRows::NumberOf(Bytes value) {
  std::array<FieldValue, kColumns.size()> fields;
  if (value.size() >= kValueHeadBytes && SchemaIdOf(value) == kFirstSchema &&
      rows_.Decode(RowOf(value), fields).ok()) {
    const int64_t number = fields[kId].number;
    scratch_.clear();
    AddRow(number, fields[kTime].number - kFirstTime, scratch_);
    if (scratch_ == AsText(RowOf(value))) return number;
  }
  return Fail(ErrorCode::kInternal, "a value is not as any was written: bytes={}", value.size());
}

std::vector<std::vector<ReadyBatch>> MakeKvBatches(KeyedRows& rows,
                                                   const std::vector<RowVersion>& versions,
                                                   int buckets, size_t writer_count,
                                                   int batch_rows) {
  struct Begun {
    KvBatchWriter batch;
    int row_count = 0;
    size_t bytes = 0;
    size_t writer = 0;
  };
  const auto bucket_count = static_cast<size_t>(buckets);
  WEIR_CHECK(writer_count >= bucket_count);
  std::vector<Begun> begun(bucket_count);
  for (size_t i = 0; i < bucket_count; ++i) begun[i].writer = i;
  std::vector<std::vector<ReadyBatch>> batches(writer_count);
  const auto finish = [&](Begun& one) {
    batches[one.writer].push_back(ReadyBatch::OfKv(one.batch.Finish(kFirstSchema), one.row_count));
    one.row_count = 0;
    one.bytes = 0;
    // The next writer of this bucket.
    one.writer += bucket_count;
    if (one.writer >= writer_count) one.writer %= bucket_count;
  };
  std::string key;
  std::string row;
  for (const RowVersion& version : versions) {
    key.clear();
    row.clear();
    rows.AddKey(version.number, key);
    rows.AddRow(version.number, version.version, row);
    const size_t bytes = kRecordHeadBytes + key.size() + row.size();
    Begun& one = begun[static_cast<size_t>(rows.BucketOf(version.number, buckets))];
    const bool is_full =
        batch_rows > 0 ? one.row_count == batch_rows : one.bytes + bytes > kBatchBytes;
    if (is_full && one.row_count > 0) finish(one);
    one.batch.Put(AsBytes(key), AsBytes(row));
    one.row_count += 1;
    one.bytes += bytes;
  }
  for (Begun& one : begun) {
    if (one.row_count > 0) finish(one);
  }
  return batches;
}

}  // namespace weir::load
