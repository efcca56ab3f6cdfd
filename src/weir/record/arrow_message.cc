#include "weir/record/arrow_message.h"

#include <memory>
#include <type_traits>

#include "arrow_message_generated.h"
#include "weir/base/check.h"

namespace weir {
namespace {

constexpr uint32_t kContinuation = 0xffffffff;

// Message, record batch, compression, and room for custom metadata, which nobody of ours writes.
// Without the bound, many entries that point to one table would cost more to verify than to send.
constexpr uint32_t kTablesMax = 256;
constexpr uint32_t kDepthMax = 8;

// They are copied as blocks between the flatbuffer and our vectors.
static_assert(sizeof(ArrowNode) == sizeof(arrow_ipc::FieldNode) &&
              std::is_trivially_copyable_v<ArrowNode>);
static_assert(sizeof(ArrowBuffer) == sizeof(arrow_ipc::Buffer) &&
              std::is_trivially_copyable_v<ArrowBuffer>);

template <typename... Args>
Error Corrupt(fmt::format_string<Args...> what, Args&&... args) {
  return Fail(ErrorCode::kCorruptBatch, "arrow message is not valid: {}",
              fmt::format(what, std::forward<Args>(args)...));
}

Result<ArrowCodec> DecodeCodec(const arrow_ipc::BodyCompression* compression) {
  if (compression == nullptr) return ArrowCodec::kNone;
  if (compression->method() == arrow_ipc::BodyCompressionMethod_BUFFER) {
    if (compression->codec() == arrow_ipc::CompressionType_LZ4_FRAME) return ArrowCodec::kLz4Frame;
    if (compression->codec() == arrow_ipc::CompressionType_ZSTD) return ArrowCodec::kZstd;
  }
  return Corrupt("codec={} method={}", int{compression->codec()}, int{compression->method()});
}

template <typename To, typename From>
std::vector<To> CopyStructs(const flatbuffers::Vector<const From*>* structs) {
  std::vector<To> copy(structs == nullptr ? 0 : structs->size());
  if (!copy.empty()) std::memcpy(copy.data(), structs->Data(), copy.size() * sizeof(To));
  return copy;
}

Status CheckNumbers(const ArrowMessage& message) {
  if (message.row_count < 0) return Corrupt("row_count={}", message.row_count);
  if (message.body_bytes < 0) return Corrupt("body_bytes={}", message.body_bytes);
  for (const ArrowNode& node : message.nodes) {
    if (node.length < 0 || node.null_count < 0 || node.null_count > node.length) {
      return Corrupt("node_length={} null_count={}", node.length, node.null_count);
    }
  }
  int64_t end = 0;
  for (const ArrowBuffer& buffer : message.buffers) {
    // The comparisons cannot overflow: the position is at most body_bytes once the first ones hold.
    if (buffer.position < end || buffer.position > message.body_bytes || buffer.bytes < 0 ||
        buffer.bytes > message.body_bytes - buffer.position) {
      return Corrupt("buffer_position={} buffer_bytes={} previous_end={} body_bytes={}",
                     buffer.position, buffer.bytes, end, message.body_bytes);
    }
    end = buffer.position + buffer.bytes;
  }
  return Ok();
}

// `metadata` is aligned for the widest number in it.
Result<ArrowMessage> DecodeAligned(Bytes metadata) {
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(metadata.data()), metadata.size(),
                                 kDepthMax, kTablesMax);
  if (!arrow_ipc::VerifyMessageBuffer(verifier))
    return Corrupt("broken metadata of {} bytes", metadata.size());
  const arrow_ipc::Message* source = arrow_ipc::GetMessage(metadata.data());
  // Version 4 differs from 5 only in the layout of unions, which no type of ours has.
  if (source->version() != arrow_ipc::MetadataVersion_V5 &&
      source->version() != arrow_ipc::MetadataVersion_V4) {
    return Corrupt("version={}", int{source->version()});
  }
  const arrow_ipc::RecordBatch* batch = source->header_as_RecordBatch();
  if (batch == nullptr) return Corrupt("header_type={}", int{source->header_type()});
  if (batch->variadic_buffer_counts() != nullptr && batch->variadic_buffer_counts()->size() != 0) {
    return Corrupt("variadic_buffer_counts={}", batch->variadic_buffer_counts()->size());
  }
  WEIR_ASSIGN(const ArrowCodec codec, DecodeCodec(batch->compression()));
  ArrowMessage message{.row_count = batch->length(),
                       .codec = codec,
                       .nodes = CopyStructs<ArrowNode>(batch->nodes()),
                       .buffers = CopyStructs<ArrowBuffer>(batch->buffers()),
                       .body_bytes = source->body_length()};
  WEIR_TRY(CheckNumbers(message));
  return message;
}

flatbuffers::Offset<arrow_ipc::BodyCompression> EncodeCodec(flatbuffers::FlatBufferBuilder& builder,
                                                            ArrowCodec codec) {
  switch (codec) {
    case ArrowCodec::kNone: return 0;
    case ArrowCodec::kLz4Frame:
      return CreateBodyCompression(builder, arrow_ipc::CompressionType_LZ4_FRAME);
    case ArrowCodec::kZstd: return CreateBodyCompression(builder, arrow_ipc::CompressionType_ZSTD);
  }
  WEIR_UNREACHABLE();
}

template <typename To, typename From>
flatbuffers::Offset<flatbuffers::Vector<const To*>> EncodeStructs(
    flatbuffers::FlatBufferBuilder& builder, const std::vector<From>& structs) {
  To* into = nullptr;
  const auto vector = builder.CreateUninitializedVectorOfStructs(structs.size(), &into);
  if (!structs.empty())
    std::memcpy(static_cast<void*>(into), structs.data(), structs.size() * sizeof(To));
  return vector;
}

}  // namespace

Result<size_t> DecodeArrowPrefix(Bytes message) {
  if (message.size() < kArrowPrefixBytes) return Corrupt("bytes_left={}", message.size());
  const auto marker = LoadLittle<uint32_t>(message.data());
  const auto metadata_bytes = LoadLittle<uint32_t>(message.data() + sizeof(marker));
  if (marker != kContinuation) return Corrupt("marker={:08x}", marker);
  if (metadata_bytes > kArrowMetadataBytesMax) return Corrupt("metadata_bytes={}", metadata_bytes);
  return kArrowPrefixBytes + metadata_bytes;
}

Result<ArrowMessage> DecodeArrowMessage(Bytes head) {
  WEIR_ASSIGN(const size_t head_bytes, DecodeArrowPrefix(head));
  if (head_bytes != head.size())
    return Corrupt("head_bytes={} bytes_given={}", head_bytes, head.size());
  const Bytes metadata = head.subspan(kArrowPrefixBytes);
  // Change types in front of the message shift it to any address.
  if (reinterpret_cast<uintptr_t>(metadata.data()) % alignof(uint64_t) == 0)
    return DecodeAligned(metadata);
  const auto aligned =
      std::make_unique_for_overwrite<uint64_t[]>(metadata.size() / sizeof(uint64_t) + 1);
  std::memcpy(aligned.get(), metadata.data(), metadata.size());
  return DecodeAligned({reinterpret_cast<const std::byte*>(aligned.get()), metadata.size()});
}

std::string EncodeArrowMessage(const ArrowMessage& message) {
  const size_t size_guess =
      256 + sizeof(ArrowNode) * message.nodes.size() + sizeof(ArrowBuffer) * message.buffers.size();
  flatbuffers::FlatBufferBuilder builder(size_guess);
  const auto buffers = EncodeStructs<arrow_ipc::Buffer>(builder, message.buffers);
  const auto nodes = EncodeStructs<arrow_ipc::FieldNode>(builder, message.nodes);
  const auto compression = EncodeCodec(builder, message.codec);
  const auto batch = CreateRecordBatch(builder, message.row_count, nodes, buffers, compression);
  builder.Finish(CreateMessage(builder, arrow_ipc::MetadataVersion_V5,
                               arrow_ipc::MessageHeader_RecordBatch, batch.Union(),
                               message.body_bytes));

  const size_t metadata_bytes = PaddedForArrow(builder.GetSize());
  std::string head(kArrowPrefixBytes + metadata_bytes, '\0');
  auto* at = reinterpret_cast<std::byte*>(head.data());
  StoreLittle(at, kContinuation);
  StoreLittle(at + sizeof(kContinuation), static_cast<uint32_t>(metadata_bytes));
  std::memcpy(at + kArrowPrefixBytes, builder.GetBufferPointer(), builder.GetSize());
  return head;
}

}  // namespace weir
