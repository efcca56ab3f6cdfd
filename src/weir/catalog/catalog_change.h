// A change of the catalog, as it is made durable before it is applied. Encoding:
// docs/formats/catalog.md.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weir/base/result.h"
#include "weir/catalog/entities.h"

namespace weir {

/// A database that is new, or is from now on like this.
struct DatabasePut {
  DatabaseInfo database;
};

/// With all of its tables.
struct DatabaseDropped {
  std::string name;
};

struct TableCreated {
  TableId id;
  TablePath path;
  TableDescriptor descriptor;
  std::vector<SchemaVersion> schema_versions;
  Timestamp created;
  Timestamp modified;
};

/// A descriptor with more columns than before is a new schema version.
struct TableAltered {
  TableId id;
  TableDescriptor descriptor;
  Timestamp modified;
};

/// With its partitions.
struct TableDropped {
  TableId id;
};

/// Partitions of one table.
struct PartitionsChanged {
  TableId table_id;
  std::vector<PartitionInfo> created;
  std::vector<PartitionId> dropped;
};

/// Writer ids below `end` are given out, or lost.
struct WritersReserved {
  WriterId end;
};

/// Numbers below `end` of a table's auto-increment column are given out, or lost.
struct NumbersReserved {
  TableId table_id;
  int64_t end = 0;
};

struct ProducerRegistered {
  RegisteredOffsets offsets;
};

struct ProducersDropped {
  std::vector<std::string> producer_ids;
};

/// A lease that is new, or is from now on like this.
struct LeasePut {
  KvSnapshotLease lease;
};

struct LeasesDropped {
  std::vector<std::string> lease_ids;
};

using CatalogChange =
    std::variant<DatabasePut, DatabaseDropped, TableCreated, TableAltered, TableDropped,
                 PartitionsChanged, WritersReserved, NumbersReserved, ProducerRegistered,
                 ProducersDropped, LeasePut, LeasesDropped>;

/// The longest encoding of a change; Catalog plans none that is longer.
inline constexpr size_t kCatalogChangeBytesMax = 64 << 20;

/// One line of JSON text.
std::string EncodeCatalogChange(const CatalogChange& change);

/// Errors: kCorruptData (it cannot be read); kUnsupported (a kind or version that this version does
/// not know).
Result<CatalogChange> DecodeCatalogChange(std::string_view text);

}  // namespace weir
