// Finds where in its files a bucket's log has an offset or a time.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "weir/log/bucket_log.h"
#include "weir/runtime/blocking_pool.h"
#include "weir/runtime/event_loop.h"

namespace weir {

/// A piece and the file in which it lies. It keeps the file, whatever becomes of the bucket.
struct LocatedPiece {
  std::shared_ptr<DataFile> file;
  Piece piece;
};

/// Whether a piece is worth reading behind `bytes` others, of an answer of at most `bytes_max`. A
/// large piece is one batch, which is sent whole or not at all.
inline bool HasRoomFor(const Piece& piece, size_t bytes, size_t bytes_max) {
  return bytes < bytes_max && (piece.bytes <= kPieceBytes || bytes + piece.bytes <= bytes_max);
}

/// Fills `into` from a data file: from the page cache at once, else on the pool. `file` must stay.
/// Errors: kIo; kCorruptData if the file ends before.
Task<Status> ReadStored(const DataFile& file, uint64_t position, MutableBytes into,
                        BlockingPool& pool);

/// Neighbouring pieces, the first of which has `from`, until they have `bytes_max` or reach
/// `limit`. They may be fewer; there is at least one, which may be larger. `from` is at least the
/// log's start and below `limit`, which is at most its written end. Errors: kOffsetOutOfRange if it
/// was trimmed meanwhile; kIo, kCorruptData.
Task<Result<std::vector<LocatedPiece>>> LocateOffset(std::shared_ptr<const BucketLog> log,
                                                     LogOffset from, LogOffset limit,
                                                     size_t bytes_max, BlockingPool& pool);

/// The first piece that has a batch with a commit time at or after `time`, if there is one.
/// Errors: kIo, kCorruptData.
Task<Result<std::optional<LocatedPiece>>> LocateTime(std::shared_ptr<const BucketLog> log,
                                                     Timestamp time, BlockingPool& pool);

}  // namespace weir
