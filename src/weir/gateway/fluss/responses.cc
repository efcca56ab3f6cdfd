#include "weir/gateway/fluss/responses.h"

#include <google/protobuf/message_lite.h>

#include "weir/base/log.h"

namespace weir::fluss {

Frame ErrorFrame(const RequestContext& context, const Error& error) {
  const RequestHead& head = context.head;
  if (error.code == ErrorCode::kInternal) {
    LogError("gateway", "request failed: api={} message={}", head.api_key, error.message);
  } else {
    LogDebug("gateway", "request refused: api={} error={} message={}", head.api_key,
             ToString(error.code), error.message);
  }
  Frame frame;
  frame.Add(EncodeErrorResponse(head.request_id, ToFlussCode(error.code), error.message));
  return frame;
}

Frame MessageFrame(const RequestContext& context, const google::protobuf::MessageLite& message) {
  constexpr size_t kMessageBytesMax = 1u << 30;
  const size_t bytes = message.ByteSizeLong();
  if (bytes > kMessageBytesMax) {
    return ErrorFrame(context,
                      Fail(ErrorCode::kUnsupported, "response is too large: bytes={}", bytes));
  }
  Buffer response = Buffer::Allocate(kResponseHeadBytes + bytes);
  EncodeResponseHead(response.mutable_bytes(), context.head.request_id, bytes);
  message.SerializeWithCachedSizesToArray(
      reinterpret_cast<uint8_t*>(response.mutable_data() + kResponseHeadBytes));
  Frame frame;
  frame.Add(std::move(response));
  return frame;
}

}  // namespace weir::fluss
