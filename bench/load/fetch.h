// One fetch of one bucket, and the batches in its answer, of which only the headers are read.
#pragma once

#include <cstdint>

#include "weir/base/result.h"
#include "weir/load/load.h"
#include "weir/load/wire.h"

namespace weir::load {

struct FetchSpec {
  int64_t table_id = 0;
  int32_t bucket = 0;
};

struct Fetched {
  /// The offset to fetch next.
  int64_t next_offset = 0;
  int64_t high_watermark = 0;
  int64_t rows = 0;
};

/// Fetches from `offset` on, and waits as the options say.
/// Errors: kIo, kCorruptBatch, kUnsupported (the log was moved to remote storage), what the server
/// answered.
Result<Fetched> Fetch(Connection& connection, const BenchOptions& options, const FetchSpec& spec,
                      int64_t offset);

}  // namespace weir::load
