// The latency bench: one connection appends single rows at a steady rate, another waits for them
// with long polls. Times count from when a row was due, so that a server that stops for a while is
// charged for every row of that while.
#include <algorithm>

#include "weir/load/append.h"
#include "weir/load/fetch.h"
#include "weir/load/rows.h"
#include "weir/load/run.h"

namespace weir::load {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kRateDefault = 1000;
constexpr int kInFlightDefault = 64;
constexpr auto kLastRowsPatience = std::chrono::seconds(5);

/// When each row was due and when it was seen, by its number. One thread writes `due` and `sent`,
/// one `visible`.
struct Timeline {
  std::vector<SteadyTime> due;
  std::vector<SteadyTime> visible;
  std::atomic<int64_t> sent = 0;
  std::atomic<bool> is_sending = true;
};

Status WatchWhile(Connection& connection, const BenchOptions& options, const FetchSpec& spec,
                  int64_t first_offset, Timeline& timeline) {
  int64_t seen = 0;
  SteadyTime last_news = Clock::now();
  while (timeline.is_sending ||
         (seen < timeline.sent && Clock::now() - last_news < kLastRowsPatience)) {
    WEIR_ASSIGN(const Fetched fetched, Fetch(connection, options, spec, first_offset + seen));
    const SteadyTime now = Clock::now();
    // Not what somebody else may append to the same table.
    const int64_t end = std::min<int64_t>(fetched.next_offset - first_offset, timeline.sent);
    if (end > seen) last_news = now;
    for (; seen < end; ++seen) timeline.visible[static_cast<size_t>(seen)] = now;
  }
  return Ok();
}

}  // namespace

Result<Report> RunLatency(const BenchOptions& options) {
  const double rate = options.rate > 0 ? options.rate : kRateDefault;
  WEIR_ASSIGN(Cluster cluster, Cluster::Open(options.bootstrap));
  WEIR_ASSIGN(const TableLocation table, PrepareTable(cluster, options));
  WEIR_ASSIGN(Connection writing, Connection::Open(table.leaders[0]));
  WEIR_ASSIGN(Connection reading, Connection::Open(table.leaders[0]));
  WEIR_ASSIGN(const WriterId writer, InitWriter(writing, NameOf(options)));
  WEIR_ASSIGN(const int64_t first_offset, cluster.CountRows(table));
  WEIR_ASSIGN(std::vector<ReadyBatch> batches,
              MakeBatches(options.columns, 1, options.compression));

  // Room for all rows that can become due, and those of a late end.
  const double seconds = options.warmup_seconds + options.seconds + 1;
  Timeline timeline;
  timeline.due.resize(static_cast<size_t>(rate * seconds) + 1000);
  timeline.visible.resize(timeline.due.size());
  const AppendPlan plan{.table_id = table.table_id,
                        .bucket = 0,
                        .writer = writer,
                        .acks = options.acks,
                        .in_flight = options.in_flight > 0 ? options.in_flight : kInFlightDefault,
                        .interval = std::chrono::nanoseconds(static_cast<int64_t>(1e9 / rate)),
                        .on_send = [&](int64_t number, SteadyTime due) {
                          WEIR_CHECK(static_cast<size_t>(number) < timeline.due.size());
                          timeline.due[static_cast<size_t>(number)] = due;
                          timeline.sent = number + 1;
                        }};
  std::vector<Counters> counters(1);
  std::vector<std::vector<Acknowledged>> acks(1);
  const FetchSpec spec{table.table_id, 0};
  WEIR_ASSIGN(const Measured measured,
              RunWorkers(options, counters,
                         {[&](const Running& running) {
                            const Status done =
                                AppendWhile(running, writing, batches, plan, counters[0], acks[0]);
                            timeline.is_sending = false;
                            return done;
                          },
                          [&](const Running&) {
                            return WatchWhile(reading, options, spec, first_offset, timeline);
                          }}));

  std::vector<int64_t> visible_nanoseconds;
  int64_t unseen = 0;
  for (int64_t i = 0; i < timeline.sent; ++i) {
    const SteadyTime due = timeline.due[static_cast<size_t>(i)];
    const SteadyTime visible = timeline.visible[static_cast<size_t>(i)];
    if (due < measured.begin.time || due >= measured.end.time) continue;
    if (visible == SteadyTime()) {
      ++unseen;
    } else {
      visible_nanoseconds.push_back((visible - due).count());
    }
  }
  if (!options.keep) WEIR_TRY(cluster.DropTable(NameOf(options)));

  Report report = DescribeRun(options);
  report.Add("rate", rate);
  report.AddThroughput(measured.begin, measured.end, RowBytes(options.columns),
                       !options.server_pids.empty());
  report.Add("unseen", unseen);
  report.AddPercentiles("visible", PercentilesOf(std::move(visible_nanoseconds)));
  report.AddPercentiles("ack", PercentilesOf(Within(measured, acks)));
  return report;
}

}  // namespace weir::load
