#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/catalog/catalog_testing.h"

namespace weir {
namespace {

using nlohmann::json;
using testing::ElementsAre;

const Timestamp kLater(kNow.value + 1000);

PropertyChange Set(std::string name, std::string value) {
  return PropertyChange{std::move(name), std::move(value), PropertyOperation::kSet};
}

PropertyChange Delete(std::string name) {
  return PropertyChange{std::move(name), std::nullopt, PropertyOperation::kDelete};
}

AddedColumn Add(std::string name, const json& type) {
  return AddedColumn{.name = std::move(name),
                     .data_type_json = type.dump(),
                     .comment = {},
                     .is_last = true,
                     .aggregate = {},
                     .aggregate_parameters = {}};
}

class AlterTable : public CatalogTest {
 protected:
  std::optional<ErrorCode> Alter(std::vector<PropertyChange> properties,
                                 std::vector<AddedColumn> columns = {},
                                 const std::string& table = "t") {
    return Do(catalog_.PlanAlterTable(TableAlteration{.path = PathOf(table),
                                                      .ignore_if_missing = false,
                                                      .properties = std::move(properties),
                                                      .added_columns = std::move(columns),
                                                      .changes_columns = false},
                                      kLater));
  }

  TablePtr Table() const { return catalog_.FindTable(PathOf("t")); }
};

TEST_F(AlterTable, AddsColumnsWithNewIdsAndKeepsOlderSchemas) {
  ASSERT_EQ(Create("t", TableJson{.highest_field_id = 1}), std::nullopt);
  const TablePtr before = Table();
  AddedColumn c = Add("c", TypeJson("DOUBLE"));
  c.comment = "new";
  const json row = {
      {"type", "ROW"},
      {"fields", {{{"name", "x"}, {"field_type", TypeJson("INTEGER")}, {"field_id", 0}}}}};
  EXPECT_EQ(Alter({}, {c}), std::nullopt);
  EXPECT_EQ(Alter({}, {Add("r", row)}), std::nullopt);
  EXPECT_EQ(Alter({}, {Add("d", {{"type", "DECIMAL"}, {"precision", 10}, {"scale", 2}})}),
            std::nullopt);

  EXPECT_EQ(Table()->schema_id(), SchemaId(4));
  EXPECT_EQ(Table()->id, before->id);
  EXPECT_EQ(Table()->modified, kLater);
  const json schema = Told("t")["schema"];
  std::vector<int> ids;
  for (const json& column : schema["columns"]) ids.push_back(column["id"]);
  EXPECT_THAT(ids, ElementsAre(0, 1, 2, 3, 5));  // 4 is the field inside of the row
  EXPECT_EQ(schema["columns"][3]["data_type"]["fields"][0]["field_id"], 4);
  EXPECT_EQ(schema["columns"][2]["comment"], "new");
  EXPECT_EQ(schema["highest_field_id"], 5);
  for (int16_t version = 1; version <= 4; ++version) {
    EXPECT_EQ(Table()->ColumnsOf(SchemaId(version)).size(), version + 1u);
    EXPECT_EQ(Table()->SchemaOf(SchemaId(version)).columns.size(), version + 1u);
  }
  EXPECT_EQ(Table()->SchemaOf(SchemaId(3)).highest_field_id, 4);
  EXPECT_FALSE(Table()->HasSchema(SchemaId(5)));
  EXPECT_FALSE(Table()->HasSchema(SchemaId(0)));
  EXPECT_EQ(before->descriptor.schema->columns.size(), 2u) << "who holds a table sees it as it was";
}

TEST_F(AlterTable, MakesOneSchemaOfSeveralColumns) {
  ASSERT_EQ(Create("t", {}), std::nullopt);
  EXPECT_EQ(Alter({}, {Add("a", TypeJson("INTEGER")), Add("b", TypeJson("STRING"))}), std::nullopt);
  EXPECT_EQ(Table()->schema_id(), SchemaId(2));
}

TEST_F(AlterTable, RefusesBadAlterations) {
  ASSERT_EQ(Create("t", {}), std::nullopt);
  const json integer = TypeJson("INTEGER");
  const auto bad = ErrorCode::kInvalidAlteration;
  EXPECT_EQ(Alter({}, {Add("name", integer)}), bad);
  EXPECT_EQ(Alter({}, {Add("x", integer), Add("x", integer)}), bad);
  EXPECT_EQ(Alter({}, {Add("", integer)}), bad);
  EXPECT_EQ(Alter({}, {Add("\xff", integer)}), bad);
  EXPECT_EQ(Alter({}, {Add("x", {{"type", "INTEGER"}, {"nullable", false}})}), bad);
  EXPECT_EQ(Alter({}, {Add("x", {{"type", "VARCHAR"}})}), bad);
  AddedColumn first = Add("x", integer);
  first.is_last = false;
  EXPECT_EQ(Alter({}, {first}), bad);
  AddedColumn summed = Add("x", integer);
  summed.aggregate = "sum";
  EXPECT_EQ(Alter({}, {summed}), bad) << "without the merge engine";
  EXPECT_EQ(Alter({Set("k", "v")}, {Add("x", integer)}), bad);
  EXPECT_EQ(Alter({}, {Add("x", integer)}, "nope"), ErrorCode::kTableNotFound);
  for (const char* name :
       {"table.log.format", "table.merge-engine", "table.replication.factor", "table.nonsense"}) {
    EXPECT_EQ(Alter({Set(name, "x")}), bad) << name;
    EXPECT_EQ(Alter({Delete(name)}), bad) << name;
  }
  EXPECT_EQ(Alter({PropertyChange{"k", std::nullopt, PropertyOperation::kSet}}), bad);
  EXPECT_EQ(Alter({PropertyChange{"k", "v", PropertyOperation::kAppend}}), bad);
  EXPECT_EQ(Alter({PropertyChange{"k", "v", static_cast<PropertyOperation>(77)}}), bad);
  EXPECT_EQ(Alter({Set("k", "\xff")}), bad);
  EXPECT_EQ(Do(catalog_.PlanAlterTable(TableAlteration{.path = PathOf("t"),
                                                       .ignore_if_missing = false,
                                                       .properties = {},
                                                       .added_columns = {},
                                                       .changes_columns = true},
                                       kLater)),
            bad);
  EXPECT_EQ(Table()->schema_id(), SchemaId(1));
  EXPECT_EQ(Told("t")["properties"], (json{{"table.replication.factor", "1"}}));
}

TEST_F(AlterTable, MayFindNothingToDo) {
  const TableAlteration missing{.path = PathOf("nope"),
                                .ignore_if_missing = true,
                                .properties = {Set("k", "v")},
                                .added_columns = {},
                                .changes_columns = false};
  const auto plan = catalog_.PlanAlterTable(missing, kLater);
  ASSERT_TRUE(plan.ok());
  EXPECT_FALSE(plan->has_value());
  ASSERT_EQ(Create("t", {}), std::nullopt);
  EXPECT_EQ(Alter({Delete("never was")}), std::nullopt);
  EXPECT_EQ(Table()->modified, kNow);
}

TEST_F(AlterTable, SetsAndDeletesCustomProperties) {
  ASSERT_EQ(
      Create("t", TableJson{.custom_properties = {{"keep", "1"}, {"change", "1"}, {"drop", "1"}}}),
      std::nullopt);
  EXPECT_EQ(Alter({Set("change", "2"), Set("new", "3"), Delete("drop"), Delete("never was")}),
            std::nullopt);
  EXPECT_EQ(Told("t")["custom_properties"], (json{{"keep", "1"}, {"change", "2"}, {"new", "3"}}));
  EXPECT_EQ(Table()->schema_id(), SchemaId(1));
  EXPECT_EQ(Table()->modified, kLater);
}

TEST_F(AlterTable, AltersTablePropertiesAndJudgesTheirValues) {
  ASSERT_EQ(Create("t", TableJson{.properties = {{"table.log.ttl", "2d"}}}), std::nullopt);
  EXPECT_EQ(Alter({Set("table.log.ttl", "1d"), Set("table.durability", "os")}), std::nullopt);
  EXPECT_EQ(Told("t")["properties"]["table.log.ttl"], "1d");
  EXPECT_EQ(Table()->options.log_ttl, std::chrono::hours(24));
  EXPECT_EQ(Table()->options.durability, Durability::kOs);
  EXPECT_EQ(Alter({Delete("table.log.ttl")}), std::nullopt);
  EXPECT_EQ(Table()->options.log_ttl, std::chrono::hours(7 * 24));
  EXPECT_EQ(Alter({Set("table.log.ttl", "soon")}), ErrorCode::kInvalidConfig);
  EXPECT_EQ(Alter({Set("table.auto-partition.enabled", "true")}), ErrorCode::kInvalidConfig);
  EXPECT_EQ(Alter({Set("table.datalake.enabled", "true")}), ErrorCode::kInvalidTable);
}

TEST_F(AlterTable, TakesAggregatesOnlyWhereTheyFit) {
  ASSERT_EQ(Create("t", TableJson{.primary_key = {"id"},
                                  .properties = {{"table.merge-engine", "aggregation"}}}),
            std::nullopt);
  AddedColumn list = Add("x", TypeJson("STRING"));
  list.aggregate = "LISTAGG";
  list.aggregate_parameters = {{"delimiter", "|"}};
  EXPECT_EQ(Alter({}, {list}), std::nullopt);
  EXPECT_EQ(Told("t")["schema"]["columns"][2]["agg_function"],
            (json{{"type", "listagg"}, {"parameters", {{"delimiter", "|"}}}}));
  AddedColumn sum = Add("y", TypeJson("STRING"));
  sum.aggregate = "sum";
  EXPECT_EQ(Alter({}, {sum}), ErrorCode::kInvalidConfig);
}

TEST_F(AlterTable, DoesNotLetATableGrowWithoutEnd) {
  ASSERT_EQ(Create("t", {}), std::nullopt);
  EXPECT_EQ(Alter({Set("big", std::string(3 << 20, 'x'))}), std::nullopt);
  EXPECT_EQ(Alter({Set("bigger", std::string(3 << 20, 'x'))}), ErrorCode::kInvalidTable);
}

}  // namespace
}  // namespace weir
