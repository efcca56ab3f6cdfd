#include "weir/record/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace weir {
namespace {

using nlohmann::json;
using testing::ElementsAre;

std::vector<int32_t> IdsOf(const Schema& schema) {
  std::vector<int32_t> ids;
  for (const Column& column : schema.columns) ids.push_back(column.id);
  return ids;
}

json Plain(const char* name, const char* type) {
  return {{"name", name}, {"data_type", {{"type", type}}}};
}

json RowOf(json fields) {
  return {{"type", "ROW"}, {"fields", std::move(fields)}};
}

// A row column with a row inside of it, without ids.
json NestedColumn(const char* name) {
  const json inner = RowOf({{{"name", "y"}, {"field_type", {{"type", "INTEGER"}}}}});
  return {{"name", name},
          {"data_type", RowOf({{{"name", "x"}, {"field_type", inner}},
                               {{"name", "z"}, {"field_type", {{"type", "STRING"}}}}})}};
}

// A list, because compilers do not agree on whether braces around one JSON value make an array.
Result<Schema> Decode(const std::vector<json>& columns, json more = json::object()) {
  more["columns"] = columns;
  return DecodeSchema(more.dump());
}

TEST(Schema, IsWrittenAsItIsRead) {
  const std::string text =
      R"({"auto_increment_column":["n"],"columns":[)"
      R"({"data_type":{"nullable":false,"type":"STRING"},"id":0,"name":"k"},)"
      R"({"comment":"numbered","data_type":{"type":"BIGINT"},"id":1,"name":"n"},)"
      R"({"agg_function":{"parameters":{"delimiter":"|"},"type":"listagg"},"data_type":{"type":"STRING"},"id":2,"name":"v"},)"
      R"({"data_type":{"fields":[{"field_id":4,"field_type":{"type":"DOUBLE"},"name":"x"}],"type":"ROW"},"id":3,"name":"r"})"
      R"(],"highest_field_id":9,"primary_key":["k"],"version":1})";
  const auto schema = DecodeSchema(text);
  ASSERT_TRUE(schema.ok()) << schema.error().message;
  EXPECT_EQ(EncodeSchema(*schema), text);
  EXPECT_EQ(schema->columns[2].aggregation->function, Aggregate::kListagg);
}

TEST(Schema, NumbersColumnsWithoutIdsDepthFirst) {
  const auto schema = Decode({Plain("a", "INTEGER"), NestedColumn("r"), Plain("b", "STRING")});
  ASSERT_TRUE(schema.ok()) << schema.error().message;
  EXPECT_THAT(IdsOf(*schema), ElementsAre(0, 1, 5));
  const auto fields = schema->columns[1].type.fields();
  EXPECT_EQ(fields[0].field_id, 2);
  EXPECT_EQ(fields[0].type.fields()[0].field_id, 3);
  EXPECT_EQ(fields[1].field_id, 4);
  EXPECT_EQ(schema->highest_field_id, 5);
}

TEST(Schema, KeepsTheHighestIdThatAClientSays) {
  EXPECT_EQ(Decode({Plain("a", "INTEGER")}, {{"highest_field_id", 20}})->highest_field_id, 20);
  json a = Plain("a", "INTEGER");
  a["id"] = 3;
  EXPECT_EQ(Decode({a}, {{"highest_field_id", 20}})->highest_field_id, 20);
  EXPECT_EQ(Decode({a})->highest_field_id, 3);
}

TEST(Schema, NumbersNestedFieldsThatHaveNoIdAboveAllOthers) {
  json r = NestedColumn("r");
  r["id"] = 6;
  const auto schema = Decode({r});
  ASSERT_TRUE(schema.ok()) << schema.error().message;
  EXPECT_EQ(schema->columns[0].type.fields()[0].field_id, 7);
  EXPECT_EQ(schema->highest_field_id, 9);
}

TEST(Schema, MayHaveNoColumns) {
  const auto schema = Decode({});
  ASSERT_TRUE(schema.ok());
  EXPECT_EQ(schema->highest_field_id, kNoFieldId);
}

TEST(Schema, MakesColumnsOfThePrimaryKeyNotNull) {
  const auto schema = Decode({Plain("v", "STRING"), Plain("b", "INTEGER"), Plain("a", "INTEGER")},
                             {{"primary_key", {"a", "b"}}});
  ASSERT_TRUE(schema.ok());
  EXPECT_THAT(schema->primary_key, ElementsAre(2, 1));
  EXPECT_TRUE(schema->columns[0].type.nullable());
  EXPECT_FALSE(schema->columns[1].type.nullable());
  EXPECT_FALSE(schema->columns[2].type.nullable());
}

TEST(Schema, TakesAnUnknownAggregateForNone) {
  json v = Plain("v", "INTEGER");
  v["agg_function"] = {{"type", "median"}};
  EXPECT_FALSE(Decode({v})->columns[0].aggregation);
  v["agg_function"] = {{"type", "BOOL-and"}};
  EXPECT_EQ(Decode({v})->columns[0].aggregation->function, Aggregate::kBoolAnd);
}

TEST(Schema, RefusesWhatBreaksItsRules) {
  json a = Plain("a", "INTEGER");
  json b = Plain("b", "STRING");
  json numbered_a = a;
  numbered_a["id"] = 0;
  json numbered_b = b;
  numbered_b["id"] = 0;
  json summed = a;
  summed["agg_function"] = {{"type", "sum"}};
  json nested = NestedColumn("r");
  nested["id"] = 1;
  nested["data_type"]["fields"][1]["field_id"] = 1;
  const std::vector<std::pair<const char*, Result<Schema>>> cases = {
      {"no columns member", DecodeSchema("{}")},
      {"two columns of one name", Decode({a, Plain("a", "STRING")})},
      {"a column without a name", Decode({Plain("", "INTEGER")})},
      {"a column without a type", Decode({json::object({{"name", "a"}})})},
      {"two columns of one id", Decode({numbered_a, numbered_b})},
      {"only some ids", Decode({numbered_a, b})},
      {"an id above the highest", Decode({nested}, {{"highest_field_id", 0}})},
      {"a nested id that a column has", Decode({nested})},
      {"an unknown key column", Decode({a}, {{"primary_key", {"zz"}}})},
      {"a key column twice", Decode({a}, {{"primary_key", {"a", "a"}}})},
      {"a key that is no list", Decode({a}, {{"primary_key", "a"}})},
      {"an aggregate on a key column", Decode({summed, b}, {{"primary_key", {"a"}}})},
      {"auto-increment of a string",
       Decode({a, b}, {{"primary_key", {"a"}}, {"auto_increment_column", {"b"}}})},
      {"auto-increment of the key",
       Decode({a, b}, {{"primary_key", {"a"}}, {"auto_increment_column", {"a"}}})},
      {"auto-increment without a key", Decode({a, b}, {{"auto_increment_column", {"a"}}})},
      {"unknown auto-increment",
       Decode({a, b}, {{"primary_key", {"a"}}, {"auto_increment_column", {"zz"}}})},
      {"no ids left", Decode({nested}, {{"highest_field_id", INT32_MAX}})},
  };
  for (const auto& [name, schema] : cases) {
    ASSERT_FALSE(schema.ok()) << name;
    EXPECT_EQ(schema.error().code, ErrorCode::kInvalidTable)
        << name << ": " << schema.error().message;
  }
}

TEST(Schema, HasSoManyFieldsAndNoMore) {
  std::vector<json> columns;
  for (size_t i = 0; i < kFieldsMax; ++i)
    columns.push_back(Plain(std::to_string(i).c_str(), "INTEGER"));
  EXPECT_TRUE(Decode(columns).ok());
  columns.back()["data_type"] = RowOf({{{"name", "x"}, {"field_type", {{"type", "INTEGER"}}}}});
  EXPECT_FALSE(Decode(columns).ok());
  columns.push_back(Plain("one more", "INTEGER"));
  EXPECT_FALSE(Decode(columns).ok());
}

TEST(WithColumnsAdded, NumbersNewColumnsAndTheirFieldsAboveTheHighestId) {
  const Schema schema = *Decode({Plain("a", "INTEGER")}, {{"highest_field_id", 4}});
  const Schema nested = *Decode({NestedColumn("r")});
  std::vector<Column> added = {Column{.name = "r",
                                      .type = nested.columns[0].type,
                                      .id = kNoFieldId,
                                      .comment = {},
                                      .aggregation = {}},
                               Column{.name = "b",
                                      .type = DataType::Char(3),
                                      .id = kNoFieldId,
                                      .comment = "new",
                                      .aggregation = {}}};
  const auto grown = WithColumnsAdded(schema, std::move(added));
  ASSERT_TRUE(grown.ok()) << grown.error().message;
  EXPECT_THAT(IdsOf(*grown), ElementsAre(0, 5, 9));
  EXPECT_EQ(grown->columns[1].type.fields()[1].field_id, 8);
  EXPECT_EQ(grown->highest_field_id, 9);
  EXPECT_EQ(grown->columns[2].comment, "new");
}

TEST(WithColumnsAdded, RefusesBadNamesAndColumnsThatAreNotNull) {
  const Schema schema = *Decode({Plain("a", "INTEGER")});
  const DataType type = DataType::Of(TypeKind::kInt);
  for (const auto& [name, added] : std::vector<std::pair<std::string, DataType>>{
           {"a", type}, {"", type}, {"__offset", type}, {"b", type.NotNull()}}) {
    const auto grown = WithColumnsAdded(
        schema,
        {Column{.name = name, .type = added, .id = kNoFieldId, .comment = {}, .aggregation = {}}});
    ASSERT_FALSE(grown.ok()) << name;
    EXPECT_EQ(grown.error().code, ErrorCode::kInvalidAlteration);
  }
}

TEST(CheckAggregation, WantsAFunctionThatFitsTheType) {
  const auto fits = [](Aggregate function, const DataType& type) {
    return CheckAggregation(Aggregation{.function = function, .parameters = {}}, type).ok();
  };
  EXPECT_TRUE(fits(Aggregate::kSum, DataType::Decimal(5, 2)));
  EXPECT_FALSE(fits(Aggregate::kSum, DataType::Of(TypeKind::kString)));
  EXPECT_TRUE(fits(Aggregate::kMax, DataType::TimestampLtz(3)));
  EXPECT_FALSE(fits(Aggregate::kMax, DataType::Of(TypeKind::kBoolean)));
  EXPECT_FALSE(fits(Aggregate::kMin, DataType::Of(TypeKind::kBytes)));
  EXPECT_TRUE(fits(Aggregate::kListagg, DataType::Char(2)));
  EXPECT_TRUE(fits(Aggregate::kBoolOr, DataType::Of(TypeKind::kBoolean)));
  EXPECT_TRUE(fits(Aggregate::kRbm64, DataType::Of(TypeKind::kBytes)));
  EXPECT_TRUE(fits(Aggregate::kLastValue, DataType::Array(DataType::Of(TypeKind::kInt))));
}

TEST(CheckAggregation, KnowsADelimiterOfListsOnly) {
  const DataType text = DataType::Of(TypeKind::kString);
  const std::map<std::string, std::string> delimiter = {{"delimiter", "|"}};
  EXPECT_TRUE(CheckAggregation(Aggregation{Aggregate::kStringAgg, delimiter}, text).ok());
  EXPECT_EQ(CheckAggregation(Aggregation{Aggregate::kMax, delimiter}, text).error().code,
            ErrorCode::kInvalidConfig);
  EXPECT_FALSE(CheckAggregation(Aggregation{Aggregate::kListagg, {{"limit", "3"}}}, text).ok());
}

}  // namespace
}  // namespace weir
