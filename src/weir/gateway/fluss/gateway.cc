#include "weir/gateway/fluss/gateway.h"

#include "weir/base/log.h"
#include "weir/gateway/fluss/connection.h"
#include "weir/gateway/fluss/service.h"

namespace weir::fluss {
namespace {

// How often connections are looked at for stalls.
constexpr Duration kSweepInterval = std::chrono::seconds(1);

// After an accept failed, mostly for want of file descriptors.
constexpr Duration kAcceptPause = std::chrono::milliseconds(100);

}  // namespace

/// The connections of one loop.
class FlussGateway::Lane {
 public:
  Lane(Service& service, EventLoop& loop) : service_(service), loop_(loop), stopped_(loop) {}

  EventLoop& loop() { return loop_; }

  // The rest is called on the loop.

  void Start() { sweeping_.Spawn(Sweep()); }

  void Serve(Session session, std::unique_ptr<Connection> connection) {
    serving_.Spawn(ServeOne(std::move(session), std::move(connection)));
  }

  Task<void> Stop() {
    stopped_.Set();
    co_await sweeping_.Join();
    // By copies: a connection that ends takes itself off the list.
    for (ServedConnection* connection : std::vector(connections_)) connection->Stop();
    const EventLoop::TimerId deadline = loop_.StartTimer(service_.config.stop_max, [this] {
      LogWarn("gateway", "connections are cut off: count={}", connections_.size());
      for (ServedConnection* connection : std::vector(connections_)) connection->Abort();
    });
    co_await serving_.Join();
    loop_.CancelTimer(deadline);
  }

 private:
  Task<void> ServeOne(Session session, std::unique_ptr<Connection> connection) {
    {
      ServedConnection served(service_, std::move(session), loop_, std::move(connection));
      connections_.push_back(&served);
      co_await served.Run();
      std::erase(connections_, &served);
    }
    service_.connections.fetch_sub(1);
  }

  Task<void> Sweep() {
    // An event has one waiter and one use of its timer at a time, which is all that is needed here.
    while (!co_await stopped_.WaitFor(kSweepInterval)) {
      for (ServedConnection* connection : std::vector(connections_)) connection->CloseIfStuck();
    }
  }

  Service& service_;
  EventLoop& loop_;
  Event stopped_;
  TaskScope sweeping_;
  TaskScope serving_;
  std::vector<ServedConnection*> connections_;
};

FlussGateway::FlussGateway(Node& node, Network& network, Clock& clock,
                           std::vector<EventLoop*> loops, FlussGatewayConfig config)
    : network_(network),
      loops_(std::move(loops)),
      service_(std::make_unique<Service>(node, clock, *loops_.front(), std::move(config))) {
  for (EventLoop* loop : loops_) lanes_.push_back(std::make_unique<Lane>(*service_, *loop));
}

FlussGateway::~FlussGateway() = default;

Status FlussGateway::Start() {
  FlussGatewayConfig& config = service_->config;
  WEIR_TRY(Open(config.plain, false));
  WEIR_TRY(Open(config.sasl, true));
  for (const std::unique_ptr<Lane>& lane : lanes_) {
    lane->loop().Post([lane = lane.get()] { lane->Start(); });
  }
  for (Entrance& entrance : entrances_) accepting_.Spawn(AcceptLoop(&entrance));
  is_started_ = true;
  return Ok();
}

Status FlussGateway::Open(FlussListenerConfig& config, bool needs_user) {
  if (config.host.empty()) return Ok();
  Entrance entrance{&config, needs_user, nullptr};
  WEIR_ASSIGN(entrance.listener, network_.Listen(*loops_.front(), config.host, config.port));
  if (config.advertised_host.empty()) {
    const bool is_any = config.host == "0.0.0.0" || config.host == "::";
    config.advertised_host = is_any ? "127.0.0.1" : config.host;
    if (is_any) {
      LogWarn("gateway",
              "only clients of this machine will find the server until an advertised host is set: "
              "told={}",
              config.advertised_host);
    }
  }
  if (config.advertised_port == 0) config.advertised_port = entrance.listener->port();
  entrances_.push_back(std::move(entrance));
  return Ok();
}

std::optional<uint16_t> FlussGateway::PortOf(const FlussListenerConfig& config) const {
  for (const Entrance& entrance : entrances_) {
    if (entrance.config == &config) return entrance.listener->port();
  }
  return std::nullopt;
}

std::optional<uint16_t> FlussGateway::plain_port() const {
  return PortOf(service_->config.plain);
}

std::optional<uint16_t> FlussGateway::sasl_port() const {
  return PortOf(service_->config.sasl);
}

Task<void> FlussGateway::Stop() {
  is_stopping_ = true;
  for (Entrance& entrance : entrances_) entrance.listener->Close();
  if (!is_started_) co_return;
  co_await accepting_.Join();
  TaskScope stopping;
  for (const std::unique_ptr<Lane>& lane : lanes_) stopping.Spawn(On(lane->loop(), lane->Stop()));
  co_await stopping.Join();
}

Task<void> FlussGateway::AcceptLoop(Entrance* entrance) {
  EventLoop& home = *loops_.front();
  while (!is_stopping_) {
    Lane* const lane = lanes_[next_lane_++ % lanes_.size()].get();
    Result<std::unique_ptr<Connection>> connection =
        co_await entrance->listener->Accept(lane->loop());
    if (is_stopping_) co_return;
    if (!connection.ok()) {
      LogWarn("gateway", "{}", connection.error().message);
      co_await home.Sleep(kAcceptPause);
      continue;
    }
    const bool is_full = service_->connections.load() >= service_->config.connections_max;
    if (is_full && !was_full_) {
      LogWarn("gateway", "connections are refused: reason=too many max={}",
              service_->config.connections_max);
    }
    was_full_ = is_full;
    if (is_full) continue;  // which closes it
    service_->connections.fetch_add(1);
    Session session{*entrance->config, entrance->needs_user, std::nullopt};
    accepting_.Spawn(HandOver(lane, std::move(session), *std::move(connection)));
  }
}

Task<void> FlussGateway::HandOver(Lane* lane, Session session,
                                  std::unique_ptr<Connection> connection) {
  co_await lane->loop().Enter();
  lane->Serve(std::move(session), std::move(connection));
  co_await loops_.front()->Enter();
}

}  // namespace weir::fluss
