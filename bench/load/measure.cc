// See measure.h.
#include "weir/load/measure.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace weir::load {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

std::string ReadText(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Of the process and its ended children: fields 14 to 17 of /proc/<pid>/stat (proc(5)), in clock
/// ticks.
CpuTime CpuTimeOfProcess(int pid) {
  const std::string stat = ReadText(fmt::format("/proc/{}/stat", pid));
  // The second field is the program's name in parentheses and may hold anything, so count from
  // behind it.
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(stat.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  int64_t user = 0, system = 0, children_user = 0, children_system = 0;
  fields >> user >> system >> children_user >> children_system;
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  return {static_cast<double>(user + children_user) / ticks,
          static_cast<double>(system + children_system) / ticks};
}

std::vector<int> ChildrenOf(int pid) {
  std::istringstream text(ReadText(fmt::format("/proc/{0}/task/{0}/children", pid)));
  std::vector<int> children;
  for (int child = 0; text >> child;) children.push_back(child);
  return children;
}

double Milliseconds(int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e6;
}

/// Three or four digits that say something.
std::string Readable(double value) {
  if (value == 0) return "0";
  const double size = std::abs(value);
  if (size >= 1000) return fmt::format("{:.0f}", value);
  if (size >= 1) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3g}", value);
}

}  // namespace

CpuTime CpuTimeOf(const std::vector<int>& pids) {
  CpuTime sum;
  for (const int pid : pids) sum = sum + CpuTimeOfProcess(pid) + CpuTimeOf(ChildrenOf(pid));
  return sum;
}

CpuTime OwnCpuTime() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {Seconds(usage.ru_utime), Seconds(usage.ru_stime)};
}

Reading ReadNow(const std::vector<Counters>& counters, const std::vector<int>& server_pids) {
  Reading now{.time = std::chrono::steady_clock::now()};
  for (const Counters& each : counters) {
    now.rows += each.rows;
    now.requests += each.requests;
    now.sent_bytes += each.sent_bytes;
    now.received_bytes += each.received_bytes;
  }
  now.server = CpuTimeOf(server_pids);
  now.client = OwnCpuTime();
  return now;
}

Percentiles PercentilesOf(std::vector<int64_t> nanoseconds) {
  if (nanoseconds.empty()) return {};
  std::sort(nanoseconds.begin(), nanoseconds.end());
  const auto at = [&](double share) {
    const auto rank = static_cast<size_t>(share * static_cast<double>(nanoseconds.size()));
    return Milliseconds(nanoseconds[std::min(rank, nanoseconds.size() - 1)]);
  };
  return {nanoseconds.size(), at(0.5), at(0.9), at(0.99), at(0.999), at(1)};
}

void Report::AddThroughput(const Reading& begin, const Reading& end, int row_bytes,
                           bool with_server) {
  const double seconds = std::chrono::duration<double>(end.time - begin.time).count();
  const auto rows = static_cast<double>(end.rows - begin.rows);
  const auto wire = static_cast<double>(end.sent_bytes - begin.sent_bytes + end.received_bytes -
                                        begin.received_bytes);
  const auto per = [](double amount, double count) { return count > 0 ? amount / count : 0; };
  Add("seconds", seconds);
  Add("rows", end.rows - begin.rows);
  Add("requests", end.requests - begin.requests);
  Add("rows_per_s", rows / seconds);
  Add("user_mb_per_s", rows * row_bytes / 1e6 / seconds);
  Add("wire_mb_per_s", wire / 1e6 / seconds);
  Add("wire_bytes_per_row", per(wire, rows));
  if (with_server) {
    const CpuTime server = end.server - begin.server;
    Add("server_cpu_s", server.total());
    Add("server_system_cpu_s", server.system_seconds);
    Add("server_cpu_s_per_wire_gb", per(server.total(), wire / 1e9));
    Add("server_cpu_us_per_row", per(server.total() * 1e6, rows));
  }
  const CpuTime client = end.client - begin.client;
  Add("client_cpu_s", client.total());
  Add("client_cpu_s_per_wire_gb", per(client.total(), wire / 1e9));
  Add("load1", ReadText("/proc/loadavg").substr(0, 4));
}

void Report::AddPercentiles(const std::string& name, const Percentiles& percentiles) {
  Add(name + "_count", static_cast<int64_t>(percentiles.count));
  Add(name + "_p50_ms", percentiles.p50_ms);
  Add(name + "_p90_ms", percentiles.p90_ms);
  Add(name + "_p99_ms", percentiles.p99_ms);
  Add(name + "_p999_ms", percentiles.p999_ms);
  Add(name + "_max_ms", percentiles.max_ms);
}

std::string Report::Table() const {
  std::string table;
  for (const auto& [name, value] : lines_) {
    std::string text;
    if (const auto* words = std::get_if<std::string>(&value)) text = *words;
    if (const auto* number = std::get_if<int64_t>(&value)) text = std::to_string(*number);
    if (const auto* number = std::get_if<double>(&value)) text = Readable(*number);
    table += fmt::format("{:<26}{:>16}\n", name, text);
  }
  return table;
}

std::string Report::JsonLine() const {
  nlohmann::ordered_json json;
  for (const auto& [name, value] : lines_) {
    std::visit([&, key = name](const auto& one) { json[key] = one; }, value);
  }
  return json.dump();
}

}  // namespace weir::load
