#include "weir/record/kv_batch.h"

#include <utility>

#include "weir/base/check.h"
#include "weir/base/crc32c.h"
#include "weir/base/varint.h"

namespace weir {
namespace {

constexpr size_t kLengthBytes = sizeof(int32_t);
constexpr size_t kMagicAt = 4;
constexpr uint8_t kMagic = 0;

constexpr size_t kCrcAt = 5;
constexpr size_t kCrcStart = 9;
constexpr size_t kSchemaIdAt = 9;
constexpr size_t kAttributesAt = 11;
constexpr size_t kWriterIdAt = 12;
constexpr size_t kBatchSequenceAt = 20;
constexpr size_t kRecordCountAt = 24;
constexpr size_t kHeaderBytes = 28;

// Its length, and a key of no bytes.
constexpr size_t kRecordBytesMin = kLengthBytes + 1;

constexpr size_t kValueCountAt = 5;
constexpr size_t kValueHeaderBytes = 9;

template <typename Number>
Error Corrupt(const char* field, Number value) {
  return Fail(ErrorCode::kCorruptBatch, "kv batch is not valid: {}={}", field, value);
}

void AppendLength(std::string& out, size_t length) {
  char bytes[kLengthBytes];
  StoreLittle(reinterpret_cast<std::byte*>(bytes), static_cast<int32_t>(length));
  out.append(bytes, sizeof(bytes));
}

Result<KvBatchHeader> DecodeHeader(Bytes batch) {
  if (batch.size() < kHeaderBytes) return Corrupt("bytes", batch.size());
  const std::byte* const at = batch.data();
  const auto length = LoadLittle<uint32_t>(at);
  if (length != batch.size() - kLengthBytes) return Corrupt("length", length);
  const auto magic = LoadLittle<uint8_t>(at + kMagicAt);
  if (magic != kMagic) return Corrupt("magic", int{magic});
  const auto crc = LoadLittle<uint32_t>(at + kCrcAt);
  if (crc != Crc32c(batch.subspan(kCrcStart))) return Corrupt("checksum", crc);
  const auto attributes = LoadLittle<uint8_t>(at + kAttributesAt);
  // An attribute that we do not know may mean that the records lie in another way.
  if (attributes != 0) return Corrupt("attributes", int{attributes});
  KvBatchHeader header{.schema_id = SchemaId(LoadLittle<int16_t>(at + kSchemaIdAt)),
                       .writer_id = WriterId(LoadLittle<int64_t>(at + kWriterIdAt)),
                       .batch_sequence = BatchSequence(LoadLittle<int32_t>(at + kBatchSequenceAt)),
                       .record_count = LoadLittle<int32_t>(at + kRecordCountAt)};
  const size_t records_max = (batch.size() - kHeaderBytes) / kRecordBytesMin;
  if (header.record_count < 0 || static_cast<size_t>(header.record_count) > records_max) {
    return Corrupt("record_count", header.record_count);
  }
  return header;
}

Result<KvRecord> TakeRecord(Bytes& records) {
  if (records.size() < kLengthBytes) return Corrupt("record_bytes_left", records.size());
  const auto length = LoadLittle<uint32_t>(records.data());
  if (length > records.size() - kLengthBytes) return Corrupt("record_length", length);
  Bytes record = records.subspan(kLengthBytes, length);
  records = records.subspan(kLengthBytes + length);
  const std::optional<uint64_t> key_bytes = TakeVarint(record);
  if (!key_bytes || *key_bytes > record.size()) {
    return Corrupt("key_length", key_bytes.value_or(0));
  }
  KvRecord taken{.key = record.first(*key_bytes), .row = std::nullopt};
  const Bytes row = record.subspan(*key_bytes);
  if (!row.empty()) taken.row = row;
  return taken;
}

}  // namespace

Result<KvBatchView> DecodeKvBatch(Bytes batch) {
  WEIR_ASSIGN(const KvBatchHeader header, DecodeHeader(batch));
  KvBatchView view{.header = header, .records = {}};
  view.records.reserve(static_cast<size_t>(header.record_count));
  Bytes records = batch.subspan(kHeaderBytes);
  for (int32_t i = 0; i < header.record_count; ++i) {
    WEIR_ASSIGN(const KvRecord record, TakeRecord(records));
    view.records.push_back(record);
  }
  if (!records.empty()) return Corrupt("bytes_behind_records", records.size());
  return view;
}

void KvBatchWriter::Put(Bytes key, Bytes row) {
  std::string key_length;
  AppendVarint(key_length, key.size());
  AppendLength(records_, key_length.size() + key.size() + row.size());
  records_ += key_length;
  records_ += AsText(key);
  records_ += AsText(row);
  ++record_count_;
}

void KvBatchWriter::Delete(Bytes key) {
  Put(key, {});
}

Buffer KvBatchWriter::Finish(SchemaId schema_id, WriterId writer_id, BatchSequence batch_sequence) {
  Buffer batch = Buffer::Allocate(kHeaderBytes + records_.size());
  std::byte* const at = batch.mutable_data();
  StoreLittle(at, static_cast<int32_t>(batch.size() - kLengthBytes));
  StoreLittle(at + kMagicAt, kMagic);
  StoreLittle(at + kSchemaIdAt, schema_id.value);
  StoreLittle(at + kAttributesAt, uint8_t{0});
  StoreLittle(at + kRecordCountAt, record_count_);
  std::memcpy(at + kHeaderBytes, records_.data(), records_.size());
  AddressKvBatch(batch.mutable_bytes(), writer_id, batch_sequence);
  records_.clear();
  record_count_ = 0;
  return batch;
}

void AddressKvBatch(MutableBytes batch, WriterId writer_id, BatchSequence batch_sequence) {
  WEIR_CHECK(batch.size() >= kHeaderBytes);
  std::byte* const at = batch.data();
  StoreLittle(at + kWriterIdAt, writer_id.value);
  StoreLittle(at + kBatchSequenceAt, batch_sequence.value);
  StoreLittle(at + kCrcAt, Crc32c(batch.subspan(kCrcStart)));
}

SchemaId SchemaIdOf(Bytes value) {
  WEIR_CHECK(value.size() >= kValueHeadBytes);
  return SchemaId(LoadLittle<int16_t>(value.data()));
}

void ValueBatchWriter::Add(Bytes value) {
  AppendLength(records_, value.size());
  records_ += AsText(value);
  ++record_count_;
}

size_t ValueBatchWriter::bytes() const {
  return kValueHeaderBytes + records_.size();
}

Buffer ValueBatchWriter::Finish() {
  Buffer batch = Buffer::Allocate(bytes());
  std::byte* const at = batch.mutable_data();
  StoreLittle(at, static_cast<int32_t>(batch.size() - kLengthBytes));
  StoreLittle(at + kMagicAt, kMagic);
  StoreLittle(at + kValueCountAt, record_count_);
  std::memcpy(at + kValueHeaderBytes, records_.data(), records_.size());
  records_.clear();
  record_count_ = 0;
  return batch;
}

}  // namespace weir
