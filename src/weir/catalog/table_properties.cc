#include "weir/catalog/table_properties.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <utility>

#include "weir/catalog/quantities.h"
#include "weir/catalog/raw_options.h"

namespace weir {
namespace {

constexpr int32_t kPrecreateDefault = 2;

struct Setting {
  std::string_view name;
  std::string_view value;
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
        kRowTtl, kFixed,
        [](const Setting& s, RawOptions& raw) { return ReadDuration(s, raw.options.row_ttl); }},
    KnownProperty{
        "table.kv.standby-replica.enabled", kAlterable,
        [](const Setting& s, RawOptions&) { return ReadAndForget<bool, ReadBoolean>(s); }},
    KnownProperty{kMergeEngine, kFixed,
                  [](const Setting& s, RawOptions& raw) {
                    return ReadChoice<MergeEngine>(
                        s,
                        {{"first_row", MergeEngine::kFirstRow},
                         {"versioned", MergeEngine::kVersioned},
                         {"aggregation", MergeEngine::kAggregation},
                         {"partial-update", MergeEngine::kPartialUpdate},
                         {"partial_update", MergeEngine::kPartialUpdate}},
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

/// Options of the lake's own catalog, which are only passed on to clients.
bool IsLakeCatalogProperty(std::string_view name) {
  for (const std::string_view prefix : {"table.datalake.paimon.", "table.datalake.iceberg.",
                                        "table.datalake.lance.", "table.datalake.hudi."}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace

bool IsTableProperty(std::string_view name) {
  return name.starts_with(kPrefix);
}

bool IsAlterable(std::string_view name) {
  const KnownProperty* const known = FindKnown(name);
  return known != nullptr && known->is_alterable;
}

bool IsKnownProperty(std::string_view name) {
  return FindKnown(name) != nullptr || IsLakeCatalogProperty(name);
}

Result<RawOptions> ReadRawOptions(const Properties& properties) {
  RawOptions raw;
  for (const auto& [name, value] : properties) {
    const KnownProperty* const known = FindKnown(name);
    if (known != nullptr) WEIR_TRY(known->read(Setting{name, value}, raw));
  }
  return raw;
}

Result<TableOptions> CombineOptions(const TableDescriptor& table, RawOptions raw) {
  WEIR_ASSIGN(raw.options.auto_partition, ReadAutoPartition(table, raw));
  const bool has_engine = raw.options.merge_engine != MergeEngine::kNone;
  raw.options.delete_behavior =
      raw.delete_behavior.value_or(has_engine ? DeleteBehavior::kIgnore : DeleteBehavior::kAllow);
  return std::move(raw.options);
}

Result<TableOptions> ReadTableOptions(const TableDescriptor& table) {
  WEIR_ASSIGN(RawOptions raw, ReadRawOptions(table.properties));
  return CombineOptions(table, std::move(raw));
}

}  // namespace weir
