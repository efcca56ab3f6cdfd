#include "weir/kv/row_merger.h"

#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "weir/kv/row_testing.h"

namespace weir {
namespace {

using testing::Fields;
using testing::Print;

const DataType kInt = DataType::Of(TypeKind::kInt);
const DataType kBigInt = DataType::Of(TypeKind::kBigInt);
const DataType kString = DataType::Of(TypeKind::kString);

Column Plain(std::string name, DataType type) {
  return Column{.name = std::move(name),
                .type = std::move(type),
                .id = kNoFieldId,
                .comment = std::nullopt,
                .aggregation = std::nullopt};
}

Column With(std::string name, DataType type, Aggregate function) {
  Column column = Plain(std::move(name), std::move(type));
  column.aggregation = Aggregation{.function = function, .parameters = {}};
  return column;
}

/// k INT NOT NULL (the key), a STRING, b INT.
MergeRules Rules(MergeEngine engine, DeleteBehavior deletes = DeleteBehavior::kAllow) {
  MergeRules rules;
  rules.engine = engine;
  rules.deletes = deletes;
  rules.columns = {Plain("k", kInt.NotNull()), Plain("a", kString), Plain("b", kInt)};
  rules.primary_key = {0};
  if (engine == MergeEngine::kVersioned) rules.version_column = 2;
  return rules;
}

/// A merger and a row that it is asked about, all as text: "1 x null", and "" for no row.
class Table {
 public:
  explicit Table(MergeRules rules, PutMode mode = {})
      : rules_(std::make_shared<MergeRules>(std::move(rules))) {
    Result<std::unique_ptr<RowMerger>> made = RowMerger::Make(rules_, std::move(mode));
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
    merger_ = *std::move(made);
  }

  RowMerger& merger() { return *merger_; }

  std::vector<FieldValue> Row(const std::string& text) {
    std::istringstream words(text);
    std::vector<FieldValue> row;
    for (std::string word; words >> word;) {
      row.push_back(fields_.Parse(rules_->columns[row.size()].type, word));
    }
    return row;
  }

  std::string Text(std::span<const FieldValue> row) const {
    std::string text;
    for (size_t i = 0; i < row.size(); ++i) {
      text += (i == 0 ? "" : " ") + Print(rules_->columns[i].type, row[i]);
    }
    return text;
  }

  /// "nothing", "input", "merged: <row>", "delete" or "refused".
  std::string Put(const std::string& old, const std::string& input) {
    std::vector<FieldValue> merged(rules_->columns.size());
    const std::vector<FieldValue> before = Row(old);
    const std::vector<FieldValue> after = Row(input);
    return Told(merger_->Merge(before, after, merged), merged);
  }

  std::string Delete(const std::string& old) {
    std::vector<FieldValue> merged(rules_->columns.size());
    return Told(merger_->Delete(Row(old), merged), merged);
  }

 private:
  std::string Told(const Result<MergeKind>& kind, std::span<const FieldValue> merged) const {
    if (!kind.ok()) return "refused";
    switch (*kind) {
      case MergeKind::kNothing: return "nothing";
      case MergeKind::kInput: return "input";
      case MergeKind::kMerged: return "merged: " + Text(merged);
      case MergeKind::kDelete: return "delete";
    }
    WEIR_UNREACHABLE();
  }

  std::shared_ptr<MergeRules> rules_;
  std::unique_ptr<RowMerger> merger_;
  Fields fields_;
};

std::optional<ErrorCode> Refusal(MergeRules rules, PutMode mode) {
  const auto made =
      RowMerger::Make(std::make_shared<MergeRules>(std::move(rules)), std::move(mode));
  if (made.ok()) return std::nullopt;
  return made.error().code;
}

TEST(TheDefaultEngine, TakesTheRowWrittenLastWithoutTheOldOne) {
  Table table(Rules(MergeEngine::kNone));
  EXPECT_FALSE(table.merger().needs_old_row());
  EXPECT_EQ(table.Put("", "1 x 1"), "input");
  EXPECT_EQ(table.Put("1 x 1", "1 x 1"), "input");
  EXPECT_EQ(table.Put("1 x 1", "1 null null"), "input");
  EXPECT_EQ(table.Delete("1 x 1"), "delete");
}

TEST(TheDefaultEngine, WritesTheColumnsThatAreNamed) {
  Table table(Rules(MergeEngine::kNone), {.target_columns = {0, 1}});
  EXPECT_TRUE(table.merger().needs_old_row());
  EXPECT_EQ(table.Put("", "1 x null"), "input");
  EXPECT_EQ(table.Put("1 x 5", "1 y null"), "merged: 1 y 5");
  EXPECT_EQ(table.Put("1 x 5", "1 x null"), "merged: 1 x 5") << "the same again is an update";
  EXPECT_EQ(table.Put("1 x 5", "1 null null"), "merged: 1 null 5");
}

TEST(TheDefaultEngine, PassesOverValuesOfColumnsThatAreNotNamed) {
  Table table(Rules(MergeEngine::kNone), {.target_columns = {1, 0}});
  EXPECT_EQ(table.Put("", "1 x 9"), "merged: 1 x null");
  EXPECT_EQ(table.Put("1 x 5", "1 y 9"), "merged: 1 y 5");
}

TEST(TheDefaultEngine, ChangesNothingWhenOnlyTheKeyIsNamed) {
  Table table(Rules(MergeEngine::kNone), {.target_columns = {0}});
  EXPECT_EQ(table.Put("1 x 5", "1 null null"), "nothing");
  EXPECT_EQ(table.Put("", "1 null null"), "input");
}

TEST(TheDefaultEngine, TakesAllColumnsForAWholeRow) {
  Table table(Rules(MergeEngine::kNone), {.target_columns = {2, 1, 0}});
  EXPECT_TRUE(table.merger().needs_old_row()) << "to tell whether it is new";
  EXPECT_EQ(table.Put("1 x 5", "1 null 6"), "input");
  EXPECT_EQ(table.Delete("1 x 5"), "delete");
}

TEST(APartialDelete, ClearsTheColumnsThatAreNamed) {
  for (const MergeEngine engine :
       {MergeEngine::kNone, MergeEngine::kAggregation, MergeEngine::kPartialUpdate}) {
    Table table(Rules(engine), {.target_columns = {0, 1}});
    EXPECT_EQ(table.Delete("1 x 5"), "merged: 1 null 5");
    EXPECT_EQ(table.Delete("1 null 5"), "merged: 1 null 5");
    EXPECT_EQ(table.Delete("1 x null"), "delete") << "nothing but the key would be left";
  }
}

TEST(FirstRow, KeepsTheRowThatIsThere) {
  Table table(Rules(MergeEngine::kFirstRow, DeleteBehavior::kIgnore));
  EXPECT_TRUE(table.merger().needs_old_row());
  EXPECT_EQ(table.Put("", "1 x 1"), "input");
  EXPECT_EQ(table.Put("1 x 1", "1 y 2"), "nothing");
  EXPECT_EQ(table.Delete("1 x 1"), "nothing");
}

TEST(Versioned, KeepsTheRowWithTheHighestVersion) {
  Table table(Rules(MergeEngine::kVersioned, DeleteBehavior::kIgnore));
  EXPECT_EQ(table.Put("", "1 x 1"), "input");
  EXPECT_EQ(table.Put("1 x 10", "1 older 9"), "nothing");
  EXPECT_EQ(table.Put("1 x 10", "1 equal 10"), "input");
  EXPECT_EQ(table.Put("1 x 10", "1 newer 11"), "input");
  EXPECT_EQ(table.Delete("1 x 10"), "nothing");
}

TEST(Versioned, TakesNullForTheLowestVersion) {
  Table table(Rules(MergeEngine::kVersioned));
  EXPECT_EQ(table.Put("1 x -5", "1 y null"), "nothing");
  EXPECT_EQ(table.Put("1 x null", "1 y null"), "input");
  EXPECT_EQ(table.Put("1 x null", "1 y -5"), "input");
  EXPECT_EQ(table.Put("1 x -2147483648", "1 y null"), "input");
}

TEST(Versioned, OrdersAllTypesOfVersions) {
  for (const DataType& type : {kBigInt, DataType::Timestamp(9), DataType::TimestampLtz(6)}) {
    MergeRules rules = Rules(MergeEngine::kVersioned);
    rules.columns[2].type = type;
    Table table(std::move(rules));
    EXPECT_EQ(table.Put("1 x -1099511627776", "1 y 1099511627776"), "input");
    EXPECT_EQ(table.Put("1 x 1099511627776", "1 y -1099511627776"), "nothing");
    EXPECT_EQ(table.Put("1 x null", "1 y -1099511627776"), "input");
    if (type.kind() == TypeKind::kBigInt) continue;
    EXPECT_EQ(table.Put("1 x 5.2000", "1 y 5.1000"), "nothing");
    EXPECT_EQ(table.Put("1 x 5.1000", "1 y 5.2000"), "input");
  }
}

MergeRules SumAndMax(DeleteBehavior deletes = DeleteBehavior::kAllow) {
  MergeRules rules = Rules(MergeEngine::kAggregation, deletes);
  rules.columns = {Plain("k", kInt.NotNull()), With("sum", kInt, Aggregate::kSum),
                   With("max", kInt, Aggregate::kMax)};
  return rules;
}

TEST(Aggregation, CombinesEachColumn) {
  Table table(SumAndMax());
  EXPECT_TRUE(table.merger().needs_old_row());
  EXPECT_EQ(table.Put("", "1 1 1"), "input");
  EXPECT_EQ(table.Put("1 1 1", "1 2 0"), "merged: 1 3 1");
  EXPECT_EQ(table.Put("1 3 1", "1 0 0"), "merged: 1 3 1") << "no change is an update";
  EXPECT_EQ(table.Put("1 3 1", "1 null null"), "merged: 1 3 1");
  EXPECT_EQ(table.Delete("1 7 7"), "delete");
}

TEST(Aggregation, CombinesOnlyTheColumnsThatAreNamed) {
  Table table(SumAndMax(), {.target_columns = {0, 1}});
  EXPECT_EQ(table.Put("1 3 1", "1 5 9"), "merged: 1 8 1");
  EXPECT_EQ(table.Put("", "1 5 null"), "input");
  EXPECT_EQ(table.Put("", "1 5 9"), "merged: 1 5 null");
  EXPECT_EQ(table.Delete("1 8 1"), "merged: 1 null 1");
}

TEST(Aggregation, RefusesWhatItCannotCombine) {
  MergeRules rules = Rules(MergeEngine::kAggregation);
  rules.columns[1] = With("a", DataType::Of(TypeKind::kBytes), Aggregate::kRbm32);
  rules.columns[2] = With("b", DataType::Decimal(3, 0), Aggregate::kSum);
  Table table(std::move(rules));
  EXPECT_EQ(table.Put("", "1 junk 1"), "refused");
  EXPECT_EQ(table.Put("", "1 null 1"), "input");
  EXPECT_EQ(table.Put("1 null 998", "1 null 1"), "merged: 1 null 999");
  EXPECT_EQ(table.Put("1 null 999", "1 null 1"), "refused");
}

TEST(PartialUpdate, FillsInWhatIsNotNull) {
  Table table(Rules(MergeEngine::kPartialUpdate, DeleteBehavior::kIgnore));
  EXPECT_TRUE(table.merger().needs_old_row());
  EXPECT_EQ(table.Put("", "1 x null"), "input");
  EXPECT_EQ(table.Put("1 x null", "1 null 5"), "merged: 1 x 5");
  EXPECT_EQ(table.Put("1 x 5", "1 y null"), "merged: 1 y 5");
  EXPECT_EQ(table.Put("1 x 5", "1 null null"), "merged: 1 x 5");
  EXPECT_EQ(table.Put("1 x 5", "1 y 6"), "input");
  EXPECT_EQ(table.Delete("1 x 5"), "nothing");
}

TEST(PartialUpdate, TakesPartialWrites) {
  Table table(Rules(MergeEngine::kPartialUpdate), {.target_columns = {0, 1}});
  EXPECT_EQ(table.Put("1 x 5", "1 y 9"), "merged: 1 y 5");
  EXPECT_EQ(table.Put("1 x 5", "1 null 9"), "merged: 1 x 5");
  Table key_only(Rules(MergeEngine::kPartialUpdate), {.target_columns = {0}});
  EXPECT_EQ(key_only.Put("1 x 5", "1 null null"), "nothing");
}

TEST(PartialUpdate, PassesAggregateFunctionsOver) {
  MergeRules rules = SumAndMax();
  rules.engine = MergeEngine::kPartialUpdate;
  Table table(std::move(rules));
  EXPECT_EQ(table.Put("1 3 9", "1 5 null"), "merged: 1 5 9");
}

TEST(Overwriting, PassesTheMergeEngineOver) {
  for (const MergeEngine engine : {MergeEngine::kFirstRow, MergeEngine::kVersioned,
                                   MergeEngine::kAggregation, MergeEngine::kPartialUpdate}) {
    Table table(Rules(engine, DeleteBehavior::kDisable),
                {.target_columns = {}, .is_overwrite = true});
    EXPECT_FALSE(table.merger().needs_old_row());
    EXPECT_EQ(table.Put("1 x 5", "1 null 1"), "input");
    EXPECT_TRUE(table.merger().CheckDeletes().ok());
    EXPECT_EQ(table.Delete("1 x 5"), "delete");
    Table partial(Rules(engine), {.target_columns = {0, 2}, .is_overwrite = true});
    EXPECT_EQ(partial.Put("1 x 5", "1 null 1"), "merged: 1 x 1");
  }
}

TEST(Deletes, CanBeIgnoredOrRefused) {
  for (const MergeEngine engine : {MergeEngine::kNone, MergeEngine::kFirstRow,
                                   MergeEngine::kAggregation, MergeEngine::kPartialUpdate}) {
    Table ignoring(Rules(engine, DeleteBehavior::kIgnore));
    EXPECT_TRUE(ignoring.merger().CheckDeletes().ok());
    EXPECT_EQ(ignoring.Delete("1 x 1"), "nothing");
    Table refusing(Rules(engine, DeleteBehavior::kDisable));
    EXPECT_EQ(refusing.merger().CheckDeletes().error().code, ErrorCode::kDeletionDisabled);
    EXPECT_EQ(refusing.Delete("1 x 1"), "refused");
  }
}

TEST(PartialWrites, AreRefusedWhereATableDoesNotTakeThem) {
  const auto target = ErrorCode::kInvalidTargetColumn;
  const MergeRules rules = Rules(MergeEngine::kNone);
  EXPECT_EQ(Refusal(rules, {.target_columns = {1}}), target) << "no key";
  EXPECT_EQ(Refusal(rules, {.target_columns = {0, 3}}), target) << "no such column";
  EXPECT_EQ(Refusal(rules, {.target_columns = {0, -1}}), target);
  EXPECT_EQ(Refusal(rules, {.target_columns = {0, 1, 1}}), std::nullopt);
  EXPECT_EQ(Refusal(Rules(MergeEngine::kFirstRow), {.target_columns = {0, 1}}), target);
  EXPECT_EQ(Refusal(Rules(MergeEngine::kVersioned), {.target_columns = {0, 1}}), target);
  EXPECT_EQ(Refusal(Rules(MergeEngine::kFirstRow), {.target_columns = {0, 1, 2}}), std::nullopt);
  MergeRules not_null = rules;
  not_null.columns[1].type = kString.NotNull();
  EXPECT_EQ(Refusal(not_null, {.target_columns = {0, 1}}), target) << "it may be a new row";
  EXPECT_EQ(Refusal(not_null, {.target_columns = {0, 1, 2}}), std::nullopt);
}

TEST(PartialWrites, MustNameTheWholeKey) {
  MergeRules rules = Rules(MergeEngine::kNone);
  rules.columns[2].type = kInt.NotNull();
  rules.primary_key = {2, 0};
  rules.columns.push_back(Plain("c", kInt));
  EXPECT_EQ(Refusal(rules, {.target_columns = {0, 1}}), ErrorCode::kInvalidTargetColumn);
  EXPECT_EQ(Refusal(rules, {.target_columns = {2, 1, 0}}), std::nullopt);
}

TEST(AnAutoIncrementColumn, IsFilledInOnceAndStays) {
  MergeRules rules = Rules(MergeEngine::kNone);
  rules.columns[2].type = kInt.NotNull();
  rules.auto_increment = 2;
  EXPECT_EQ(Refusal(rules, {}), ErrorCode::kInvalidTargetColumn) << "it would be written";
  EXPECT_EQ(Refusal(rules, {.target_columns = {0, 1, 2}}), ErrorCode::kInvalidTargetColumn);
  Table table(rules, {.target_columns = {0, 1}});
  EXPECT_EQ(table.Put("", "1 x 41"), "input");
  EXPECT_EQ(table.Put("1 x 41", "1 y null"), "merged: 1 y 41");
}

/// What a table holds after some writes, each batch with a merger of its own.
std::string Fold(const MergeRules& rules, const std::vector<std::string>& writes,
                 const std::vector<size_t>& batch_ends) {
  std::string row;
  size_t next = 0;
  for (const size_t end : batch_ends) {
    Table table(rules);
    for (; next < end; ++next) {
      if (writes[next] == "delete") {
        if (row.empty()) continue;
        const std::string told = table.Delete(row);
        if (told == "delete") row.clear();
        continue;
      }
      const std::string told = table.Put(row, writes[next]);
      if (told == "input") row = writes[next];
      if (told.starts_with("merged: ")) row = told.substr(8);
    }
  }
  return row;
}

TEST(AnyEngine, GivesTheSameHoweverWritesAreBatched) {
  std::mt19937 random(3);
  for (const MergeEngine engine :
       {MergeEngine::kNone, MergeEngine::kFirstRow, MergeEngine::kVersioned,
        MergeEngine::kAggregation, MergeEngine::kPartialUpdate}) {
    MergeRules rules = Rules(engine);
    rules.columns.push_back(With("sum", DataType::Decimal(30, 3), Aggregate::kSum));
    rules.columns.push_back(With("list", kString, Aggregate::kListagg));
    for (int turn = 0; turn < 50; ++turn) {
      std::vector<std::string> writes;
      const auto word = [&](const std::string& value) {
        return random() % 3 == 0 ? std::string("null") : value;
      };
      const size_t count = 1 + random() % 20;
      for (size_t i = 0; i < count; ++i) {
        const std::string number = std::to_string(random() % 7);
        writes.push_back(random() % 8 == 0 ? "delete"
                                           : "1 " + word("t" + number) + " " + word(number) + " " +
                                                 word(number) + " " + word("x" + number));
      }
      std::vector<size_t> ends;
      for (size_t i = 1; i < count; ++i) {
        if (random() % 3 == 0) ends.push_back(i);
      }
      ends.push_back(count);
      EXPECT_EQ(Fold(rules, writes, {count}), Fold(rules, writes, ends));
    }
  }
}

}  // namespace
}  // namespace weir
