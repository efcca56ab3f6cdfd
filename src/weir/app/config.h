// Settings of the server: from a TOML file, then from flags, which override it.
// docs/configuration.md tells each of them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/log.h"
#include "weir/base/result.h"
#include "weir/gateway/fluss/gateway_config.h"
#include "weir/server/node.h"

namespace weir {

inline constexpr size_t kShardsMax = 16;

struct Config {
  LogLevel log_level = LogLevel::kInfo;
  /// Threads that serve connections and own buckets; 0: as many as there are cores, up to
  /// kShardsMax.
  size_t shards = 0;
  /// Threads for disk reads that miss the page cache, syncs and compaction.
  size_t blocking_threads = 8;
  NodeConfig node;
  fluss::FlussGatewayConfig fluss;
};

/// Puts the settings of a TOML file into `config`. `name` is the file's, for messages. Errors:
/// kInvalidServerConfig, with all that is wrong in it.
Status ReadConfigText(std::string_view text, std::string_view name, Config& config);

/// Errors: kInvalidServerConfig, with all that is wrong.
Status CheckConfig(const Config& config);

/// Errors: kInvalidServerConfig.
Result<LogLevel> ParseLogLevel(std::string_view text);

struct HostPort {
  std::string host;
  uint16_t port = 0;
};

/// `HOST:PORT` or `[IPV6]:PORT`. Errors: kInvalidServerConfig.
Result<HostPort> ParseHostPort(std::string_view text);

/// One of `known` that `word` may have been meant to be; empty if none is near.
std::string_view NearestWord(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace weir
