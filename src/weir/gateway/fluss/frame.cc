#include "weir/gateway/fluss/frame.h"

#include <algorithm>

#include "weir/gateway/fluss/wire.h"

namespace weir::fluss {
namespace {

constexpr size_t kMessageBytesMax = 2048;

// The frame's length counts what follows it.
constexpr size_t kLengthBytes = 4;

enum ResponseType : int8_t { kSuccess = 0, kRequestFailed = 1 };

void EncodeHead(MutableBytes into, ResponseType type, int32_t request_id, size_t body_bytes) {
  WEIR_CHECK(into.size() >= kResponseHeadBytes && body_bytes <= INT32_MAX - kResponseHeadBytes);
  StoreBig<int32_t>(into.data(),
                    static_cast<int32_t>(kResponseHeadBytes - kLengthBytes + body_bytes));
  StoreBig<int8_t>(into.data() + 4, type);
  StoreBig<int32_t>(into.data() + 5, request_id);
}

/// Length of the UTF-8 character at the front of `text`; 0 if there is none.
size_t CharacterBytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Longer than needed, a surrogate, or beyond U+10FFFF.
  if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f)) return 0;
  if ((first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f)) return 0;
  return size;
}

}  // namespace

Result<RequestHead> DecodeRequestHead(Bytes bytes) {
  WEIR_CHECK(bytes.size() >= kRequestHeadBytes);
  constexpr int32_t kLengthMin = kRequestHeadBytes - kLengthBytes;
  const auto length = LoadBig<int32_t>(bytes.data());
  if (length < kLengthMin)
    return Fail(ErrorCode::kMalformedRequest, "frame length is below its minimum: {}", length);
  return RequestHead{.api_key = LoadBig<int16_t>(bytes.data() + 4),
                     .api_version = LoadBig<int16_t>(bytes.data() + 6),
                     .request_id = LoadBig<int32_t>(bytes.data() + 8),
                     .body_bytes = static_cast<size_t>(length - kLengthMin)};
}

void EncodeResponseHead(MutableBytes into, int32_t request_id, size_t body_bytes) {
  EncodeHead(into, kSuccess, request_id, body_bytes);
}

Buffer EncodeErrorResponse(int32_t request_id, FlussCode code, std::string_view message) {
  const std::string sent = SentMessage(message);
  const auto number = static_cast<int32_t>(code);
  const size_t body_bytes =
      Int64FieldBytes(number) + (sent.empty() ? 0 : BytesFieldBytes(sent.size()));
  Buffer frame = Buffer::Allocate(kResponseHeadBytes + body_bytes);
  EncodeHead(frame.mutable_bytes(), kRequestFailed, request_id, body_bytes);
  FieldWriter fields(frame.mutable_bytes().subspan(kResponseHeadBytes));
  fields.Int64(1, number);
  if (!sent.empty()) fields.Text(2, sent);
  return frame;
}

std::string SentMessage(std::string_view message) {
  std::string sent;
  for (size_t at = 0; at < message.size();) {
    const size_t bytes = CharacterBytes(message.substr(at));
    if (sent.size() + std::max<size_t>(bytes, 1) > kMessageBytesMax) break;
    if (bytes == 0) {
      sent += '?';
      ++at;
    } else {
      sent += message.substr(at, bytes);
      at += bytes;
    }
  }
  return sent;
}

}  // namespace weir::fluss
