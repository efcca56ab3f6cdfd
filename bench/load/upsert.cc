// The upsert bench: rows of a primary-key table are inserted, each key once, or updated. Batches
// were encoded before.
#include "weir/load/upsert.h"

#include <fmt/format.h>

#include "weir/load/key_choice.h"

namespace weir::load {
namespace {

constexpr int kInFlightDefault = 5;  // what clients keep in flight for a bucket
constexpr uint64_t kInsertSeed = 1;
constexpr uint64_t kUpdateSeed = 2;
// Updates of every key twice, so that a row is never replaced by an equal one, if their batches
// take no more memory than this.
constexpr int64_t kPoolBytesMax = int64_t{4} << 30;

std::vector<RowVersion> AllKeys(const BenchOptions& options) {
  std::vector<RowVersion> versions;
  versions.reserve(static_cast<size_t>(options.keys));
  for (const int64_t number : Shuffled(options.keys, kInsertSeed)) versions.push_back({number, 0});
  return versions;
}

/// Errors: kTableExists.
Status CreateTable(Cluster& cluster, const BenchOptions& options, const KeyedRows& rows) {
  const std::string json = rows.TableJson(options.buckets, options.compression, options.durability);
  return cluster.CreateTable(NameOf(options), json);
}

Result<TableLocation> MakeTable(Cluster& cluster, const BenchOptions& options,
                                const KeyedRows& rows) {
  WEIR_TRY(cluster.EnsureDatabase(options.database));
  WEIR_TRY(cluster.DropTable(NameOf(options)));
  WEIR_TRY(CreateTable(cluster, options, rows));
  return cluster.Locate(NameOf(options));
}

Status Fill(const BenchOptions& options, const TableLocation& table, KeyedRows& rows) {
  WEIR_ASSIGN(Upserts upserts,
              Upserts::Make(options, table, rows, AllKeys(options), table.leaders.size(), 0));
  upserts.SendOnce();
  const Running running = true;
  for (size_t i = 0; i < upserts.writer_count(); ++i) {
    Counters counters;
    std::vector<Acknowledged> acks;
    WEIR_TRY(upserts.Run(running, i, counters, acks));
  }
  return Ok();
}

}  // namespace

std::vector<RowVersion> Updates(const BenchOptions& options) {
  const bool is_small = 2 * options.keys * options.row_bytes <= kPoolBytesMax;
  const int64_t draws = is_small ? 2 * options.keys : options.keys;
  std::vector<RowVersion> versions;
  versions.reserve(static_cast<size_t>(draws));
  for (const int64_t number : DrawNumbers(options.keys, draws, options.zipf, kUpdateSeed)) {
    versions.push_back({number, static_cast<int64_t>(versions.size()) + 1});
  }
  return versions;
}

Result<Upserts> Upserts::Make(const BenchOptions& options, const TableLocation& table,
                              KeyedRows& rows, const std::vector<RowVersion>& versions,
                              size_t writer_count, int batch_rows) {
  Upserts made;
  const size_t buckets = table.leaders.size();
  auto batches = MakeKvBatches(rows, versions, static_cast<int>(buckets), writer_count, batch_rows);
  for (size_t i = 0; i < writer_count; ++i) {
    // With few keys a bucket may have no row.
    if (batches[i].empty()) continue;
    const size_t bucket = i % buckets;
    WEIR_ASSIGN(Connection connection, Connection::Open(table.leaders[bucket]));
    WEIR_ASSIGN(const WriterId writer, InitWriter(connection, NameOf(options)));
    made.connections_.push_back(std::move(connection));
    made.plans_.push_back({.table_id = table.table_id,
                           .bucket = static_cast<int32_t>(bucket),
                           .writer = writer,
                           .acks = options.acks,
                           .in_flight = options.bench == Bench::kUpsert && options.in_flight > 0
                                            ? options.in_flight
                                            : kInFlightDefault});
    made.batches_.push_back(std::move(batches[i]));
  }
  return made;
}

void Upserts::SendOnce() {
  for (size_t i = 0; i < plans_.size(); ++i) {
    plans_[i].batch_count = static_cast<int64_t>(batches_[i].size());
  }
}

void Upserts::SendAt(double rows_per_s) {
  const double seconds =
      static_cast<double>(batch_rows()) * static_cast<double>(writer_count()) / rows_per_s;
  for (AppendPlan& plan : plans_) {
    plan.interval = std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
  }
}

Status Upserts::Run(const Running& running, size_t writer, Counters& counters,
                    std::vector<Acknowledged>& acks) {
  return AppendWhile(running, connections_[writer], batches_[writer], plans_[writer], counters,
                     acks);
}

size_t KeyedConnections(const BenchOptions& options) {
  return static_cast<size_t>(std::max(options.connections, options.buckets));
}

KeyedRows KeyedRowsOf(const BenchOptions& options) {
  const bool has_prefix = options.bench == Bench::kPrefix;
  return {has_prefix ? KeyShape::kGroupAndNumber : KeyShape::kNumber, options.row_bytes};
}

Status CheckKeys(Cluster& cluster, const TableLocation& table, int64_t keys) {
  WEIR_ASSIGN(const int64_t rows, cluster.CountKeys(table));
  if (rows == keys) return Ok();
  return Fail(ErrorCode::kInternal, "the table has not a row for each key: rows={} keys={}", rows,
              keys);
}

Result<TableLocation> PrepareKeyedTable(Cluster& cluster, const BenchOptions& options,
                                        KeyedRows& rows) {
  WEIR_TRY(cluster.EnsureDatabase(options.database));
  const Status created = CreateTable(cluster, options, rows);
  if (!created.ok() && created.error().code != ErrorCode::kTableExists) return created.error();
  WEIR_ASSIGN(TableLocation table, cluster.Locate(NameOf(options)));
  if (!created.ok()) {
    if (CheckKeys(cluster, table, options.keys).ok()) return table;
    WEIR_ASSIGN(table, MakeTable(cluster, options, rows));
  }
  WEIR_TRY(Fill(options, table, rows));
  WEIR_TRY(CheckKeys(cluster, table, options.keys));
  return table;
}

Report DescribeKeyedRun(const BenchOptions& options) {
  Report report = DescribeRun(options);
  report.Add("row_bytes", int64_t{options.row_bytes});
  report.Add("keys", options.keys);
  report.Add("choice", options.zipf > 0 ? fmt::format("zipf {:g}", options.zipf) : "uniform");
  return report;
}

Result<Report> RunUpsert(const BenchOptions& options) {
  const bool inserts = options.phase == UpsertPhase::kInsert;
  KeyedRows rows = KeyedRowsOf(options);
  WEIR_ASSIGN(Cluster cluster, Cluster::Open(options.bootstrap));
  WEIR_ASSIGN(const TableLocation table, inserts ? MakeTable(cluster, options, rows)
                                                 : PrepareKeyedTable(cluster, options, rows));
  WEIR_ASSIGN(Upserts upserts,
              Upserts::Make(options, table, rows, inserts ? AllKeys(options) : Updates(options),
                            KeyedConnections(options), options.batch_rows));
  BenchOptions timed = options;
  if (inserts) {
    // It ends with the last key.
    upserts.SendOnce();
    timed.warmup_seconds = 0;
    timed.seconds = 1e6;
  }
  if (options.rate > 0) upserts.SendAt(options.rate);

  const size_t count = upserts.writer_count();
  std::vector<Counters> counters(count);
  std::vector<std::vector<Acknowledged>> acks(count);
  std::vector<std::function<Status(const Running&)>> workers;
  workers.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    workers.push_back(
        [&, i](const Running& running) { return upserts.Run(running, i, counters[i], acks[i]); });
  }
  WEIR_ASSIGN(const Measured measured, RunWorkers(timed, counters, workers));
  WEIR_TRY(CheckKeys(cluster, table, options.keys));
  if (inserts && !options.keep) WEIR_TRY(cluster.DropTable(NameOf(options)));

  Report report = DescribeKeyedRun(options);
  report.Add("phase", std::string(inserts ? "insert" : "update"));
  report.Add("batch_rows", int64_t{upserts.batch_rows()});
  report.Add("batch_bytes", static_cast<int64_t>(upserts.batch_bytes()));
  report.AddThroughput(measured.begin, measured.end, options.row_bytes,
                       !options.server_pids.empty());
  report.AddPercentiles("ack", PercentilesOf(Within(measured, acks)));
  return report;
}

}  // namespace weir::load
