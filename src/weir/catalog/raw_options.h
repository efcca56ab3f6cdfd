// What the properties of a table say one by one, before they are judged together. For the sources
// of this folder that read and judge them (table_properties.cc, table_rules.cc).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/catalog/table_properties.h"

namespace weir {

inline constexpr std::string_view kPrefix = "table.";
inline constexpr std::string_view kReplicationFactor = "table.replication.factor";
inline constexpr std::string_view kKvFormatVersion = "table.kv.format-version";
inline constexpr std::string_view kRowTtl = "table.kv.row.ttl";
inline constexpr std::string_view kMergeEngine = "table.merge-engine";
inline constexpr std::string_view kVersionColumn = "table.merge-engine.versioned.ver-column";
inline constexpr std::string_view kDeleteBehavior = "table.delete.behavior";
inline constexpr std::string_view kStatisticsColumns = "table.statistics.columns";
inline constexpr std::string_view kAutoPartition = "table.auto-partition.enabled";
inline constexpr std::string_view kAutoPartitionKey = "table.auto-partition.key";
inline constexpr std::string_view kAutoPartitionFormat = "table.auto-partition.time-format";
inline constexpr std::string_view kPrecreate = "table.auto-partition.num-precreate";

/// One node holds one copy of each bucket.
inline constexpr int32_t kReplicas = 1;
/// What clients write for a date (partition_name.h).
inline constexpr std::string_view kDateFormat = "yyyy-MM-dd";

/// Everything as it is written, before what belongs together is looked at.
struct RawOptions {
  TableOptions options;
  int32_t replication_factor = kReplicas;
  bool historical_partitions = false;
  bool auto_partition_enabled = false;
  std::optional<std::string> auto_partition_key;
  std::optional<std::string> auto_partition_format;
  PartitionUnit auto_partition_unit = PartitionUnit::kDay;
  std::string auto_partition_zone = "UTC";
  std::optional<int32_t> auto_partition_precreate;
  int32_t auto_partition_retention = 7;
  std::optional<DeleteBehavior> delete_behavior;
};

/// Whether a table may have a property of this name.
bool IsKnownProperty(std::string_view name);

/// Errors: kInvalidConfig (a value).
Result<RawOptions> ReadRawOptions(const Properties& properties);

/// Errors: kInvalidConfig, kInvalidTable, of auto-partitions.
Result<TableOptions> CombineOptions(const TableDescriptor& table, RawOptions raw);

}  // namespace weir
