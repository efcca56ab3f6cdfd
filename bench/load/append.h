// One connection that appends.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "weir/load/measure.h"
#include "weir/load/rows.h"
#include "weir/load/run.h"
#include "weir/load/wire.h"

namespace weir::load {

using SteadyTime = std::chrono::steady_clock::time_point;

struct AppendPlan {
  int64_t table_id = 0;
  int32_t bucket = 0;
  WriterId writer;
  int acks = -1;
  int batch_rows = 0;
  int in_flight = 5;
  /// Time between two batches; zero: as fast as they are acknowledged.
  std::chrono::nanoseconds interval{0};
  /// Called before a batch is sent, with its number and the time at which it was to be sent. May be
  /// empty.
  std::function<void(int64_t number, SteadyTime due)> on_send = {};
};

struct Acknowledged {
  SteadyTime due;
  SteadyTime at;
};

/// Sends `batches` over and over while it runs, then waits for what is in flight. Counts what was
/// acknowledged, and adds each batch to `acks`. Errors: kIo, and what the server answered for the
/// bucket.
Status AppendWhile(const Running& running, Connection& connection, std::vector<ReadyBatch>& batches,
                   const AppendPlan& plan, Counters& counters, std::vector<Acknowledged>& acks);

/// How long the acknowledgement took of the batches that were due within the measured time, in
/// nanoseconds.
std::vector<int64_t> Within(const Measured& measured, const std::vector<Acknowledged>& acks);

/// Sends so many batches, with no measuring. Errors as AppendWhile.
Status AppendCount(Connection& connection, std::vector<ReadyBatch>& batches, const AppendPlan& plan,
                   int64_t batch_count);

}  // namespace weir::load
