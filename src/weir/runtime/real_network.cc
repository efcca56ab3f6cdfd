#include <sys/socket.h>
#include <sys/uio.h>
#include <cerrno>
#include <cstring>

#include <boost/asio/ip/tcp.hpp>

#include "weir/runtime/asio_loop.h"
#include "weir/runtime/network.h"
#include "weir/runtime/real_world.h"

namespace weir {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

class RealConnection final : public Connection {
 public:
  RealConnection(tcp::socket socket, std::string peer)
      : socket_(std::move(socket)), peer_(std::move(peer)) {}

  Task<Result<size_t>> Read(MutableBytes into) override {
    while (true) {
      const ssize_t n = ::recv(socket_.native_handle(), into.data(), into.size(), MSG_DONTWAIT);
      if (n >= 0) co_return static_cast<size_t>(n);
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) co_return Broken("receive", errno);
      const error_code error = co_await Ready{socket_, tcp::socket::wait_read, {}};
      if (error) co_return Broken("receive", error.value());
    }
  }

  Task<Status> Write(std::span<const Bytes> pieces) override {
    size_t next = 0;
    size_t into_next = 0;
    while (true) {
      while (next < pieces.size() && pieces[next].size() == into_next) {
        ++next;
        into_next = 0;
      }
      if (next == pieces.size()) co_return Ok();
      ssize_t n = Send(pieces.subspan(next), into_next);
      if (n < 0) {
        if (errno == EINTR) continue;
        if (errno != EAGAIN && errno != EWOULDBLOCK) co_return Broken("send", errno);
        const error_code error = co_await Ready{socket_, tcp::socket::wait_write, {}};
        if (error) co_return Broken("send", error.value());
        continue;
      }
      for (auto left = static_cast<size_t>(n); left > 0;) {
        const size_t rest = pieces[next].size() - into_next;
        const size_t taken = std::min(left, rest);
        left -= taken;
        into_next += taken;
        if (into_next == pieces[next].size()) {
          ++next;
          into_next = 0;
        }
      }
    }
  }

  void Close() override {
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_both, ignored);
    socket_.cancel(ignored);
  }

  const std::string& peer() const override { return peer_; }

 private:
  struct Ready {
    tcp::socket& socket;
    tcp::socket::wait_type what;
    error_code error;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> waiter) {
      socket.async_wait(what, [this, waiter](const error_code& result) {
        error = result;
        waiter.resume();
      });
    }
    error_code await_resume() const { return error; }
  };

  ssize_t Send(std::span<const Bytes> pieces, size_t into_first) {
    iovec batch[64];
    size_t count = 0;
    for (const Bytes& piece : pieces) {
      if (count == 64) break;
      const Bytes rest = count == 0 ? piece.subspan(into_first) : piece;
      batch[count++] = {const_cast<std::byte*>(rest.data()), rest.size()};
    }
    msghdr message{};
    message.msg_iov = batch;
    message.msg_iovlen = count;
    return ::sendmsg(socket_.native_handle(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  }

  Error Broken(const char* what, int error) const {
    return Fail(ErrorCode::kIo, "cannot {}: peer={} reason={}", what, peer_, std::strerror(error));
  }

  tcp::socket socket_;
  const std::string peer_;
};

class RealListener final : public Listener {
 public:
  explicit RealListener(tcp::acceptor acceptor)
      : acceptor_(std::move(acceptor)), port_(acceptor_.local_endpoint().port()) {}

  Task<Result<std::unique_ptr<Connection>>> Accept(EventLoop& loop) override {
    tcp::socket socket(static_cast<AsioLoop&>(loop).context());
    error_code error = co_await Accepted{acceptor_, socket, {}};
    if (error)
      co_return Fail(ErrorCode::kIo, "cannot accept a connection: reason={}", error.message());
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    socket.set_option(boost::asio::socket_base::keep_alive(true), ignored);
    const tcp::endpoint peer = socket.remote_endpoint(ignored);
    std::string address = peer.address().to_string(ignored) + ":" + std::to_string(peer.port());
    co_return std::unique_ptr<Connection>(
        std::make_unique<RealConnection>(std::move(socket), std::move(address)));
  }

  void Close() override {
    error_code ignored;
    acceptor_.close(ignored);
  }

  uint16_t port() const override { return port_; }

 private:
  struct Accepted {
    tcp::acceptor& acceptor;
    tcp::socket& socket;
    error_code error;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> waiter) {
      acceptor.async_accept(socket, [this, waiter](const error_code& result) {
        error = result;
        waiter.resume();
      });
    }
    error_code await_resume() const { return error; }
  };

  tcp::acceptor acceptor_;
  const uint16_t port_;
};

class RealNetwork final : public Network {
 public:
  Result<std::unique_ptr<Listener>> Listen(EventLoop& loop, const std::string& host,
                                           uint16_t port) override {
    boost::asio::io_context& context = static_cast<AsioLoop&>(loop).context();
    const auto failed = [&](const char* what, const error_code& error) {
      return Fail(ErrorCode::kIo, "cannot {} {}:{}: {}", what, host, port, error.message());
    };
    error_code error;
    tcp::resolver resolver(context);
    const auto found = resolver.resolve(host, std::to_string(port), tcp::resolver::passive, error);
    if (error) return failed("resolve", error);
    const tcp::endpoint endpoint = found.begin()->endpoint();
    tcp::acceptor acceptor(context);
    if (acceptor.open(endpoint.protocol(), error)) return failed("listen on", error);
    if (acceptor.set_option(tcp::acceptor::reuse_address(true), error))
      return failed("listen on", error);
    if (acceptor.bind(endpoint, error)) return failed("listen on", error);
    if (acceptor.listen(4096, error)) return failed("listen on", error);
    return std::unique_ptr<Listener>(std::make_unique<RealListener>(std::move(acceptor)));
  }
};

}  // namespace

std::unique_ptr<Network> MakeRealNetwork() {
  return std::make_unique<RealNetwork>();
}

}  // namespace weir
