// The bench of many tables: creates them one after the other, several requests in flight.
#include <fmt/format.h>

#include "weir/load/rows.h"
#include "weir/load/run.h"

namespace weir::load {
namespace {

constexpr int kInFlightDefault = 16;

}  // namespace

Result<Report> RunTables(const BenchOptions& options) {
  using Clock = std::chrono::steady_clock;
  WEIR_ASSIGN(Cluster cluster, Cluster::Open(options.bootstrap));
  WEIR_TRY(cluster.EnsureDatabase(options.database));
  const std::string json =
      TableJson(options.columns, options.buckets, options.compression, options.durability);
  const CpuTime server_before = CpuTimeOf(options.server_pids);
  const auto start = Clock::now();
  WEIR_TRY(cluster.CreateTables(options.database, options.tables, json,
                                options.in_flight > 0 ? options.in_flight : kInFlightDefault));
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();

  Report report = DescribeRun(options);
  report.Add("tables", int64_t{options.tables});
  report.Add("seconds", seconds);
  report.Add("tables_per_s", options.tables / seconds);
  if (!options.server_pids.empty()) {
    report.Add("server_cpu_s", (CpuTimeOf(options.server_pids) - server_before).total());
  }
  return report;
}

}  // namespace weir::load
