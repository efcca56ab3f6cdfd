// A world for tests of the gateway: a loop that runs by hand, a node that keeps its catalog in
// memory and does with logs what a test says, and a connection whose client is the test.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "weir/gateway/fluss/frame.h"
#include "weir/gateway/fluss/gateway_config.h"
#include "weir/gateway/fluss/messages.pb.h"
#include "weir/gateway/fluss/service.h"
#include "weir/runtime/clock.h"
#include "weir/runtime/network.h"
#include "weir/server/node.h"

namespace weir::fluss {

namespace wire = fluss_wire;

/// Runs what is posted when the test says so; its time stands still until it is moved.
class ManualLoop final : public EventLoop {
 public:
  ManualLoop() { SetCurrent(this); }
  ~ManualLoop() override { SetCurrent(nullptr); }

  void Post(Work work) override { queue_.push_back(std::move(work)); }
  TimerId StartTimer(Duration delay, Work work) override {
    timers_.emplace(std::pair(now_ + delay, ++last_timer_), std::move(work));
    return last_timer_;
  }
  void CancelTimer(TimerId timer) override {
    std::erase_if(timers_, [&](const auto& entry) { return entry.first.second == timer; });
  }
  Duration Elapsed() const override { return now_; }

  void Run() {
    while (!queue_.empty()) {
      const Work work = std::move(queue_.front());
      queue_.pop_front();
      work();
    }
  }

  void Advance(Duration time) {
    const Duration end = now_ + time;
    Run();
    while (!timers_.empty() && timers_.begin()->first.first <= end) {
      now_ = timers_.begin()->first.first;
      const Work work = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
      work();
      Run();
    }
    now_ = end;
  }

 private:
  std::deque<Work> queue_;
  std::map<std::pair<Duration, TimerId>, Work> timers_;
  Duration now_{0};
  TimerId last_timer_ = 0;
};

class FixedClock final : public Clock {
 public:
  Timestamp Now() const override { return Timestamp(1'700'000'000'000); }
};

/// All of it lives on one loop.
class FakeNode final : public Node {
 public:
  explicit FakeNode(EventLoop& loop) : loop_(loop) {
    WEIR_CHECK(Apply(catalog_.PlanDefaultDatabase(now())).ok());
  }

  /// What appends answer, in their order; the last of them goes on answering. Empty: the number of
  /// the append.
  std::deque<Result<LogOffset>> append_results;
  struct Appended {
    TableBucket bucket;
    std::string records;
    Acks acks;
    Duration timeout;
  };
  std::vector<Appended> appended;
  /// While this is set, appends are put in order but not answered.
  bool holds_appends = false;
  size_t appends_held() const { return held_.size(); }
  void ReleaseAppends() {
    holds_appends = false;
    for (Event* held : std::exchange(held_, {})) held->Set();
  }

  /// What a fetch finds in every bucket.
  std::function<Result<FetchedBucket>(const BucketFetch&)> fetched;
  std::vector<FetchRequest> fetches;

  /// What a bucket's log holds, for reads that are not fetches.
  std::function<Result<LogOffset>(TableBucket, OffsetSpec)> offset;
  std::function<Result<LogPieces>(TableBucket, int64_t)> limit_scan;
  std::function<Result<int64_t>(TableBucket)> count;

  /// Puts, and lookups that insert, and what rows there are. Empty: no bucket is known.
  struct PutSeen {
    TableBucket bucket;
    std::string batch;
    PutMode mode;
    Acks acks;
    Duration timeout;
  };
  std::vector<PutSeen> puts;
  std::function<Result<LogOffset>(TableBucket)> put;
  std::function<RowValues(const std::vector<Bytes>& keys)> lookup;
  std::function<Buffer(int64_t limit)> first_rows;
  std::function<Result<ScanPage>(int64_t rows_max, size_t bytes_max)> open_scan;
  std::function<Result<ScanPage>(std::string id, int32_t call, size_t bytes_max)> continue_scan;
  std::vector<std::string> closed_scans;
  std::function<std::vector<KvSnapshot>(TableBucket)> kv_snapshots;
  std::vector<KvSnapshotName> unavailable_snapshots;
  std::set<KvSnapshotName> leased() const { return catalog_.LeasedSnapshots(now()); }

  Task<void> Stop() override { co_return; }

  Task<Status> CreateDatabase(std::string name, std::string json, bool ignore) override {
    co_return Apply(catalog_.PlanCreateDatabase(name, json, ignore, now()));
  }
  Task<Status> DropDatabase(std::string name, bool ignore, bool cascade) override {
    co_return Apply(catalog_.PlanDropDatabase(name, ignore, cascade));
  }
  Task<Status> AlterDatabase(DatabaseAlteration alteration) override {
    co_return Apply(catalog_.PlanAlterDatabase(alteration, now()));
  }
  Task<Status> CreateTable(TablePath path, std::string json, bool ignore) override {
    co_return Apply(catalog_.PlanCreateTable(path, json, ignore, now()));
  }
  Task<Status> DropTable(TablePath path, bool ignore) override {
    co_return Apply(catalog_.PlanDropTable(path, ignore));
  }
  Task<Status> AlterTable(TableAlteration alteration) override {
    co_return Apply(catalog_.PlanAlterTable(alteration, now()));
  }
  Task<Status> CreatePartition(TablePath path, PartitionSpec spec, bool ignore) override {
    co_return Apply(catalog_.PlanCreatePartition(path, spec, ignore, now()));
  }
  Task<Status> DropPartition(TablePath path, PartitionSpec spec, bool ignore) override {
    co_return Apply(catalog_.PlanDropPartition(path, spec, ignore));
  }
  Task<Result<bool>> RegisterProducerOffsets(ProducerOffsets offsets) override {
    const Catalog::Plan plan = catalog_.PlanRegisterProducer(offsets, now());
    WEIR_CO_TRY(Apply(plan));
    co_return plan->has_value();
  }
  Task<Status> DeleteProducerOffsets(std::string producer_id) override {
    co_return Apply(catalog_.PlanDropProducer(producer_id));
  }
  Task<Result<WriterId>> InitWriter() override {
    const WriterId id = catalog_.next_writer_id();
    WEIR_CO_TRY(catalog_.Apply(catalog_.PlanReserveWriters(1)));
    co_return id;
  }

  Task<Result<LogOffset>> Append(TableBucket bucket, Buffer records, Acks acks,
                                 Duration timeout) override {
    appended.push_back({bucket, std::string(AsText(records.bytes())), acks, timeout});
    Result<LogOffset> result = LogOffset(static_cast<int64_t>(appended.size()));
    if (!append_results.empty()) {
      result = append_results.front();
      if (append_results.size() > 1) append_results.pop_front();
    }
    if (holds_appends) {
      Event released(loop_);
      held_.push_back(&released);
      co_await released.Wait();
    }
    co_return result;
  }

  Task<FetchResponse> Fetch(FetchRequest request) override {
    fetches.push_back(request);
    FetchResponse response = Read(request);
    size_t bytes = 0;
    for (const auto& table : response) {
      for (const auto& bucket : table) bytes += bucket.ok() ? bucket->records.bytes : 0;
    }
    if (bytes < request.bytes_min) {
      Event over(loop_);
      request.canceller->Add(over);
      co_await over.WaitFor(request.wait_max);
      request.canceller->Remove(over);
      response = Read(request);
    }
    co_return response;
  }

  Task<Result<LogOffset>> ListOffset(TableBucket bucket, OffsetSpec spec) override {
    if (!offset) co_return Unknown(bucket);
    co_return offset(bucket, spec);
  }
  Task<Result<LogPieces>> LimitScan(TableBucket bucket, int64_t limit) override {
    if (!limit_scan) co_return Unknown(bucket);
    co_return limit_scan(bucket, limit);
  }
  Task<Result<int64_t>> Count(TableBucket bucket) override {
    if (!count) co_return Unknown(bucket);
    co_return count(bucket);
  }

  Task<Result<LogOffset>> Put(TableBucket bucket, Buffer batch, PutMode mode, Acks acks,
                              Duration timeout) override {
    puts.push_back({bucket, std::string(AsText(batch.bytes())), std::move(mode), acks, timeout});
    if (!put) co_return Unknown(bucket);
    co_return put(bucket);
  }
  Task<Result<RowValues>> Lookup(TableBucket bucket, std::vector<Bytes> keys) override {
    if (!lookup) co_return Unknown(bucket);
    co_return lookup(keys);
  }
  Task<Result<RowValues>> LookupOrInsert(TableBucket bucket, std::vector<Bytes> keys, Acks acks,
                                         Duration timeout) override {
    puts.push_back({bucket, {}, {}, acks, timeout});
    if (!lookup) co_return Unknown(bucket);
    co_return lookup(keys);
  }
  Task<Result<std::vector<RowValues>>> LookupPrefixes(TableBucket bucket,
                                                      std::vector<Bytes> prefixes) override {
    if (!lookup) co_return Unknown(bucket);
    std::vector<RowValues> lists;
    for (const Bytes prefix : prefixes) lists.push_back(lookup({prefix}));
    co_return lists;
  }
  Task<Result<Buffer>> FirstRows(TableBucket bucket, int64_t limit) override {
    if (!first_rows) co_return Unknown(bucket);
    co_return first_rows(limit);
  }
  Task<Result<ScanPage>> OpenScan(TableBucket bucket, int64_t rows_max, size_t bytes_max) override {
    if (!open_scan) co_return Unknown(bucket);
    co_return open_scan(rows_max, bytes_max);
  }
  Task<Result<ScanPage>> ContinueScan(std::string scanner_id, int32_t call,
                                      size_t bytes_max) override {
    if (!continue_scan) co_return Fail(ErrorCode::kUnknownScanner, "no such scan");
    co_return continue_scan(scanner_id, call, bytes_max);
  }
  Task<Result<std::vector<KvSnapshot>>> KvSnapshotsOf(TableBucket bucket) override {
    if (!kv_snapshots) co_return Unknown(bucket);
    co_return kv_snapshots(bucket);
  }
  Task<Result<std::vector<KvSnapshotName>>> AcquireLease(
      std::string lease_id, std::chrono::milliseconds duration,
      std::vector<KvSnapshotName> snapshots) override {
    WEIR_CO_TRY(Apply(catalog_.PlanAcquireLease(lease_id, duration, snapshots, now())));
    co_return unavailable_snapshots;
  }
  Task<Status> ReleaseLease(std::string lease_id, std::vector<TableBucket> buckets) override {
    co_return Apply(catalog_.PlanReleaseLease(lease_id, buckets));
  }
  Task<Status> DropLease(std::string lease_id) override {
    co_return Apply(catalog_.PlanDropLease(lease_id));
  }
  Task<void> CloseScan(std::string scanner_id) override {
    closed_scans.push_back(std::move(scanner_id));
    co_return;
  }

  EventLoop& catalog_loop() override { return loop_; }

 protected:
  const Catalog& catalog() const override { return catalog_; }

 private:
  static Timestamp now() { return FixedClock().Now(); }
  static Error Unknown(TableBucket bucket) {
    return Fail(ErrorCode::kUnknownBucket, "bucket is not known: bucket={}", bucket);
  }

  Status Apply(const Catalog::Plan& plan) {
    WEIR_TRY(plan.ok() ? Ok() : Status(plan.error()));
    return Apply(*plan);
  }
  Status Apply(const std::optional<CatalogChange>& change) {
    return change ? catalog_.Apply(*change) : Ok();
  }

  FetchResponse Read(const FetchRequest& request) {
    FetchResponse response;
    for (const TableFetch& table : request.tables) {
      std::vector<Result<FetchedBucket>>& buckets = response.emplace_back();
      for (const BucketFetch& bucket : table.buckets) {
        buckets.push_back(fetched
                              ? fetched(bucket)
                              : Unknown({table.table_id, bucket.partition_id, bucket.bucket_id}));
      }
    }
    return response;
  }

  EventLoop& loop_;
  Catalog catalog_;
  std::vector<Event*> held_;
};

/// The server's end of a connection whose client is the test. Must outlive what the server does
/// with it.
class FakeWire {
 public:
  explicit FakeWire(EventLoop& loop) : loop_(loop) {}

  std::unique_ptr<Connection> Open() { return std::make_unique<End>(*this); }

  void Send(std::string_view bytes) {
    to_server_ += bytes;
    Wake(reader_);
  }
  /// The client closes its side.
  void Finish() {
    is_finished_ = true;
    Wake(reader_);
  }
  /// What the server has sent so far; the client takes it.
  std::string Take() { return std::exchange(from_server_, {}); }
  bool is_closed() const { return is_closed_; }
  /// Bytes that the server has not read.
  size_t unread() const { return to_server_.size(); }
  /// While this is set, the client takes nothing: writes wait.
  void Hold(bool holds) {
    holds_ = holds;
    if (!holds) Wake(writer_);
  }

 private:
  class End final : public Connection {
   public:
    explicit End(FakeWire& wire) : wire_(wire) {}

    Task<Result<size_t>> Read(MutableBytes into) override {
      while (wire_.to_server_.empty() && !wire_.is_finished_ && !wire_.is_closed_)
        co_await Waiting{wire_.reader_};
      if (wire_.is_closed_) co_return Fail(ErrorCode::kIo, "closed");
      const size_t count = std::min(into.size(), wire_.to_server_.size());
      std::memcpy(into.data(), wire_.to_server_.data(), count);
      wire_.to_server_.erase(0, count);
      co_return count;
    }

    Task<Status> Write(std::span<const Bytes> pieces) override {
      while (wire_.holds_ && !wire_.is_closed_) co_await Waiting{wire_.writer_};
      if (wire_.is_closed_) co_return Fail(ErrorCode::kIo, "closed");
      for (const Bytes& piece : pieces) wire_.from_server_ += AsText(piece);
      co_return Ok();
    }

    void Close() override {
      wire_.is_closed_ = true;
      wire_.Wake(wire_.reader_);
      wire_.Wake(wire_.writer_);
    }

    const std::string& peer() const override { return wire_.peer_; }

   private:
    FakeWire& wire_;
  };

  struct Waiting {
    std::coroutine_handle<>& waiter;
    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> handle) { waiter = handle; }
    void await_resume() const {}
  };

  void Wake(std::coroutine_handle<>& waiter) {
    if (!waiter) return;
    loop_.Post([handle = std::exchange(waiter, nullptr)] { handle.resume(); });
  }

  EventLoop& loop_;
  const std::string peer_ = "test";
  std::string to_server_;
  std::string from_server_;
  bool is_finished_ = false;
  bool is_closed_ = false;
  bool holds_ = false;
  std::coroutine_handle<> reader_;
  std::coroutine_handle<> writer_;
};

/// A request frame.
inline std::string RequestFrame(int16_t api_key, int32_t request_id, std::string_view body,
                                int16_t version = 0) {
  std::string frame(kRequestHeadBytes, '\0');
  auto* const at = reinterpret_cast<std::byte*>(frame.data());
  StoreBig<int32_t>(at, static_cast<int32_t>(8 + body.size()));
  StoreBig<int16_t>(at + 4, api_key);
  StoreBig<int16_t>(at + 6, version);
  StoreBig<int32_t>(at + 8, request_id);
  return frame.append(body);
}

/// The body of FETCH_LOG for one bucket, and of PRODUCE_LOG to one bucket.
inline std::string FetchBody(int32_t wait_ms, int32_t bytes_min) {
  wire::FetchLogRequest request;
  request.set_follower_server_id(-1);
  request.set_max_bytes(1 << 20);
  request.set_max_wait_ms(wait_ms);
  request.set_min_bytes(bytes_min);
  auto& table = *request.add_tables_req();
  table.set_table_id(7);
  table.set_projection_pushdown_enabled(false);
  auto& bucket = *table.add_buckets_req();
  bucket.set_bucket_id(0);
  bucket.set_fetch_offset(0);
  bucket.set_max_fetch_bytes(1 << 20);
  return request.SerializeAsString();
}

inline std::string ProduceBody(std::string_view records, int32_t acks = -1) {
  wire::ProduceLogRequest request;
  request.set_acks(acks);
  request.set_table_id(7);
  request.set_timeout_ms(30'000);
  auto& bucket = *request.add_buckets_req();
  bucket.set_bucket_id(0);
  bucket.set_records(std::string(records));
  return request.SerializeAsString();
}

/// Splits what a server sent into response frames.
struct ReceivedFrame {
  int type = 0;
  int32_t request_id = 0;
  std::string body;
};
inline std::vector<ReceivedFrame> SplitFrames(std::string_view sent) {
  std::vector<ReceivedFrame> frames;
  while (!sent.empty()) {
    WEIR_CHECK(sent.size() >= kResponseHeadBytes);
    const auto* const at = reinterpret_cast<const std::byte*>(sent.data());
    const auto length = static_cast<size_t>(LoadBig<int32_t>(at));
    WEIR_CHECK(length >= 5 && sent.size() >= 4 + length);
    frames.push_back({LoadBig<int8_t>(at + 4), LoadBig<int32_t>(at + 5),
                      std::string(sent.substr(9, length - 5))});
    sent.remove_prefix(4 + length);
  }
  return frames;
}

}  // namespace weir::fluss
