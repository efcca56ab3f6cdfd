// See server.h.
#include "server.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace weir::load {
namespace {

bool ReceiveAll(int fd, void* at, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t got = recv(fd, static_cast<char*>(at) + done, size - done, 0);
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

bool SendAll(int fd, std::string_view head, std::string_view body) {
  iovec parts[] = {{const_cast<char*>(head.data()), head.size()},
                   {const_cast<char*>(body.data()), body.size()}};
  const size_t size = head.size() + body.size();
  for (size_t done = 0; done < size;) {
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    done += static_cast<size_t>(sent);
    size_t rest = static_cast<size_t>(sent);
    for (iovec& part : parts) {
      const size_t taken = std::min(rest, part.iov_len);
      part.iov_base = static_cast<char*>(part.iov_base) + taken;
      part.iov_len -= taken;
      rest -= taken;
    }
  }
  return true;
}

/// Answers the requests of one connection until it ends.
class Session {
 public:
  Session(int fd, int port, Limit& limit) : fd_(fd), port_(port), limit_(limit) {}

  void Run() {
    std::byte head[12];
    std::vector<char> body;
    while (ReceiveAll(fd_, head, sizeof(head))) {
      const auto size = static_cast<size_t>(LoadBig<int32_t>(head)) - 8;
      if (body.size() < size) body.resize(size);
      if (!ReceiveAll(fd_, body.data(), size)) break;
      const auto api = static_cast<Api>(LoadBig<int16_t>(head + 4));
      if (!Answer(api, LoadBig<int32_t>(head + 8), std::span(body.data(), size))) break;
    }
    close(fd_);
  }

 private:
  bool Answer(Api api, int32_t id, std::span<char> body) {
    LimitAnswer answer;
    switch (api) {
      case Api::kGetMetadata: answer.message = Metadata({body.data(), body.size()}); break;
      case Api::kInitWriter: answer.message.Number(1, 0); break;
      case Api::kListOffsets:
        answer.message.Message(1, MessageWriter().Number(1, 0).Number(4, limit_.end_offset()));
        break;
      default: answer = limit_.Answer(api, body, memory_); break;
    }
    const std::string& message = answer.message.text();
    std::byte head[9];
    StoreBig<int32_t>(head, static_cast<int32_t>(5 + message.size() + answer.records.size()));
    head[4] = std::byte{0};
    StoreBig<int32_t>(head + 5, id);
    return SendAll(fd_, std::string(AsText(head)) + message, answer.records);
  }

  /// This server with everything, and the table that was asked for.
  MessageWriter Metadata(std::string_view request) const {
    const MessageWriter node = MessageWriter().Number(1, 0).Text(2, "127.0.0.1").Number(3, port_);
    MessageWriter answer;
    answer.Message(1, node).Message(2, node);
    if (const std::optional<Field> path = FindField(request, 1)) {
      answer.Message(3, MessageWriter()
                            .Text(1, path->text)
                            .Number(2, 0)
                            .Message(5, MessageWriter().Number(1, 0).Number(2, 0)));
    }
    return answer;
  }

  int fd_;
  int port_;
  Limit& limit_;
  std::vector<char> memory_;
};

int Listen(int port) {
  const int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  Require(bind(listening, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0,
          "cannot bind");
  Require(listen(listening, 64) == 0, "cannot listen");
  return listening;
}

}  // namespace

void Require(bool done, const char* what) {
  if (done) return;
  std::fprintf(stderr, "weir_limit: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

void ServeLimit(int port, Limit& limit) {
  const int listening = Listen(port);
  std::printf("ready on 127.0.0.1:%d\n", port);
  std::fflush(stdout);
  while (true) {
    const int fd = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    std::thread([fd, port, &limit] { Session(fd, port, limit).Run(); }).detach();
  }
}

}  // namespace weir::load
