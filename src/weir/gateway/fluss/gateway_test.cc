// The gateway over real sockets and two event loops.
#include "weir/gateway/fluss/gateway.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "weir/gateway/fluss/gateway_testing.h"
#include "weir/runtime/real_world.h"

namespace weir::fluss {
namespace {

/// A client that blocks.
class Client {
 public:
  explicit Client(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~Client() { ::close(socket_); }

  bool is_connected() const { return is_connected_; }

  void Send(const std::string& bytes) {
    ASSERT_EQ(::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }

  /// One response frame; nothing if the server has closed.
  std::optional<ReceivedFrame> Receive() {
    std::string head;
    if (!Take(4, head)) return std::nullopt;
    std::string rest;
    if (!Take(static_cast<size_t>(LoadBig<int32_t>(AsBytes(head).data())), rest))
      return std::nullopt;
    return SplitFrames(head + rest).front();
  }

 private:
  bool Take(size_t size, std::string& into) {
    into.resize(size);
    size_t taken = 0;
    while (taken < size) {
      const ssize_t n = ::recv(socket_, into.data() + taken, size - taken, 0);
      if (n <= 0) return false;
      taken += static_cast<size_t>(n);
    }
    return true;
  }

  int socket_;
  bool is_connected_ = false;
};

class GatewayTest : public testing::Test {
 protected:
  void Start(FlussGatewayConfig config = {}) {
    config.plain.port = 0;
    std::vector<EventLoop*> loops = {&loops_[0], &loops_[1]};
    gateway_.emplace(node_, *network_, clock_, std::move(loops), std::move(config));
    Status started;
    RunBlocking(loops_[0],
                Run([](FlussGateway& gateway, Status& out) { out = gateway.Start(); }, started));
    ASSERT_TRUE(started.ok());
  }

  ~GatewayTest() override { Stop(); }

  void Stop() {
    if (!gateway_ || is_stopped_) return;
    is_stopped_ = true;
    RunBlocking(loops_[0], gateway_->Stop());
  }

  Task<void> Run(void (*what)(FlussGateway&, Status&), Status& out) {
    what(*gateway_, out);
    co_return;
  }

  static std::string Versions(int32_t id) {
    wire::ApiVersionsRequest request;
    request.set_client_software_name("test");
    request.set_client_software_version("1");
    return RequestFrame(1000, id, request.SerializeAsString());
  }

  RealLoops loops_{2};
  std::unique_ptr<Network> network_ = MakeRealNetwork();
  FixedClock clock_;
  FakeNode node_{loops_[0]};
  std::optional<FlussGateway> gateway_;
  bool is_stopped_ = false;
};

TEST_F(GatewayTest, ServesManyClientsAtOnce) {
  Start();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 20; ++i) clients.push_back(std::make_unique<Client>(*gateway_->plain_port()));
  for (int round = 0; round < 10; ++round) {
    for (const auto& client : clients) client->Send(Versions(round));
    for (const auto& client : clients) {
      const std::optional<ReceivedFrame> frame = client->Receive();
      ASSERT_TRUE(frame.has_value());
      EXPECT_EQ(frame->type, 0);
      EXPECT_EQ(frame->request_id, round);
    }
  }
}

TEST_F(GatewayTest, TellsClientsThePortOnWhichItListens) {
  Start();
  Client client(*gateway_->plain_port());
  client.Send(RequestFrame(1012, 1, ""));
  const std::optional<ReceivedFrame> frame = client.Receive();
  ASSERT_TRUE(frame.has_value());
  wire::MetadataResponse metadata;
  ASSERT_TRUE(metadata.ParseFromString(frame->body));
  EXPECT_EQ(metadata.coordinator_server().host(), "127.0.0.1");
  EXPECT_EQ(metadata.tablet_servers(0).port(), *gateway_->plain_port());
}

TEST_F(GatewayTest, ClosesConnectionsBeyondTheBound) {
  FlussGatewayConfig config;
  config.connections_max = 2;
  Start(config);
  Client first(*gateway_->plain_port());
  Client second(*gateway_->plain_port());
  for (Client* client : {&first, &second}) {
    client->Send(Versions(1));
    EXPECT_TRUE(client->Receive().has_value());
  }
  Client third(*gateway_->plain_port());
  EXPECT_FALSE(third.Receive().has_value());
  first.Send(Versions(2));
  EXPECT_TRUE(first.Receive().has_value());
}

TEST_F(GatewayTest, AStopLeavesNothingBehind) {
  Start();
  Client busy(*gateway_->plain_port());
  Client idle(*gateway_->plain_port());
  busy.Send(Versions(1));
  EXPECT_TRUE(busy.Receive().has_value());
  Stop();
  EXPECT_FALSE(busy.Receive().has_value());
  EXPECT_FALSE(idle.Receive().has_value());
  EXPECT_FALSE(Client(*gateway_->plain_port()).is_connected());
}

TEST_F(GatewayTest, SaysWhichAddressCannotBeListenedOn) {
  FlussListenerConfig nowhere;
  nowhere.host = "203.0.113.1";  // kept for documentation: nobody has it
  nowhere.port = 9123;
  struct Starting {
    static Task<void> Run(FlussGateway* gateway, Status* out) {
      *out = gateway->Start();
      co_await gateway->Stop();
    }
  };
  for (const bool is_second : {false, true}) {
    FlussGatewayConfig config;
    config.plain.port = 0;
    (is_second ? config.sasl : config.plain) = nowhere;
    FlussGateway gateway(node_, *network_, clock_, {&loops_[0]}, config);
    Status started;
    RunBlocking(loops_[0], Starting::Run(&gateway, &started));
    ASSERT_FALSE(started.ok());
    EXPECT_NE(started.error().message.find("203.0.113.1:9123"), std::string::npos);
  }
}

}  // namespace
}  // namespace weir::fluss
