// Settings of the Fluss gateway. app fills them from flags and file and has checked them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "weir/runtime/event_loop.h"

namespace weir::fluss {

struct FlussListenerConfig {
  /// Where to listen; empty: not at all; port 0 is any free one.
  std::string host;
  uint16_t port = 0;
  /// Where clients that come by it are told to connect; empty and 0: where the server listens.
  std::string advertised_host;
  uint16_t advertised_port = 0;
};

struct FlussGatewayConfig {
  /// Takes every client.
  FlussListenerConfig plain{"127.0.0.1", 9123, {}, 0};
  /// Takes clients that are one of `users`, by SASL/PLAIN.
  FlussListenerConfig sasl;
  /// Passwords by name.
  std::map<std::string, std::string> users;

  /// More connections are closed as soon as they come.
  size_t connections_max = 20'000;
  /// A connection without requests is closed after so long.
  Duration idle_max = std::chrono::minutes(10);
  /// A connection that is in the middle of a frame, either way, and moves no byte for so long is
  /// closed.
  Duration stall_max = std::chrono::seconds(60);
  /// How long a stop waits for requests that run and for clients to take their responses.
  Duration stop_max = std::chrono::seconds(5);

  /// Largest frame of a request that carries records.
  size_t frame_bytes_max = 100u << 20;
  /// Largest frame of any other request.
  size_t control_frame_bytes_max = 4u << 20;
  /// Requests in memory, over all connections. At least frame_bytes_max, and kDecodedPerByte times
  /// control_frame_bytes_max (connection.h).
  size_t request_bytes_max = 256u << 20;
  /// Requests of one connection that run at the same time; further ones are not read.
  size_t requests_running_max = 256;

  /// Records in one response to a fetch.
  size_t fetch_bytes_max = 64u << 20;
  Duration fetch_wait_max = std::chrono::minutes(5);
  /// Responses that one connection has not taken, before no more of its requests are read.
  size_t unsent_bytes_max = 16u << 20;
  /// Responses that all connections together have not taken, before fetches give little at a time.
  size_t response_bytes_max = 256u << 20;
};

}  // namespace weir::fluss
