#include "weir/log/piece_builder.h"

#include <algorithm>

#include "weir/base/crc32c.h"

namespace weir {
namespace {

/// What the checksum of a batch does not cover; a piece has its own for it.
Bytes UncoveredHead(const LogBatchHeader& header, Bytes batch) {
  return batch.first(header.crc_start() - sizeof header.crc);
}

void Extend(Piece& piece, const LogBatchHeader& header, Bytes batch) {
  piece.end = header.end_offset();
  piece.max_timestamp = std::max(piece.max_timestamp, header.commit_timestamp);
  piece.bytes += static_cast<uint32_t>(header.batch_bytes);
  piece.heads_crc = Crc32c(UncoveredHead(header, batch), piece.heads_crc);
}

Piece EmptyPiece(LogOffset base, uint64_t position) {
  return {base, base, kNoTimestamp, position, 0, 0};
}

}  // namespace

void PieceBuilder::Add(const LogBatchHeader& header, Bytes batch, uint64_t position) {
  const bool goes_on = !pieces_.empty() &&
                       pieces_.back().position + pieces_.back().bytes == position &&
                       pieces_.back().end == header.base_offset &&
                       pieces_.back().bytes + header.batch_bytes <= kPieceBytes;
  if (!goes_on) pieces_.push_back(EmptyPiece(header.base_offset, position));
  Extend(pieces_.back(), header, batch);
}

Result<std::vector<LogBatchView>> SplitPiece(const Piece& piece, Bytes bytes) {
  WEIR_CHECK(bytes.size() == piece.bytes);
  std::vector<LogBatchView> batches;
  Piece found = EmptyPiece(piece.base, piece.position);
  for (LogBatchReader reader(bytes); !reader.at_end();) {
    const uint64_t position = piece.position + reader.position();
    Result<LogBatchView> batch = reader.Next();
    if (!batch.ok()) {
      return Fail(ErrorCode::kCorruptData, "a stored batch is damaged: position={} offset={}: {}",
                  position, found.end, batch.error().message);
    }
    if (batch->header.base_offset != found.end) {
      return Fail(ErrorCode::kCorruptData,
                  "another batch stands there: position={} offset={} found={}", position, found.end,
                  batch->header.base_offset);
    }
    Extend(found, batch->header, batch->bytes);
    batches.push_back(*std::move(batch));
  }
  if (found != piece) {
    return Fail(ErrorCode::kCorruptData,
                "stored batches differ from their index: position={} offset={}", piece.position,
                piece.base);
  }
  return batches;
}

Status CheckStoredBatch(const LogBatchView& batch, uint64_t position) {
  if (const Status checked = CheckLogBatchCrc(batch.bytes, batch.header); !checked.ok()) {
    return Fail(ErrorCode::kCorruptData, "a stored batch is damaged: position={} offset={}: {}",
                position, batch.header.base_offset, checked.error().message);
  }
  return Ok();
}

}  // namespace weir
