// Who wrote to a bucket, and which batches: what makes a retried batch harmless.
//
// Source: Fluss protocol, writer ids and sequences: a writer has at most five batches in flight.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "weir/base/bytes.h"
#include "weir/base/ids.h"
#include "weir/base/result.h"

namespace weir {

struct AppendedBatch {
  BatchSequence sequence;
  LogOffset base;
  LogOffset end;
};

struct WriterState {
  /// The newest batches, oldest first; never empty in a table.
  std::vector<AppendedBatch> recent;
  Timestamp last_time;
};

class WriterTable {
 public:
  /// As many as a writer has in flight, twice: when a full disk undoes the five that are under way,
  /// the five before them are still known.
  static constexpr size_t kRecentBatches = 10;
  /// A bucket knows no more writers than this; the one that is silent for longest is forgotten
  /// first.
  static constexpr size_t kWritersMax = 4096;

  /// State of a writer, or null if it is not known.
  const WriterState* Find(WriterId writer) const;

  /// Remembers a batch that was appended. One that is known already, or is older than what is
  /// known, changes nothing.
  void Record(WriterId writer, AppendedBatch batch, Timestamp time);

  /// Forgets the batches from `end` on: they did not become part of the log.
  void ForgetFrom(LogOffset end);

  /// Forgets writers that were silent since before `now` - `idle_max_ms`.
  void ForgetIdle(Timestamp now, int64_t idle_max_ms);

  size_t size() const { return writers_.size(); }

  /// The same table always gives the same bytes.
  void EncodeTo(std::string& out) const;
  /// Takes a table off the front of `bytes`. Errors: kCorruptData.
  static Result<WriterTable> DecodeFrom(Bytes& bytes);

 private:
  void ForgetSilentest(WriterId except);

  std::unordered_map<WriterId, WriterState> writers_;
};

}  // namespace weir
