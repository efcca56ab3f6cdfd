// The real world: threads, clocks, files and sockets of the operating system, on Boost.Asio.
#pragma once

#include <memory>
#include <vector>

#include "weir/runtime/blocking_pool.h"
#include "weir/runtime/clock.h"
#include "weir/runtime/event_loop.h"
#include "weir/runtime/file.h"
#include "weir/runtime/network.h"

namespace weir {

std::unique_ptr<Clock> MakeRealClock();
std::unique_ptr<Random> MakeRealRandom();
std::unique_ptr<FileSystem> MakeRealFileSystem();

/// Its threads end when it is destroyed; work that is queued then is still done.
std::unique_ptr<BlockingPool> MakeRealBlockingPool(size_t threads);

/// Makes listeners and connections for loops of RealLoops only.
std::unique_ptr<Network> MakeRealNetwork();

/// Event loops, each with a thread of its own that runs until this is destroyed.
class RealLoops {
 public:
  explicit RealLoops(size_t count);
  ~RealLoops();

  size_t size() const { return loops_.size(); }
  EventLoop& operator[](size_t index);

 private:
  class Impl;
  std::vector<std::unique_ptr<Impl>> loops_;
};

/// Runs `task` on `loop` and blocks this thread, which must not be a loop's, until it is done.
void RunBlocking(EventLoop& loop, Task<void> task);

/// Catches SIGTERM and SIGINT from when it is made until it is destroyed, both on `loop`.
class StopSignal {
 public:
  explicit StopSignal(EventLoop& loop);
  ~StopSignal();

  /// Returns when the process was told to stop. Call it on the loop.
  Task<void> Wait();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir
