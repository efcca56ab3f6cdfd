// The Fluss gateway: listens, and spreads connections over the event loops. One port serves both of
// the roles, coordinator and tablet server, that clients know; clients that authenticate have
// another. Specified by "Fluss protocol".
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "weir/gateway/fluss/gateway_config.h"
#include "weir/runtime/clock.h"
#include "weir/runtime/network.h"
#include "weir/server/node.h"

namespace weir::fluss {

struct Service;
struct Session;

class FlussGateway {
 public:
  /// All of these outlive the gateway. `loops` are those of the node; it listens on the first.
  FlussGateway(Node& node, Network& network, Clock& clock, std::vector<EventLoop*> loops,
               FlussGatewayConfig config);
  ~FlussGateway();

  /// Listens and begins to serve. On loops[0]. Errors: kIo, with the address.
  Status Start();

  /// Where it listens, after Start; nothing if it does not.
  std::optional<uint16_t> plain_port() const;
  std::optional<uint16_t> sasl_port() const;

  /// Refuses new connections and requests, ends the waits of fetches, lets requests that run finish
  /// and responses go out (no longer than the config says), and closes everything. On loops[0],
  /// once, also if Start failed. The node must still run.
  Task<void> Stop();

 private:
  class Lane;

  /// One address that is listened on.
  struct Entrance {
    FlussListenerConfig* config = nullptr;
    bool needs_user = false;
    std::unique_ptr<Listener> listener;
  };

  Status Open(FlussListenerConfig& config, bool needs_user);
  std::optional<uint16_t> PortOf(const FlussListenerConfig& config) const;
  Task<void> AcceptLoop(Entrance* entrance);
  Task<void> HandOver(Lane* lane, Session session, std::unique_ptr<Connection> connection);

  Network& network_;
  const std::vector<EventLoop*> loops_;
  std::unique_ptr<Service> service_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::deque<Entrance> entrances_;
  size_t next_lane_ = 0;
  bool was_full_ = false;
  TaskScope accepting_;
  bool is_started_ = false;
  bool is_stopping_ = false;
};

}  // namespace weir::fluss
