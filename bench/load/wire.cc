// See wire.h.
#include "weir/load/wire.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "weir/base/varint.h"

namespace weir::load {
namespace {

constexpr size_t kBufferBytes = 256 << 10;
constexpr int kFrameBytesMax = 1 << 30;

enum WireType { kVarint = 0, kFixed64 = 1, kDelimited = 2, kFixed32 = 5 };

Error SystemError(std::string_view what) {
  return Fail(ErrorCode::kIo, "{}: {}", what, std::strerror(errno));
}

Error ServerError(int64_t code, std::string_view text) {
  ErrorCode kind = ErrorCode::kUnsupported;
  if (code == 6) kind = ErrorCode::kDatabaseExists;
  if (code == 7) kind = ErrorCode::kTableNotFound;
  if (code == 8) kind = ErrorCode::kTableExists;
  return Fail(kind, "the server answered: code={} message={}", code, text);
}

Error ErrorOf(std::string_view message, int code_field) {
  const std::optional<Field> code = FindField(message, code_field);
  const std::optional<Field> text = FindField(message, code_field + 1);
  return ServerError(code ? code->value : -1, text ? text->text : "");
}

}  // namespace

MessageWriter& MessageWriter::Number(int field, int64_t value) {
  AppendVarint(out_, static_cast<uint64_t>(field) << 3 | kVarint);
  AppendVarint(out_, static_cast<uint64_t>(value));
  return *this;
}

MessageWriter& MessageWriter::TextHead(int field, size_t size) {
  AppendVarint(out_, static_cast<uint64_t>(field) << 3 | kDelimited);
  AppendVarint(out_, size);
  return *this;
}

MessageWriter& MessageWriter::Text(int field, std::string_view value) {
  TextHead(field, value.size());
  out_ += value;
  return *this;
}

MessageWriter& MessageWriter::Raw(const MessageWriter& fields) {
  out_ += fields.out_;
  return *this;
}

std::optional<Field> TakeField(std::string_view& message) {
  Bytes rest = AsBytes(message);
  message = {};
  const std::optional<uint64_t> tag = TakeVarint(rest);
  if (!tag) return std::nullopt;
  Field field{.number = static_cast<int>(*tag >> 3)};
  size_t size = 0;
  switch (*tag & 7) {
    case kVarint: {
      const std::optional<uint64_t> value = TakeVarint(rest);
      if (!value) return std::nullopt;
      field.value = static_cast<int64_t>(*value);
      break;
    }
    case kDelimited: {
      const std::optional<uint64_t> announced = TakeVarint(rest);
      if (!announced || *announced > rest.size()) return std::nullopt;
      size = *announced;
      break;
    }
    case kFixed32: size = 4; break;
    case kFixed64: size = 8; break;
    default: return std::nullopt;
  }
  if (size > rest.size()) return std::nullopt;
  field.text = AsText(rest.first(size));
  message = AsText(rest.subspan(size));
  return field;
}

std::optional<Field> FindField(std::string_view message, int number) {
  while (std::optional<Field> field = TakeField(message)) {
    if (field->number == number) return field;
  }
  return std::nullopt;
}

Result<Endpoint> ParseEndpoint(std::string_view text) {
  const size_t colon = text.rfind(':');
  Endpoint endpoint;
  if (colon != std::string_view::npos) {
    endpoint.host = text.substr(0, colon);
    const std::string_view port = text.substr(colon + 1);
    const auto parsed = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
    if (parsed.ec == std::errc() && parsed.ptr == port.data() + port.size()) return endpoint;
  }
  return Fail(ErrorCode::kInvalidConfig, "an address is host:port: got={}", text);
}

Result<Connection> Connection::Open(const Endpoint& endpoint) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(endpoint.port);
  if (const int failed = getaddrinfo(endpoint.host.c_str(), port.c_str(), &hints, &found);
      failed != 0) {
    return Fail(ErrorCode::kIo, "cannot resolve host={}: {}", endpoint.host, gai_strerror(failed));
  }
  int fd = -1;
  for (const addrinfo* address = found; address != nullptr && fd < 0; address = address->ai_next) {
    fd = socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC, address->ai_protocol);
    if (fd >= 0 && connect(fd, address->ai_addr, address->ai_addrlen) != 0) {
      close(std::exchange(fd, -1));
    }
  }
  freeaddrinfo(found);
  if (fd < 0)
    return SystemError(fmt::format("cannot connect to {}:{}", endpoint.host, endpoint.port));
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));

  Connection connection(fd);
  WEIR_TRY(connection.Call(Api::kApiVersions, MessageWriter().Text(1, "weir-bench").Text(2, "1")));
  return connection;
}

Connection::Connection(Connection&& other) noexcept : fd_(-1) {
  *this = std::move(other);
}

Connection& Connection::operator=(Connection&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(next_request_id_, other.next_request_id_);
  std::swap(answered_id_, other.answered_id_);
  std::swap(buffer_, other.buffer_);
  std::swap(begin_, other.begin_);
  std::swap(end_, other.end_);
  std::swap(sent_bytes_, other.sent_bytes_);
  std::swap(received_bytes_, other.received_bytes_);
  return *this;
}

Connection::~Connection() {
  if (fd_ >= 0) close(fd_);
}

bool Connection::WaitReadable(std::chrono::steady_clock::time_point deadline) {
  if (begin_ < end_) return true;
  const auto rest = std::max(deadline - std::chrono::steady_clock::now(),
                             std::chrono::steady_clock::duration::zero());
  const timespec timeout{rest.count() / 1'000'000'000, rest.count() % 1'000'000'000};
  pollfd waiting{fd_, POLLIN, 0};
  return ppoll(&waiting, 1, &timeout, nullptr) > 0;
}

Result<int32_t> Connection::Send(Api api, std::initializer_list<std::string_view> body) {
  std::array<iovec, 4> parts;
  WEIR_CHECK(body.size() < parts.size());
  std::array<std::byte, 12> head;
  size_t size = 0;
  int count = 0;
  parts[count++] = {head.data(), head.size()};
  for (std::string_view part : body) {
    parts[count++] = {const_cast<char*>(part.data()), part.size()};
    size += part.size();
  }
  const int32_t id = next_request_id_++;
  StoreBig<int32_t>(&head[0], static_cast<int32_t>(8 + size));
  StoreBig<int16_t>(&head[4], static_cast<int16_t>(api));
  StoreBig<int16_t>(&head[6], 0);
  StoreBig<int32_t>(&head[8], id);
  sent_bytes_ += head.size() + size;

  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = static_cast<size_t>(count);
  while (message.msg_iovlen > 0) {
    const ssize_t sent = sendmsg(fd_, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return SystemError("cannot send");
    auto rest = static_cast<size_t>(sent);
    while (message.msg_iovlen > 0 && rest >= message.msg_iov->iov_len) {
      rest -= message.msg_iov->iov_len;
      ++message.msg_iov;
      --message.msg_iovlen;
    }
    if (message.msg_iovlen > 0) {
      message.msg_iov->iov_base = static_cast<char*>(message.msg_iov->iov_base) + rest;
      message.msg_iov->iov_len -= rest;
    }
  }
  return id;
}

Status Connection::ReceiveAtLeast(size_t size) {
  if (begin_ == end_) begin_ = end_ = 0;
  if (buffer_.size() - begin_ < size) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= std::exchange(begin_, 0);
    if (buffer_.size() < size) buffer_.resize(std::max(size, kBufferBytes));
  }
  while (end_ - begin_ < size) {
    const ssize_t got = recv(fd_, buffer_.data() + end_, buffer_.size() - end_, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError("cannot receive");
    if (got == 0) return Fail(ErrorCode::kIo, "the server closed the connection");
    end_ += static_cast<size_t>(got);
    received_bytes_ += static_cast<uint64_t>(got);
  }
  return Ok();
}

Result<std::string_view> Connection::Receive() {
  WEIR_TRY(ReceiveAtLeast(4));
  const auto size = LoadBig<int32_t>(reinterpret_cast<const std::byte*>(buffer_.data()) + begin_);
  if (size < 1 || size > kFrameBytesMax) {
    return Fail(ErrorCode::kMalformedRequest, "an answer has a frame length that cannot be: got={}",
                size);
  }
  WEIR_TRY(ReceiveAtLeast(4 + static_cast<size_t>(size)));
  std::string_view frame(buffer_.data() + begin_ + 4, static_cast<size_t>(size));
  begin_ += 4 + frame.size();
  const char type = frame[0];
  if (type == 2) return ErrorOf(frame.substr(1), 1);
  if (frame.size() < 5) return Fail(ErrorCode::kMalformedRequest, "an answer is cut short");
  answered_id_ = LoadBig<int32_t>(reinterpret_cast<const std::byte*>(frame.data()) + 1);
  frame.remove_prefix(5);
  if (type != 0) return ErrorOf(frame, 1);
  return frame;
}

Result<std::string> Connection::Call(Api api, const MessageWriter& message) {
  WEIR_TRY(Send(api, {message.text()}));
  WEIR_ASSIGN(const std::string_view body, Receive());
  return std::string(body);
}

Status BucketStatus(std::string_view answer, int code_field) {
  const std::optional<Field> code = FindField(answer, code_field);
  if (!code || code->value == 0) return Ok();
  return ErrorOf(answer, code_field);
}

}  // namespace weir::load
