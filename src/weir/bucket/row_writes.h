// What a put does to the rows of a bucket: each record is merged with the row that there is, the
// new rows are staged in the state, and the changes become one batch of the changelog.
//
// Lives on its bucket's loop. One write at a time (the bucket gives turns).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "weir/bucket/bucket_table.h"
#include "weir/kv/kv_state.h"
#include "weir/record/changelog.h"
#include "weir/record/kv_batch.h"
#include "weir/runtime/blocking_pool.h"
#include "weir/runtime/event_loop.h"
#include "weir/runtime/task.h"

namespace weir {

/// Numbers for auto-increment columns that nobody had before: [first, end).
struct NumberRange {
  int64_t first = 0;
  int64_t end = 0;
};

class NumberSource {
 public:
  virtual ~NumberSource() = default;
  /// At least `count` numbers for a table. Errors: kNoSpace, kIo, kUnknownBucket.
  virtual Task<Result<NumberRange>> Reserve(TableId table, int64_t count) = 0;
};

struct RowChanges {
  /// A batch of the changelog, of one offset if there are no changes.
  Buffer batch;
  int64_t row_count_change = 0;
};

class RowWrites {
 public:
  /// What is passed by reference outlives it.
  RowWrites(TableId table, KvState& state, NumberSource& numbers, EventLoop& loop,
            BlockingPool& pool);
  ~RowWrites();

  /// Merges a write, of which `time` is the commit time. The new rows are staged in the state, to
  /// be sealed or undone. A large write takes many turns of the loop, in which others read. Errors:
  /// nothing is staged. kCorruptBatch (a row or its key cannot be read, or the key is not the
  /// row's), kSchemaNotFound, kInvalidTargetColumn, kDeletionDisabled, kInvalidValue,
  /// kRecordTooLarge; kIo, kCorruptData, kNoSpace; why rows were lost meanwhile.
  Task<Result<RowChanges>> Merge(std::shared_ptr<const RowTable> table, const KvBatchView* batch,
                                 const PutMode* mode, Timestamp time);

  /// Deletes those of some rows, not many, that were not written after `expired_at`, whatever the
  /// table's merge engine says of deletes. Then as after Merge. Errors: nothing is staged. kIo,
  /// kCorruptData; why rows were lost meanwhile.
  Task<Result<RowChanges>> DeleteExpired(std::shared_ptr<const RowTable> table,
                                         const std::vector<HotRowRef>* rows, Timestamp expired_at);

  /// The state has lost rows that were written before: so a write under way must be done anew.
  void OnLost(const Error& why) { lost_ = why; }

 private:
  struct Scratch;

  /// Fetches rows from memory: what is there of them, and their places.
  void PrefetchRows(std::span<const KvRecord> records);
  /// Brings what the write needs: numbers, and the rows that there are.
  Task<Status> Prepare(const RowTable& table, const KvBatchView& batch, const RowMerger& merger);
  Task<Status> MergeRecords(const RowTable& table, const KvBatchView& batch, RowMerger& merger,
                            int64_t* row_count_change);
  void BeginChangelog(std::shared_ptr<const RowTable> table);
  Task<Status> LoadRows(std::vector<Bytes> cold_keys);
  /// The changes that were collected, or why they were not; then nothing is staged.
  Task<Result<RowChanges>> Finish(SchemaId schema, KvBatchHeader header, Status collected,
                                  int64_t row_count_change);
  Status PutRow(const RowTable& table, SchemaId schema, const KvRecord& record, RowMerger& merger,
                int64_t* row_count_change);
  Status DeleteRow(const RowTable& table, const KvRecord& record, RowMerger& merger,
                   int64_t* row_count_change);
  Status DeleteIfExpired(const RowTable& table, Bytes key, Timestamp expired_at,
                         int64_t* row_count_change);
  void StageDelete(Bytes key, int64_t* row_count_change);
  Status DecodeStored(const RowTable& table, Bytes value, std::vector<FieldValue>& fields) const;
  Result<RowMerger*> MergerFor(const RowTable& table, const PutMode& mode);

  const TableId table_;
  KvState& state_;
  NumberSource& numbers_;
  EventLoop& loop_;
  BlockingPool& pool_;
  NumberRange reserved_;
  /// Of the write under way.
  Timestamp time_;
  /// Since it began.
  std::optional<Error> lost_;
  std::unique_ptr<Scratch> scratch_;
};

/// Makes state of the changelog: what a restart does with what is not on the disk. Stages the rows
/// of `batch`. Returns by how much the number of rows changes. Errors: kCorruptData.
Result<int64_t> ReplayChanges(const RowTable& table, const LogBatchView& batch, KvState& state);

}  // namespace weir
