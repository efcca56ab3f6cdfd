#include "weir/gateway/fluss/connection.h"

#include <algorithm>
#include <cstring>

#include "weir/base/log.h"

namespace weir::fluss {
namespace {

// How much is read or written at a time before other connections of the loop get a turn.
constexpr size_t kTurnBytes = 1u << 20;

// As many pieces as the operating system takes in one call.
constexpr size_t kBatchPiecesMax = 64;

// After a refused frame the connection stays open for so long and takes so much, because closing it
// over unread bytes would destroy the response on its way.
constexpr Duration kLinger = std::chrono::seconds(2);
constexpr size_t kLingerBytesMax = 256u << 20;

}  // namespace

ServedConnection::ServedConnection(Service& service, Session session, EventLoop& loop,
                                   std::unique_ptr<Connection> connection)
    : service_(service),
      loop_(loop),
      connection_(std::move(connection)),
      session_(std::move(session)),
      allowance_(service.config.unsent_bytes_max),
      read_at_(loop.Elapsed()),
      written_at_(read_at_) {}

Task<void> ServedConnection::Run() {
  LogDebug("gateway", "connection opened: peer={}", connection_->peer());
  writing_.Spawn(WriteLoop());
  co_await ReadLoop();
  is_stopping_ = true;
  fetches_.Cancel();
  co_await requests_.Join();
  is_last_frame_queued_ = true;
  WakeWriter();
  co_await writing_.Join();
  connection_->Close();
  LogDebug("gateway", "connection closed: peer={}", connection_->peer());
}

void ServedConnection::Stop() {
  is_stopping_ = true;
  fetches_.Cancel();
  CloseIfDone();
}

void ServedConnection::Abort() {
  is_stopping_ = true;
  fetches_.Cancel();
  connection_->Close();
}

void ServedConnection::CloseIfStuck() {
  const FlussGatewayConfig& config = service_.config;
  const Duration now = loop_.Elapsed();
  const char* reason = nullptr;
  if (is_writing_ && now - written_at_ > config.stall_max) {
    reason = "response is not taken";
  } else if (reading_ == Reading::kFrame && now - read_at_ > config.stall_max) {
    reason = "frame is not finished";
  } else if (reading_ == Reading::kIdle && running_ == 0 && unsent_.empty() &&
             now - std::max(read_at_, written_at_) > config.idle_max) {
    reason = "idle";
  }
  if (reason == nullptr) return;
  LogDebug("gateway", "connection is closed: peer={} reason={}", connection_->peer(), reason);
  connection_->Close();
}

Task<void> ServedConnection::ReadLoop() {
  while (!is_stopping_) {
    reading_ = Reading::kIdle;
    const std::optional<RequestHead> head = co_await ReadHead();
    if (!head || is_stopping_) co_return;

    const Api* const api = FindApi(head->api_key);
    const bool carries_records = api != nullptr && api->carries_records;
    const size_t frame_bytes_max =
        carries_records ? service_.config.frame_bytes_max : service_.config.control_frame_bytes_max;
    if (head->body_bytes > frame_bytes_max) {
      co_await RefuseAndLinger(*head, frame_bytes_max);
      co_return;
    }

    reading_ = Reading::kWaiting;
    while (!HasRoom()) {
      co_await room_.Wait();
      if (is_stopping_) co_return;
    }
    const size_t charge = carries_records ? head->body_bytes : head->body_bytes * kDecodedPerByte;
    co_await service_.request_bytes.Take(charge);

    reading_ = Reading::kFrame;
    read_at_ = loop_.Elapsed();
    std::optional<Buffer> body = co_await ReadBody(head->body_bytes);
    if (!body || is_stopping_) {
      service_.request_bytes.Give(charge);
      co_return;
    }
    ++running_;
    requests_.Spawn(ServeRequest(*head, *std::move(body), charge));
  }
}

/// Nothing if the client has gone or is not understood.
Task<std::optional<RequestHead>> ServedConnection::ReadHead() {
  while (inbox_end_ - inbox_begin_ < kRequestHeadBytes) {
    if (inbox_begin_ == inbox_end_) {
      inbox_begin_ = inbox_end_ = 0;
    } else {
      reading_ = Reading::kFrame;
      if (inbox_begin_ > 0) {
        std::memmove(inbox_.data(), inbox_.data() + inbox_begin_, inbox_end_ - inbox_begin_);
        inbox_end_ -= inbox_begin_;
        inbox_begin_ = 0;
      }
    }
    size_t taken = 0;
    if (!co_await ReadSome(MutableBytes(inbox_).subspan(inbox_end_), taken)) co_return std::nullopt;
    inbox_end_ += taken;
  }
  const Result<RequestHead> head =
      DecodeRequestHead(Bytes(inbox_).subspan(inbox_begin_, kRequestHeadBytes));
  if (!head.ok()) {
    LogDebug("gateway", "connection is closed: peer={} reason={}", connection_->peer(),
             head.error().message);
    co_return std::nullopt;
  }
  inbox_begin_ += kRequestHeadBytes;
  co_return *head;
}

/// Memory of just the body's size: its records may stay in memory long after the request, and
/// should not hold more.
Task<std::optional<Buffer>> ServedConnection::ReadBody(size_t bytes) {
  Buffer body = Buffer::Allocate(bytes);
  size_t filled = std::min(bytes, inbox_end_ - inbox_begin_);
  if (filled > 0) std::memcpy(body.mutable_data(), inbox_.data() + inbox_begin_, filled);
  inbox_begin_ += filled;
  while (filled < bytes) {
    size_t taken = 0;
    if (!co_await ReadSome(body.mutable_bytes().subspan(filled), taken)) co_return std::nullopt;
    filled += taken;
  }
  co_return body;
}

/// False if the client has gone.
Task<bool> ServedConnection::ReadSome(MutableBytes into, size_t& taken) {
  if (read_since_yield_ >= kTurnBytes) {
    read_since_yield_ = 0;
    co_await loop_.NextTurn();
  }
  const Result<size_t> count =
      co_await connection_->Read(into.first(std::min(into.size(), kTurnBytes)));
  if (!count.ok() || *count == 0) co_return false;
  // A small read costs about as much as so many bytes.
  constexpr size_t kReadCostBytes = 4096;
  read_since_yield_ += std::max(*count, kReadCostBytes);
  read_at_ = loop_.Elapsed();
  taken = *count;
  co_return true;
}

/// Says why, and reads on without looking, so that the client gets to read it.
Task<void> ServedConnection::RefuseAndLinger(RequestHead head, size_t frame_bytes_max) {
  LogWarn("gateway", "frame is too large: peer={} api={} bytes={} max={}", connection_->peer(),
          head.api_key, head.body_bytes, frame_bytes_max);
  Frame refusal;
  refusal.Add(EncodeErrorResponse(
      head.request_id, FlussCode::kCorruptMessage,
      fmt::format("frame is too large: bytes={} max={}", head.body_bytes, frame_bytes_max)));
  Send(std::move(refusal));
  reading_ = Reading::kFrame;
  const Duration begin = loop_.Elapsed();
  size_t discarded = 0;
  // CloseIfStuck ends the wait for a client that sends nothing more.
  while (!is_stopping_ && discarded < kLingerBytesMax && loop_.Elapsed() - begin < kLinger) {
    size_t taken = 0;
    if (!co_await ReadSome(inbox_, taken)) co_return;
    discarded += taken;
  }
}

Task<void> ServedConnection::ServeRequest(RequestHead head, Buffer body, size_t charge) {
  const RequestContext context{service_, head, session_, fetches_, &allowance_};
  Frame response = co_await Dispatch(context, std::move(body));
  Send(std::move(response));
  service_.request_bytes.Give(charge);
  --running_;
  room_.Notify();
  CloseIfDone();
}

bool ServedConnection::HasRoom() const {
  return running_ < service_.config.requests_running_max &&
         unsent_bytes_ < service_.config.unsent_bytes_max;
}

void ServedConnection::Send(Frame frame) {
  WEIR_CHECK(!frame.pieces.empty());
  if (is_broken_) return allowance_.Release(frame.held_bytes);
  if (unsent_.empty()) written_at_ = loop_.Elapsed();
  unsent_bytes_ += frame.bytes;
  service_.response_bytes.fetch_add(frame.bytes);
  unsent_.push_back(std::move(frame));
  WakeWriter();
}

/// Not at once: what else is ready in this turn of the loop then goes out in the same call to the
/// operating system.
void ServedConnection::WakeWriter() {
  if (!is_writer_waiting_ || is_writer_woken_) return;
  is_writer_woken_ = true;
  loop_.Post([this] {
    is_writer_woken_ = false;
    writer_.Notify();
  });
}

Task<void> ServedConnection::WriteLoop() {
  while (true) {
    while (unsent_.empty()) {
      if (is_last_frame_queued_) co_return;
      is_writer_waiting_ = true;
      co_await writer_.Wait();
      is_writer_waiting_ = false;
    }
    is_writing_ = true;
    const bool is_written = co_await WriteBatch();
    is_writing_ = false;
    if (!is_written) {
      // The reader sees the end, too, and with it the connection ends.
      is_broken_ = true;
      DropUnsent();
      connection_->Close();
    }
    room_.Notify();
    CloseIfDone();
  }
}

/// Writes a piece of what is unsent, and forgets it. False if the client has gone.
Task<bool> ServedConnection::WriteBatch() {
  batch_.clear();
  size_t bytes = 0;
  size_t skip_pieces = sent_pieces_;
  size_t skip_bytes = sent_bytes_;
  for (const Frame& frame : unsent_) {
    for (size_t i = skip_pieces; i < frame.pieces.size(); ++i) {
      if (batch_.size() == kBatchPiecesMax || bytes == kTurnBytes) break;
      const Bytes rest = frame.pieces[i].bytes().subspan(std::exchange(skip_bytes, 0));
      batch_.push_back(rest.first(std::min(rest.size(), kTurnBytes - bytes)));
      bytes += batch_.back().size();
    }
    if (batch_.size() == kBatchPiecesMax || bytes == kTurnBytes) break;
    skip_pieces = 0;
  }

  const Status written = co_await connection_->Write(batch_);
  if (!written.ok()) co_return false;
  written_at_ = loop_.Elapsed();
  unsent_bytes_ -= bytes;
  service_.response_bytes.fetch_sub(bytes);
  for (const Bytes& piece : batch_) {
    Frame& frame = unsent_.front();
    sent_bytes_ += piece.size();
    if (sent_bytes_ < frame.pieces[sent_pieces_].size()) break;
    frame.pieces[sent_pieces_] = Buffer();
    sent_bytes_ = 0;
    if (++sent_pieces_ == frame.pieces.size()) {
      allowance_.Release(frame.held_bytes);
      unsent_.pop_front();
      sent_pieces_ = 0;
    }
  }
  // A client that takes as fast as we give must not keep the loop for itself.
  if (bytes == kTurnBytes) co_await loop_.NextTurn();
  co_return true;
}

void ServedConnection::DropUnsent() {
  for (const Frame& frame : unsent_) allowance_.Release(frame.held_bytes);
  unsent_.clear();
  service_.response_bytes.fetch_sub(std::exchange(unsent_bytes_, 0));
  sent_pieces_ = 0;
  sent_bytes_ = 0;
}

/// Lets the reader of a stopping connection see the end, once there is nothing left to send.
void ServedConnection::CloseIfDone() {
  if (is_stopping_ && running_ == 0 && unsent_.empty()) connection_->Close();
}

}  // namespace weir::fluss
