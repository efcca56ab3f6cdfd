// Cuts a row of batches of one bucket into pieces for an index.
#pragma once

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

}  // namespace weir
