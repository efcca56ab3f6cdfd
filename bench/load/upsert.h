// Writing rows of primary-key tables, for the benches that do and those that need filled tables.
#pragma once

#include <cstdint>
#include <vector>

#include "weir/load/append.h"
#include "weir/load/cluster.h"
#include "weir/load/keyed_rows.h"
#include "weir/load/run.h"

namespace weir::load {

/// New versions of keys that are drawn as the options say.
std::vector<RowVersion> Updates(const BenchOptions& options);

/// A connection for each writer, each with batches of its own.
class Upserts {
 public:
  /// Needs a connection for each bucket at least. `batch_rows` as in MakeKvBatches.
  static Result<Upserts> Make(const BenchOptions& options, const TableLocation& table,
                              KeyedRows& rows, const std::vector<RowVersion>& versions,
                              size_t writer_count, int batch_rows);

  size_t writer_count() const { return connections_.size(); }
  size_t batch_bytes() const { return batches_[0][0].size(); }
  int batch_rows() const { return batches_[0][0].row_count(); }

  /// Each batch is sent once.
  void SendOnce();
  /// So many rows a second, by all writers.
  void SendAt(double rows_per_s);

  /// As AppendWhile. Each writer on a thread of its own.
  Status Run(const Running& running, size_t writer, Counters& counters,
             std::vector<Acknowledged>& acks);

 private:
  std::vector<Connection> connections_;
  std::vector<AppendPlan> plans_;
  std::vector<std::vector<ReadyBatch>> batches_;
};

/// Connections of a bench of primary-key tables: one for each bucket at least.
size_t KeyedConnections(const BenchOptions& options);

KeyedRows KeyedRowsOf(const BenchOptions& options);

/// The table of the options, with all its keys: filled, or as an earlier bench left it.
Result<TableLocation> PrepareKeyedTable(Cluster& cluster, const BenchOptions& options,
                                        KeyedRows& rows);

/// Fails with kInternal unless the table has `keys` rows.
Status CheckKeys(Cluster& cluster, const TableLocation& table, int64_t keys);

/// What was run, as the first lines of a report.
Report DescribeKeyedRun(const BenchOptions& options);

}  // namespace weir::load
