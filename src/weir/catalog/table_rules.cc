#include "weir/catalog/table_rules.h"

#include <algorithm>
#include <string>
#include <utility>

#include "weir/base/check.h"
#include "weir/catalog/raw_options.h"

namespace weir {
namespace {

constexpr int32_t kKvFormatVersionMax = 2;

/// Whether a partition column of this type can hold what the format writes.
bool CanHold(TypeKind kind, const PartitionFormat& format) {
  const bool is_number = format.pattern.find_first_of("-_") == std::string::npos;
  switch (kind) {
    case TypeKind::kChar:
    case TypeKind::kString: return true;
    case TypeKind::kSmallInt: return format.unit == PartitionUnit::kYear;
    case TypeKind::kInt:
    case TypeKind::kBigInt: return is_number;
    case TypeKind::kDate:
      return format.unit == PartitionUnit::kDay && format.pattern == kDateFormat;
    default: return false;
  }
}

Status CheckAutoPartition(const TableDescriptor& table, const RawOptions& raw,
                          const TableOptions& options) {
  if (raw.auto_partition_enabled && !table.is_partitioned()) {
    return Fail(ErrorCode::kInvalidConfig, "only a partitioned table can have {}", kAutoPartition);
  }
  WEIR_TRY(CheckTimeZone(raw.auto_partition_zone));
  if (!options.auto_partition) return Ok();
  const AutoPartition& settings = *options.auto_partition;
  if (settings.precreate > 0 && table.partition_key.size() > 1) {
    return Fail(ErrorCode::kInvalidTable,
                "with several partition keys none can be made ahead: {} must be 0", kPrecreate);
  }
  const Column& column = table.column(table.partition_key[settings.key]);
  if (!CanHold(column.type.kind(), settings.format)) {
    return Fail(ErrorCode::kInvalidTable,
                "a partition column cannot hold values of this format: column={} type={} format={}",
                column.name, ToString(column.type), settings.format.pattern);
  }
  return Ok();
}

Status CheckPlacement(const TableDescriptor& table, const RawOptions& raw) {
  if (raw.replication_factor != kReplicas) {
    return Fail(ErrorCode::kInvalidReplication, "this server keeps one copy: {}={}",
                kReplicationFactor, raw.replication_factor);
  }
  if (table.is_partitioned() && table.bucket_count > kPartitionedBucketsMax) {
    return Fail(ErrorCode::kTooManyBuckets, "too many buckets for a partition: buckets={} max={}",
                table.bucket_count, kPartitionedBucketsMax);
  }
  return Ok();
}

Status CheckLog(const TableDescriptor& table, const TableOptions& options) {
  if (options.log_ttl.count() != 0 && options.log_local_ttl &&
      *options.log_local_ttl > options.log_ttl) {
    return Fail(ErrorCode::kInvalidConfig,
                "table.log.local-ttl must not be longer than table.log.ttl");
  }
  const auto statistics = table.properties.find(std::string(kStatisticsColumns));
  if (statistics == table.properties.end() || statistics->second == "*") return Ok();
  for (std::string_view rest = statistics->second; !rest.empty();) {
    std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (!table.schema->PositionOf(name)) {
      return Fail(ErrorCode::kInvalidConfig, "unknown column: name={} column={}",
                  kStatisticsColumns, name);
    }
  }
  return Ok();
}

Status CheckLake(const RawOptions& raw) {
  if (raw.options.lake_enabled) {
    return Fail(ErrorCode::kInvalidTable,
                "no lake is configured: table.datalake.enabled must be false");
  }
  if (raw.historical_partitions) {
    return Fail(ErrorCode::kInvalidConfig,
                "table.datalake.historical-partition.enabled needs a lake table");
  }
  return Ok();
}

Status CheckVersionColumn(const TableDescriptor& table, const TableOptions& options) {
  const std::optional<int32_t> position = table.schema->PositionOf(options.version_column);
  if (!position) {
    return Fail(ErrorCode::kInvalidConfig,
                "the merge engine versioned needs a column: name={} column={}", kVersionColumn,
                options.version_column);
  }
  const DataType& type = table.column(*position).type;
  switch (type.kind()) {
    case TypeKind::kInt:
    case TypeKind::kBigInt:
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz: return Ok();
    default:
      return Fail(
          ErrorCode::kInvalidConfig,
          "a version column must be INT, BIGINT, TIMESTAMP or TIMESTAMP_LTZ: column={} type={}",
          options.version_column, ToString(type));
  }
}

/// Of engines that could not tell after a delete which row was the first, or the latest.
Status CheckKeepsRows(const TableOptions& options) {
  if (options.delete_behavior == DeleteBehavior::kAllow) {
    return Fail(ErrorCode::kInvalidConfig,
                "the merge engine cannot delete: {} must be ignore or disable", kDeleteBehavior);
  }
  return Ok();
}

Status CheckAggregations(const TableDescriptor& table, const TableOptions& options) {
  if (options.changelog_image == ChangelogImage::kWal) {
    return Fail(ErrorCode::kInvalidConfig,
                "the merge engine aggregation needs table.changelog.image=full");
  }
  for (const Column& column : table.schema->columns) {
    if (column.aggregation) WEIR_TRY(CheckAggregation(*column.aggregation, column.type));
  }
  return Ok();
}

Status CheckMergeEngine(const TableDescriptor& table, const TableOptions& options) {
  if (options.merge_engine != MergeEngine::kNone && !table.schema->is_primary_key_table()) {
    return Fail(ErrorCode::kInvalidConfig, "only a primary-key table can have {}", kMergeEngine);
  }
  switch (options.merge_engine) {
    case MergeEngine::kNone: return Ok();
    case MergeEngine::kFirstRow: return CheckKeepsRows(options);
    case MergeEngine::kVersioned:
      WEIR_TRY(CheckVersionColumn(table, options));
      return CheckKeepsRows(options);
    case MergeEngine::kAggregation: return CheckAggregations(table, options);
    case MergeEngine::kPartialUpdate: return Ok();
  }
  WEIR_UNREACHABLE();
}

Status CheckKv(const TableDescriptor& table, const RawOptions& raw, const TableOptions& options) {
  if (!table.schema->is_primary_key_table()) {
    const bool has_ttl = options.row_ttl.count() > 0;
    if (!raw.delete_behavior && !has_ttl) return Ok();
    return Fail(ErrorCode::kInvalidConfig, "only a primary-key table can have {}",
                has_ttl ? kRowTtl : kDeleteBehavior);
  }
  if (options.kv_format_version > kKvFormatVersionMax) {
    return Fail(ErrorCode::kInvalidConfig, "unknown format version: {}={} max={}", kKvFormatVersion,
                options.kv_format_version, kKvFormatVersionMax);
  }
  if (options.kv_format == KvFormat::kCompacted && options.log_format == LogFormat::kIndexed) {
    return Fail(ErrorCode::kInvalidConfig,
                "table.log.format=indexed needs table.kv.format=indexed");
  }
  return Ok();
}

}  // namespace

void FillDefaultProperties(TableDescriptor& table) {
  Properties& properties = table.properties;
  const auto has = [&](std::string_view name) { return properties.contains(std::string(name)); };
  const auto set_default = [&](std::string_view name, std::string_view value) {
    properties.emplace(name, value);
  };
  set_default(kReplicationFactor, std::to_string(kReplicas));
  if (has(kMergeEngine)) set_default(kDeleteBehavior, "IGNORE");
  if (table.schema->is_primary_key_table())
    set_default(kKvFormatVersion, std::to_string(kKvFormatVersionMax));
  // A value that cannot be read is for CheckProperties to refuse.
  const Result<RawOptions> raw = ReadRawOptions(properties);
  if (table.partition_key.size() > 1 && raw.ok() && raw->auto_partition_enabled) {
    set_default(kPrecreate, "0");
  }
}

Status CheckProperties(const TableDescriptor& table) {
  for (const auto& [name, value] : table.properties) {
    if (!IsKnownProperty(name)) {
      return Fail(ErrorCode::kInvalidConfig, "unknown table property: name={}", name);
    }
  }
  WEIR_ASSIGN(const RawOptions raw, ReadRawOptions(table.properties));
  WEIR_ASSIGN(const TableOptions options, CombineOptions(table, raw));
  WEIR_TRY(CheckPlacement(table, raw));
  WEIR_TRY(CheckLog(table, options));
  WEIR_TRY(CheckKv(table, raw, options));
  WEIR_TRY(CheckMergeEngine(table, options));
  WEIR_TRY(CheckAutoPartition(table, raw, options));
  return CheckLake(raw);
}

}  // namespace weir
