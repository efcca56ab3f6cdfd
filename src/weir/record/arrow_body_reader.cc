#include "weir/record/arrow_body_reader.h"

#include <lz4frame.h>
#include <zstd.h>

#include "weir/base/check.h"

namespace weir {
namespace {

constexpr size_t kPrefixBytes = sizeof(int64_t);

template <typename... Args>
Error Corrupt(fmt::format_string<Args...> what, Args&&... args) {
  return Fail(ErrorCode::kCorruptBatch, "arrow body is not valid: {}",
              fmt::format(what, std::forward<Args>(args)...));
}

// Contexts belong to the thread, because setting one up takes longer than a small batch.
ZSTD_DCtx* ZstdContext() {
  static thread_local const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context{
      ZSTD_createDCtx(), &ZSTD_freeDCtx};
  return context.get();
}

LZ4F_dctx* Lz4Context() {
  static thread_local const std::unique_ptr<LZ4F_dctx, decltype(&LZ4F_freeDecompressionContext)>
      context{[] {
                LZ4F_dctx* made = nullptr;
                WEIR_CHECK(!LZ4F_isError(LZ4F_createDecompressionContext(&made, LZ4F_VERSION)));
                return made;
              }(),
              &LZ4F_freeDecompressionContext};
  return context.get();
}

// Whether `frame` is one that fills `out`.
bool DecompressLz4(Bytes frame, MutableBytes out) {
  LZ4F_dctx* const context = Lz4Context();
  LZ4F_resetDecompressionContext(context);
  size_t read = 0;
  size_t written = 0;
  while (true) {
    size_t out_bytes = out.size() - written;
    size_t in_bytes = frame.size() - read;
    const size_t hint = LZ4F_decompress(context, out.data() + written, &out_bytes,
                                        frame.data() + read, &in_bytes, nullptr);
    if (LZ4F_isError(hint)) return false;
    read += in_bytes;
    written += out_bytes;
    if (hint == 0) return read == frame.size() && written == out.size();
    if (in_bytes == 0 && out_bytes == 0) return false;
  }
}

bool DecompressFrame(ArrowCodec codec, Bytes frame, MutableBytes out) {
  if (codec == ArrowCodec::kLz4Frame) return DecompressLz4(frame, out);
  return ZSTD_decompressDCtx(ZstdContext(), out.data(), out.size(), frame.data(), frame.size()) ==
         out.size();
}

}  // namespace

Result<ArrowBodyReader> ArrowBodyReader::Open(Bytes message) {
  WEIR_ASSIGN(const size_t head_bytes, DecodeArrowPrefix(message));
  if (head_bytes > message.size()) {
    return Corrupt("head_bytes={} bytes_left={}", head_bytes, message.size());
  }
  ArrowBodyReader reader;
  WEIR_ASSIGN(reader.message_, DecodeArrowMessage(message.first(head_bytes)));
  reader.body_ = message.subspan(head_bytes);
  if (static_cast<size_t>(reader.message_.body_bytes) != reader.body_.size()) {
    return Corrupt("body_bytes={} bytes_left={}", reader.message_.body_bytes, reader.body_.size());
  }
  if (reader.message_.codec == ArrowCodec::kNone) return reader;

  size_t bytes = 0;
  for (const ArrowBuffer& buffer : reader.message_.buffers) {
    if (buffer.bytes == 0) continue;
    if (buffer.bytes < static_cast<int64_t>(kPrefixBytes))
      return Corrupt("compressed_bytes={}", buffer.bytes);
    const auto raw = LoadLittle<int64_t>(&reader.body_[static_cast<size_t>(buffer.position)]);
    if (raw < kArrowStoredRaw || raw > static_cast<int64_t>(kArrowBodyBytesMax - bytes)) {
      return Corrupt("uncompressed_bytes={} bytes_before={}", raw, bytes);
    }
    if (raw != kArrowStoredRaw) bytes += static_cast<size_t>(raw);
  }
  reader.decompressed_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
  return reader;
}

Result<ArrowNode> ArrowBodyReader::TakeNode() {
  if (next_node_ == message_.nodes.size()) return Corrupt("nodes={}", next_node_);
  return message_.nodes[next_node_++];
}

int64_t ArrowBodyReader::next_node_length() const {
  return next_node_ < message_.nodes.size() ? message_.nodes[next_node_].length : 0;
}

bool ArrowBodyReader::is_next_empty() const {
  return next_buffer_ < message_.buffers.size() && message_.buffers[next_buffer_].bytes == 0;
}

Result<Bytes> ArrowBodyReader::TakeBuffer(size_t bytes_min, size_t bytes_max) {
  if (next_buffer_ == message_.buffers.size()) return Corrupt("buffers={}", next_buffer_);
  const ArrowBuffer& buffer = message_.buffers[next_buffer_++];
  Bytes bytes =
      body_.subspan(static_cast<size_t>(buffer.position), static_cast<size_t>(buffer.bytes));
  if (!bytes.empty() && message_.codec != ArrowCodec::kNone) {
    if (LoadLittle<int64_t>(bytes.data()) != kArrowStoredRaw)
      return Decompress(bytes, bytes_min, bytes_max);
    bytes = bytes.subspan(kPrefixBytes);
  }
  if (bytes.size() < bytes_min) {
    return Corrupt("buffer={} bytes={} bytes_min={}", next_buffer_ - 1, bytes.size(), bytes_min);
  }
  return bytes;
}

Result<Bytes> ArrowBodyReader::Decompress(Bytes stored, size_t bytes_min, size_t bytes_max) {
  const auto bytes = static_cast<size_t>(LoadLittle<int64_t>(stored.data()));
  if (bytes < bytes_min || bytes > bytes_max) {
    return Corrupt("buffer={} uncompressed_bytes={} bytes_min={} bytes_max={}", next_buffer_ - 1,
                   bytes, bytes_min, bytes_max);
  }
  const MutableBytes out(decompressed_.get() + decompressed_end_, bytes);
  if (!DecompressFrame(message_.codec, stored.subspan(kPrefixBytes), out)) {
    return Corrupt("buffer={} compressed_bytes={} uncompressed_bytes={}", next_buffer_ - 1,
                   stored.size(), bytes);
  }
  decompressed_end_ += bytes;
  return Bytes(out);
}

Status ArrowBodyReader::Finish() const {
  if (next_node_ == message_.nodes.size() && next_buffer_ == message_.buffers.size()) return Ok();
  return Corrupt("nodes={} of={} buffers={} of={}", next_node_, message_.nodes.size(), next_buffer_,
                 message_.buffers.size());
}

}  // namespace weir
