// The Fluss gateway: listens, and spreads connections over the event loops. One port serves both of
// the roles, coordinator and tablet server, that clients know. Specified by "Fluss protocol".
#pragma once

#include <memory>
#include <vector>

#include "weir/gateway/fluss/gateway_config.h"
#include "weir/runtime/clock.h"
#include "weir/runtime/network.h"
#include "weir/server/node.h"

namespace weir::fluss {

struct Service;

class FlussGateway {
 public:
  /// All of these outlive the gateway. `loops` are those of the node; it listens on the first.
  FlussGateway(Node& node, Network& network, Clock& clock, std::vector<EventLoop*> loops,
               FlussGatewayConfig config);
  ~FlussGateway();

  /// Listens and begins to serve. On loops[0]. Errors: kIo, with the address.
  Status Start();

  /// Where it listens; after Start.
  uint16_t port() const;

  /// Refuses new connections and requests, ends the waits of fetches, lets requests that run finish
  /// and responses go out (no longer than the config says), and closes everything. On loops[0],
  /// once, also if Start failed. The node must still run.
  Task<void> Stop();

 private:
  class Lane;

  Task<void> AcceptLoop();
  Task<void> HandOver(Lane* lane, std::unique_ptr<Connection> connection);

  Network& network_;
  const std::vector<EventLoop*> loops_;
  std::unique_ptr<Service> service_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::unique_ptr<Listener> listener_;
  TaskScope accepting_;
  bool is_stopping_ = false;
};

}  // namespace weir::fluss
