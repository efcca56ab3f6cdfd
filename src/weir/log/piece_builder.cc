#include "weir/log/piece_builder.h"

#include "weir/base/crc32c.h"

namespace weir {

void PieceBuilder::Add(const LogBatchHeader& header, Bytes batch, uint64_t position) {
  const auto bytes = static_cast<uint32_t>(header.batch_bytes);
  const Bytes uncovered = batch.first(header.crc_start() - sizeof header.crc);
  const bool goes_on =
      !pieces_.empty() && pieces_.back().position + pieces_.back().bytes == position &&
      pieces_.back().end == header.base_offset && pieces_.back().bytes + bytes <= kPieceBytes;
  if (!goes_on)
    pieces_.push_back({header.base_offset, header.base_offset, kNoTimestamp, position, 0, 0});
  Piece& piece = pieces_.back();
  piece.end = header.end_offset();
  piece.max_timestamp = std::max(piece.max_timestamp, header.commit_timestamp);
  piece.bytes += bytes;
  piece.heads_crc = Crc32c(uncovered, piece.heads_crc);
}

}  // namespace weir
