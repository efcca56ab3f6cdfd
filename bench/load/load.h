// The load generator behind `weir bench`: a client that costs as little as it can, so that what it
// measures is the server. It speaks the Fluss wire to any server of it, Weir or Apache Fluss. See
// bench/README.md.
//
// It is a client and no part of the server: plain threads and blocking sockets, a connection each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weir/base/result.h"

namespace weir::load {

enum class Bench {
  kAppend,   // send ready-made batches as fast as they are acknowledged, or at `rate`
  kScan,     // fetch a table from its start to its end, again and again
  kLatency,  // append single rows at `rate` and see when a waiting fetch brings them
  kTables,   // create `tables` tables, to see what many tables cost
  kUpsert,   // write rows of a primary-key table: its keys for the first time, or again
  kLookup,   // look up keys
  kPrefix,   // look up prefixes of keys
};

enum class UpsertPhase { kInsert, kUpdate };

struct BenchOptions {
  Bench bench = Bench::kAppend;
  std::string bootstrap = "127.0.0.1:9123";
  std::string database = "bench";
  /// Empty: named after the bench and its rows.
  std::string table;
  /// Shape of the rows: 10 columns of 100 bytes, or 50 columns of 1,000 bytes.
  int columns = 10;
  /// Positions of the columns to fetch, ascending; empty: whole batches.
  std::vector<int32_t> projection;
  double seconds = 10;
  /// Time before the measured time.
  double warmup_seconds = 1;
  int connections = 1;
  int buckets = 1;
  /// Requests that wait for their answer, a connection; 0: 5 writes as clients do, 64 for kLatency
  /// and for lookups with a rate, 16 lookups of several keys, or 1 of one.
  int in_flight = 0;
  /// Rows a batch; 0: 10,000 of 10 columns, 2,000 of 50 columns; kUpsert: as many as fit into 2
  /// MiB, as clients do.
  int batch_rows = 0;
  /// none, lz4 or zstd.
  std::string compression = "zstd";
  /// Rows a second over all connections; 0: as many as go, but 1,000 for kLatency, and for lookups
  /// beside upserts.
  double rate = 0;
  int acks = -1;
  /// os or disk: the table's durability, which only Weir knows; empty: the server's default.
  std::string durability;
  /// kScan: rows that the table is filled with if it is missing.
  int64_t rows = 2'000'000;
  /// How long a fetch may wait for rows.
  int wait_ms = 500;
  int32_t fetch_bytes = 16 << 20;
  int32_t fetch_bucket_bytes = 1 << 20;
  int tables = 1000;

  // Primary-key tables
  UpsertPhase phase = UpsertPhase::kInsert;
  int64_t keys = 1'000'000;
  int row_bytes = 100;
  /// Exponent of the distribution of keys that are updated or looked up; 0: all alike.
  double zipf = 0;
  /// Of lookups; prefixes for kPrefix.
  int keys_per_request = 128;
  /// Rows a second that are updated while keys are looked up.
  double upsert_rate = 0;

  /// Append to a table that is there, and leave it there; otherwise it is made anew, and dropped at
  /// the end. Tables of updates and lookups stay in any case.
  bool keep = false;
  /// Processes whose CPU time, with that of their children, is reported.
  std::vector<int> server_pids;
  /// One line of JSON in place of a table.
  bool json = false;
};

/// Runs a bench and prints its report on standard output. Errors: kIo (no server, or it went away),
/// kUnsupported and others as the server answered; nothing was printed then.
Status RunBench(const BenchOptions& options);

}  // namespace weir::load
