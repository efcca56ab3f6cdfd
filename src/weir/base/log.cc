#include "weir/base/log.h"

#include <atomic>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "weir/base/check.h"

namespace weir {
namespace {

std::atomic<LogLevel> lowest{LogLevel::kInfo};

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarn: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
    case LogLevel::kOff: return spdlog::level::off;
  }
  WEIR_UNREACHABLE();
}

spdlog::logger& Logger() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>(
        "weir", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %^%-5l%$ %v");
    made->set_level(spdlog::level::trace);  // `lowest` decides
    return made;
  }();
  return *logger;
}

}  // namespace

void SetLogLevel(LogLevel level) {
  lowest.store(level, std::memory_order_relaxed);
}

bool IsLogged(LogLevel level) {
  return level >= lowest.load(std::memory_order_relaxed);
}

void LogLine(LogLevel level, std::string_view layer, std::string_view line) {
  Logger().log(ToSpdlog(level), "{}: {}", layer, line);
}

}  // namespace weir
