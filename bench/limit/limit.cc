// What a log server cannot do without, and nothing else: a program that answers `weir bench append`
// and `weir bench scan` like a server, on the same sockets and files, but that only receives,
// checks the checksum, writes and acknowledges, or reads and sends. Its CPU time for a gigabyte is
// the limit that a real server is measured against.
//
// It keeps one bucket whatever the tables are called, forgets all at its end, trusts its client,
// and has a thread for each connection. Messages as in Fluss protocol, "API reference".
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "weir/base/crc32c.h"
#include "weir/load/wire.h"
#include "weir/record/log_batch.h"

namespace weir::load {
namespace {

void Require(bool done, const char* what) {
  if (done) return;
  std::fprintf(stderr, "weir_limit: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

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

/// The one log: batches behind each other in a file, and where each begins.
class Log {
 public:
  explicit Log(const std::string& path)
      : fd_(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644)) {
    Require(fd_ >= 0, "cannot create the file");
  }

  void Clear() {
    const std::lock_guard lock(mutex_);
    Require(ftruncate(fd_, 0) == 0, "cannot empty the file");
    batches_ = {{0, 0}};
  }

  /// False if the checksum is wrong.
  bool Append(std::span<std::byte> batch) {
    const auto header = DecodeLogBatchHeader(batch);
    if (!header.ok() || Crc32c(batch.subspan(header->crc_start())) != header->crc) return false;
    const std::lock_guard lock(mutex_);
    const Place at = batches_.back();
    StampLogBatch(batch, LogOffset(at.offset), Timestamp(1));
    Require(
        pwrite(fd_, batch.data(), batch.size(), at.position) == static_cast<ssize_t>(batch.size()),
        "cannot write");
    batches_.push_back(
        {at.offset + header->record_count, at.position + static_cast<off_t>(batch.size())});
    return true;
  }

  /// Whole batches from `offset` on, of at most `bytes_max`, but at least one.
  std::string_view Read(int64_t offset, size_t bytes_max, std::vector<char>& buffer) {
    off_t begin = 0, end = 0;
    {
      const std::lock_guard lock(mutex_);
      size_t first = 0;
      size_t above = batches_.size() - 1;
      while (above - first > 1) {
        const size_t middle = (first + above) / 2;
        (batches_[middle].offset <= offset ? first : above) = middle;
      }
      begin = batches_[first].position;
      size_t last = std::min(first + 1, batches_.size() - 1);
      while (last + 1 < batches_.size() &&
             batches_[last + 1].position - begin <= static_cast<off_t>(bytes_max))
        ++last;
      end = batches_[last].position;
    }
    const auto size = static_cast<size_t>(end - begin);
    if (buffer.size() < size) buffer.resize(size);
    Require(pread(fd_, buffer.data(), size, begin) == static_cast<ssize_t>(size), "cannot read");
    return {buffer.data(), size};
  }

  int64_t end_offset() {
    const std::lock_guard lock(mutex_);
    return batches_.back().offset;
  }

 private:
  struct Place {
    int64_t offset;
    off_t position;
  };

  int fd_;
  std::mutex mutex_;
  std::vector<Place> batches_ = {{0, 0}};  // the last one is the end
};

/// Answers the requests of one connection until it ends.
class Session {
 public:
  Session(int fd, int port, Log& log) : fd_(fd), port_(port), log_(log) {}

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
    const std::string_view request(body.data(), body.size());
    MessageWriter answer;
    std::string_view records;
    switch (api) {
      case Api::kGetMetadata: answer = Metadata(request); break;
      case Api::kInitWriter: answer.Number(1, 0); break;
      case Api::kListOffsets:
        answer.Message(1, MessageWriter().Number(1, 0).Number(4, log_.end_offset()));
        break;
      case Api::kDropTable: log_.Clear(); break;
      case Api::kProduceLog: answer = Append(body); break;
      case Api::kFetchLog: answer = Fetch(request, records); break;
      default: break;  // the answer to what is left is an empty message
    }
    std::byte head[9];
    StoreBig<int32_t>(head, static_cast<int32_t>(5 + answer.text().size() + records.size()));
    head[4] = std::byte{0};
    StoreBig<int32_t>(head + 5, id);
    return SendAll(fd_, std::string(AsText(head)) + answer.text(), records);
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

  MessageWriter Append(std::span<char> body) {
    const std::optional<Field> bucket = FindField({body.data(), body.size()}, 4);
    const std::optional<Field> records = bucket ? FindField(bucket->text, 3) : std::nullopt;
    MessageWriter answer;
    if (!records) return answer;
    char* const batch = body.data() + (records->text.data() - body.data());
    const bool appended =
        log_.Append(std::as_writable_bytes(std::span(batch, records->text.size())));
    MessageWriter result;
    result.Number(2, 0);
    if (!appended) result.Number(3, 14);
    return answer.Message(1, result);
  }

  MessageWriter Fetch(std::string_view request, std::string_view& records) {
    const std::optional<Field> table = FindField(request, 3);
    const std::optional<Field> bucket = table ? FindField(table->text, 4) : std::nullopt;
    const std::optional<Field> offset = bucket ? FindField(bucket->text, 3) : std::nullopt;
    const std::optional<Field> bytes = bucket ? FindField(bucket->text, 4) : std::nullopt;
    if (!offset || !bytes) return {};
    records = log_.Read(offset->value, static_cast<size_t>(bytes->value), buffer_);
    // Records come last in the innermost message, so that they need not be copied behind the
    // others.
    MessageWriter result;
    result.Number(2, 0).Number(5, log_.end_offset()).Number(6, 0).TextHead(8, records.size());
    MessageWriter of_table;
    of_table.Number(1, 0).TextHead(2, result.text().size() + records.size());
    MessageWriter answer;
    answer.TextHead(1, of_table.text().size() + result.text().size() + records.size());
    return answer.Raw(of_table).Raw(result);
  }

  int fd_;
  int port_;
  Log& log_;
  std::vector<char> buffer_;
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

int Main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: weir_limit PORT FILE\n");
    return 2;
  }
  const int port = std::atoi(argv[1]);
  Log log(argv[2]);
  const int listening = Listen(port);
  std::printf("ready on 127.0.0.1:%d\n", port);
  std::fflush(stdout);
  while (true) {
    const int fd = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    std::thread([fd, port, &log] { Session(fd, port, log).Run(); }).detach();
  }
}

}  // namespace
}  // namespace weir::load

int main(int argc, char** argv) {
  return weir::load::Main(argc, argv);
}
