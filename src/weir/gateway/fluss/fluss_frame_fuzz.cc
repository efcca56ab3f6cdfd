// Heads of frames and messages of errors: whatever comes in, what goes out is well formed.
#include "weir/gateway/fluss/frame.h"
#include "weir/gateway/fluss/messages.pb.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir;
  using namespace weir::fluss;
  const Bytes input(reinterpret_cast<const std::byte*>(data), size);
  if (size >= kRequestHeadBytes) {
    const Result<RequestHead> head = DecodeRequestHead(input);
    WEIR_CHECK(!head.ok() || head->body_bytes < size_t{1} << 31);
  }
  const Buffer frame = EncodeErrorResponse(1, FlussCode::kInvalidTable, AsText(input));
  fluss_wire::ErrorResponse error;
  WEIR_CHECK(error.ParseFromArray(frame.data() + kResponseHeadBytes,
                                  static_cast<int>(frame.size() - kResponseHeadBytes)));
  WEIR_CHECK(error.error_message().size() <= 2048);
  // What was sent once stays as it is.
  WEIR_CHECK(SentMessage(error.error_message()) == error.error_message());
  return 0;
}
