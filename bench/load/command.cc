// See command.h.
#include "weir/load/command.h"

#include <algorithm>
#include <string>

namespace weir::load {
namespace {

void AddCommonOptions(CLI::App& command, BenchOptions& options) {
  command.add_option("--bootstrap", options.bootstrap, "server to measure, HOST:PORT")
      ->capture_default_str();
  command.add_option("--database", options.database)->capture_default_str();
  command.add_option("--cols", options.columns, "10 (100 bytes a row) or 50 (1,000 bytes a row)")
      ->check(CLI::IsMember({10, 50}))
      ->capture_default_str();
  command.add_option("--buckets", options.buckets, "buckets of a table that is created")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command.add_option("--compression", options.compression, "of the batches")
      ->check(CLI::IsMember({"none", "lz4", "zstd"}))
      ->capture_default_str();
  command.add_option("--durability", options.durability, "of a table that is created (Weir only)")
      ->check(CLI::IsMember({"os", "disk"}));
  command.add_option("--server-pid", options.server_pids, "processes whose CPU time is reported")
      ->delimiter(',');
  command.add_flag("--json", options.json, "one line of JSON in place of a table");
}

void AddRunOptions(CLI::App& command, BenchOptions& options) {
  command.add_option("--table", options.table, "default: named after the bench and its columns");
  command.add_option("--seconds", options.seconds)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--warmup", options.warmup_seconds, "seconds before the measured time")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

void AddConnections(CLI::App& command, BenchOptions& options) {
  command.add_option("--connections", options.connections, "each with a thread")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
}

void AddBatchRows(CLI::App& command, BenchOptions& options) {
  command
      .add_option("--batch-rows", options.batch_rows, "default: 10,000 of 10 columns, 2,000 of 50")
      ->check(CLI::Range(1, 20'000));
}

void AddInFlight(CLI::App& command, BenchOptions& options) {
  command
      .add_option("--in-flight", options.in_flight,
                  "requests that wait for an answer, a connection")
      ->check(CLI::Range(1, 10'000));
}

void AddAppending(CLI::App& command, BenchOptions& options) {
  AddInFlight(command, options);
  command.add_option("--rate", options.rate, "rows a second")->check(CLI::PositiveNumber);
  command.add_option("--acks", options.acks, "-1 (all), 1 or 0")
      ->check(CLI::IsMember({-1, 0, 1}))
      ->capture_default_str();
  command.add_flag("--keep", options.keep, "append to a table that is there, and leave it there");
}

void AddWaiting(CLI::App& command, BenchOptions& options) {
  command.add_option("--wait-ms", options.wait_ms, "how long a fetch may wait for rows")
      ->check(CLI::Range(0, 60'000))
      ->capture_default_str();
}

}  // namespace

CLI::App* AddBenchCommand(CLI::App& program, BenchOptions& options) {
  CLI::App* bench =
      program.add_subcommand("bench", "measure a server that speaks the Fluss protocol");
  bench->require_subcommand(1);
  const auto add = [&](const char* name, const char* what, Bench kind) -> CLI::App& {
    CLI::App* command = bench->add_subcommand(name, what);
    command->callback([&options, kind] { options.bench = kind; });
    AddCommonOptions(*command, options);
    return *command;
  };

  CLI::App& append = add("append", "send ready-made batches", Bench::kAppend);
  AddRunOptions(append, options);
  AddConnections(append, options);
  AddBatchRows(append, options);
  AddAppending(append, options);

  CLI::App& scan =
      add("scan", "fetch a table again and again, filling it first if it is missing", Bench::kScan);
  AddRunOptions(scan, options);
  AddConnections(scan, options);
  AddBatchRows(scan, options);
  AddWaiting(scan, options);
  scan.add_option("--project", options.projection, "positions of the columns to fetch, ascending")
      ->delimiter(',');
  scan.add_option("--rows", options.rows, "rows to fill a missing table with")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  scan.add_option("--fetch-bytes", options.fetch_bytes, "most bytes of an answer")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  scan.add_option("--fetch-bucket-bytes", options.fetch_bucket_bytes,
                  "most bytes of a bucket in an answer")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();

  CLI::App& latency =
      add("latency", "append single rows and wait for each with a fetch", Bench::kLatency);
  AddRunOptions(latency, options);
  AddAppending(latency, options);
  AddWaiting(latency, options);

  CLI::App& tables = add("tables", "create many tables", Bench::kTables);
  AddInFlight(tables, options);
  tables.add_option("--tables", options.tables)->check(CLI::PositiveNumber)->capture_default_str();
  return bench;
}

}  // namespace weir::load
