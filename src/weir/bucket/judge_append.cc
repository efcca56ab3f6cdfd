#include "weir/bucket/judge_append.h"

#include <algorithm>
#include <limits>

namespace weir {

bool Follows(BatchSequence next, BatchSequence last) {
  if (last.value == std::numeric_limits<int32_t>::max()) return next.value == 0;
  return next.value == last.value + 1;
}

Result<std::optional<OffsetRange>> JudgeAppend(const WriterTable& writers,
                                               const std::vector<LogBatchHeader>& batches) {
  std::optional<OffsetRange> known;
  // Where the writer of the batch before this one has come to within this append.
  std::optional<WriterId> writer;
  BatchSequence last = kNoBatchSequence;
  for (size_t i = 0; i < batches.size(); ++i) {
    const LogBatchHeader& batch = batches[i];
    if (batch.writer_id == kNoWriterId) {
      writer.reset();
      continue;
    }
    const WriterState* const state = writers.Find(batch.writer_id);
    if (state != nullptr) {
      const auto seen = std::find_if(
          state->recent.begin(), state->recent.end(),
          [&](const AppendedBatch& appended) { return appended.sequence == batch.batch_sequence; });
      if (seen != state->recent.end()) {
        if (i == 0) known = OffsetRange{seen->base, seen->end};
        if (known) {
          known->end = seen->end;
          continue;
        }
      }
    }
    if (writer != batch.writer_id) {
      writer = batch.writer_id;
      last = state != nullptr ? state->recent.back().sequence : kNoBatchSequence;
    }
    if (known || batch.batch_sequence.value < 0 || !Follows(batch.batch_sequence, last)) {
      return Fail(ErrorCode::kOutOfOrderSequence,
                  "batch sequence does not follow: writer={} last={} got={}", batch.writer_id, last,
                  batch.batch_sequence);
    }
    last = batch.batch_sequence;
  }
  return known;
}

}  // namespace weir
