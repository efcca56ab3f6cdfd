// The command line of `weir bench`.
#pragma once

#include <memory>

#include <CLI/CLI.hpp>

#include "weir/load/load.h"

namespace weir::load {

/// Adds `bench append|scan|latency|tables|upsert|lookup|prefix` to a program's commands. When one
/// of them was parsed, `options` says what to run. `options` must outlive `program`.
CLI::App* AddBenchCommand(CLI::App& program, BenchOptions& options);

}  // namespace weir::load
