#include "weir/kv/row_merger.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "weir/base/check.h"
#include "weir/kv/aggregates.h"

namespace weir {
namespace {

using Fields = std::span<const FieldValue>;

/// Which columns a write is about, one entry a column.
struct Targets {
  std::vector<bool> is_key;
  /// Columns that the write gives, the key among them; all are, of a write of whole rows.
  std::vector<bool> is_written;
  bool is_whole = true;
  bool is_key_only = false;
  /// Whether the write says which columns it gives, be they all.
  bool are_named = false;
};

std::vector<bool> Marked(size_t columns, std::span<const int32_t> positions) {
  std::vector<bool> marks(columns, false);
  for (const int32_t position : positions) marks[static_cast<size_t>(position)] = true;
  return marks;
}

Result<Targets> FindTargets(const MergeRules& rules, const PutMode& mode) {
  const size_t columns = rules.columns.size();
  Targets targets{.is_key = Marked(columns, rules.primary_key),
                  .is_written = std::vector<bool>(columns, true)};
  if (mode.target_columns.empty()) {
    if (rules.auto_increment) {
      return Fail(ErrorCode::kInvalidTargetColumn,
                  "the server numbers a column, so writes must name theirs: column={}",
                  rules.columns[static_cast<size_t>(*rules.auto_increment)].name);
    }
    return targets;
  }
  for (const int32_t position : mode.target_columns) {
    if (position < 0 || static_cast<size_t>(position) >= columns) {
      return Fail(ErrorCode::kInvalidTargetColumn, "no such column: position={} columns={}",
                  position, columns);
    }
  }
  targets.are_named = true;
  targets.is_written = Marked(columns, mode.target_columns);
  if (rules.auto_increment && targets.is_written[static_cast<size_t>(*rules.auto_increment)]) {
    return Fail(ErrorCode::kInvalidTargetColumn,
                "the server numbers a column that the write names: column={}",
                rules.columns[static_cast<size_t>(*rules.auto_increment)].name);
  }
  if (std::find(targets.is_written.begin(), targets.is_written.end(), false) ==
      targets.is_written.end()) {
    return targets;
  }
  targets.is_whole = false;
  targets.is_key_only = targets.is_written == targets.is_key;
  for (size_t i = 0; i < columns; ++i) {
    const Column& column = rules.columns[i];
    if (targets.is_key[i]) {
      if (targets.is_written[i]) continue;
      return Fail(ErrorCode::kInvalidTargetColumn,
                  "a partial write must name all columns of the key: column={}", column.name);
    }
    const bool is_numbered = rules.auto_increment == static_cast<int32_t>(i);
    if (!column.type.nullable() && !is_numbered) {
      return Fail(ErrorCode::kInvalidTargetColumn,
                  "a table with a NOT NULL column takes no partial writes: column={}", column.name);
    }
  }
  return targets;
}

/// What all engines have in common: deletes.
class Merger : public RowMerger {
 public:
  Merger(std::shared_ptr<const MergeRules> rules, Targets targets, DeleteBehavior deletes)
      : rules_(std::move(rules)), targets_(std::move(targets)), deletes_(deletes) {}

  bool needs_old_row() const override { return true; }

  Status CheckDeletes() const override {
    if (deletes_ != DeleteBehavior::kDisable) return Ok();
    return Fail(ErrorCode::kDeletionDisabled,
                "the table refuses deletes: table.delete.behavior=disable");
  }

  Result<MergeKind> Delete(Fields old, std::span<FieldValue> merged) override {
    WEIR_TRY(CheckDeletes());
    if (deletes_ == DeleteBehavior::kIgnore) return MergeKind::kNothing;
    if (targets_.is_whole) return MergeKind::kDelete;
    bool is_something_left = false;
    for (size_t i = 0; i < old.size(); ++i) {
      const bool is_cleared = targets_.is_written[i] && !targets_.is_key[i];
      merged[i] = is_cleared ? FieldValue{} : old[i];
      is_something_left = is_something_left || (!targets_.is_written[i] && !old[i].is_null);
    }
    return is_something_left ? MergeKind::kMerged : MergeKind::kDelete;
  }

 protected:
  const MergeRules& rules() const { return *rules_; }
  const Targets& targets() const { return targets_; }

  /// A row that was not there: columns that were not written are null, whatever the input says. The
  /// numbered one was filled in.
  MergeKind Insert(Fields input, std::span<FieldValue> merged) const {
    bool is_input = true;
    for (size_t i = 0; i < input.size(); ++i) {
      const bool is_kept =
          targets_.is_written[i] || rules_->auto_increment == static_cast<int32_t>(i);
      is_input = is_input && (is_kept || input[i].is_null);
      merged[i] = is_kept ? input[i] : FieldValue{};
    }
    return is_input ? MergeKind::kInput : MergeKind::kMerged;
  }

 private:
  std::shared_ptr<const MergeRules> rules_;
  Targets targets_;
  DeleteBehavior deletes_;
};

/// The row written last counts.
class LastRowMerger final : public Merger {
 public:
  using Merger::Merger;

  /// Writes that name all columns tell new rows as such in every changelog image, as in Fluss.
  bool needs_old_row() const override { return targets().are_named; }
  Result<MergeKind> Merge(Fields, Fields, std::span<FieldValue>) override {
    return MergeKind::kInput;
  }
};

/// Of each column, the value written last counts.
class LastColumnsMerger final : public Merger {
 public:
  using Merger::Merger;

  Result<MergeKind> Merge(Fields old, Fields input, std::span<FieldValue> merged) override {
    if (old.empty()) return Insert(input, merged);
    if (targets().is_key_only) return MergeKind::kNothing;
    for (size_t i = 0; i < old.size(); ++i) {
      merged[i] = targets().is_written[i] ? input[i] : old[i];
    }
    return MergeKind::kMerged;
  }
};

/// Of each column, the last value that is not null counts.
class LastValuesMerger final : public Merger {
 public:
  using Merger::Merger;

  Result<MergeKind> Merge(Fields old, Fields input, std::span<FieldValue> merged) override {
    if (old.empty()) return Insert(input, merged);
    if (targets().is_key_only) return MergeKind::kNothing;
    bool is_input = true;
    for (size_t i = 0; i < old.size(); ++i) {
      const bool is_replaced = targets().is_written[i] && !input[i].is_null;
      is_input = is_input && is_replaced;
      merged[i] = is_replaced ? input[i] : old[i];
    }
    return is_input ? MergeKind::kInput : MergeKind::kMerged;
  }
};

class FirstRowMerger final : public Merger {
 public:
  using Merger::Merger;

  Result<MergeKind> Merge(Fields old, Fields, std::span<FieldValue>) override {
    return old.empty() ? MergeKind::kInput : MergeKind::kNothing;
  }
};

/// The row with the highest version counts; of equal ones, the last.
class VersionedMerger final : public Merger {
 public:
  using Merger::Merger;

  Result<MergeKind> Merge(Fields old, Fields input, std::span<FieldValue>) override {
    if (old.empty()) return MergeKind::kInput;
    return VersionOf(input) < VersionOf(old) ? MergeKind::kNothing : MergeKind::kInput;
  }

 private:
  /// Null is the lowest value of the type.
  std::pair<int64_t, int32_t> VersionOf(Fields row) const {
    const auto column = static_cast<size_t>(*rules().version_column);
    const FieldValue& field = row[column];
    if (!field.is_null) return {field.number, field.nanos};
    const bool is_int = rules().columns[column].type.kind() == TypeKind::kInt;
    return {is_int ? INT32_MIN : INT64_MIN, 0};
  }
};

/// Each column is combined with what there was by its function.
class AggregatingMerger final : public Merger {
 public:
  AggregatingMerger(std::shared_ptr<const MergeRules> its_rules, Targets its_targets,
                    DeleteBehavior deletes)
      : Merger(std::move(its_rules), std::move(its_targets), deletes) {
    aggregators_.reserve(rules().columns.size());
    for (const Column& column : rules().columns) aggregators_.push_back(Aggregator::Of(column));
  }

  Result<MergeKind> Merge(Fields old, Fields input, std::span<FieldValue> merged) override {
    if (old.empty()) {
      for (size_t i = 0; i < input.size(); ++i) {
        if (targets().is_written[i]) WEIR_TRY(aggregators_[i].CheckFirst(input[i]));
      }
      return Insert(input, merged);
    }
    for (size_t i = 0; i < old.size(); ++i) {
      if (targets().is_key[i] || !targets().is_written[i]) {
        merged[i] = old[i];
      } else {
        WEIR_TRY(aggregators_[i].Combine(old[i], input[i], merged[i]));
      }
    }
    return MergeKind::kMerged;
  }

 private:
  std::vector<Aggregator> aggregators_;
};

}  // namespace

Result<std::unique_ptr<RowMerger>> RowMerger::Make(std::shared_ptr<const MergeRules> rules,
                                                   PutMode mode) {
  WEIR_ASSIGN(Targets targets, FindTargets(*rules, mode));
  const MergeEngine engine = mode.is_overwrite ? MergeEngine::kNone : rules->engine;
  const DeleteBehavior deletes = mode.is_overwrite ? DeleteBehavior::kAllow : rules->deletes;
  const auto make = [&]<typename Kind>(std::type_identity<Kind>) -> std::unique_ptr<RowMerger> {
    return std::make_unique<Kind>(std::move(rules), std::move(targets), deletes);
  };
  switch (engine) {
    case MergeEngine::kNone:
      if (targets.is_whole) return make(std::type_identity<LastRowMerger>());
      return make(std::type_identity<LastColumnsMerger>());
    case MergeEngine::kFirstRow:
    case MergeEngine::kVersioned:
      if (!targets.is_whole) {
        return Fail(ErrorCode::kInvalidTargetColumn,
                    "the merge engine of the table takes whole rows only");
      }
      if (engine == MergeEngine::kFirstRow) return make(std::type_identity<FirstRowMerger>());
      WEIR_CHECK(rules->version_column.has_value());
      return make(std::type_identity<VersionedMerger>());
    case MergeEngine::kAggregation: return make(std::type_identity<AggregatingMerger>());
    case MergeEngine::kPartialUpdate: return make(std::type_identity<LastValuesMerger>());
  }
  WEIR_UNREACHABLE();
}

}  // namespace weir
