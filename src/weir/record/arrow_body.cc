#include "weir/record/arrow_body.h"

#include <memory>

#include <lz4frame.h>
#include <zstd.h>

#include "weir/base/check.h"

namespace weir {
namespace {

constexpr size_t kPrefixBytes = sizeof(int64_t);

// A frame costs 13 bytes and some 2 microseconds whatever is in it; writes of a few rows would
// spend most of their time on that. So small a buffer is not worth it (changelog_bench.cc).
constexpr size_t kCompressBytesMin = 256;

LZ4F_preferences_t Lz4Preferences() {
  LZ4F_preferences_t preferences = LZ4F_INIT_PREFERENCES;
  // Readers in Java refuse frames whose blocks depend on each other, which is the library's default
  // for more than one.
  preferences.frameInfo.blockMode = LZ4F_blockIndependent;
  preferences.frameInfo.blockSizeID = LZ4F_max64KB;
  return preferences;
}

const LZ4F_preferences_t kLz4Preferences = Lz4Preferences();

// A context is up to megabytes of tables, and there are many writers: it belongs to the thread.
ZSTD_CCtx* ZstdContext() {
  static thread_local const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context{
      ZSTD_createCCtx(), &ZSTD_freeCCtx};
  return context.get();
}

size_t CompressedBytesMax(ArrowCodec codec, size_t raw_bytes) {
  return codec == ArrowCodec::kZstd ? ZSTD_compressBound(raw_bytes)
                                    : LZ4F_compressFrameBound(raw_bytes, &kLz4Preferences);
}

size_t Compress(ArrowCompression compression, Bytes raw, MutableBytes out) {
  if (compression.codec == ArrowCodec::kZstd) {
    const size_t size = ZSTD_compressCCtx(ZstdContext(), out.data(), out.size(), raw.data(),
                                          raw.size(), compression.zstd_level);
    WEIR_CHECK(!ZSTD_isError(size));
    return size;
  }
  const size_t size =
      LZ4F_compressFrame(out.data(), out.size(), raw.data(), raw.size(), &kLz4Preferences);
  WEIR_CHECK(!LZ4F_isError(size));
  return size;
}

}  // namespace

ArrowBody::ArrowBody(ArrowCompression compression, MemoryBudget& budget)
    : compression_(compression), budget_(budget), body_(budget) {}

void ArrowBody::AddNode(int64_t length, int64_t null_count) {
  message_.nodes.push_back({length, null_count});
}

void ArrowBody::AddBuffer(Bytes raw) {
  const size_t begin = body_.size();
  if (compression_.codec == ArrowCodec::kNone || raw.empty()) {
    body_.Append(raw);
  } else if (raw.size() < kCompressBytesMin || !AppendCompressed(raw)) {
    body_.Push(kArrowStoredRaw);
    body_.Append(raw);
  }
  if (budget_.is_exceeded) return;
  const size_t end = body_.size();
  message_.buffers.push_back({static_cast<int64_t>(begin), static_cast<int64_t>(end - begin)});
  body_.AppendZeros(PaddedForArrow(end) - end);
}

bool ArrowBody::AppendCompressed(Bytes raw) {
  const size_t begin = body_.size();
  const size_t bytes_max = CompressedBytesMax(compression_.codec, raw.size());
  std::byte* const at = body_.Extend(kPrefixBytes + bytes_max);
  if (budget_.is_exceeded) return true;
  StoreLittle(at, static_cast<int64_t>(raw.size()));
  const size_t size = Compress(compression_, raw, {at + kPrefixBytes, bytes_max});
  const bool is_smaller = size < raw.size();
  body_.ShrinkTo(is_smaller ? begin + kPrefixBytes + size : begin);
  return is_smaller;
}

Result<Buffer> ArrowBody::Finish(LogBatchHeader header, Bytes change_types) {
  if (budget_.is_exceeded) {
    Clear();
    return Fail(ErrorCode::kRecordTooLarge, "columns of a log batch are too large: bytes_max={}",
                budget_.bytes_max);
  }
  message_.row_count = header.record_count;
  message_.codec = compression_.codec;
  message_.body_bytes = static_cast<int64_t>(body_.size());
  const std::string head = EncodeArrowMessage(message_);
  Result<Buffer> batch = MakeLogBatch(header, {change_types, AsBytes(head), body_.bytes()});
  Clear();
  return batch;
}

void ArrowBody::Clear() {
  message_.nodes.clear();
  message_.buffers.clear();
  body_.Clear();
}

}  // namespace weir
