// The limit of log tables: batches are received, checked, written and acknowledged, or read and
// sent.
#pragma once

#include <memory>
#include <string>

#include "server.h"

namespace weir::load {

/// Keeps its one log in the file `path`.
std::unique_ptr<Limit> MakeLogLimit(const std::string& path);

}  // namespace weir::load
