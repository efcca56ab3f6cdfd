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
  RowWrites(TableId table, KvState& state, NumberSource& numbers);
  ~RowWrites();

  /// Brings what the write needs: the rows that there are, and numbers. The rows stay in memory
  /// while what is returned is held. Errors: as MergeRows for what can be told before; kIo,
  /// kCorruptData.
  Task<Result<std::vector<HotRowRef>>> Prepare(std::shared_ptr<const RowTable> table,
                                               const KvBatchView* batch, const PutMode* mode);

  /// Merges a write that was prepared, without suspending. The new rows are staged in the state, to
  /// be sealed or undone. Errors: nothing is staged. kCorruptBatch (a row or its key cannot be
  /// read, or the key is not the row's), kSchemaNotFound, kInvalidTargetColumn, kDeletionDisabled,
  /// kInvalidValue, kRecordTooLarge.
  Result<RowChanges> Merge(const RowTable& table, const KvBatchView& batch, const PutMode& mode);

 private:
  struct Scratch;

  /// Fetches the first of `records` from memory: what is there of them, and their places.
  void PrefetchRows(std::span<const KvRecord> records);
  Status MergeRecords(const RowTable& table, const KvBatchView& batch, RowMerger& merger,
                      int64_t* row_count_change);
  Status PutRow(const RowTable& table, SchemaId schema, const KvRecord& record, RowMerger& merger,
                int64_t* row_count_change);
  Status DeleteRow(const RowTable& table, const KvRecord& record, RowMerger& merger,
                   int64_t* row_count_change);
  Status DecodeStored(const RowTable& table, Bytes value, std::vector<FieldValue>& fields) const;
  void StageMerged(const RowTable& table, Bytes key);
  Result<RowMerger*> MergerFor(const RowTable& table, const PutMode& mode);

  const TableId table_;
  KvState& state_;
  NumberSource& numbers_;
  NumberRange reserved_;
  std::unique_ptr<Scratch> scratch_;
};

/// Makes state of the changelog: what a restart does with what is not on the disk. Stages the rows
/// of `batch`. Returns by how much the number of rows changes. Errors: kCorruptData.
Result<int64_t> ReplayChanges(const RowTable& table, const LogBatchView& batch, KvState& state);

}  // namespace weir
