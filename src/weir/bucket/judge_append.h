// What to do with the batches of an append, given what is known of their writer. Decides only.
#pragma once

#include <optional>
#include <vector>

#include "weir/base/ids.h"
#include "weir/base/result.h"
#include "weir/log/writer_table.h"
#include "weir/record/log_batch.h"

namespace weir {

/// The batch after `last` of the same writer; sequences go round after the largest one.
bool Follows(BatchSequence next, BatchSequence last);

/// Offsets of records that lie together: [base, end).
struct OffsetRange {
  LogOffset base;
  LogOffset end;

  bool operator==(const OffsetRange&) const = default;
};

/// Where the batches were appended before, or nothing if they are new and in order. Several batches
/// of one append must all be new or all be known.
///
/// Errors: kOutOfOrderSequence if a batch is neither the next one of its writer nor one of its
/// recent ones, or is not its first while the writer is unknown. Source: Fluss protocol, writer ids
/// and sequences.
Result<std::optional<OffsetRange>> JudgeAppend(const WriterTable& writers,
                                               const std::vector<LogBatchHeader>& batches);

}  // namespace weir
