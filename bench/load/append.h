// One connection that writes batches.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "weir/load/measure.h"
#include "weir/load/ready_batch.h"
#include "weir/load/run.h"
#include "weir/load/wire.h"

namespace weir::load {

using SteadyTime = std::chrono::steady_clock::time_point;

struct AppendPlan {
  int64_t table_id = 0;
  int32_t bucket = 0;
  WriterId writer;
  int acks = -1;
  int in_flight = 5;
  /// It ends when so many are acknowledged; nothing: when it is told to.
  std::optional<int64_t> batch_count = {};
  /// Time between two batches; zero: as fast as they are acknowledged.
  std::chrono::nanoseconds interval{0};
  /// Called before a batch is sent, with its number and the time at which it was to be sent. May be
  /// empty.
  std::function<void(int64_t number, SteadyTime due)> on_send = {};
};

/// A request that was answered.
struct Acknowledged {
  SteadyTime due;
  SteadyTime at;
  int row_count = 0;
};

/// Sends `batches`, of which there is one, over and over while it runs, then waits for what is in
/// flight. Counts what was acknowledged, and adds each batch to `acks`. Errors: kIo, and what the
/// server answered for the bucket.
Status AppendWhile(const Running& running, Connection& connection, std::vector<ReadyBatch>& batches,
                   const AppendPlan& plan, Counters& counters, std::vector<Acknowledged>& acks);

/// How long the answers took that came within the measured time, from when their requests were due,
/// in nanoseconds. (Of requests that were due then, a server that falls behind may answer none.)
std::vector<int64_t> Within(const Measured& measured,
                            const std::vector<std::vector<Acknowledged>>& of_connections);

/// Sends as many batches as the plan says, with no measuring. Errors as AppendWhile.
Status AppendAll(Connection& connection, std::vector<ReadyBatch>& batches, const AppendPlan& plan);

}  // namespace weir::load
