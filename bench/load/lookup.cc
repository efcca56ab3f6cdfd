// The lookup benches: full batches of keys with several requests in flight, or one key at a time;
// or prefixes of keys, each with several rows. All keys must be found, and a sample of the values
// is compared with what was written.
#include <algorithm>
#include <random>
#include <thread>
#include <unordered_map>

#include "weir/load/key_choice.h"
#include "weir/load/upsert.h"

namespace weir::load {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kLookupSeed = 3;
constexpr int kInFlightFullBatches = 16;
// With a rate: times count from when a lookup was due, so others may be on their way.
constexpr int kInFlightPaced = 64;
constexpr double kRateBesideUpserts = 1000;
// Keys that are asked for, if there are more.
constexpr int64_t kDrawsMax = 2'000'000;
// How long clients wait until they send a batch that is not full (client.writer.batch-timeout).
constexpr double kBatchSeconds = 0.1;

/// One request, ready to be sent, and what it asks for: numbers of rows, or groups.
struct LookupRequest {
  std::string body;
  std::vector<int64_t> wanted;
};

struct LookupPlan {
  Api api = Api::kLookup;
  int in_flight = 1;
  /// Time between two requests; zero: as fast as they are answered.
  std::chrono::nanoseconds interval{0};
  uint64_t seed = 0;
};

Error WrongAnswer(std::string_view what, int64_t wanted) {
  return Fail(ErrorCode::kInternal, "a lookup was answered wrongly: {}: wanted={}", what, wanted);
}

/// Judges answers.
class AnswerCheck {
 public:
  AnswerCheck(Api api, KeyedRows rows) : is_prefix_(api == Api::kPrefixLookup), rows_(rows) {}

  /// Returns how many rows there are. The `sample`-th of what was asked for is looked at closely.
  Result<int64_t> Check(std::string_view answer, const std::vector<int64_t>& wanted,
                        size_t sample) {
    const std::optional<Field> bucket = FindField(answer, 1);
    if (!bucket) return Fail(ErrorCode::kIo, "an answer lacks its bucket");
    WEIR_TRY(BucketStatus(bucket->text, 3));
    std::string_view rest = bucket->text;
    size_t answered = 0;
    int64_t row_count = 0;
    while (const std::optional<Field> item = TakeField(rest)) {
      if (item->number != 5) continue;
      if (answered == wanted.size()) return WrongAnswer("more values than keys", 0);
      WEIR_ASSIGN(const int64_t found, CheckItem(item->text, wanted[answered], answered == sample));
      row_count += found;
      ++answered;
    }
    if (answered < wanted.size()) return WrongAnswer("no value", wanted[answered]);
    return row_count;
  }

 private:
  /// Of one key or prefix.
  Result<int64_t> CheckItem(std::string_view item, int64_t wanted, bool is_sample) {
    int64_t found = 0;
    while (const std::optional<Field> value = TakeField(item)) {
      if (value->number != 1) continue;
      if (is_sample) {
        WEIR_ASSIGN(const int64_t number, rows_.NumberOf(AsBytes(value->text)));
        const int64_t told = is_prefix_ ? number / kRowsPerPrefix : number;
        if (told != wanted) return WrongAnswer("another row", wanted);
      }
      ++found;
    }
    if (found != (is_prefix_ ? kRowsPerPrefix : 1)) return WrongAnswer("not all rows", wanted);
    return found;
  }

  bool is_prefix_;
  KeyedRows rows_;
};

/// Requests for what was drawn, by bucket.
std::vector<std::vector<LookupRequest>> MakeRequests(const BenchOptions& options, Api api,
                                                     const TableLocation& table, KeyedRows& rows) {
  const bool is_prefix = api == Api::kPrefixLookup;
  const int64_t count = is_prefix ? options.keys / kRowsPerPrefix : options.keys;
  const auto buckets = static_cast<int32_t>(table.leaders.size());
  std::vector<std::vector<LookupRequest>> requests(table.leaders.size());
  std::vector<MessageWriter> begun(table.leaders.size());
  std::vector<std::vector<int64_t>> wanted(table.leaders.size());
  const auto finish = [&](size_t bucket) {
    MessageWriter request;
    request.Number(1, table.table_id).Message(2, begun[bucket]);
    requests[bucket].push_back({request.text(), std::exchange(wanted[bucket], {})});
    begun[bucket] = {};
  };
  std::string key;
  const int64_t draws = std::min(count, kDrawsMax);
  for (const int64_t number : DrawNumbers(count, draws, options.zipf, kLookupSeed)) {
    const auto bucket = static_cast<size_t>(is_prefix ? rows.BucketOfGroup(number, buckets)
                                                      : rows.BucketOf(number, buckets));
    if (wanted[bucket].empty()) begun[bucket].Number(2, static_cast<int64_t>(bucket));
    key.clear();
    is_prefix ? rows.AddPrefix(number, key) : rows.AddKey(number, key);
    begun[bucket].Text(3, key);
    wanted[bucket].push_back(number);
    if (wanted[bucket].size() == static_cast<size_t>(options.keys_per_request)) finish(bucket);
  }
  for (size_t bucket = 0; bucket < requests.size(); ++bucket) {
    // One that is not full only if there is no other.
    if (requests[bucket].empty() && !wanted[bucket].empty()) finish(bucket);
  }
  return requests;
}

/// Sends requests, each time any of them, while it runs.
Status LookupWhile(const Running& running, Connection& connection,
                   const std::vector<LookupRequest>& requests, const LookupPlan& plan,
                   AnswerCheck& check, Counters& counters, std::vector<Acknowledged>& answers) {
  struct Sent {
    SteadyTime due;
    size_t request;
  };
  std::unordered_map<int32_t, Sent> in_flight;  // answers come in any order
  std::mt19937_64 chance(plan.seed);
  const bool paced = plan.interval.count() > 0;
  const SteadyTime start = Clock::now();
  int64_t sent = 0;
  while (running || !in_flight.empty()) {
    const SteadyTime due = paced ? start + plan.interval * sent : Clock::now();
    const bool may_send = running && in_flight.size() < static_cast<size_t>(plan.in_flight);
    if (may_send && due <= Clock::now()) {
      const size_t any = chance() % requests.size();
      WEIR_ASSIGN(const int32_t id, connection.Send(plan.api, {requests[any].body}));
      in_flight[id] = {due, any};
      ++sent;
    } else if (in_flight.empty()) {
      std::this_thread::sleep_until(due);
    } else if (!may_send || connection.WaitReadable(due)) {
      WEIR_ASSIGN(const std::string_view answer, connection.Receive());
      const SteadyTime now = Clock::now();
      const auto asked = in_flight.extract(connection.answered_id());
      if (asked.empty()) return Fail(ErrorCode::kIo, "an answer belongs to no request");
      const std::vector<int64_t>& wanted = requests[asked.mapped().request].wanted;
      WEIR_ASSIGN(const int64_t row_count, check.Check(answer, wanted, chance() % wanted.size()));
      answers.push_back({asked.mapped().due, now, static_cast<int>(row_count)});
      counters.rows += row_count;
      counters.requests += 1;
    }
    counters.sent_bytes = static_cast<int64_t>(connection.sent_bytes());
    counters.received_bytes = static_cast<int64_t>(connection.received_bytes());
  }
  return Ok();
}

LookupPlan PlanOf(const BenchOptions& options, Api api, size_t connections) {
  LookupPlan plan{.api = api};
  double rate = options.rate;
  if (rate == 0 && options.upsert_rate > 0) rate = kRateBesideUpserts;
  plan.in_flight = options.keys_per_request == 1 ? 1 : kInFlightFullBatches;
  if (rate > 0) {
    plan.in_flight = kInFlightPaced;
    plan.interval = std::chrono::nanoseconds(static_cast<int64_t>(
        1e9 * static_cast<double>(connections) * options.keys_per_request / rate));
  }
  if (options.in_flight > 0) plan.in_flight = options.in_flight;
  return plan;
}

/// Rows that are written meanwhile, none by default.
Result<std::optional<Upserts>> MakeUpserts(const BenchOptions& options, const TableLocation& table,
                                           KeyedRows& rows) {
  if (options.upsert_rate == 0) return std::optional<Upserts>();
  const size_t writers = table.leaders.size();
  // What a client would send: all that comes in a while, if that is no more than a full batch.
  const double in_a_while =
      std::max(1.0, options.upsert_rate * kBatchSeconds / static_cast<double>(writers));
  const std::vector<RowVersion> versions = Updates(options);
  WEIR_ASSIGN(Upserts upserts, Upserts::Make(options, table, rows, versions, writers, 0));
  if (in_a_while < upserts.batch_rows()) {
    WEIR_ASSIGN(upserts, Upserts::Make(options, table, rows, versions, writers,
                                       static_cast<int>(in_a_while)));
  }
  upserts.SendAt(options.upsert_rate);
  return std::optional<Upserts>(std::move(upserts));
}

Result<Report> RunLookups(const BenchOptions& options, Api api) {
  KeyedRows rows = KeyedRowsOf(options);
  WEIR_ASSIGN(Cluster cluster, Cluster::Open(options.bootstrap));
  WEIR_ASSIGN(const TableLocation table, PrepareKeyedTable(cluster, options, rows));
  const auto requests = MakeRequests(options, api, table, rows);
  WEIR_ASSIGN(std::optional<Upserts> upserts, MakeUpserts(options, table, rows));
  const size_t count = KeyedConnections(options);
  const size_t writers = upserts ? upserts->writer_count() : 0;

  std::vector<Connection> connections;
  for (size_t i = 0; i < count; ++i) {
    WEIR_ASSIGN(Connection connection, Connection::Open(table.leaders[i % table.leaders.size()]));
    connections.push_back(std::move(connection));
  }
  std::vector<Counters> counters(count);
  std::vector<Counters> upsert_counters(writers);
  std::vector<std::vector<Acknowledged>> answers(count);
  std::vector<std::vector<Acknowledged>> acks(writers);
  std::vector<std::function<Status(const Running&)>> workers;
  for (size_t i = 0; i < count; ++i) {
    const auto& of_bucket = requests[i % requests.size()];
    if (of_bucket.empty()) continue;
    workers.push_back([&, i](const Running& running) {
      LookupPlan plan = PlanOf(options, api, count);
      plan.seed = i;
      AnswerCheck check(api, KeyedRowsOf(options));
      return LookupWhile(running, connections[i], requests[i % requests.size()], plan, check,
                         counters[i], answers[i]);
    });
  }
  for (size_t i = 0; i < writers; ++i) {
    workers.push_back([&, i](const Running& running) {
      return upserts->Run(running, i, upsert_counters[i], acks[i]);
    });
  }
  WEIR_ASSIGN(const Measured measured, RunWorkers(options, counters, workers));
  WEIR_TRY(CheckKeys(cluster, table, options.keys));

  Report report = DescribeKeyedRun(options);
  report.Add("keys_per_request", int64_t{options.keys_per_request});
  report.AddThroughput(measured.begin, measured.end, options.row_bytes,
                       !options.server_pids.empty());
  report.AddPercentiles("lookup", PercentilesOf(Within(measured, answers)));
  if (upserts) {
    int64_t upserted = 0;
    for (const std::vector<Acknowledged>& of_one : acks) {
      for (const Acknowledged& ack : of_one) {
        if (ack.at >= measured.begin.time && ack.at < measured.end.time) upserted += ack.row_count;
      }
    }
    const std::chrono::duration<double> time = measured.end.time - measured.begin.time;
    report.Add("upsert_batch_rows", int64_t{upserts->batch_rows()});
    report.Add("upserts_per_s", static_cast<double>(upserted) / time.count());
    report.AddPercentiles("upsert_ack", PercentilesOf(Within(measured, acks)));
  }
  return report;
}

}  // namespace

Result<Report> RunLookup(const BenchOptions& options) {
  return RunLookups(options, Api::kLookup);
}

Result<Report> RunPrefix(const BenchOptions& options) {
  return RunLookups(options, Api::kPrefixLookup);
}

}  // namespace weir::load
