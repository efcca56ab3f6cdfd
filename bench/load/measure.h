// What a bench counts, and how it is told: rows and bytes, CPU time of client and server,
// percentiles, and the report.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace weir::load {

/// Of one connection; written by its thread, read by the one that measures.
struct alignas(64) Counters {
  std::atomic<int64_t> rows = 0;
  std::atomic<int64_t> requests = 0;
  std::atomic<int64_t> sent_bytes = 0;
  std::atomic<int64_t> received_bytes = 0;
};

struct CpuTime {
  double user_seconds = 0;
  double system_seconds = 0;
  double total() const { return user_seconds + system_seconds; }
  CpuTime operator-(const CpuTime& before) const {
    return {user_seconds - before.user_seconds, system_seconds - before.system_seconds};
  }
  CpuTime operator+(const CpuTime& other) const {
    return {user_seconds + other.user_seconds, system_seconds + other.system_seconds};
  }
};

/// What these processes and their children, ended ones included, have used so far. A process that
/// is gone counts 0.
CpuTime CpuTimeOf(const std::vector<int>& pids);
CpuTime OwnCpuTime();

/// Everything that is read at the beginning and at the end of the measured time.
struct Reading {
  std::chrono::steady_clock::time_point time;
  int64_t rows = 0;
  int64_t requests = 0;
  int64_t sent_bytes = 0;
  int64_t received_bytes = 0;
  CpuTime server = {};
  CpuTime client = {};
};
Reading ReadNow(const std::vector<Counters>& counters, const std::vector<int>& server_pids);

/// Quantiles of times in nanoseconds.
struct Percentiles {
  size_t count = 0;
  double p50_ms = 0;
  double p90_ms = 0;
  double p99_ms = 0;
  double p999_ms = 0;
  double max_ms = 0;
};
Percentiles PercentilesOf(std::vector<int64_t> nanoseconds);

/// Named values in the order in which they were added.
class Report {
 public:
  void Add(std::string name, std::string value) {
    lines_.emplace_back(std::move(name), std::move(value));
  }
  void Add(std::string name, int64_t value) { lines_.emplace_back(std::move(name), value); }
  void Add(std::string name, double value) { lines_.emplace_back(std::move(name), value); }

  /// What was done between two readings. `row_bytes` are those of a row as the user counts them.
  void AddThroughput(const Reading& begin, const Reading& end, int row_bytes, bool with_server);
  /// As <name>_p50_ms and so on.
  void AddPercentiles(const std::string& name, const Percentiles& percentiles);

  std::string Table() const;
  std::string JsonLine() const;

 private:
  using Value = std::variant<std::string, int64_t, double>;
  std::vector<std::pair<std::string, Value>> lines_;
};

}  // namespace weir::load
