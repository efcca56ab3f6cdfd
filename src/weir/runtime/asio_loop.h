// An event loop on Asio's io_context; for the real world's own files only.
#pragma once

#include <map>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "weir/runtime/event_loop.h"

namespace weir {

class AsioLoop final : public EventLoop {
 public:
  AsioLoop();

  void Post(Work work) override;
  TimerId StartTimer(Duration delay, Work work) override;
  void CancelTimer(TimerId timer) override;
  Duration Elapsed() const override;

  /// Runs what is posted until Stop; the calling thread becomes the loop's.
  void Run();
  void Stop();

  boost::asio::io_context& context() { return context_; }

 private:
  using TimerKey = std::pair<Duration, TimerId>;

  void Arm();
  void Fire();

  boost::asio::io_context context_{1};
  // One timer of the system for all of ours, set to the earliest.
  boost::asio::steady_timer alarm_{context_};
  Duration alarm_at_ = Duration::max();
  std::map<TimerKey, Work> timers_;
  std::map<TimerId, Duration> due_;
  TimerId next_timer_ = 1;
};

}  // namespace weir
