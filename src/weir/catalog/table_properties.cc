#include "weir/catalog/table_properties.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <utility>

#include "weir/catalog/quantities.h"

namespace weir {
namespace {

constexpr std::string_view kPrefix = "table.";
constexpr std::string_view kReplicationFactor = "table.replication.factor";
constexpr std::string_view kKvFormatVersion = "table.kv.format-version";
constexpr std::string_view kMergeEngine = "table.merge-engine";
constexpr std::string_view kVersionColumn = "table.merge-engine.versioned.ver-column";
constexpr std::string_view kDeleteBehavior = "table.delete.behavior";
constexpr std::string_view kStatisticsColumns = "table.statistics.columns";
constexpr std::string_view kAutoPartition = "table.auto-partition.enabled";
constexpr std::string_view kAutoPartitionKey = "table.auto-partition.key";
constexpr std::string_view kAutoPartitionFormat = "table.auto-partition.time-format";
constexpr std::string_view kPrecreate = "table.auto-partition.num-precreate";

/// One node holds one copy of each bucket.
constexpr int32_t kReplicas = 1;
constexpr int32_t kKvFormatVersionMax = 2;
constexpr int32_t kPrecreateDefault = 2;
/// What clients write for a date (partition_name.h).
constexpr std::string_view kDateFormat = "yyyy-MM-dd";

struct Setting {
  std::string_view name;
  std::string_view value;
};

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

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool SameIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

Error BadValue(const Setting& setting, std::string_view wanted) {
  return Fail(ErrorCode::kInvalidConfig, "a table property must be {}: name={} value={}", wanted,
              setting.name, setting.value);
}

template <typename Choice>
using Choices = std::initializer_list<std::pair<std::string_view, Choice>>;

template <typename Choice, typename Out>
Status ReadChoice(const Setting& setting, Choices<Choice> choices, Out& out) {
  std::string names;
  for (const auto& [name, choice] : choices) {
    if (SameIgnoringCase(setting.value, name)) {
      out = choice;
      return Ok();
    }
    names += names.empty() ? std::string(name) : " or " + std::string(name);
  }
  return BadValue(setting, names);
}

Status ReadBoolean(const Setting& setting, bool& out) {
  return ReadChoice<bool>(setting, {{"true", true}, {"false", false}}, out);
}

template <typename Number, typename Out>
Status ReadNumber(const Setting& setting, Number min, Number max, Out& out) {
  Number number = 0;
  const char* const end = setting.value.data() + setting.value.size();
  const auto [stop, error] = std::from_chars(setting.value.data(), end, number);
  if (error != std::errc() || stop != end || number < min || number > max) {
    return BadValue(setting, fmt::format("a whole number from {} to {}", min, max));
  }
  out = number;
  return Ok();
}

template <typename Out>
Status ReadDuration(const Setting& setting, Out& out) {
  const std::optional<std::chrono::milliseconds> duration = ParseDuration(setting.value);
  if (!duration) return BadValue(setting, "a duration such as 7d, 36h, 5min, 10s or 500ms");
  out = *duration;
  return Ok();
}

template <typename Out>
Status ReadMemorySize(const Setting& setting, Out& out) {
  const std::optional<uint64_t> bytes = ParseMemorySize(setting.value);
  if (!bytes || *bytes == 0) return BadValue(setting, "a size above 0 such as 64mb or 10gb");
  out = *bytes;
  return Ok();
}

template <typename Out>
Status ReadText(const Setting& setting, Out& out) {
  out = std::string(setting.value);
  return Ok();
}

/// For settings that have no effect on a single node: their values are judged all the same.
template <typename Value, auto Read>
Status ReadAndForget(const Setting& setting) {
  Value ignored{};
  return Read(setting, ignored);
}

struct KnownProperty {
  std::string_view name;
  bool is_alterable;
  Status (*read)(const Setting& setting, RawOptions& raw);
};

constexpr bool kAlterable = true;
constexpr bool kFixed = false;

// In the order of docs/tables.md, where the meaning of each stands.
constexpr std::array kKnownProperties = {
    KnownProperty{kReplicationFactor, kFixed,
                  [](const Setting& s, RawOptions& raw) {
                    return ReadNumber<int32_t>(s, INT32_MIN, INT32_MAX, raw.replication_factor);
                  }},
    KnownProperty{"table.durability", kAlterable,
                  [](const Setting& s, RawOptions& raw) {
                    return ReadChoice<Durability>(
                        s, {{"os", Durability::kOs}, {"disk", Durability::kDisk}},
                        raw.options.durability);
                  }},
    KnownProperty{"table.log.format", kFixed,
                  [](const Setting& s, RawOptions& raw) {
                    return ReadChoice<LogFormat>(s,
                                                 {{"arrow", LogFormat::kArrow},
                                                  {"indexed", LogFormat::kIndexed},
                                                  {"compacted", LogFormat::kCompacted}},
                                                 raw.options.log_format);
                  }},
    KnownProperty{"table.log.arrow.compression.type", kFixed,
                  [](const Setting& s, RawOptions& raw) {
                    return ReadChoice<ArrowCodec>(s,
                                                  {{"none", ArrowCodec::kNone},
                                                   {"lz4_frame", ArrowCodec::kLz4Frame},
                                                   {"zstd", ArrowCodec::kZstd}},
                                                  raw.options.log_codec);
                  }},
    KnownProperty{"table.log.arrow.compression.zstd.level", kFixed,
                  [](const Setting& s, RawOptions& raw) {
                    return ReadNumber<int32_t>(s, 1, 22, raw.options.log_zstd_level);
                  }},
    KnownProperty{
        "table.log.ttl", kAlterable,
        [](const Setting& s, RawOptions& raw) { return ReadDuration(s, raw.options.log_ttl); }},
    KnownProperty{"table.log.local-ttl", kAlterable,
                  [](const Setting& s, RawOptions& raw) {
                    return ReadDuration(s, raw.options.log_local_ttl);
                  }},
    KnownProperty{"table.log.max-bytes", kAlterable,
                  [](const Setting& s, RawOptions& raw) {
                    return ReadMemorySize(s, raw.options.log_bytes_max);
                  }},
    KnownProperty{"table.log.tiered.local-segments", kAlterable,
                  [](const Setting& s, RawOptions& raw) {
                    return ReadNumber<int32_t>(s, 1, INT32_MAX, raw.options.tiered_local_segments);
                  }},
    KnownProperty{kStatisticsColumns, kAlterable,
                  [](const Setting& s, RawOptions&) {
                    return s.value.empty() ? BadValue(s, "`*` or names of columns") : Ok();
                  }},
    KnownProperty{kAutoPartition, kAlterable,
                  [](const Setting& s, RawOptions& raw) {
                    return ReadBoolean(s, raw.auto_partition_enabled);
                  }},
    KnownProperty{
        kAutoPartitionKey, kFixed,
        [](const Setting& s, RawOptions& raw) { return ReadText(s, raw.auto_partition_key); }},
    KnownProperty{"table.auto-partition.time-unit", kFixed,
                  [](const Setting& s, RawOptions& raw) {
                    return ReadChoice<PartitionUnit>(s,
                                                     {{"hour", PartitionUnit::kHour},
                                                      {"day", PartitionUnit::kDay},
                                                      {"month", PartitionUnit::kMonth},
                                                      {"quarter", PartitionUnit::kQuarter},
                                                      {"year", PartitionUnit::kYear}},
                                                     raw.auto_partition_unit);
                  }},
    KnownProperty{
        kAutoPartitionFormat, kFixed,
        [](const Setting& s, RawOptions& raw) { return ReadText(s, raw.auto_partition_format); }},
    KnownProperty{
        "table.auto-partition.time-zone", kFixed,
        [](const Setting& s, RawOptions& raw) { return ReadText(s, raw.auto_partition_zone); }},
    KnownProperty{kPrecreate, kAlterable,
                  [](const Setting& s, RawOptions& raw) {
                    return ReadNumber<int32_t>(s, 0, INT32_MAX, raw.auto_partition_precreate);
                  }},
    KnownProperty{"table.auto-partition.num-retention", kAlterable,
                  [](const Setting& s, RawOptions& raw) {
                    return ReadNumber<int32_t>(s, INT32_MIN, INT32_MAX,
                                               raw.auto_partition_retention);
                  }},
    KnownProperty{"table.kv.format", kFixed,
                  [](const Setting& s, RawOptions& raw) {
                    return ReadChoice<KvFormat>(
                        s, {{"compacted", KvFormat::kCompacted}, {"indexed", KvFormat::kIndexed}},
                        raw.options.kv_format);
                  }},
    KnownProperty{kKvFormatVersion, kFixed,
                  [](const Setting& s, RawOptions& raw) {
                    return ReadNumber<int32_t>(s, 1, INT32_MAX, raw.options.kv_format_version);
                  }},
    KnownProperty{
        "table.kv.standby-replica.enabled", kAlterable,
        [](const Setting& s, RawOptions&) { return ReadAndForget<bool, ReadBoolean>(s); }},
    KnownProperty{kMergeEngine, kFixed,
                  [](const Setting& s, RawOptions& raw) {
                    return ReadChoice<MergeEngine>(s,
                                                   {{"first_row", MergeEngine::kFirstRow},
                                                    {"versioned", MergeEngine::kVersioned},
                                                    {"aggregation", MergeEngine::kAggregation}},
                                                   raw.options.merge_engine);
                  }},
    KnownProperty{
        kVersionColumn, kFixed,
        [](const Setting& s, RawOptions& raw) { return ReadText(s, raw.options.version_column); }},
    KnownProperty{kDeleteBehavior, kFixed,
                  [](const Setting& s, RawOptions& raw) {
                    return ReadChoice<DeleteBehavior>(s,
                                                      {{"allow", DeleteBehavior::kAllow},
                                                       {"ignore", DeleteBehavior::kIgnore},
                                                       {"disable", DeleteBehavior::kDisable}},
                                                      raw.delete_behavior);
                  }},
    KnownProperty{"table.changelog.image", kFixed,
                  [](const Setting& s, RawOptions& raw) {
                    return ReadChoice<ChangelogImage>(
                        s, {{"full", ChangelogImage::kFull}, {"wal", ChangelogImage::kWal}},
                        raw.options.changelog_image);
                  }},
    KnownProperty{"table.auto-increment.cache-size", kFixed,
                  [](const Setting& s, RawOptions& raw) {
                    return ReadNumber<int64_t>(s, 0, INT64_MAX, raw.options.auto_increment_cache);
                  }},
    KnownProperty{
        "table.datalake.enabled", kAlterable,
        [](const Setting& s, RawOptions& raw) { return ReadBoolean(s, raw.options.lake_enabled); }},
    KnownProperty{"table.datalake.format", kFixed,
                  [](const Setting& s, RawOptions& raw) {
                    return ReadChoice<LakeFormat>(s,
                                                  {{"paimon", LakeFormat::kPaimon},
                                                   {"iceberg", LakeFormat::kIceberg},
                                                   {"lance", LakeFormat::kLance},
                                                   {"hudi", LakeFormat::kHudi}},
                                                  raw.options.lake_format);
                  }},
    KnownProperty{
        "table.datalake.freshness", kAlterable,
        [](const Setting& s, RawOptions&) {
          return ReadAndForget<std::chrono::milliseconds, ReadDuration<std::chrono::milliseconds>>(
              s);
        }},
    KnownProperty{
        "table.datalake.auto-compaction", kAlterable,
        [](const Setting& s, RawOptions&) { return ReadAndForget<bool, ReadBoolean>(s); }},
    KnownProperty{
        "table.datalake.auto-expire-snapshot", kFixed,
        [](const Setting& s, RawOptions&) { return ReadAndForget<bool, ReadBoolean>(s); }},
    KnownProperty{"table.datalake.historical-partition.enabled", kAlterable,
                  [](const Setting& s, RawOptions& raw) {
                    return ReadBoolean(s, raw.historical_partitions);
                  }},
};

const KnownProperty* FindKnown(std::string_view name) {
  const auto* const found =
      std::find_if(kKnownProperties.begin(), kKnownProperties.end(),
                   [&](const KnownProperty& known) { return known.name == name; });
  return found == kKnownProperties.end() ? nullptr : found;
}

/// Options of the lake's own catalog, which are only passed on to clients.
bool IsLakeCatalogProperty(std::string_view name) {
  for (const std::string_view prefix : {"table.datalake.paimon.", "table.datalake.iceberg.",
                                        "table.datalake.lance.", "table.datalake.hudi."}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

Result<RawOptions> ReadRawOptions(const Properties& properties) {
  RawOptions raw;
  for (const auto& [name, value] : properties) {
    const KnownProperty* const known = FindKnown(name);
    if (known != nullptr) WEIR_TRY(known->read(Setting{name, value}, raw));
  }
  return raw;
}

/// Nothing if the partitions of the table have nothing to do with time.
Result<std::optional<AutoPartition>> ReadAutoPartition(const TableDescriptor& table,
                                                       const RawOptions& raw) {
  const std::vector<std::string> keys = table.PartitionKeyNames();
  if (keys.empty() || (!raw.auto_partition_enabled && !raw.auto_partition_format)) {
    return std::optional<AutoPartition>();
  }
  AutoPartition result{
      .enabled = raw.auto_partition_enabled,
      .key = 0,
      .format = DefaultPartitionFormat(raw.auto_partition_unit),
      .time_zone = raw.auto_partition_zone,
      .precreate = raw.auto_partition_precreate.value_or(keys.size() == 1 ? kPrecreateDefault : 0),
      .retention = raw.auto_partition_retention};
  if (raw.auto_partition_key) {
    const auto found = std::find(keys.begin(), keys.end(), *raw.auto_partition_key);
    if (found == keys.end()) {
      return Fail(ErrorCode::kInvalidTable, "{} is not a column of the partition key: column={}",
                  kAutoPartitionKey, *raw.auto_partition_key);
    }
    result.key = static_cast<size_t>(found - keys.begin());
  } else if (keys.size() > 1) {
    return Fail(ErrorCode::kInvalidTable, "auto-partition of several partition keys needs {}",
                kAutoPartitionKey);
  }
  const bool is_date = table.column(table.partition_key[result.key]).type.kind() == TypeKind::kDate;
  if (raw.auto_partition_format) {
    WEIR_ASSIGN(result.format,
                ParsePartitionFormat(raw.auto_partition_unit, *raw.auto_partition_format));
  } else if (is_date) {
    result.format.pattern = kDateFormat;
  }
  return std::optional(std::move(result));
}

Result<TableOptions> Combine(const TableDescriptor& table, RawOptions raw) {
  WEIR_ASSIGN(raw.options.auto_partition, ReadAutoPartition(table, raw));
  const bool has_engine = raw.options.merge_engine != MergeEngine::kNone;
  raw.options.delete_behavior =
      raw.delete_behavior.value_or(has_engine ? DeleteBehavior::kIgnore : DeleteBehavior::kAllow);
  return std::move(raw.options);
}

/// Whether a partition column of this type can hold what the format writes.
bool CanHold(TypeKind kind, const PartitionFormat& format) {
  const bool is_number = format.pattern.find_first_of("-_") == std::string::npos;
  switch (kind) {
    case TypeKind::kChar:
    case TypeKind::kString:
      return true;
    case TypeKind::kSmallInt:
      return format.unit == PartitionUnit::kYear;
    case TypeKind::kInt:
    case TypeKind::kBigInt:
      return is_number;
    case TypeKind::kDate:
      return format.unit == PartitionUnit::kDay && format.pattern == kDateFormat;
    default:
      return false;
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
    case TypeKind::kTimestampLtz:
      return Ok();
    default:
      return Fail(
          ErrorCode::kInvalidConfig,
          "a version column must be INT, BIGINT, TIMESTAMP or TIMESTAMP_LTZ: column={} type={}",
          options.version_column, ToString(type));
  }
}

Status CheckMergeEngine(const TableDescriptor& table, const TableOptions& options) {
  if (options.merge_engine == MergeEngine::kNone) return Ok();
  if (!table.schema->is_primary_key_table()) {
    return Fail(ErrorCode::kInvalidConfig, "only a primary-key table can have {}", kMergeEngine);
  }
  if (options.merge_engine == MergeEngine::kVersioned) WEIR_TRY(CheckVersionColumn(table, options));
  if (options.merge_engine != MergeEngine::kAggregation) {
    if (options.delete_behavior == DeleteBehavior::kAllow) {
      return Fail(ErrorCode::kInvalidConfig,
                  "the merge engine cannot delete: {} must be ignore or disable", kDeleteBehavior);
    }
    return Ok();
  }
  if (options.changelog_image == ChangelogImage::kWal) {
    return Fail(ErrorCode::kInvalidConfig,
                "the merge engine aggregation needs table.changelog.image=full");
  }
  for (const Column& column : table.schema->columns) {
    if (column.aggregation) WEIR_TRY(CheckAggregation(*column.aggregation, column.type));
  }
  return Ok();
}

Status CheckKv(const TableDescriptor& table, const RawOptions& raw, const TableOptions& options) {
  if (!table.schema->is_primary_key_table()) {
    if (raw.delete_behavior) {
      return Fail(ErrorCode::kInvalidConfig, "only a primary-key table can have {}",
                  kDeleteBehavior);
    }
    return Ok();
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

bool IsTableProperty(std::string_view name) {
  return name.starts_with(kPrefix);
}

bool IsAlterable(std::string_view name) {
  const KnownProperty* const known = FindKnown(name);
  return known != nullptr && known->is_alterable;
}

Result<TableOptions> ReadTableOptions(const TableDescriptor& table) {
  WEIR_ASSIGN(RawOptions raw, ReadRawOptions(table.properties));
  return Combine(table, std::move(raw));
}

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
  const auto enabled = properties.find(std::string(kAutoPartition));
  if (table.partition_key.size() > 1 && enabled != properties.end() &&
      SameIgnoringCase(enabled->second, "true")) {
    set_default(kPrecreate, "0");
  }
}

Status CheckProperties(const TableDescriptor& table) {
  for (const auto& [name, value] : table.properties) {
    if (FindKnown(name) == nullptr && !IsLakeCatalogProperty(name)) {
      return Fail(ErrorCode::kInvalidConfig, "unknown table property: name={}", name);
    }
  }
  WEIR_ASSIGN(const RawOptions raw, ReadRawOptions(table.properties));
  WEIR_ASSIGN(const TableOptions options, Combine(table, raw));
  WEIR_TRY(CheckPlacement(table, raw));
  WEIR_TRY(CheckLog(table, options));
  WEIR_TRY(CheckKv(table, raw, options));
  WEIR_TRY(CheckMergeEngine(table, options));
  WEIR_TRY(CheckAutoPartition(table, raw, options));
  return CheckLake(raw);
}

}  // namespace weir
