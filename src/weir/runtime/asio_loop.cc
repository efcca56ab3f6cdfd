#include "weir/runtime/asio_loop.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

namespace weir {

AsioLoop::AsioLoop() = default;

void AsioLoop::Post(Work work) {
  boost::asio::post(context_, std::move(work));
}

EventLoop::TimerId AsioLoop::StartTimer(Duration delay, Work work) {
  const TimerId id = next_timer_++;
  const Duration at = Elapsed() + std::min<Duration>(delay, std::chrono::hours(24 * 365));
  timers_.emplace(TimerKey{at, id}, std::move(work));
  due_.emplace(id, at);
  Arm();
  return id;
}

void AsioLoop::CancelTimer(TimerId timer) {
  const auto found = due_.find(timer);
  if (found == due_.end()) return;
  timers_.erase(TimerKey{found->second, timer});
  due_.erase(found);
  // The alarm stays as it is: a needless wake-up is cheaper than two changes of a system timer.
}

Duration AsioLoop::Elapsed() const {
  return std::chrono::steady_clock::now().time_since_epoch();
}

void AsioLoop::Arm() {
  if (timers_.empty()) return;
  const Duration earliest = timers_.begin()->first.first;
  if (earliest >= alarm_at_) return;
  alarm_at_ = earliest;
  alarm_.expires_at(std::chrono::steady_clock::time_point(earliest));
  alarm_.async_wait([this](const boost::system::error_code& error) {
    if (!error) Fire();  // otherwise it was set anew
  });
}

void AsioLoop::Fire() {
  alarm_at_ = Duration::max();
  const Duration now = Elapsed();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    auto first = timers_.extract(timers_.begin());
    due_.erase(first.key().second);
    first.mapped()();
  }
  Arm();
}

void AsioLoop::Run() {
  SetCurrent(this);
  const auto keep_running = boost::asio::make_work_guard(context_);
  context_.run();
  SetCurrent(nullptr);
}

void AsioLoop::Stop() {
  context_.stop();
}

}  // namespace weir
