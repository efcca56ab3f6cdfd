// The records of an ARROW log batch, put together buffer by buffer: where each lies, and how it is
// compressed. Format: docs/formats/log_batch.md.
#pragma once

#include <cstdint>

#include "weir/base/buffer.h"
#include "weir/base/bytes.h"
#include "weir/base/result.h"
#include "weir/record/arrow_message.h"
#include "weir/record/column_buffer.h"
#include "weir/record/log_batch.h"

namespace weir {

/// The table properties table.log.arrow.compression.*.
struct ArrowCompression {
  ArrowCodec codec = ArrowCodec::kZstd;
  int zstd_level = 3;
};

/// Collects nodes and buffers in the order of the columns and makes the batch; then it begins anew.
class ArrowBody {
 public:
  /// The body lies within `budget`, which outlives it.
  ArrowBody(ArrowCompression compression, MemoryBudget& budget);

  void AddNode(int64_t length, int64_t null_count);
  /// A buffer as it is before it is compressed.
  void AddBuffer(Bytes raw);

  /// Seals a batch of these records with `header`, whose record count is that of all columns.
  /// Errors: kRecordTooLarge: the batch has more than kLogBatchBytesMax, or there was no budget for
  /// it.
  Result<Buffer> Finish(LogBatchHeader header, Bytes change_types);

  void Clear();
  void Release() { body_.Release(); }

 private:
  /// Appends `raw` and its length. Not if that takes no less than it has.
  bool AppendCompressed(Bytes raw);

  const ArrowCompression compression_;
  const MemoryBudget& budget_;
  ArrowMessage message_;
  ColumnBuffer body_;
};

}  // namespace weir
