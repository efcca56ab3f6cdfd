// The append bench: batches that were encoded once go out with fresh sequence and checksum, several
// in flight. Upserts go the same way.
#include "weir/load/append.h"

#include <deque>
#include <thread>

#include "weir/load/rows.h"

namespace weir::load {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTimeoutMs = 30'000;
constexpr int kInFlightDefault = 5;  // what clients keep in flight for a bucket

/// Batches of one writer on their way.
class AppendStream {
 public:
  AppendStream(Connection& connection, std::vector<ReadyBatch>& batches, const AppendPlan& plan)
      : connection_(connection), batches_(batches), plan_(plan) {}

  Status Send(SteadyTime due) {
    if (plan_.on_send) plan_.on_send(sent_, due);
    ReadyBatch& batch = batches_[static_cast<size_t>(sent_) % batches_.size()];
    const std::string_view records =
        batch.Address(plan_.writer, BatchSequence(static_cast<int32_t>(sent_)));
    MessageWriter bucket;
    bucket.Number(2, plan_.bucket).TextHead(3, records.size());
    MessageWriter request;
    request.Number(1, plan_.acks).Number(2, plan_.table_id).Number(3, kTimeoutMs);
    request.TextHead(batch.bucket_field(), bucket.text().size() + records.size());
    ++sent_;
    in_flight_.push_back({.due = due, .at = {}, .row_count = batch.row_count()});
    WEIR_TRY(connection_.Send(batch.api(), {request.text(), bucket.text(), records}));
    return Ok();
  }

  /// Waits for an acknowledgement. Answers come in the order of the requests, as batches of one
  /// bucket are put in order.
  Result<Acknowledged> Receive() {
    WEIR_ASSIGN(const std::string_view answer, connection_.Receive());
    const std::optional<Field> bucket = FindField(answer, 1);
    if (!bucket) return Fail(ErrorCode::kIo, "an answer lacks its bucket");
    WEIR_TRY(BucketStatus(bucket->text, 3));
    Acknowledged ack = in_flight_.front();
    ack.at = Clock::now();
    in_flight_.pop_front();
    return ack;
  }

  int64_t sent() const { return sent_; }
  int in_flight() const { return static_cast<int>(in_flight_.size()); }
  bool has_more() const { return !plan_.batch_count || sent_ < *plan_.batch_count; }

 private:
  Connection& connection_;
  std::vector<ReadyBatch>& batches_;
  const AppendPlan& plan_;
  int64_t sent_ = 0;
  std::deque<Acknowledged> in_flight_;
};

}  // namespace

Status AppendWhile(const Running& running, Connection& connection, std::vector<ReadyBatch>& batches,
                   const AppendPlan& plan, Counters& counters, std::vector<Acknowledged>& acks) {
  AppendStream stream(connection, batches, plan);
  const bool paced = plan.interval.count() > 0;
  const SteadyTime start = Clock::now();
  while ((running && stream.has_more()) || stream.in_flight() > 0) {
    const SteadyTime due = paced ? start + plan.interval * stream.sent() : Clock::now();
    const bool may_send = running && stream.has_more() && stream.in_flight() < plan.in_flight;
    if (may_send && due <= Clock::now()) {
      WEIR_TRY(stream.Send(due));
    } else if (stream.in_flight() == 0) {
      std::this_thread::sleep_until(due);
    } else if (!may_send || connection.WaitReadable(due)) {
      WEIR_ASSIGN(const Acknowledged ack, stream.Receive());
      acks.push_back(ack);
      counters.rows += ack.row_count;
      counters.requests += 1;
    }
    counters.sent_bytes = static_cast<int64_t>(connection.sent_bytes());
    counters.received_bytes = static_cast<int64_t>(connection.received_bytes());
  }
  return Ok();
}

std::vector<int64_t> Within(const Measured& measured,
                            const std::vector<std::vector<Acknowledged>>& of_connections) {
  std::vector<int64_t> nanoseconds;
  for (const std::vector<Acknowledged>& acks : of_connections) {
    for (const Acknowledged& ack : acks) {
      if (ack.at < measured.begin.time || ack.at >= measured.end.time) continue;
      nanoseconds.push_back((ack.at - ack.due).count());
    }
  }
  return nanoseconds;
}

Status AppendAll(Connection& connection, std::vector<ReadyBatch>& batches, const AppendPlan& plan) {
  const Running running = true;
  Counters counters;
  std::vector<Acknowledged> acks;
  return AppendWhile(running, connection, batches, plan, counters, acks);
}

Result<Report> RunAppend(const BenchOptions& options) {
  WEIR_ASSIGN(Cluster cluster, Cluster::Open(options.bootstrap));
  WEIR_ASSIGN(const TableLocation table, PrepareTable(cluster, options));
  WEIR_ASSIGN(const int64_t rows_before, cluster.CountRows(table));

  const auto count = static_cast<size_t>(options.connections);
  const int batch_rows = BatchRowsOf(options);
  std::vector<Connection> connections;
  std::vector<AppendPlan> plans;
  std::vector<std::vector<ReadyBatch>> batches;
  for (size_t i = 0; i < count; ++i) {
    const size_t bucket = i % table.leaders.size();
    WEIR_ASSIGN(Connection connection, Connection::Open(table.leaders[bucket]));
    WEIR_ASSIGN(const WriterId writer, InitWriter(connection, NameOf(options)));
    connections.push_back(std::move(connection));
    AppendPlan plan{.table_id = table.table_id,
                    .bucket = static_cast<int32_t>(bucket),
                    .writer = writer,
                    .acks = options.acks,
                    .in_flight = options.in_flight > 0 ? options.in_flight : kInFlightDefault};
    if (options.rate > 0) {
      plan.interval = std::chrono::nanoseconds(
          static_cast<int64_t>(1e9 * batch_rows * static_cast<double>(count) / options.rate));
    }
    plans.push_back(plan);
    WEIR_ASSIGN(std::vector<ReadyBatch> ready,
                MakeBatches(options.columns, batch_rows, options.compression));
    batches.push_back(std::move(ready));
  }

  std::vector<Counters> counters(count);
  std::vector<std::vector<Acknowledged>> acks(count);
  std::vector<std::function<Status(const Running&)>> workers;
  workers.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    workers.push_back([&, i](const Running& running) {
      return AppendWhile(running, connections[i], batches[i], plans[i], counters[i], acks[i]);
    });
  }
  WEIR_ASSIGN(const Measured measured, RunWorkers(options, counters, workers));

  int64_t acknowledged = 0;
  for (const Counters& each : counters) acknowledged += each.rows;
  WEIR_ASSIGN(const int64_t rows_after, cluster.CountRows(table));
  if (rows_after - rows_before != acknowledged) {
    return Fail(ErrorCode::kInternal,
                "the table has not the rows that were acknowledged: rows={} acknowledged={}",
                rows_after - rows_before, acknowledged);
  }
  if (!options.keep) WEIR_TRY(cluster.DropTable(NameOf(options)));

  Report report = DescribeRun(options);
  report.Add("batch_rows", int64_t{batch_rows});
  report.Add("batch_bytes", static_cast<int64_t>(batches[0][0].size()));
  report.AddThroughput(measured.begin, measured.end, RowBytes(options.columns),
                       !options.server_pids.empty());
  report.AddPercentiles("ack", PercentilesOf(Within(measured, acks)));
  return report;
}

}  // namespace weir::load
