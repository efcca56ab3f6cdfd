// One client's connection: reads requests, starts them in the order in which they come, and writes
// responses in the order in which they are ready. Specified by "Fluss protocol, pipelining and
// ordering".
#pragma once

#include <array>
#include <coroutine>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "weir/gateway/fluss/api.h"
#include "weir/gateway/fluss/frame.h"
#include "weir/gateway/fluss/service.h"
#include "weir/runtime/network.h"

namespace weir::fluss {

/// What a decoded message takes at most for each byte of its frame: an empty message of two bytes
/// becomes an object of some fifty. Requests that are decoded count so much against the budget of
/// request bytes.
inline constexpr size_t kDecodedPerByte = 32;

/// Lives on one loop.
///
/// Bounds: of requests, those of the config; a connection that reaches one is not read until it is
/// below it again. Of memory besides: kInboxBytes for reading.
class ServedConnection {
 public:
  ServedConnection(Service& service, Session session, EventLoop& loop,
                   std::unique_ptr<Connection> connection);
  ServedConnection(const ServedConnection&) = delete;
  ServedConnection& operator=(const ServedConnection&) = delete;

  /// Serves until the client goes, breaks the protocol or stalls, or until Stop. Nothing runs any
  /// more when it returns.
  Task<void> Run();

  /// Reads no more requests, ends the waits of fetches, and closes when all responses are written.
  void Stop();
  /// Closes now.
  void Abort();

  /// Closes if the client does nothing that it should do; to be called now and then.
  void CloseIfStuck();

 private:
  /// What the reader does, which decides how long it may take.
  enum class Reading { kIdle, kFrame, kWaiting /* for room of ours: not the client's fault */ };

  /// A flag that one coroutine waits for again and again.
  class Signal {
   public:
    auto Wait() {
      struct Awaiter {
        Signal& signal;
        bool await_ready() const { return false; }
        void await_suspend(std::coroutine_handle<> waiter) { signal.waiter_ = waiter; }
        void await_resume() const {}
      };
      return Awaiter{*this};
    }
    void Notify() {
      if (waiter_) std::exchange(waiter_, nullptr).resume();
    }

   private:
    std::coroutine_handle<> waiter_;
  };

  Task<void> ReadLoop();
  Task<std::optional<RequestHead>> ReadHead();
  Task<std::optional<Buffer>> ReadBody(size_t bytes);
  Task<bool> ReadSome(MutableBytes into, size_t& taken);
  Task<void> RefuseAndLinger(RequestHead head, size_t frame_bytes_max);
  Task<void> ServeRequest(RequestHead head, Buffer body, size_t charge);
  Task<void> WriteLoop();
  Task<bool> WriteBatch();

  bool HasRoom() const;
  void Send(Frame frame);
  void WakeWriter();
  void DropUnsent();
  void CloseIfDone();

  static constexpr size_t kInboxBytes = 4096;

  Service& service_;
  EventLoop& loop_;
  const std::unique_ptr<Connection> connection_;
  Session session_;
  FetchCanceller fetches_;
  FetchAllowance allowance_;

  // Reading.
  std::array<std::byte, kInboxBytes> inbox_;
  size_t inbox_begin_ = 0;
  size_t inbox_end_ = 0;
  Reading reading_ = Reading::kIdle;
  bool is_stopping_ = false;
  size_t read_since_yield_ = 0;
  Signal room_;

  // Requests that run.
  TaskScope requests_;
  size_t running_ = 0;

  // Writing. Of the first frame, `sent_pieces_` pieces and `sent_bytes_` of the next are written.
  TaskScope writing_;
  std::deque<Frame> unsent_;
  size_t unsent_bytes_ = 0;
  size_t sent_pieces_ = 0;
  size_t sent_bytes_ = 0;
  std::vector<Bytes> batch_;
  bool is_writing_ = false;
  bool is_writer_waiting_ = false;
  bool is_writer_woken_ = false;
  bool is_last_frame_queued_ = false;
  bool is_broken_ = false;
  Signal writer_;

  // When a byte was last moved, or a request ended.
  Duration read_at_;
  Duration written_at_;
};

}  // namespace weir::fluss
