// Reading the settings file. The only place that includes the TOML parser, which is slow to
// compile.
#include <fmt/format.h>

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "weir/app/config.h"
#include "weir/catalog/quantities.h"

namespace weir {
namespace {

/// Takes a value into the config; says what is wrong with it if it cannot.
using Take = std::string (*)(const toml::node& value, Config& config);

struct Setting {
  std::string_view key;
  Take take;
};

std::string TakeText(const toml::node& value, std::string& into) {
  const std::optional<std::string> text = value.value_exact<std::string>();
  if (!text) return "must be a text";
  into = *text;
  return {};
}

template <typename Number>
std::string TakeCount(const toml::node& value, Number& into) {
  const std::optional<int64_t> count = value.value_exact<int64_t>();
  if (!count || *count < 0) return "must be a whole number, 0 or above";
  into = static_cast<Number>(*count);
  return {};
}

std::string TakeSize(const toml::node& value, auto& into) {
  const std::optional<std::string> text = value.value_exact<std::string>();
  const std::optional<uint64_t> size = text ? ParseMemorySize(*text) : std::nullopt;
  if (!size) return "must be a size like \"64mb\"";
  into = *size;
  return {};
}

std::string TakeDuration(const toml::node& value, Duration& into) {
  // Up to a century: what is longer cannot be counted in nanoseconds.
  constexpr auto kLongest = std::chrono::hours(24 * 36'500);
  const std::optional<std::string> text = value.value_exact<std::string>();
  const auto duration = text ? ParseDuration(*text) : std::nullopt;
  if (!duration || *duration > kLongest) return "must be a time like \"30s\" or \"10min\"";
  into = *duration;
  return {};
}

std::string TakeAddress(const toml::node& value, std::string& host, uint16_t& port) {
  const std::optional<std::string> text = value.value_exact<std::string>();
  if (!text) return "must be a text like \"127.0.0.1:9123\"";
  const Result<HostPort> address = ParseHostPort(*text);
  if (!address.ok()) return address.error().message;
  host = address->host;
  port = address->port;
  return {};
}

/// The empty text is no address.
std::string TakeAddressOrNone(const toml::node& value, std::string& host, uint16_t& port) {
  if (value.value_exact<std::string>() != "") return TakeAddress(value, host, port);
  host.clear();
  return {};
}

std::string TakeLogLevel(const toml::node& value, Config& config) {
  const Result<LogLevel> level = ParseLogLevel(value.value_exact<std::string>().value_or(""));
  if (!level.ok()) return level.error().message;
  config.log_level = *level;
  return {};
}

std::string TakeDurability(const toml::node& value, Config& config) {
  const std::string name = value.value_exact<std::string>().value_or("");
  if (name != "os" && name != "disk") return "must be \"os\" or \"disk\"";
  config.node.sync_by_default = name == "disk";
  return {};
}

using Value = toml::node;

// In the order of docs/configuration.md.
const Setting kSettings[] = {
    {"data_dir", [](const Value& v, Config& c) { return TakeText(v, c.node.data_dir); }},
    {"remote_dir", [](const Value& v, Config& c) { return TakeText(v, c.node.remote_dir); }},
    {"log_level", TakeLogLevel},
    {"shards", [](const Value& v, Config& c) { return TakeCount(v, c.shards); }},
    {"blocking_threads",
     [](const Value& v, Config& c) { return TakeCount(v, c.blocking_threads); }},
    {"log.durability", TakeDurability},
    {"log.journal_file_size",
     [](const Value& v, Config& c) { return TakeSize(v, c.node.journal_file_bytes); }},
    {"log.maintenance_interval",
     [](const Value& v, Config& c) { return TakeDuration(v, c.node.maintenance_interval); }},
    {"log.writer_idle_max",
     [](const Value& v, Config& c) { return TakeDuration(v, c.node.maintenance.writer_idle_max); }},
    {"kv.memory_max", [](const Value& v, Config& c) { return TakeSize(v, c.node.kv_memory_max); }},
    {"kv.snapshot_interval",
     [](const Value& v, Config& c) { return TakeDuration(v, c.node.kv_snapshot_interval); }},
    {"kv.snapshots_kept",
     [](const Value& v, Config& c) { return TakeCount(v, c.node.kv_snapshots_kept); }},
    {"kv.scan_idle_max",
     [](const Value& v, Config& c) { return TakeDuration(v, c.node.maintenance.scan_idle_max); }},
    {"fluss.listen",
     [](const Value& v, Config& c) {
       return TakeAddressOrNone(v, c.fluss.plain.host, c.fluss.plain.port);
     }},
    {"fluss.advertised",
     [](const Value& v, Config& c) {
       return TakeAddress(v, c.fluss.plain.advertised_host, c.fluss.plain.advertised_port);
     }},
    {"fluss.sasl_listen",
     [](const Value& v, Config& c) {
       return TakeAddressOrNone(v, c.fluss.sasl.host, c.fluss.sasl.port);
     }},
    {"fluss.sasl_advertised",
     [](const Value& v, Config& c) {
       return TakeAddress(v, c.fluss.sasl.advertised_host, c.fluss.sasl.advertised_port);
     }},
    {"fluss.connections_max",
     [](const Value& v, Config& c) { return TakeCount(v, c.fluss.connections_max); }},
    {"fluss.requests_running_max",
     [](const Value& v, Config& c) { return TakeCount(v, c.fluss.requests_running_max); }},
    {"fluss.frame_size_max",
     [](const Value& v, Config& c) { return TakeSize(v, c.fluss.frame_bytes_max); }},
    {"fluss.request_memory_max",
     [](const Value& v, Config& c) { return TakeSize(v, c.fluss.request_bytes_max); }},
    {"fluss.response_memory_max",
     [](const Value& v, Config& c) { return TakeSize(v, c.fluss.response_bytes_max); }},
    {"fluss.fetch_size_max",
     [](const Value& v, Config& c) { return TakeSize(v, c.fluss.fetch_bytes_max); }},
    {"fluss.idle_max", [](const Value& v, Config& c) { return TakeDuration(v, c.fluss.idle_max); }},
    {"fluss.stall_max",
     [](const Value& v, Config& c) { return TakeDuration(v, c.fluss.stall_max); }},
};

// Here every key is a name.
constexpr std::string_view kUsersPrefix = "users.";

std::string UnknownKey(std::string_view key) {
  std::vector<std::string_view> known;
  for (const Setting& setting : kSettings) known.push_back(setting.key);
  const std::string_view nearest = NearestWord(key, known);
  if (nearest.empty()) return fmt::format("there is no setting '{}'", key);
  return fmt::format("there is no setting '{}': did you mean '{}'?", key, nearest);
}

void ReadTable(const toml::table& table, const std::string& prefix, Config& config,
               std::vector<std::string>& problems) {
  for (const auto& [name, value] : table) {
    const std::string key = prefix + std::string(name.str());
    if (prefix == kUsersPrefix) {
      const std::string problem = TakeText(value, config.fluss.users[std::string(name.str())]);
      if (!problem.empty()) problems.push_back(fmt::format("{}: {}", key, problem));
      continue;
    }
    if (const toml::table* const inner = value.as_table()) {
      ReadTable(*inner, key + ".", config, problems);
      continue;
    }
    const Setting* setting = nullptr;
    for (const Setting& known : kSettings) {
      if (known.key == key) setting = &known;
    }
    if (setting == nullptr) {
      problems.push_back(UnknownKey(key));
      continue;
    }
    const std::string problem = setting->take(value, config);
    if (!problem.empty()) problems.push_back(fmt::format("{}: {}", key, problem));
  }
}

}  // namespace

Status ReadConfigText(std::string_view text, std::string_view name, Config& config) {
  const toml::parse_result parsed = toml::parse(text, name);
  if (!parsed) {
    return Fail(ErrorCode::kInvalidServerConfig, "{}, line {}: {}", name,
                parsed.error().source().begin.line, parsed.error().description());
  }
  std::vector<std::string> problems;
  ReadTable(parsed.table(), "", config, problems);
  if (problems.empty()) return Ok();
  return Fail(ErrorCode::kInvalidServerConfig, "{}: {}", name, fmt::join(problems, "; "));
}

}  // namespace weir
