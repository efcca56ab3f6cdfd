// Merge engines: what becomes of a row when another one is written over it. Plain functions of
// values; the rules stand in docs/tables.md (merge engines) and docs/formats/changelog.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/base/result.h"
#include "weir/record/row.h"
#include "weir/record/schema.h"
#include "weir/record/table_choices.h"

namespace weir {

/// What a table says about merging. Positions are those of the latest schema.
struct MergeRules {
  MergeEngine engine = MergeEngine::kNone;
  DeleteBehavior deletes = DeleteBehavior::kAllow;
  /// Of the engine versioned: its version column.
  std::optional<int32_t> version_column;
  std::vector<Column> columns;
  std::vector<int32_t> primary_key;
  std::optional<int32_t> auto_increment;
};

/// What a write asks for, beside its rows.
struct PutMode {
  /// Positions of the columns that are written; empty: all.
  std::vector<int32_t> target_columns;
  /// Rows replace what there is, whatever the merge engine says, and deletes are done.
  bool is_overwrite = false;
};

enum class MergeKind : uint8_t {
  kNothing,  // the row stays as it is, or is absent and stays so
  kInput,    // the row becomes the input as it is: its bytes can be kept
  kMerged,   // the row becomes what `fields` say
  kDelete,   // the row goes
};

/// Decides for the records of one write. Keeps scratch memory: one for each write that is under
/// way.
class RowMerger {
 public:
  /// Checks what the write asks for; targets that are all columns ask for whole rows. Errors:
  /// kInvalidTargetColumn (a target misses a key column, is no column, has the auto-increment
  /// column, which whole rows have too; a table has NOT NULL columns besides its key; the engine
  /// has no partial writes).
  static Result<std::unique_ptr<RowMerger>> Make(std::shared_ptr<const MergeRules> rules,
                                                 PutMode mode);
  virtual ~RowMerger() = default;

  /// Whether the old row must be known before a write can be merged and told. False only where
  /// every write replaces the row, and does not name its columns.
  virtual bool needs_old_row() const = 0;

  /// A row is written over `old` (empty span: there is none). Rows have all columns of the latest
  /// schema; a new row has its auto-increment column filled in. On kMerged `merged` is filled; what
  /// it points to is in `old`, in `input` or in the merger, until the next call. Errors:
  /// kInvalidValue (a value that cannot be aggregated, see docs/tables.md); only of aggregation.
  virtual Result<MergeKind> Merge(std::span<const FieldValue> old,
                                  std::span<const FieldValue> input,
                                  std::span<FieldValue> merged) = 0;

  /// A delete of `old`, which there is. Errors: kDeletionDisabled.
  virtual Result<MergeKind> Delete(std::span<const FieldValue> old,
                                   std::span<FieldValue> merged) = 0;

  /// Whether deletes are refused, whatever they meet. Errors: kDeletionDisabled.
  virtual Status CheckDeletes() const = 0;
};

}  // namespace weir
