// The rows of one bucket that are in memory, with their versions: which of them a reader sees,
// which are to be written to the disk, and which may be forgotten because the disk has them.
// Decides only: no IO, no suspension.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "weir/base/bytes.h"
#include "weir/base/ids.h"
#include "weir/kv/hot_row.h"
#include "weir/kv/row_list.h"
#include "weir/kv/row_tree.h"

namespace weir {

/// What a look into the map tells of a key.
enum class HotLookup : uint8_t {
  kRow,     // there is a row
  kAbsent,  // there is none, and the disk need not be asked
  kCold,    // the disk must be asked
};

/// The state as it was at an offset.
struct KvCheckpoint {
  /// All changes below it, and none above it, are in.
  LogOffset log_offset;
  int64_t row_count = 0;
};

class HotMap {
 public:
  /// `is_complete`: the disk has no rows. A step of a flush may become longer than it should by
  /// what is committed in `mark_bytes`.
  HotMap(KvCheckpoint checkpoint, bool is_complete, size_t mark_bytes, bool keeps_times);
  ~HotMap();
  HotMap(const HotMap&) = delete;
  HotMap& operator=(const HotMap&) = delete;

  // --- Reading

  HotLookup FindNewest(Bytes key, HotRowRef* row);
  HotLookup FindCommitted(Bytes key, HotRowRef* row);

  /// See KvState::Prefetch.
  void Prefetch(std::span<const Bytes> keys, bool is_write) const {
    tree_.Prefetch(keys, is_write);
  }

  /// The newest version of these below the high watermark, a tombstone as well, or null.
  HotRow* Committed(HotRow* newest) const;
  HotRow* Committed(Bytes key) const { return Committed(tree_.Find(key)); }

  const RowTree& tree() const { return tree_; }
  LogOffset high_watermark() const { return high_watermark_; }
  int64_t row_count() const { return row_count_; }
  /// Whether all rows are in the map: then a key that is not there is nowhere.
  bool is_complete() const { return is_complete_; }

  /// Forgets everything, committed or not, in several calls: up to `rows_max` rows in this one.
  /// Returns whether there are more. From the first call on keys are cold, and nothing may be
  /// written.
  bool Clear(size_t rows_max);

  /// Memory of all versions and of the tree.
  size_t bytes() const { return row_bytes_ + tree_.bytes(); }
  /// Of committed rows that the disk does not have.
  size_t dirty_bytes() const { return dirty_bytes_; }
  /// Of rows that are neither committed nor on the disk.
  size_t pending_bytes() const { return pending_bytes_; }
  size_t clean_rows() const { return clean_.size(); }

  // --- Writing; see KvState.

  void StagePut(Bytes key, SchemaId schema_id, Bytes row, Timestamp written_at);
  void StageDelete(Bytes key);
  void Seal(LogOffset end, int64_t row_count_change);
  void Unstage();
  void OnCommitted(LogOffset high_watermark);
  void OnLost(LogOffset from);

  // --- What the disk has

  bool keeps_times() const { return keeps_times_; }

  /// What the disk says of a key, without a value that it is absent, becomes a clean row, unless a
  /// committed version is there. Gives the committed version.
  HotRowRef AddClean(Bytes key, std::optional<Bytes> value);

  /// Forgets clean rows that were not read for a while: looks at up to `rows_max` of them, until
  /// `bytes_min` are free. Rows with an end above `barrier` stay. Returns what is free.
  size_t Evict(size_t rows_max, size_t bytes_min, LogOffset barrier);

  // --- Flushing: Begin, Collect until it returns false, then rows() are written, then Finish or
  // Undo until it returns false.

  /// One step of a flush: what the disk has after it.
  struct FlushStep {
    size_t bytes_max = 0;
    /// All changes below `end` are in when it is written. Known at the end of collecting.
    std::optional<LogOffset> end;
    int64_t row_count = 0;
    size_t bytes = 0;
    /// In the order of their ends at first.
    std::vector<HotRowRef> rows;
    /// How many rows are dealt with after the writing.
    size_t finished = 0;
  };

  /// With `is_exact` the step takes all that is committed now: the disk then has the state as it
  /// is now, whatever commits meanwhile. Otherwise some versions that were overwritten are left
  /// out.
  FlushStep BeginFlush(size_t bytes_max, bool is_exact);
  /// Takes up to about `rows_max` rows. Returns whether there are more.
  bool CollectFlush(FlushStep& step, size_t rows_max);
  /// The rows are on the disk.
  bool FinishFlush(FlushStep& step, size_t rows_max);
  /// They are not: they are dirty again.
  void UndoFlush(FlushStep& step);

 private:
  /// A sealed write that changes the number of rows.
  struct RowCountChange {
    LogOffset end;
    int64_t change;
  };
  /// A high watermark at which a step of a flush may end, with the number of rows at it.
  struct Mark {
    LogOffset end;
    int64_t row_count;
  };

  HotLookup Seen(HotRow* row, HotRowRef* out) const;
  void Stage(HotRow* row);
  void TakeBack(HotRow* row);
  void Commit(HotRow* row);
  void SetMark();
  /// Takes a version that no reader can see any more out of the map.
  void Supersede(HotRow* older);
  void Forget(HotRow* row);

  RowTree tree_;
  RowList pending_{HotRow::Place::kPending};  // staged last
  RowList dirty_{HotRow::Place::kDirty};      // ends ascend
  RowList clean_{HotRow::Place::kClean};
  std::deque<RowCountChange> changes_;
  std::deque<Mark> marks_;
  const size_t mark_bytes_;
  const bool keeps_times_;
  size_t bytes_since_mark_ = 0;
  /// Below it a collecting flush must have every version; see BeginFlush.
  FlushStep* exact_step_ = nullptr;
  LogOffset high_watermark_;
  int64_t row_count_;
  size_t row_bytes_ = 0;
  size_t dirty_bytes_ = 0;
  size_t pending_bytes_ = 0;
  bool is_complete_;
  /// Whether a table may have been written; until then nothing is to be deleted on the disk.
  bool disk_may_have_rows_;
};

}  // namespace weir
