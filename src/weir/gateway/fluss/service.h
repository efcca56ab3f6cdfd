// What the connections of the Fluss gateway share, and what a handler of a request is given.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "weir/gateway/fluss/byte_budget.h"
#include "weir/gateway/fluss/frame.h"
#include "weir/gateway/fluss/gateway_config.h"
#include "weir/runtime/clock.h"
#include "weir/server/node.h"

namespace weir::fluss {

/// Ids of this server in the two roles that clients know; each role has ids of its own.
inline constexpr int32_t kCoordinatorId = 0;
inline constexpr int32_t kTabletServerId = 0;

/// Lives longer than all connections; used by their loops at the same time.
struct Service {
  Service(Node& node, Clock& clock, EventLoop& home, FlussGatewayConfig config)
      : node(node),
        clock(clock),
        config(std::move(config)),
        request_bytes(home, this->config.request_bytes_max) {}

  Node& node;
  Clock& clock;
  /// With listeners' advertised hosts and ports as clients are told them.
  FlussGatewayConfig config;

  ByteBudget request_bytes;
  /// Bytes of responses that clients have not taken yet.
  std::atomic<size_t> response_bytes = 0;
  std::atomic<size_t> connections = 0;

  /// The tag that an operator has put on this server (kNoServerTag: none), and how many times it
  /// was asked to rebalance. Neither moves anything on one node, and neither outlives the process.
  static constexpr int32_t kNoServerTag = -1;
  std::atomic<int32_t> server_tag = kNoServerTag;
  std::atomic<int64_t> rebalances = 0;
};

/// One client's connection: by which listener it came, and whose it is.
struct Session {
  const FlussListenerConfig& listener;
  /// Whether it may do nothing before it has a user.
  bool needs_user = false;
  std::optional<std::string> user = std::nullopt;
};

/// One request, while it is served.
struct RequestContext {
  Service& service;
  RequestHead head;
  /// Of the connection that the request came by.
  Session& session;
  FetchCanceller& fetches;
  /// Of the connection, too; null: without a limit.
  FetchAllowance* allowance = nullptr;

  Node& node() const { return service.node; }
};

}  // namespace weir::fluss
