// What the catalog knows of databases, tables and partitions. These are values, or immutable and
// shared: whoever holds one sees it as it was when it was asked for.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/base/ids.h"
#include "weir/catalog/names.h"
#include "weir/catalog/table_properties.h"
#include "weir/record/table_descriptor.h"

namespace weir {

struct DatabaseInfo {
  std::string name;
  std::optional<std::string> comment;
  Properties custom_properties;
  Timestamp created;
  Timestamp modified;
};

/// JSON of comment and custom properties, as clients read it (Fluss protocol, database descriptor
/// JSON).
std::string EncodeDatabaseDescriptor(const DatabaseInfo& database);

struct DatabaseSummary {
  std::string name;
  Timestamp created;
  int32_t table_count = 0;
};

/// A version of a table's schema. Columns are only ever added at the end, so that a version is the
/// number of columns that there were, and the highest field id.
struct SchemaVersion {
  int32_t column_count = 0;
  int32_t highest_field_id = kNoFieldId;

  bool operator==(const SchemaVersion&) const = default;
};

inline constexpr SchemaId kFirstSchemaId{1};

/// Where auto-increment columns begin.
inline constexpr int64_t kFirstNumber = 1;

struct TableInfo {
  TableId id;
  TablePath path;
  /// Of the latest schema version.
  TableDescriptor descriptor;
  /// EncodeTableDescriptor(descriptor): it is asked for often.
  std::string descriptor_json;
  TableOptions options;
  /// From kFirstSchemaId on; never empty.
  std::vector<SchemaVersion> schema_versions;
  Timestamp created;
  Timestamp modified;

  bool is_partitioned() const { return descriptor.is_partitioned(); }
  bool is_primary_key_table() const { return descriptor.schema->is_primary_key_table(); }
  int32_t bucket_count() const { return descriptor.bucket_count; }
  /// The latest one.
  SchemaId schema_id() const;
  bool HasSchema(SchemaId id) const;
  /// Columns of a version that there is. They live as long as this.
  std::span<const Column> ColumnsOf(SchemaId id) const;
  /// A copy of the schema of a version that there is.
  Schema SchemaOf(SchemaId id) const;
};

struct PartitionInfo {
  PartitionId id;
  TableId table_id;
  /// Values of the partition key joined by `$`.
  std::string name;
  Timestamp created;
};

using TablePtr = std::shared_ptr<const TableInfo>;
using PartitionPtr = std::shared_ptr<const PartitionInfo>;

/// Where a bucket's log ended when a sink took its checkpoint.
struct BucketEnd {
  TableBucket bucket;
  LogOffset end;
};

/// A kv snapshot of a bucket.
struct KvSnapshotName {
  TableBucket bucket;
  int64_t snapshot_id = 0;

  auto operator<=>(const KvSnapshotName&) const = default;
};

/// Kv snapshots that a reader needs: they are kept until the lease ends. One a bucket.
struct KvSnapshotLease {
  std::string lease_id;
  std::vector<KvSnapshotName> snapshots;
  Timestamp expires;
};

/// A request to keep offsets for the sink `producer_id`.
struct ProducerOffsets {
  std::string producer_id;
  std::vector<BucketEnd> offsets;
  /// Absent: a day.
  std::optional<std::chrono::milliseconds> ttl;
};

/// Offsets that are kept.
struct RegisteredOffsets {
  std::string producer_id;
  std::vector<BucketEnd> offsets;
  Timestamp expires;
};

}  // namespace weir
