// Reads a bucket's log: whole batches, or batches with columns cut out. Reads the page cache on the
// loop and everything else on the pool.
#pragma once

#include <memory>
#include <vector>

#include "weir/base/buffer.h"
#include "weir/log/bucket_log.h"
#include "weir/record/projection.h"
#include "weir/runtime/blocking_pool.h"

namespace weir {

/// Log batches that lie in several pieces of memory, one behind the other.
struct LogBytes {
  std::vector<Buffer> pieces;
  size_t bytes = 0;
  /// Where the next read goes on: the end of the last batch, or where the read began if there is
  /// none.
  LogOffset next;
};

/// Gives the projection for batches of a schema. Errors: kInvalidProjection, kSchemaNotFound.
class ProjectionSource {
 public:
  virtual ~ProjectionSource() = default;
  virtual Result<const Projection*> ForSchema(SchemaId schema) = 0;
};

/// Whole batches of [from, limit), beginning with the one that contains `from`: as many as fit into
/// `bytes_max`, and at least one if there is one. Each is checked against its checksum and its
/// place. `from` is at least the log's start and at most `limit`. Errors: kIo, kCorruptData (names
/// file and position).
Task<Result<LogBytes>> ReadLog(std::shared_ptr<const BucketLog> log, LogOffset from,
                               LogOffset limit, size_t bytes_max, BlockingPool& pool);

/// The same with the columns of `projection` only. Reads no more than those and the heads of the
/// batches, so checksums are not looked at. Sizes count what is sent. Errors: also those of the
/// projection.
Task<Result<LogBytes>> ReadProjectedLog(std::shared_ptr<const BucketLog> log, LogOffset from,
                                        LogOffset limit, size_t bytes_max,
                                        ProjectionSource& projection, BlockingPool& pool);

/// The first offset in [log start, limit) whose commit time is at or after `time`; `limit` if there
/// is none. Errors: kIo, kCorruptData.
Task<Result<LogOffset>> FindOffset(std::shared_ptr<const BucketLog> log, Timestamp time,
                                   LogOffset limit, BlockingPool& pool);

}  // namespace weir
