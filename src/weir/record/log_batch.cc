#include "weir/record/log_batch.h"

#include <algorithm>
#include <limits>

#include "weir/base/check.h"
#include "weir/base/crc32c.h"

namespace weir {
namespace {

constexpr size_t kLengthAt = 8;
constexpr size_t kMagicAt = 12;
constexpr size_t kTimestampAt = 13;
constexpr size_t kLeaderEpochAt = 21;
// The checksum follows, or stands here where there is no leader epoch. The fields behind it lie the
// same way in every magic; their positions are counted from where it ends.
constexpr size_t kSchemaId = 0;
constexpr size_t kAttributes = 2;
constexpr size_t kLastOffsetDelta = 3;
constexpr size_t kWriterId = 7;
constexpr size_t kBatchSequence = 15;
constexpr size_t kRecordCount = 19;
constexpr size_t kStatisticsLength = 23;

// The length field does not count itself and what is before it.
constexpr size_t kLengthEnd = 12;

constexpr int8_t kMagicMax = 2;
constexpr size_t kHeaderBytes[kMagicMax + 1] = {48, 52, 56};
constexpr size_t kCrcStart[kMagicMax + 1] = {25, 25, 29};

constexpr uint8_t kAppendOnly = 1;

// The last offset of a batch at this one is the largest there is, with one to spare for the end.
constexpr int64_t kBaseOffsetMax =
    std::numeric_limits<int64_t>::max() - std::numeric_limits<int32_t>::max() - 1;

static_assert(kHeaderBytes[0] == kLogBatchHeaderBytes &&
              kHeaderBytes[kMagicMax] == kLogBatchHeaderBytesMax);

template <typename Number>
Error Corrupt(const char* field, Number value) {
  return Fail(ErrorCode::kCorruptBatch, "log batch header is not valid: {}={}", field, value);
}

// The rules that concern several fields at once.
Status CheckHeader(const LogBatchHeader& header) {
  if (header.base_offset.value > kBaseOffsetMax) return Corrupt("base_offset", header.base_offset);
  if (header.record_count < 0) return Corrupt("record_count", header.record_count);
  if (header.last_offset_delta != std::max(header.record_count - 1, 0)) {
    return Corrupt("last_offset_delta", header.last_offset_delta);
  }
  if (header.statistics_bytes > header.batch_bytes - header.header_bytes()) {
    return Corrupt("statistics_length", header.statistics_bytes);
  }
  if (header.record_count > 0 && header.records_bytes() == 0) return Corrupt("records_bytes", 0);
  return Ok();
}

}  // namespace

size_t LogBatchHeader::header_bytes() const {
  return kHeaderBytes[magic];
}

size_t LogBatchHeader::crc_start() const {
  return kCrcStart[magic];
}

Result<LogBatchHeader> DecodeLogBatchHeader(Bytes bytes) {
  if (bytes.size() < kLogBatchHeaderBytes) return Corrupt("bytes_left", bytes.size());
  LogBatchHeader header;
  header.magic = LoadLittle<int8_t>(&bytes[kMagicAt]);
  if (header.magic < 0 || header.magic > kMagicMax) return Corrupt("magic", int{header.magic});
  if (bytes.size() < header.header_bytes()) return Corrupt("bytes_left", bytes.size());

  const auto length = LoadLittle<int32_t>(&bytes[kLengthAt]);
  if (length < static_cast<int64_t>(header.header_bytes() - kLengthEnd) ||
      length > static_cast<int64_t>(kLogBatchBytesMax - kLengthEnd)) {
    return Corrupt("length", length);
  }
  header.batch_bytes = static_cast<size_t>(length) + kLengthEnd;

  header.base_offset = LogOffset(LoadLittle<int64_t>(&bytes[0]));
  header.commit_timestamp = Timestamp(LoadLittle<int64_t>(&bytes[kTimestampAt]));
  if (header.magic == 2) header.leader_epoch = LoadLittle<int32_t>(&bytes[kLeaderEpochAt]);
  const std::byte* covered = &bytes[header.crc_start()];
  header.crc = LoadLittle<uint32_t>(covered - sizeof(uint32_t));
  header.schema_id = SchemaId(LoadLittle<int16_t>(covered + kSchemaId));
  const auto attributes = LoadLittle<uint8_t>(covered + kAttributes);
  // An attribute that we do not know may mean that the records lie in another way.
  if ((attributes & ~kAppendOnly) != 0) return Corrupt("attributes", int{attributes});
  header.is_append_only = (attributes & kAppendOnly) != 0;
  header.last_offset_delta = LoadLittle<int32_t>(covered + kLastOffsetDelta);
  header.writer_id = WriterId(LoadLittle<int64_t>(covered + kWriterId));
  header.batch_sequence = BatchSequence(LoadLittle<int32_t>(covered + kBatchSequence));
  header.record_count = LoadLittle<int32_t>(covered + kRecordCount);
  if (header.magic >= 1) {
    const auto statistics = LoadLittle<int32_t>(covered + kStatisticsLength);
    if (statistics < 0) return Corrupt("statistics_length", statistics);
    header.statistics_bytes = static_cast<size_t>(statistics);
  }
  WEIR_TRY(CheckHeader(header));
  return header;
}

void EncodeLogBatchHeader(const LogBatchHeader& header, MutableBytes batch) {
  WEIR_CHECK(header.magic >= 0 && header.magic <= kMagicMax &&
             batch.size() >= header.header_bytes());
  WEIR_CHECK(header.batch_bytes >= header.header_bytes() &&
             header.batch_bytes <= kLogBatchBytesMax);
  std::byte* at = batch.data();
  StoreLittle(at, header.base_offset.value);
  StoreLittle(at + kLengthAt, static_cast<int32_t>(header.batch_bytes - kLengthEnd));
  StoreLittle(at + kMagicAt, header.magic);
  StoreLittle(at + kTimestampAt, header.commit_timestamp.value);
  if (header.magic == 2) StoreLittle(at + kLeaderEpochAt, header.leader_epoch.value_or(-1));
  std::byte* covered = at + header.crc_start();
  StoreLittle(covered - sizeof(uint32_t), header.crc);
  StoreLittle(covered + kSchemaId, header.schema_id.value);
  StoreLittle(covered + kAttributes, static_cast<uint8_t>(header.is_append_only ? kAppendOnly : 0));
  StoreLittle(covered + kLastOffsetDelta, header.last_offset_delta);
  StoreLittle(covered + kWriterId, header.writer_id.value);
  StoreLittle(covered + kBatchSequence, header.batch_sequence.value);
  StoreLittle(covered + kRecordCount, header.record_count);
  if (header.magic >= 1)
    StoreLittle(covered + kStatisticsLength, static_cast<int32_t>(header.statistics_bytes));
}

void SealLogBatch(LogBatchHeader header, MutableBytes batch) {
  header.batch_bytes = batch.size();
  EncodeLogBatchHeader(header, batch);
  StoreLittle(&batch[header.crc_start() - sizeof(uint32_t)],
              Crc32c(batch.subspan(header.crc_start())));
}

Result<Buffer> MakeLogBatch(LogBatchHeader header, std::initializer_list<Bytes> parts) {
  size_t bytes = header.header_bytes();
  for (const Bytes part : parts) bytes += part.size();
  if (bytes > kLogBatchBytesMax) {
    return Fail(ErrorCode::kRecordTooLarge, "log batch is too large: bytes={} bytes_max={}", bytes,
                kLogBatchBytesMax);
  }
  Buffer batch = Buffer::Allocate(bytes);
  std::byte* at = batch.mutable_data() + header.header_bytes();
  for (const Bytes part : parts) {
    if (!part.empty()) std::memcpy(at, part.data(), part.size());
    at += part.size();
  }
  header.last_offset_delta = std::max(header.record_count - 1, 0);
  SealLogBatch(header, batch.mutable_bytes());
  return batch;
}

Status CheckLogBatchCrc(Bytes batch, const LogBatchHeader& header) {
  WEIR_CHECK(batch.size() == header.batch_bytes);
  const uint32_t crc = Crc32c(batch.subspan(header.crc_start()));
  if (crc != header.crc) {
    return Fail(ErrorCode::kCorruptBatch,
                "log batch checksum differs: header={:08x} content={:08x} bytes={}", header.crc,
                crc, batch.size());
  }
  return Ok();
}

void StampLogBatch(MutableBytes batch, LogOffset base_offset, Timestamp commit_timestamp) {
  WEIR_CHECK(batch.size() >= kLogBatchHeaderBytes);
  StoreLittle(batch.data(), base_offset.value);
  StoreLittle(batch.data() + kTimestampAt, commit_timestamp.value);
}

Result<LogBatchView> LogBatchReader::Next() {
  const Bytes rest = batches_.subspan(position_);
  WEIR_ASSIGN(LogBatchHeader header, DecodeLogBatchHeader(rest));
  if (header.batch_bytes > rest.size()) {
    return Fail(ErrorCode::kCorruptBatch,
                "log batch is cut short: position={} batch_bytes={} bytes_left={}", position_,
                header.batch_bytes, rest.size());
  }
  position_ += header.batch_bytes;
  return LogBatchView{header, rest.first(header.batch_bytes)};
}

}  // namespace weir
