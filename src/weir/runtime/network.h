// Byte streams between processes.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "weir/base/bytes.h"
#include "weir/base/result.h"
#include "weir/runtime/event_loop.h"

namespace weir {

/// One connection. Lives on one loop. One coroutine may read while another writes.
class Connection {
 public:
  virtual ~Connection() = default;

  /// Waits until there is something and takes as much as there is and fits. 0: the peer has closed.
  /// Errors: kIo.
  virtual Task<Result<size_t>> Read(MutableBytes into) = 0;

  /// Writes all pieces one behind the other. `pieces` and what they show must stay until it
  /// returns. Errors: kIo.
  virtual Task<Status> Write(std::span<const Bytes> pieces) = 0;

  /// Ends both directions; a waiting Read or Write returns with an error.
  virtual void Close() = 0;

  /// Address of the peer, for logs.
  virtual const std::string& peer() const = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;

  /// Waits for a connection, which then lives on `loop`. Call it on the listener's loop. Errors:
  /// kIo (after Close, or when the process has no file descriptors left).
  virtual Task<Result<std::unique_ptr<Connection>>> Accept(EventLoop& loop) = 0;
  virtual void Close() = 0;
  virtual uint16_t port() const = 0;
};

class Network {
 public:
  virtual ~Network() = default;

  /// Listens on `host`:`port` (0: any free port). Errors: kIo, with what is wrong with the address.
  virtual Result<std::unique_ptr<Listener>> Listen(EventLoop& loop, const std::string& host,
                                                   uint16_t port) = 0;
};

}  // namespace weir
