// Log lines: a constant sentence, then key=value. Never row contents, never inside a per-record
// loop.
//
//   error  somebody must act     warn   we coped, look some day
//   info   a change of state that one would put on a timeline     debug  the rest
#pragma once

#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace weir {

enum class LogLevel { kDebug, kInfo, kWarn, kError, kOff };

/// Lines below this level are dropped before they are formatted. Any thread.
void SetLogLevel(LogLevel level);
bool IsLogged(LogLevel level);

/// Writes one line to standard error. `layer` is the layer that speaks. Any thread.
void LogLine(LogLevel level, std::string_view layer, std::string_view line);

template <typename... Args>
void Log(LogLevel level, std::string_view layer, fmt::format_string<Args...> format,
         Args&&... args) {
  if (IsLogged(level)) LogLine(level, layer, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
void LogDebug(std::string_view layer, fmt::format_string<Args...> format, Args&&... args) {
  Log(LogLevel::kDebug, layer, format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogInfo(std::string_view layer, fmt::format_string<Args...> format, Args&&... args) {
  Log(LogLevel::kInfo, layer, format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogWarn(std::string_view layer, fmt::format_string<Args...> format, Args&&... args) {
  Log(LogLevel::kWarn, layer, format, std::forward<Args>(args)...);
}
template <typename... Args>
void LogError(std::string_view layer, fmt::format_string<Args...> format, Args&&... args) {
  Log(LogLevel::kError, layer, format, std::forward<Args>(args)...);
}

}  // namespace weir
