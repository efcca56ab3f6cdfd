// Cuts a row of batches of one bucket into pieces for an index, and takes pieces apart again.
#pragma once

#include <utility>
#include <vector>

#include "weir/log/file_format.h"
#include "weir/record/log_batch.h"

namespace weir {

class PieceBuilder {
 public:
  /// Adds a batch that lies at `position`; `batch` shows at least its header. It begins a new piece
  /// if it does not lie right behind the last one or the last piece is full.
  void Add(const LogBatchHeader& header, Bytes batch, uint64_t position);

  const std::vector<Piece>& pieces() const { return pieces_; }
  std::vector<Piece> Take() { return std::exchange(pieces_, {}); }

 private:
  std::vector<Piece> pieces_;
};

/// The batches of a piece, of which `bytes` are all that it has. Together with the checksums of the
/// batches, which are not looked at, this shows that every byte is the one that was written.
/// Errors: kCorruptData, with the position, if they are not what the index says.
Result<std::vector<LogBatchView>> SplitPiece(const Piece& piece, Bytes bytes);

/// CheckLogBatchCrc for a batch that is stored at `position`. Errors: kCorruptData.
Status CheckStoredBatch(const LogBatchView& batch, uint64_t position);

}  // namespace weir
