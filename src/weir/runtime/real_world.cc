#include "weir/runtime/real_world.h"

#include <sys/random.h>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <thread>

#include <boost/asio/signal_set.hpp>

#include "weir/runtime/asio_loop.h"

namespace weir {
namespace {

class RealClock final : public Clock {
 public:
  Timestamp Now() const override {
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    return Timestamp(std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count());
  }
};

class RealRandom final : public Random {
 public:
  uint64_t Next() override {
    uint64_t bits = 0;
    WEIR_CHECK(::getrandom(&bits, sizeof bits, 0) == sizeof bits);
    return bits;
  }
};

class RealBlockingPool final : public BlockingPool {
 public:
  explicit RealBlockingPool(size_t threads) {
    for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
  }

  ~RealBlockingPool() override {
    {
      const std::lock_guard lock(mutex_);
      is_closed_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void Submit(std::function<void()> work) override {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(work));
    }
    wake_.notify_one();
  }

 private:
  void Work() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return is_closed_ || !queue_.empty(); });
      if (queue_.empty()) return;
      const std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      work();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> queue_;
  bool is_closed_ = false;
  std::vector<std::thread> threads_;
};

Task<void> RunThenTell(EventLoop* loop, Task<void> task, std::function<void()> tell) {
  co_await loop->Enter();
  co_await std::move(task);
  tell();
}

}  // namespace

std::unique_ptr<Clock> MakeRealClock() {
  return std::make_unique<RealClock>();
}
std::unique_ptr<Random> MakeRealRandom() {
  return std::make_unique<RealRandom>();
}

std::unique_ptr<BlockingPool> MakeRealBlockingPool(size_t threads) {
  return std::make_unique<RealBlockingPool>(threads);
}

class RealLoops::Impl {
 public:
  Impl() : thread_([this] { loop_.Run(); }) {}
  ~Impl() {
    loop_.Stop();
    thread_.join();
  }
  AsioLoop& loop() { return loop_; }

 private:
  AsioLoop loop_;
  std::thread thread_;
};

RealLoops::RealLoops(size_t count) {
  for (size_t i = 0; i < count; ++i) loops_.push_back(std::make_unique<Impl>());
}

RealLoops::~RealLoops() = default;

EventLoop& RealLoops::operator[](size_t index) {
  return loops_[index]->loop();
}

void RunBlocking(EventLoop& loop, Task<void> task) {
  WEIR_CHECK(EventLoop::Current() == nullptr);
  std::mutex mutex;
  std::condition_variable wake;
  bool is_done = false;
  Spawn(RunThenTell(&loop, std::move(task), [&] {
    // Under the lock, so that the waiter cannot leave and free it in between.
    const std::lock_guard lock(mutex);
    is_done = true;
    wake.notify_one();
  }));
  std::unique_lock lock(mutex);
  wake.wait(lock, [&] { return is_done; });
}

struct StopSignal::Impl {
  explicit Impl(EventLoop& loop)
      : stopped(loop), signals(static_cast<AsioLoop&>(loop).context(), SIGTERM, SIGINT) {}

  Event stopped;
  boost::asio::signal_set signals;
};

StopSignal::StopSignal(EventLoop& loop) : impl_(std::make_unique<Impl>(loop)) {
  impl_->signals.async_wait([impl = impl_.get()](const boost::system::error_code& error, int) {
    // Also called when the set goes away, with the event.
    if (!error) impl->stopped.Set();
  });
}

StopSignal::~StopSignal() = default;

Task<void> StopSignal::Wait() {
  co_await impl_->stopped.Wait();
}

}  // namespace weir
