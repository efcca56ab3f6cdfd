// Running a bench: threads for its connections, a warm-up, and readings at both ends of the
// measured time.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "weir/base/result.h"
#include "weir/load/cluster.h"
#include "weir/load/load.h"
#include "weir/load/measure.h"

namespace weir::load {

struct Measured {
  Reading begin;
  Reading end;
};

/// Set while the benches should go on. Threads look at it between two requests.
using Running = std::atomic<bool>;

/// Calls each of `workers` on a thread of its own, reads `counters` when the warm-up and when the
/// measured time is over (or all workers have ended), then ends the workers and waits for them.
/// Returns the first error of a worker.
Result<Measured> RunWorkers(const BenchOptions& options, const std::vector<Counters>& counters,
                            const std::vector<std::function<Status(const Running&)>>& workers);

/// The table of the options, made anew unless it is to be kept.
Result<TableLocation> PrepareTable(Cluster& cluster, const BenchOptions& options);

TableName NameOf(const BenchOptions& options);
int BatchRowsOf(const BenchOptions& options);

/// What was run, as the first lines of a report.
Report DescribeRun(const BenchOptions& options);

Result<Report> RunAppend(const BenchOptions& options);
Result<Report> RunScan(const BenchOptions& options);
Result<Report> RunLatency(const BenchOptions& options);
Result<Report> RunTables(const BenchOptions& options);
Result<Report> RunUpsert(const BenchOptions& options);
Result<Report> RunLookup(const BenchOptions& options);
Result<Report> RunPrefix(const BenchOptions& options);

}  // namespace weir::load
