// The client's side of the Fluss wire: frames over a blocking socket, and just enough of protobuf
// for the few messages that a bench sends and reads. Specified by Fluss protocol, "Framing" and
// "API reference".
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/bytes.h"
#include "weir/base/result.h"

namespace weir::load {

enum class Api : int16_t {
  kApiVersions = 1000,
  kCreateDatabase = 1001,
  kCreateTable = 1005,
  kDropTable = 1006,
  kGetMetadata = 1012,
  kProduceLog = 1014,
  kFetchLog = 1015,
  kPutKv = 1016,
  kLookup = 1017,
  kListOffsets = 1021,
  kInitWriter = 1026,
  kPrefixLookup = 1034,
  kGetTableStats = 1059,
};

/// Writes a protobuf message field by field.
class MessageWriter {
 public:
  MessageWriter& Number(int field, int64_t value);
  MessageWriter& Text(int field, std::string_view value);
  MessageWriter& Message(int field, const MessageWriter& message) {
    return Text(field, message.out_);
  }
  /// Announces `size` bytes of a field that the caller sends behind this message.
  MessageWriter& TextHead(int field, size_t size);
  /// Fields that were written apart.
  MessageWriter& Raw(const MessageWriter& fields);
  const std::string& text() const { return out_; }

 private:
  std::string out_;
};

/// One field of a protobuf message: a number, or bytes.
struct Field {
  int number = 0;
  int64_t value = 0;
  std::string_view text = {};
};

/// Takes the next field off the front of `message`; nothing at its end, and nothing more of a
/// message that is broken.
std::optional<Field> TakeField(std::string_view& message);

/// The first field with this number.
std::optional<Field> FindField(std::string_view message, int number);

struct Endpoint {
  std::string host;
  int port = 0;
  bool operator==(const Endpoint&) const = default;
};

/// "host:port".
Result<Endpoint> ParseEndpoint(std::string_view text);

/// A connection to a server. One thread may send while another receives.
class Connection {
 public:
  /// Connects and greets (API_VERSIONS).
  static Result<Connection> Open(const Endpoint& endpoint);
  Connection(Connection&& other) noexcept;
  Connection& operator=(Connection&& other) noexcept;
  ~Connection();

  /// Sends one request whose body is the concatenation of `body`; returns its id.
  Result<int32_t> Send(Api api, std::initializer_list<std::string_view> body);

  /// The next answer, whichever request it belongs to: its body, valid until the next call.
  /// Errors: kIo (connection), and what the server answered (see Call).
  Result<std::string_view> Receive();
  /// The request to which Receive gave the answer last.
  int32_t answered_id() const { return answered_id_; }

  /// Send and receive, with nothing else in flight.
  /// Errors: kTableNotFound, kDatabaseExists, kTableExists; other codes of the server are
  /// kUnsupported.
  Result<std::string> Call(Api api, const MessageWriter& message);

  /// Whether there is something to receive, waiting for it until `deadline`.
  bool WaitReadable(std::chrono::steady_clock::time_point deadline);

  uint64_t sent_bytes() const { return sent_bytes_; }
  uint64_t received_bytes() const { return received_bytes_; }

 private:
  explicit Connection(int fd) : fd_(fd) {}
  Status ReceiveAtLeast(size_t size);

  int fd_;
  int32_t next_request_id_ = 0;
  int32_t answered_id_ = -1;
  std::vector<char> buffer_;  // [begin_, end_) is received and not yet given out
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t sent_bytes_ = 0;
  uint64_t received_bytes_ = 0;
};

/// The error of an answer for one bucket, if it has one in the field `code_field` (and its text in
/// the next).
Status BucketStatus(std::string_view answer, int code_field);

}  // namespace weir::load
