// See run.h and load.h.
#include "weir/load/run.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include <sys/prctl.h>

#include <fmt/format.h>

#include "weir/load/rows.h"

namespace weir::load {
namespace {

std::string_view NameOf(Bench bench) {
  switch (bench) {
    case Bench::kAppend: return "append";
    case Bench::kScan: return "scan";
    case Bench::kLatency: return "latency";
    case Bench::kTables: return "tables";
    case Bench::kUpsert: return "upsert";
    case Bench::kLookup: return "lookup";
    case Bench::kPrefix: return "prefix";
  }
  WEIR_UNREACHABLE();
}

Result<Report> Run(const BenchOptions& options) {
  switch (options.bench) {
    case Bench::kAppend: return RunAppend(options);
    case Bench::kScan: return RunScan(options);
    case Bench::kLatency: return RunLatency(options);
    case Bench::kTables: return RunTables(options);
    case Bench::kUpsert: return RunUpsert(options);
    case Bench::kLookup: return RunLookup(options);
    case Bench::kPrefix: return RunPrefix(options);
  }
  WEIR_UNREACHABLE();
}

/// How the workers end: which was the first to fail, and whether one still runs.
class Workers {
 public:
  explicit Workers(size_t count) : running_(count) {}

  void End(Status done) {
    const std::lock_guard lock(mutex_);
    --running_;
    if (!done.ok() && !error_) error_ = std::move(done).error();
    changed_.notify_all();
  }

  /// Sleeps for `seconds`, or until one has failed or all have ended; tells whether none failed.
  bool Sleep(double seconds) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                      [&] { return error_ || running_ == 0; });
    return !error_;
  }

  std::optional<Error> Take() {
    const std::lock_guard lock(mutex_);
    return std::move(error_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t running_;
  std::optional<Error> error_;
};

}  // namespace

Status RunBench(const BenchOptions& options) {
  WEIR_ASSIGN(const Report report, Run(options));
  const std::string text = options.json ? report.JsonLine() + "\n" : report.Table();
  std::fwrite(text.data(), 1, text.size(), stdout);
  return Ok();
}

Result<Measured> RunWorkers(const BenchOptions& options, const std::vector<Counters>& counters,
                            const std::vector<std::function<Status(const Running&)>>& workers) {
  Running running = true;
  Workers ends(workers.size());
  std::vector<std::thread> threads;
  threads.reserve(workers.size());
  for (const auto& worker : workers) {
    threads.emplace_back([&] {
      // Sleeps end when they should, and not up to 50 microseconds later.
      prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
      ends.End(worker(running));
    });
  }
  Measured measured;
  if (ends.Sleep(options.warmup_seconds)) {
    measured.begin = ReadNow(counters, options.server_pids);
    ends.Sleep(options.seconds);
    measured.end = ReadNow(counters, options.server_pids);
  }
  running = false;
  for (std::thread& thread : threads) thread.join();
  if (std::optional<Error> first = ends.Take()) return *std::move(first);
  return measured;
}

TableName NameOf(const BenchOptions& options) {
  if (!options.table.empty()) return {options.database, options.table};
  // What one of them has filled is of use to the others.
  if (options.bench == Bench::kUpsert || options.bench == Bench::kLookup) {
    return {options.database, fmt::format("rows_{}", options.row_bytes)};
  }
  if (options.bench == Bench::kPrefix) {
    return {options.database, fmt::format("prefix_{}", options.row_bytes)};
  }
  return {options.database, fmt::format("{}_{}", NameOf(options.bench), options.columns)};
}

int BatchRowsOf(const BenchOptions& options) {
  if (options.batch_rows > 0) return options.batch_rows;
  return options.columns == 10 ? 10'000 : 2'000;
}

Result<TableLocation> PrepareTable(Cluster& cluster, const BenchOptions& options) {
  const TableName name = NameOf(options);
  WEIR_TRY(cluster.EnsureDatabase(name.database));
  if (!options.keep) WEIR_TRY(cluster.DropTable(name));
  const std::string json =
      TableJson(options.columns, options.buckets, options.compression, options.durability);
  const Status created = cluster.CreateTable(name, json);
  if (!created.ok() && !(options.keep && created.error().code == ErrorCode::kTableExists)) {
    return created.error();
  }
  return cluster.Locate(name);
}

Report DescribeRun(const BenchOptions& options) {
  Report report;
  report.Add("bench", std::string(NameOf(options.bench)));
  report.Add("columns", int64_t{options.columns});
  report.Add("connections", int64_t{options.connections});
  report.Add("buckets", int64_t{options.buckets});
  report.Add("compression", options.compression);
  report.Add("durability", options.durability.empty() ? "default" : options.durability);
  return report;
}

}  // namespace weir::load
