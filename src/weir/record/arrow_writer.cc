#include "weir/record/arrow_writer.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <lz4frame.h>
#include <zstd.h>

#include "weir/base/check.h"
#include "weir/record/log_batch.h"

namespace weir {
namespace {

LZ4F_preferences_t Lz4Preferences() {
  LZ4F_preferences_t preferences = LZ4F_INIT_PREFERENCES;
  // Readers in Java refuse frames whose blocks depend on each other, which is the library's default
  // for more than one.
  preferences.frameInfo.blockMode = LZ4F_blockIndependent;
  preferences.frameInfo.blockSizeID = LZ4F_max64KB;
  return preferences;
}

std::vector<std::byte> PackBits(size_t count, auto&& bit_at) {
  std::vector<std::byte> bits((count + 7) / 8);
  for (size_t i = 0; i < count; ++i) {
    if (bit_at(i)) bits[i / 8] |= std::byte{1} << (i % 8);
  }
  return bits;
}

}  // namespace

/// Compresses single buffers.
class ArrowBatchWriter::Compressor {
 public:
  explicit Compressor(ArrowCompression compression) : compression_(compression) {}

  size_t Bound(size_t raw_bytes) const {
    return compression_.codec == ArrowCodec::kZstd
               ? ZSTD_compressBound(raw_bytes)
               : LZ4F_compressFrameBound(raw_bytes, &lz4_preferences_);
  }

  /// Bytes written to `out`, which has Bound() of them.
  size_t Compress(Bytes raw, MutableBytes out) {
    if (compression_.codec == ArrowCodec::kZstd) {
      const size_t size = ZSTD_compressCCtx(zstd_.get(), out.data(), out.size(), raw.data(),
                                            raw.size(), compression_.zstd_level);
      WEIR_CHECK(!ZSTD_isError(size));
      return size;
    }
    const size_t size =
        LZ4F_compressFrame(out.data(), out.size(), raw.data(), raw.size(), &lz4_preferences_);
    WEIR_CHECK(!LZ4F_isError(size));
    return size;
  }

 private:
  const ArrowCompression compression_;
  const LZ4F_preferences_t lz4_preferences_ = Lz4Preferences();
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> zstd_{ZSTD_createCCtx(),
                                                                   &ZSTD_freeCCtx};
};

ArrowBatchWriter::ArrowBatchWriter(ArrowCompression compression)
    : codec_(compression.codec),
      compressor_(codec_ == ArrowCodec::kNone ? nullptr
                                              : std::make_unique<Compressor>(compression)) {}

ArrowBatchWriter::~ArrowBatchWriter() = default;

void ArrowBatchWriter::AddBooleans(std::span<const bool> values, Nulls nulls) {
  BeginColumn(values.size(), nulls);
  AddBuffer(PackBits(values.size(), [&](size_t i) { return values[i]; }));
}

void ArrowBatchWriter::AddStrings(std::span<const std::string_view> values, Nulls nulls) {
  BeginColumn(values.size(), nulls);
  std::vector<int32_t> offsets{0};
  std::string data;
  offsets.reserve(values.size() + 1);
  for (size_t i = 0; i < values.size(); ++i) {
    if (nulls.empty() || nulls[i] == 0) data += values[i];
    WEIR_CHECK(data.size() <= static_cast<size_t>(std::numeric_limits<int32_t>::max()));
    offsets.push_back(static_cast<int32_t>(data.size()));
  }
  AddBuffer(std::as_bytes(std::span(offsets)));
  AddBuffer(AsBytes(data));
}

Buffer ArrowBatchWriter::Finish(SchemaId schema_id, WriterId writer_id,
                                BatchSequence batch_sequence) {
  WEIR_CHECK(!message_.nodes.empty());
  const int64_t rows = message_.row_count;
  WEIR_CHECK(rows <= std::numeric_limits<int32_t>::max());
  message_.codec = codec_;
  message_.body_bytes = static_cast<int64_t>(body_.size());
  const std::string arrow_head = rows == 0 ? std::string() : EncodeArrowMessage(message_);
  if (rows == 0) body_.clear();

  Buffer batch = Buffer::Allocate(kLogBatchHeaderBytes + arrow_head.size() + body_.size());
  std::byte* at = batch.mutable_data() + kLogBatchHeaderBytes;
  at = std::ranges::copy(AsBytes(arrow_head), at).out;
  std::ranges::copy(AsBytes(body_), at);
  SealLogBatch({.schema_id = schema_id,
                .is_append_only = true,
                .last_offset_delta = static_cast<int32_t>(std::max<int64_t>(rows - 1, 0)),
                .writer_id = writer_id,
                .batch_sequence = batch_sequence,
                .record_count = static_cast<int32_t>(rows)},
               batch.mutable_bytes());
  message_ = {};
  body_.clear();
  return batch;
}

void ArrowBatchWriter::AddFixed(Bytes values, size_t rows, Nulls nulls) {
  BeginColumn(rows, nulls);
  AddBuffer(values);
}

void ArrowBatchWriter::BeginColumn(size_t rows, Nulls nulls) {
  const auto row_count = static_cast<int64_t>(rows);
  WEIR_CHECK(message_.nodes.empty() || row_count == message_.row_count);
  WEIR_CHECK(nulls.empty() || nulls.size() == rows);
  message_.row_count = row_count;
  const int64_t null_count =
      std::ranges::count_if(nulls, [](uint8_t is_null) { return is_null != 0; });
  message_.nodes.push_back({row_count, null_count});
  // Also where nothing is null, as the writers in Java and Rust do.
  AddBuffer(PackBits(rows, [&](size_t i) { return nulls.empty() || nulls[i] == 0; }));
}

void ArrowBatchWriter::AddBuffer(Bytes raw) {
  const size_t begin = body_.size();
  if (codec_ == ArrowCodec::kNone || raw.empty()) {
    body_ += AsText(raw);
  } else {
    constexpr size_t kPrefix = sizeof(int64_t);
    body_.resize(begin + kPrefix + compressor_->Bound(raw.size()));
    auto* at = reinterpret_cast<std::byte*>(body_.data() + begin);
    size_t size = compressor_->Compress(raw, {at + kPrefix, body_.size() - begin - kPrefix});
    auto prefix = static_cast<int64_t>(raw.size());
    if (size >= raw.size()) {
      prefix = kArrowStoredRaw;
      size = raw.size();
      std::ranges::copy(raw, at + kPrefix);
    }
    StoreLittle(at, prefix);
    body_.resize(begin + kPrefix + size);
  }
  message_.buffers.push_back(
      {static_cast<int64_t>(begin), static_cast<int64_t>(body_.size() - begin)});
  body_.resize(PaddedForArrow(body_.size()));
}

}  // namespace weir
