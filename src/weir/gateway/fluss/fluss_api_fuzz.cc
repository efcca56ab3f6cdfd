// Any request of any API against a catalog in memory: it is always answered, with one well-formed
// frame. An input is a number of requests, each an API's place in the table (or beyond), a version,
// the size of a body in two bytes, and the body.
#include "weir/gateway/fluss/api.h"
#include "weir/gateway/fluss/gateway_testing.h"

namespace weir::fluss {
namespace {

Task<void> Keep(const RequestContext& context, Buffer body, std::optional<Frame>& frame) {
  frame = co_await Dispatch(context, std::move(body));
}

}  // namespace
}  // namespace weir::fluss

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir;
  using namespace weir::fluss;
  ManualLoop loop;
  FixedClock clock;
  FakeNode node(loop);
  Service service(node, clock, loop, FlussGatewayConfig());
  Session session{service.config.plain};
  FetchCanceller canceller;
  canceller.Cancel();
  Bytes input(reinterpret_cast<const std::byte*>(data), size);
  for (int32_t id = 0; input.size() >= 4; ++id) {
    const auto place = std::to_integer<size_t>(input[0]);
    const auto version = static_cast<int16_t>(std::to_integer<int16_t>(input[1]) % 4);
    const size_t body_bytes =
        std::min<size_t>(LoadLittle<uint16_t>(input.data() + 2), input.size() - 4);
    const Buffer body = Buffer::CopyOf(input.subspan(4, body_bytes));
    input = input.subspan(4 + body_bytes);
    const int16_t key =
        place < Apis().size() ? Apis()[place].key : static_cast<int16_t>(1000 + place);
    const RequestContext context{service, {key, version, id, body_bytes}, session, canceller};
    std::optional<Frame> frame;
    Spawn(Keep(context, body, frame));
    loop.Run();
    WEIR_CHECK(frame.has_value());
    std::string sent;
    for (const Buffer& piece : frame->pieces) sent += AsText(piece.bytes());
    const std::vector<ReceivedFrame> frames = SplitFrames(sent);
    WEIR_CHECK(frames.size() == 1 && frames[0].request_id == id &&
               (frames[0].type == 0 || frames[0].type == 1));
  }
  return 0;
}
