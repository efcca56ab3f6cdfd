// Where a table is and how it comes to be: the few admin calls of a bench, to a server of one
// process or to a coordinator and its tablet servers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weir/base/ids.h"
#include "weir/base/result.h"
#include "weir/load/wire.h"

namespace weir::load {

struct TableName {
  std::string database;
  std::string table;
};

struct TableLocation {
  int64_t table_id = 0;
  /// By bucket.
  std::vector<Endpoint> leaders;
};

class Cluster {
 public:
  static Result<Cluster> Open(const std::string& bootstrap);

  Status EnsureDatabase(const std::string& database);
  /// Errors: kTableExists.
  Status CreateTable(const TableName& name, const std::string& descriptor_json);
  /// Tables t0, t1, … with this many requests in flight.
  Status CreateTables(const std::string& database, int count, const std::string& descriptor_json,
                      int in_flight);
  Status DropTable(const TableName& name);

  /// Errors: kTableNotFound, kTimedOut (a bucket got no leader for half a minute).
  Result<TableLocation> Locate(const TableName& name);

  /// The rows of a primary-key table, as the server counts them.
  Result<int64_t> CountKeys(const TableLocation& location);

  /// The high watermarks of all buckets, added up.
  Result<int64_t> CountRows(const TableLocation& location);

 private:
  Cluster(Connection bootstrap, Connection coordinator)
      : bootstrap_(std::move(bootstrap)), coordinator_(std::move(coordinator)) {}

  Connection bootstrap_;
  Connection coordinator_;
};

/// A writer id from the server at the other end. `connection` must have nothing in flight.
Result<WriterId> InitWriter(Connection& connection, const TableName& name);

}  // namespace weir::load
