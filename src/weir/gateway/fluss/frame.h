// Frames: how requests and responses follow one another on a connection. Specified by "Fluss
// protocol, frames".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/buffer.h"
#include "weir/base/result.h"
#include "weir/gateway/fluss/errors.h"

namespace weir::fluss {

/// What stands before the body of a request.
struct RequestHead {
  int16_t api_key = 0;
  int16_t api_version = 0;
  int32_t request_id = 0;  // opaque; the response repeats it
  size_t body_bytes = 0;   // below 2^31
};

inline constexpr size_t kRequestHeadBytes = 12;
inline constexpr size_t kResponseHeadBytes = 9;

/// `bytes` are the first kRequestHeadBytes of a request. Errors: kMalformedRequest if the length
/// cannot be: then nobody knows where the next request begins.
Result<RequestHead> DecodeRequestHead(Bytes bytes);

/// A response in the pieces in which its parts lie in memory; sent one behind the other.
struct Frame {
  std::vector<Buffer> pieces;
  size_t bytes = 0;
  /// Of these, what is held in the connection's FetchAllowance until it is sent.
  size_t held_bytes = 0;

  void Add(Buffer piece) {
    bytes += piece.size();
    pieces.push_back(std::move(piece));
  }
};

/// Writes the kResponseHeadBytes before the body of a successful response.
void EncodeResponseHead(MutableBytes into, int32_t request_id, size_t body_bytes);

/// A whole response that says that the request failed.
Buffer EncodeErrorResponse(int32_t request_id, FlussCode code, std::string_view message);

/// What is sent of an error's message: not too much, and valid UTF-8 even if it quotes what is not,
/// because clients refuse a whole response over a bad byte.
std::string SentMessage(std::string_view message);

}  // namespace weir::fluss
