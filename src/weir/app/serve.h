// `weir serve`: the real world, a node in it, and its gateways, from start to stop.
#pragma once

#include <string_view>

#include "weir/app/config.h"

namespace weir {

/// As the build was told.
std::string_view Version();

/// Serves until the process is told to stop, and then stops cleanly. Says on standard output when
/// it is ready. `config` has been checked. Errors: whatever keeps it from starting, with what to
/// do.
Status Serve(Config config);

}  // namespace weir
