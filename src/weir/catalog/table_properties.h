// The properties of tables that mean something to the server (`table.*`): their values, defaults
// and rules, in one table. For readers: docs/tables.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/result.h"
#include "weir/catalog/auto_partition.h"
#include "weir/record/arrow_message.h"
#include "weir/record/table_choices.h"
#include "weir/record/table_descriptor.h"

namespace weir {

/// What acks=all waits for: the page cache (survives the end of the process) or the disk (survives
/// the loss of power).
enum class Durability : uint8_t { kOs, kDisk };

/// How the values of one column of the partition key are made of time.
struct AutoPartition {
  /// Whether the server makes and drops partitions itself. If not, the format is only what values
  /// must look like.
  bool enabled = false;
  /// Place in the partition key.
  size_t key = 0;
  PartitionFormat format;
  std::string time_zone = "UTC";
  /// How many partitions are there ahead of time, the current one included.
  int32_t precreate = 0;
  /// How many are kept before the current one; 0 or less: all.
  int32_t retention = 7;
};

/// What the properties of a table say, with the defaults of those that say nothing.
struct TableOptions {
  LogFormat log_format = LogFormat::kArrow;
  ArrowCodec log_codec = ArrowCodec::kZstd;
  /// Of the changelogs that the server makes; clients compress log tables, at 3 if nothing is said.
  /// Above 1 zstd takes twice to six times as long, for a few percent of space.
  int32_t log_zstd_level = 1;
  /// Rows older than this may be deleted; zero: never.
  std::chrono::milliseconds log_ttl = std::chrono::hours(7 * 24);
  /// The same for the copy on this machine.
  std::optional<std::chrono::milliseconds> log_local_ttl;
  /// What the log of a bucket may take before its oldest rows are deleted; absent: any number.
  std::optional<uint64_t> log_bytes_max;
  int32_t tiered_local_segments = 2;
  /// Absent: the server's default.
  std::optional<Durability> durability;
  KvFormat kv_format = KvFormat::kCompacted;
  int32_t kv_format_version = 1;
  /// Rows that were written longer ago are deleted; zero: never.
  std::chrono::milliseconds row_ttl{0};
  MergeEngine merge_engine = MergeEngine::kNone;
  /// Of the merge engine `versioned`.
  std::string version_column;
  DeleteBehavior delete_behavior = DeleteBehavior::kAllow;
  ChangelogImage changelog_image = ChangelogImage::kFull;
  int64_t auto_increment_cache = 100'000;
  std::optional<AutoPartition> auto_partition;
  bool lake_enabled = false;
  std::optional<LakeFormat> lake_format;
};

/// Reads the properties of a table; those that are not known are passed over, so that what a newer
/// version stored can be read. Errors: kInvalidConfig (a value), kInvalidTable (auto-partition
/// without a key of its own).
Result<TableOptions> ReadTableOptions(const TableDescriptor& table);

/// Whether a property with this name may be altered. False for those that are not known.
bool IsAlterable(std::string_view name);

/// Whether a property is one of the table's; all others are custom properties.
bool IsTableProperty(std::string_view name);

}  // namespace weir
