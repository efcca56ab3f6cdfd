// The rows of the benches, ready to be sent. 10 columns are 100 bytes of numbers and short
// hexadecimal texts, 50 columns are 1,000 bytes, most of them hexadecimal texts of 40 characters:
// the rows that bench/clients/latency.py and other clients use too, so that figures compare.
// Hexadecimal digits halve under ZSTD.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/buffer.h"
#include "weir/base/ids.h"
#include "weir/base/result.h"
#include "weir/record/log_batch.h"

namespace weir::load {

/// Bytes of a row as the user counts them: the widths of its values.
int RowBytes(int columns);

/// The descriptor of a log table of such rows (Fluss protocol, TableDescriptor JSON).
/// `durability` may be empty.
std::string TableJson(int columns, int buckets, const std::string& compression,
                      const std::string& durability);

/// A log batch that can be sent many times, each time as another batch.
class ReadyBatch {
 public:
  explicit ReadyBatch(Buffer batch);

  /// The batch as number `sequence` of `writer`.
  std::string_view Address(WriterId writer, BatchSequence sequence);
  size_t size() const { return bytes_.size(); }

 private:
  Buffer bytes_;
  LogBatchHeader header_;
};

/// 20,000 rows in batches of `batch_rows`, or one batch if that is more. Errors: kInvalidConfig.
Result<std::vector<ReadyBatch>> MakeBatches(int columns, int batch_rows,
                                            const std::string& compression);

}  // namespace weir::load
