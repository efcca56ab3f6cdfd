// The limit of primary-key tables: rows are received, checked, put into a map and written to a log,
// and looked up. What takes more memory than it may is moved to RocksDB as sorted tables.
#pragma once

#include <memory>
#include <string>

#include "server.h"

namespace weir::load {

/// Keeps the log in the file `path`, and cold rows beside it. Without `has_changelog` the log is of
/// new rows and of those they replace as they stand; with it, of changelog batches, compressed as
/// the table says: nobody else could read the other log, but it shows what making batches costs.
std::unique_ptr<Limit> MakeRowLimit(const std::string& path, bool has_changelog, size_t memory_max);

}  // namespace weir::load
