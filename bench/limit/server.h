// What every limit program has in common: sockets, frames, and the answers to what a client asks
// before it begins. Messages as in Fluss protocol, "API reference".
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "weir/load/wire.h"

namespace weir::load {

/// Ends the program with `what` and errno's text unless `done`.
void Require(bool done, const char* what);

struct LimitAnswer {
  MessageWriter message;
  /// Sent behind the message. Lies in the memory of the connection.
  std::string_view records = {};
};

/// What is measured. Called by the threads of all connections.
class Limit {
 public:
  virtual ~Limit() = default;
  /// `body` is the request's, and may be changed. `memory` stays until the answer is sent.
  virtual LimitAnswer Answer(Api api, std::span<char> body, std::vector<char>& memory) = 0;
  virtual int64_t end_offset() = 0;
};

/// Answers every connection with a thread of its own.
[[noreturn]] void ServeLimit(int port, Limit& limit);

}  // namespace weir::load
