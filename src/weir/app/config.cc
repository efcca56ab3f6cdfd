#include "weir/app/config.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "weir/gateway/fluss/connection.h"

namespace weir {

Status CheckConfig(const Config& config) {
  std::vector<std::string> problems;
  const auto check = [&](bool holds, std::string problem) {
    if (!holds) problems.push_back(std::move(problem));
  };
  const fluss::FlussGatewayConfig& fluss = config.fluss;
  check(!config.node.data_dir.empty(), "no data directory is given: use --data-dir DIR");
  check(config.shards <= kShardsMax, fmt::format("shards must be at most {}", kShardsMax));
  check(config.blocking_threads >= 1 && config.blocking_threads <= 256,
        "blocking_threads must be 1 to 256");
  check(config.node.journal_file_bytes >= 1u << 20 && config.node.journal_file_bytes <= 4ull << 30,
        "log.journal_file_size must be 1mb to 4gb");
  check(config.node.maintenance_interval >= std::chrono::milliseconds(100),
        "log.maintenance_interval must be at least 100ms");
  check(config.node.maintenance.writer_idle_max > Duration::zero(),
        "log.writer_idle_max must be above zero");
  check(config.node.kv_memory_max >= 8u << 20, "kv.memory_max must be at least 8mb");
  check(config.node.kv_snapshot_interval >= std::chrono::milliseconds(100),
        "kv.snapshot_interval must be at least 100ms");
  check(config.node.kv_snapshots_kept >= 1, "kv.snapshots_kept must be at least 1");
  check(config.node.maintenance.scan_idle_max > Duration::zero(),
        "kv.scan_idle_max must be above zero");
  check(!fluss.plain.host.empty() || !fluss.sasl.host.empty(),
        "nobody can connect: set fluss.listen or fluss.sasl_listen");
  check(fluss.sasl.host.empty() || !fluss.users.empty(),
        "fluss.sasl_listen needs somebody in [users]");
  for (const auto& [name, password] : fluss.users)
    check(!password.empty(), fmt::format("users.{}: a password must not be empty", name));
  check(fluss.connections_max >= 1, "fluss.connections_max must be at least 1");
  check(fluss.requests_running_max >= 1, "fluss.requests_running_max must be at least 1");
  check(fluss.frame_bytes_max >= 1u << 20 && fluss.frame_bytes_max <= 1u << 30,
        "fluss.frame_size_max must be 1mb to 1gb");
  check(fluss.request_bytes_max >= fluss.frame_bytes_max,
        "fluss.request_memory_max must be at least fluss.frame_size_max");
  check(fluss.request_bytes_max >= fluss.control_frame_bytes_max * fluss::kDecodedPerByte,
        fmt::format("fluss.request_memory_max must be at least {} bytes",
                    fluss.control_frame_bytes_max * fluss::kDecodedPerByte));
  check(fluss.fetch_bytes_max >= 1u << 20 && fluss.fetch_bytes_max <= 1u << 30,
        "fluss.fetch_size_max must be 1mb to 1gb");
  check(fluss.idle_max > Duration::zero() && fluss.stall_max > Duration::zero(),
        "fluss.idle_max and fluss.stall_max must be above zero");
  if (problems.empty()) return Ok();
  return Fail(ErrorCode::kInvalidServerConfig, "{}", fmt::join(problems, "; "));
}

Result<LogLevel> ParseLogLevel(std::string_view text) {
  constexpr std::pair<std::string_view, LogLevel> kLevels[] = {{"debug", LogLevel::kDebug},
                                                               {"info", LogLevel::kInfo},
                                                               {"warn", LogLevel::kWarn},
                                                               {"error", LogLevel::kError}};
  for (const auto& [name, level] : kLevels) {
    if (text == name) return level;
  }
  return Fail(ErrorCode::kInvalidServerConfig, "log level must be debug, info, warn or error: '{}'",
              text);
}

Result<HostPort> ParseHostPort(std::string_view text) {
  HostPort parsed;
  const size_t colon = text.rfind(':');
  std::string_view host = text.substr(0, colon == std::string_view::npos ? 0 : colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    host = {};  // an IPv6 address without brackets: nobody can tell where its port begins
  }
  if (!host.empty()) {
    const std::string_view port = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), parsed.port);
    if (error == std::errc() && end == port.data() + port.size()) {
      parsed.host = host;
      return parsed;
    }
  }
  return Fail(ErrorCode::kInvalidServerConfig,
              "an address must be HOST:PORT with a port up to 65535: '{}'", text);
}

std::string_view NearestWord(std::string_view word, const std::vector<std::string_view>& known) {
  // The distance counts letters to add, drop or change.
  const auto distance = [](std::string_view a, std::string_view b) {
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
      size_t diagonal = std::exchange(row[0], i);
      for (size_t j = 1; j <= b.size(); ++j) {
        const size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
      }
    }
    return row.back();
  };
  std::string_view nearest;
  size_t best = word.size() / 3 + 2;  // farther than that is another word
  for (const std::string_view candidate : known) {
    const size_t away = distance(word, candidate);
    if (away < best) {
      best = away;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace weir
