// The scan bench: each connection fetches a bucket from its start to its end, again and again.
#include "weir/load/append.h"
#include "weir/load/fetch.h"
#include "weir/load/rows.h"
#include "weir/load/run.h"

namespace weir::load {
namespace {

constexpr int kFillInFlight = 5;

/// Fills the table up to the rows that the options ask for, bucket by bucket.
Status Fill(const BenchOptions& options, const TableLocation& table) {
  const int batch_rows = BatchRowsOf(options);
  WEIR_ASSIGN(std::vector<ReadyBatch> batches,
              MakeBatches(options.columns, batch_rows, options.compression));
  const auto buckets = static_cast<int64_t>(table.leaders.size());
  for (int64_t bucket = 0; bucket < buckets; ++bucket) {
    WEIR_ASSIGN(Connection connection,
                Connection::Open(table.leaders[static_cast<size_t>(bucket)]));
    WEIR_ASSIGN(const WriterId writer, InitWriter(connection, NameOf(options)));
    const AppendPlan plan{.table_id = table.table_id,
                          .bucket = static_cast<int32_t>(bucket),
                          .writer = writer,
                          .acks = options.acks,
                          .in_flight = kFillInFlight,
                          .batch_count = options.rows / buckets / batch_rows + 1};
    WEIR_TRY(AppendAll(connection, batches, plan));
  }
  return Ok();
}

Status ScanWhile(const Running& running, Connection& connection, const BenchOptions& options,
                 const FetchSpec& spec, Counters& counters) {
  int64_t offset = 0;
  while (running) {
    WEIR_ASSIGN(const Fetched fetched, Fetch(connection, options, spec, offset));
    offset = fetched.next_offset < fetched.high_watermark ? fetched.next_offset : 0;
    counters.rows += fetched.rows;
    counters.requests += 1;
    counters.sent_bytes = static_cast<int64_t>(connection.sent_bytes());
    counters.received_bytes = static_cast<int64_t>(connection.received_bytes());
  }
  return Ok();
}

}  // namespace

Result<Report> RunScan(const BenchOptions& options) {
  WEIR_ASSIGN(Cluster cluster, Cluster::Open(options.bootstrap));
  BenchOptions kept = options;
  kept.keep = true;
  WEIR_ASSIGN(const TableLocation table, PrepareTable(cluster, kept));
  WEIR_ASSIGN(int64_t table_rows, cluster.CountRows(table));
  if (table_rows == 0) {
    WEIR_TRY(Fill(options, table));
    WEIR_ASSIGN(table_rows, cluster.CountRows(table));
  }

  const auto count = static_cast<size_t>(options.connections);
  std::vector<Connection> connections;
  connections.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    WEIR_ASSIGN(Connection connection, Connection::Open(table.leaders[i % table.leaders.size()]));
    connections.push_back(std::move(connection));
  }
  std::vector<Counters> counters(count);
  std::vector<std::function<Status(const Running&)>> workers;
  workers.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    workers.push_back([&, i](const Running& running) {
      const FetchSpec spec{table.table_id, static_cast<int32_t>(i % table.leaders.size())};
      return ScanWhile(running, connections[i], options, spec, counters[i]);
    });
  }
  WEIR_ASSIGN(const Measured measured, RunWorkers(options, counters, workers));

  Report report = DescribeRun(options);
  report.Add("projected_columns", static_cast<int64_t>(options.projection.size()));
  report.Add("table_rows", table_rows);
  report.AddThroughput(measured.begin, measured.end, RowBytes(options.columns),
                       !options.server_pids.empty());
  return report;
}

}  // namespace weir::load
