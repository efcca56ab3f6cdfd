// What a table is: its schema, how its rows are spread, and its properties. JSON form:
// docs/tables.md (Fluss protocol, table descriptor JSON).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.h"
#include "weir/record/schema.h"

namespace weir {

/// The most buckets that a table, or one partition of it, may have; a count is judged before
/// anything is made of it.
inline constexpr int32_t kBucketsMax = 65'536;
inline constexpr int32_t kBucketsDefault = 1;

using Properties = std::map<std::string, std::string>;

/// What DecodeTableDescriptor makes keeps these rules: the columns of the keys exist and each key
/// names a column once; columns of the primary and the bucket key are not nested; a primary-key
/// table has a bucket key, which is part of the primary key and has no partition column; its
/// partition columns are part of the primary key.
struct TableDescriptor {
  /// Never null. Shared with whoever keeps the schema of this version.
  std::shared_ptr<const Schema> schema;
  std::optional<std::string> comment;
  /// Positions of columns, in the order of the key. No bucket key: writers choose a bucket for each
  /// batch.
  std::vector<int32_t> partition_key;
  std::vector<int32_t> bucket_key;
  int32_t bucket_count = kBucketsDefault;
  /// Those that mean something to the server (`table.*`), as they were given, and those that mean
  /// nothing to it.
  Properties properties;
  Properties custom_properties;

  bool is_partitioned() const { return !partition_key.empty(); }
  const Column& column(int32_t position) const {
    return schema->columns[static_cast<size_t>(position)];
  }
  /// Columns of the primary key that are not of the partition key, in the order of the primary key:
  /// those that tell rows of one partition apart.
  std::vector<int32_t> PhysicalPrimaryKey() const;
  /// Names of the columns of the partition key.
  std::vector<std::string> PartitionKeyNames() const;
};

std::string EncodeTableDescriptor(const TableDescriptor& descriptor);

/// Reads a descriptor as clients send it and fills in what they may leave out: the bucket count,
/// and the bucket key of a primary-key table (its primary key without the partition key).
/// Properties are kept as they are, unjudged. Takes text of at most kJsonBytesMax. Errors:
/// kInvalidTable; kTooManyBuckets.
Result<TableDescriptor> DecodeTableDescriptor(std::string_view json);

}  // namespace weir
