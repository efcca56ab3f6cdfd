// See command.h.
#include "weir/load/command.h"

#include <algorithm>
#include <map>
#include <string>

#include "weir/load/keyed_rows.h"

namespace weir::load {
namespace {

void AddCommonOptions(CLI::App& command, BenchOptions& options) {
  command.add_option("--bootstrap", options.bootstrap, "server to measure, HOST:PORT")
      ->capture_default_str();
  command.add_option("--database", options.database)->capture_default_str();
  command.add_option("--buckets", options.buckets, "buckets of a table that is created")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command.add_option("--compression", options.compression, "of the batches in the log")
      ->check(CLI::IsMember({"none", "lz4", "zstd"}))
      ->capture_default_str();
  command.add_option("--durability", options.durability, "of a table that is created (Weir only)")
      ->check(CLI::IsMember({"os", "disk"}));
  command.add_option("--server-pid", options.server_pids, "processes whose CPU time is reported")
      ->delimiter(',');
  command.add_flag("--json", options.json, "one line of JSON in place of a table");
}

void AddColumns(CLI::App& command, BenchOptions& options) {
  command.add_option("--cols", options.columns, "10 (100 bytes a row) or 50 (1,000 bytes a row)")
      ->check(CLI::IsMember({10, 50}))
      ->capture_default_str();
}

void AddKeys(CLI::App& command, BenchOptions& options) {
  command.add_option("--keys", options.keys, "distinct keys of a table that is filled")
      ->check(CLI::Range(int64_t{kRowsPerPrefix}, int64_t{1} << 30))
      ->capture_default_str();
  command.add_option("--row-bytes", options.row_bytes, "of a row of 10 columns")
      ->check(CLI::Range(kKeyedRowBytesMin, 100'000))
      ->capture_default_str();
  command
      .add_option("--zipf", options.zipf,
                  "exponent of the distribution of updated or looked up keys, below 1; 0: uniform")
      ->check(CLI::Range(0.0, 0.999))
      ->capture_default_str();
}

void AddRunOptions(CLI::App& command, BenchOptions& options) {
  command.add_option("--table", options.table, "default: named after the bench and its rows");
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
  AddColumns(append, options);
  AddRunOptions(append, options);
  AddConnections(append, options);
  AddBatchRows(append, options);
  AddAppending(append, options);

  CLI::App& scan =
      add("scan", "fetch a table again and again, filling it first if it is missing", Bench::kScan);
  AddColumns(scan, options);
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
  AddColumns(latency, options);
  AddRunOptions(latency, options);
  AddAppending(latency, options);
  AddWaiting(latency, options);

  CLI::App& tables = add("tables", "create many tables", Bench::kTables);
  AddColumns(tables, options);
  AddInFlight(tables, options);
  tables.add_option("--tables", options.tables)->check(CLI::PositiveNumber)->capture_default_str();

  CLI::App& upsert = add("upsert", "write rows of a primary-key table", Bench::kUpsert);
  AddKeys(upsert, options);
  AddRunOptions(upsert, options);
  AddConnections(upsert, options);
  AddAppending(upsert, options);
  upsert.add_option("--batch-rows", options.batch_rows, "default: as many as fit into 2 MiB")
      ->check(CLI::Range(1, 1'000'000));
  const std::map<std::string, UpsertPhase> phases = {{"insert", UpsertPhase::kInsert},
                                                     {"update", UpsertPhase::kUpdate}};
  upsert
      .add_option("--phase", options.phase,
                  "insert: each key once, into a new table; update: for some seconds")
      ->transform(CLI::CheckedTransformer(phases));

  const auto add_lookups = [&](CLI::App& command) {
    AddKeys(command, options);
    AddRunOptions(command, options);
    AddConnections(command, options);
    AddInFlight(command, options);
    command.add_option("--rate", options.rate, "keys a second")->check(CLI::PositiveNumber);
    command.add_option("--keys-per-request", options.keys_per_request)
        ->check(CLI::Range(1, 100'000))
        ->capture_default_str();
    command
        .add_option("--upsert-rate", options.upsert_rate,
                    "rows a second that are updated meanwhile")
        ->check(CLI::PositiveNumber);
  };
  add_lookups(
      add("lookup", "look up keys, filling the table first if it is missing", Bench::kLookup));
  add_lookups(add("prefix", "look up prefixes of keys, each with 10 rows", Bench::kPrefix));
  return bench;
}

}  // namespace weir::load
