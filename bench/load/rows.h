// The rows of the benches, ready to be sent. 10 columns are 100 bytes of numbers and short
// hexadecimal texts, 50 columns are 1,000 bytes, most of them hexadecimal texts of 40 characters:
// the rows that bench/clients/latency.py and other clients use too, so that figures compare.
// Hexadecimal digits halve under ZSTD.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/load/ready_batch.h"

namespace weir::load {

/// Bytes of a row as the user counts them: the widths of its values.
int RowBytes(int columns);

/// The descriptor of a log table of such rows (Fluss protocol, TableDescriptor JSON).
/// `durability` may be empty.
std::string TableJson(int columns, int buckets, const std::string& compression,
                      const std::string& durability);

/// 20,000 rows in batches of `batch_rows`, or one batch if that is more. Errors: kInvalidConfig.
Result<std::vector<ReadyBatch>> MakeBatches(int columns, int batch_rows,
                                            const std::string& compression);

}  // namespace weir::load
