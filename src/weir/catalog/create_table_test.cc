// Which tables can be made, and which error a bad one gets: the cases that clients of Fluss rely
// on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/catalog/catalog_testing.h"

namespace weir {
namespace {

using nlohmann::json;

const json kInt = TypeJson("INTEGER");
const json kString = TypeJson("STRING");
const json kArray = {{"type", "ARRAY"}, {"element_type", kInt}};

class CreateTable : public CatalogTest {};

struct BadTable {
  const char* name;
  TableJson table;
  ErrorCode code;
};

TableJson Keyed(std::vector<json> columns, Properties properties = {}) {
  return TableJson{
      .columns = std::move(columns), .primary_key = {"id"}, .properties = std::move(properties)};
}

TableJson Columns(std::vector<json> columns) {
  return TableJson{.columns = std::move(columns)};
}

json Aggregated(const char* name, json type, int32_t id, json function) {
  return ColumnJson(name, std::move(type), id, {{"agg_function", std::move(function)}});
}

std::vector<BadTable> BadTables() {
  const Properties aggregation = {{"table.merge-engine", "aggregation"}};
  const json sum = {{"type", "sum"}};
  const json decimal_39 = {{"type", "DECIMAL"}, {"precision", 39}, {"scale", 2}};
  const json decimal_3_5 = {{"type", "DECIMAL"}, {"precision", 3}, {"scale", 5}};
  const json decimal_4_1 = {{"type", "DECIMAL"}, {"precision", 4}, {"scale", 1}};
  const json char_0 = {{"type", "CHAR"}, {"length", 0}};
  const json timestamp_10 = {{"type", "TIMESTAMP_WITHOUT_TIME_ZONE"}, {"precision", 10}};
  const json delimited_sum = {{"type", "sum"}, {"parameters", {{"delimiter", "|"}}}};
  const json id = ColumnJson("id", kInt, 0);
  const auto invalid = ErrorCode::kInvalidTable;
  return {
      {"unknown primary key column", {.primary_key = {"zz"}}, invalid},
      {"unknown bucket key column", {.bucket_key = {"zz"}}, invalid},
      {"bucket key outside the primary key",
       {.primary_key = {"id"}, .bucket_key = {"name"}},
       invalid},
      {"unknown partition key column", {.partition_key = {"zz"}}, invalid},
      {"partition key outside the primary key",
       {.primary_key = {"id"}, .partition_key = {"name"}},
       invalid},
      {"nothing but the partition key in the primary key",
       {.primary_key = {"id"}, .partition_key = {"id"}},
       invalid},
      {"bucket key is a partition key",
       {.partition_key = {"name"}, .bucket_key = {"name"}},
       invalid},
      {"two columns of one name", Columns({ColumnJson("a", kInt, 0), ColumnJson("a", kString, 1)}),
       invalid},
      {"two columns of one id", Columns({ColumnJson("a", kInt, 0), ColumnJson("b", kString, 0)}),
       invalid},
      {"column id above the highest", {.highest_field_id = 0}, invalid},
      {"column without a name", Columns({ColumnJson("", kInt, 0)}), invalid},
      {"unknown data type", Columns({ColumnJson("a", TypeJson("VARCHAR"), 0)}), invalid},
      {"decimal of 39 digits", Columns({ColumnJson("a", decimal_39, 0)}), invalid},
      {"scale above precision", Columns({ColumnJson("a", decimal_3_5, 0)}), invalid},
      {"char of length 0", Columns({ColumnJson("a", char_0, 0)}), invalid},
      {"timestamp precision 10", Columns({ColumnJson("a", timestamp_10, 0)}), invalid},
      {"array as primary key", Keyed({ColumnJson("id", kArray, 0), ColumnJson("v", kInt, 1)}),
       invalid},
      {"array as bucket key",
       {.columns = {ColumnJson("id", kArray, 0)}, .bucket_key = {"id"}},
       invalid},
      {"decimal as partition key",
       {.columns = {id, ColumnJson("p", decimal_4_1, 1)}, .partition_key = {"p"}},
       invalid},
      {"array as partition key",
       {.columns = {id, ColumnJson("p", kArray, 1)}, .partition_key = {"p"}},
       invalid},
      {"auto-increment of a string", {.primary_key = {"id"}, .auto_increment = {"name"}}, invalid},
      {"auto-increment of the key", {.primary_key = {"id"}, .auto_increment = {"id"}}, invalid},
      {"auto-increment in a log table", {.auto_increment = {"id"}}, invalid},
      {"auto-increment of an unknown column",
       {.primary_key = {"id"}, .auto_increment = {"zz"}},
       invalid},
      {"sum of strings", Keyed({id, Aggregated("v", kString, 1, sum)}, aggregation),
       ErrorCode::kInvalidConfig},
      {"aggregate on a key column",
       Keyed({Aggregated("id", kInt, 0, sum), ColumnJson("v", kInt, 1)}, aggregation), invalid},
      {"sum with a delimiter", Keyed({id, Aggregated("v", kInt, 1, delimited_sum)}, aggregation),
       ErrorCode::kInvalidConfig},
      {"no buckets", {.buckets = 0}, invalid},
      {"buckets beyond counting", {.buckets = kBucketsMax + 1}, ErrorCode::kTooManyBuckets},
      {"too many buckets for a partition",
       {.partition_key = {"name"}, .buckets = 4097},
       ErrorCode::kTooManyBuckets},
  };
}

TEST_F(CreateTable, RefusesTablesThatBreakTheRules) {
  for (const auto& [name, table, code] : BadTables()) EXPECT_EQ(TryCreate(table), code) << name;
}

TEST_F(CreateTable, RefusesADescriptorThatIsNoJson) {
  EXPECT_EQ(Do(catalog_.PlanCreateTable(PathOf("t"), "{not json", false, kNow)),
            ErrorCode::kInvalidTable);
}

TEST_F(CreateTable, TakesWhatOnlyLooksStrange) {
  const json sum = {{"type", "sum"}};
  for (const TableJson& table : {
           Columns({}),
           Columns({ColumnJson("__x", kInt, 0), ColumnJson("a b", kInt, 1),
                    ColumnJson("a.b", kInt, 2)}),
           TableJson{.buckets = 4097},
           TableJson{.primary_key = {"id"}, .partition_key = {}, .auto_increment = {}},
           Keyed({ColumnJson("id", TypeJson("DOUBLE"), 0), ColumnJson("v", kInt, 1)}),
           // A function without its merge engine is kept, whatever it is.
           Keyed({ColumnJson("id", kInt, 0), Aggregated("v", kString, 1, sum)}),
           Keyed({ColumnJson("id", kInt, 0), Aggregated("v", kString, 1, {{"type", "median"}})},
                 {{"table.merge-engine", "aggregation"}}),
       }) {
    EXPECT_EQ(TryCreate(table), std::nullopt) << table.Dump();
  }
}

constexpr bool kLog = false;
constexpr bool kPrimaryKey = true;

struct PropertyCase {
  bool keyed;
  Properties properties;
  ErrorCode code;
};

TEST_F(CreateTable, RefusesBadProperties) {
  const auto config = ErrorCode::kInvalidConfig;
  const auto replication = ErrorCode::kInvalidReplication;
  const std::string ver_column = "table.merge-engine.versioned.ver-column";
  const std::vector<PropertyCase> cases = {
      {kLog, {{"table.unknown", "x"}}, config},
      {kPrimaryKey, {{"table.unknown", "x"}}, config},
      {kLog, {{"retention", "x"}}, config},
      {kLog, {{"table.datalake.nothing.x", "x"}}, config},
      {kLog, {{"table.log.ttl", "abc"}}, config},
      {kLog, {{"table.log.ttl", "-1s"}}, config},
      {kLog, {{"table.log.ttl", ""}}, config},
      {kLog, {{"table.log.local-ttl", "8d"}}, config},
      {kLog, {{"table.log.format", "parquet"}}, config},
      {kPrimaryKey, {{"table.log.format", "parquet"}}, config},
      {kPrimaryKey, {{"table.log.format", "indexed"}}, config},
      {kPrimaryKey, {{"table.log.format", "indexed"}, {"table.kv.format", "compacted"}}, config},
      {kPrimaryKey, {{"table.kv.format", "zzz"}}, config},
      {kLog, {{"table.kv.format", "zzz"}}, config},
      {kPrimaryKey, {{"table.kv.format-version", "3"}}, config},
      {kPrimaryKey, {{"table.kv.format-version", "0"}}, config},
      {kLog, {{"table.replication.factor", "0"}}, replication},
      {kLog, {{"table.replication.factor", "3"}}, replication},
      {kPrimaryKey, {{"table.replication.factor", "99"}}, replication},
      {kLog, {{"table.replication.factor", "x"}}, config},
      {kLog, {{"table.log.arrow.compression.type", "gzip"}}, config},
      {kLog, {{"table.log.arrow.compression.zstd.level", "0"}}, config},
      {kLog, {{"table.log.arrow.compression.zstd.level", "23"}}, config},
      {kLog, {{"table.log.arrow.compression.zstd.level", "3 "}}, config},
      {kLog, {{"table.log.tiered.local-segments", "0"}}, config},
      {kLog, {{"table.merge-engine", "first_row"}}, config},
      {kLog, {{"table.merge-engine", "partial-update"}}, config},
      {kPrimaryKey, {{"table.merge-engine", "sometimes"}}, config},
      {kLog, {{"table.delete.behavior", "ignore"}}, config},
      {kLog, {{"table.kv.row.ttl", "1d"}}, config},
      {kPrimaryKey, {{"table.kv.row.ttl", "soon"}}, config},
      {kPrimaryKey, {{"table.kv.ttl", "1d"}}, config},
      {kPrimaryKey, {{"table.merge-engine", "versioned"}}, config},
      {kPrimaryKey, {{"table.merge-engine", "versioned"}, {ver_column, "zz"}}, config},
      {kPrimaryKey, {{"table.merge-engine", "versioned"}, {ver_column, "name"}}, config},
      {kPrimaryKey,
       {{"table.merge-engine", "first_row"}, {"table.delete.behavior", "allow"}},
       config},
      {kPrimaryKey,
       {{"table.merge-engine", "versioned"},
        {ver_column, "id"},
        {"table.delete.behavior", "allow"}},
       config},
      {kPrimaryKey,
       {{"table.merge-engine", "aggregation"}, {"table.changelog.image", "wal"}},
       config},
      {kPrimaryKey, {{"table.changelog.image", "half"}}, config},
      {kLog, {{"table.changelog.image", "half"}}, config},
      {kLog, {{"table.auto-partition.enabled", "true"}}, config},
      {kLog, {{"table.auto-partition.enabled", "perhaps"}}, config},
      {kLog, {{"table.datalake.enabled", "true"}}, ErrorCode::kInvalidTable},
      {kPrimaryKey, {{"table.datalake.enabled", "TRUE"}}, ErrorCode::kInvalidTable},
      {kPrimaryKey, {{"table.datalake.historical-partition.enabled", "true"}}, config},
      {kLog, {{"table.statistics.columns", "id,zz"}}, config},
      {kPrimaryKey, {{"table.auto-increment.cache-size", "-1"}}, config},
      {kLog, {{"table.durability", "shared"}}, config},
      {kLog, {{"table.log.max-bytes", "much"}}, config},
      {kLog, {{"table.log.max-bytes", "0"}}, config},
  };
  for (const auto& [keyed, properties, code] : cases) {
    TableJson table{.properties = properties};
    if (keyed) table.primary_key = {"id"};
    EXPECT_EQ(TryCreate(table), code) << json(properties);
  }
}

TEST_F(CreateTable, KeepsGoodPropertiesAsTheyAre) {
  const std::vector<std::pair<bool, Properties>> cases = {
      {kLog, {{"table.log.ttl", "7d"}}},
      {kLog, {{"table.log.ttl", "0ms"}}},
      {kLog, {{"table.log.ttl", "0ms"}, {"table.log.local-ttl", "8d"}}},
      {kLog, {{"table.log.ttl", "36 h"}}},
      {kLog, {{"table.log.format", "indexed"}}},
      {kLog, {{"table.log.format", "compacted"}}},
      {kLog, {{"table.log.format", "Arrow"}}},
      {kLog, {{"table.log.arrow.compression.type", "none"}}},
      {kLog, {{"table.log.arrow.compression.type", "LZ4_FRAME"}}},
      {kLog, {{"table.log.arrow.compression.zstd.level", "22"}}},
      {kLog, {{"table.log.tiered.local-segments", "1"}}},
      {kLog, {{"table.kv.format", "indexed"}}},
      {kLog, {{"table.kv.format-version", "3"}}},
      {kLog, {{"table.changelog.image", "wal"}}},
      {kLog, {{"table.datalake.format", "iceberg"}}},
      {kLog, {{"table.datalake.enabled", "false"}, {"table.datalake.paimon.file.format", "orc"}}},
      {kLog, {{"table.auto-increment.cache-size", "0"}}},
      {kLog, {{"table.statistics.columns", "*"}}},
      {kLog, {{"table.statistics.columns", "id, name"}}},
      {kLog, {{"table.durability", "os"}, {"table.log.max-bytes", "10gb"}}},
      {kPrimaryKey, {{"table.log.format", "compacted"}}},
      {kPrimaryKey, {{"table.kv.format", "indexed"}}},
      {kPrimaryKey, {{"table.kv.format", "indexed"}, {"table.log.format", "indexed"}}},
      {kPrimaryKey, {{"table.kv.format-version", "1"}}},
      {kPrimaryKey, {{"table.changelog.image", "wal"}}},
      {kPrimaryKey, {{"table.delete.behavior", "disable"}}},
      {kPrimaryKey, {{"table.delete.behavior", "ignore"}}},
      {kPrimaryKey, {{"table.auto-increment.cache-size", "10"}}},
      {kPrimaryKey, {{"table.merge-engine", "first_row"}}},
      {kPrimaryKey, {{"table.merge-engine", "Partial_Update"}}},
      {kPrimaryKey, {{"table.merge-engine", "partial-update"}, {"table.changelog.image", "wal"}}},
      {kPrimaryKey, {{"table.kv.standby-replica.enabled", "true"}}},
  };
  int number = 0;
  for (const auto& [keyed, properties] : cases) {
    TableJson table{.properties = properties};
    if (keyed) table.primary_key = {"id"};
    const std::string name = "t" + std::to_string(++number);
    ASSERT_EQ(Create(name, table), std::nullopt) << json(properties);
    const json told = Told(name)["properties"];
    for (const auto& [key, value] : properties) EXPECT_EQ(told[key], value);
  }
}

TEST_F(CreateTable, DoesNotJudgeCustomProperties) {
  const Properties custom = {
      {"connector", "x"}, {"table.note", "mine"}, {"ünïcode key", "värde"}, {"empty", ""}};
  ASSERT_EQ(Create("t", TableJson{.custom_properties = custom}), std::nullopt);
  EXPECT_EQ(Told("t")["custom_properties"], json(custom));
}

TEST_F(CreateTable, TellsTheDefaultsOfABareDescriptor) {
  const json schema = {{"version", 1},
                       {"columns", {ColumnJson("id", kInt, 0), ColumnJson("name", kString, 1)}},
                       {"highest_field_id", 1}};
  const json bare = {{"version", 1},
                     {"schema", schema},
                     {"partition_key", json::array()},
                     {"properties", json::object()},
                     {"custom_properties", json::object()}};
  ASSERT_EQ(Do(catalog_.PlanCreateTable(PathOf("t"), bare.dump(), false, kNow)), std::nullopt);
  EXPECT_EQ(Told("t"), (json{{"version", 1},
                             {"schema", schema},
                             {"partition_key", json::array()},
                             {"bucket_key", json::array()},
                             {"bucket_count", 1},
                             {"properties", {{"table.replication.factor", "1"}}},
                             {"custom_properties", json::object()}}));
  const TablePtr table = catalog_.FindTable(PathOf("t"));
  EXPECT_EQ(table->schema_id(), SchemaId(1));
  EXPECT_EQ(table->created, kNow);
  EXPECT_EQ(table->modified, kNow);
}

TEST_F(CreateTable, FillsInThePropertiesOfPrimaryKeyTables) {
  ASSERT_EQ(Create("t", TableJson{.primary_key = {"id"}}), std::nullopt);
  EXPECT_EQ(Told("t")["properties"],
            (json{{"table.replication.factor", "1"}, {"table.kv.format-version", "2"}}));
}

TEST_F(CreateTable, FillsInTheDeleteBehaviourOfMergeEngines) {
  const std::string behaviour = "table.delete.behavior";
  const std::vector<std::tuple<std::string, Properties, std::string>> cases = {
      {"first_row", {}, "IGNORE"},
      {"aggregation", {}, "IGNORE"},
      {"versioned", {{"table.merge-engine.versioned.ver-column", "v"}}, "IGNORE"},
      {"FIRST_ROW", {{behaviour, "disable"}}, "disable"},
      {"aggregation", {{behaviour, "allow"}}, "allow"},
      {"partial-update", {}, "IGNORE"},
      {"partial-update", {{behaviour, "allow"}}, "allow"},
  };
  int number = 0;
  for (const auto& [engine, more, expected] : cases) {
    Properties properties = more;
    properties["table.merge-engine"] = engine;
    const std::string name = "t" + std::to_string(++number);
    ASSERT_EQ(
        Create(name, Keyed({ColumnJson("id", kInt, 0), ColumnJson("v", TypeJson("BIGINT"), 1)},
                           properties)),
        std::nullopt);
    EXPECT_EQ(Told(name)["properties"][behaviour], expected);
    EXPECT_EQ(Told(name)["properties"]["table.merge-engine"], engine);
  }
}

TEST_F(CreateTable, TellsKeysAndNotNullColumnsOfAPrimaryKeyTable) {
  const TableJson table{
      .columns = {ColumnJson("v", kString, 0), ColumnJson("day", kString, 1),
                  ColumnJson("b", TypeJson("BIGINT"), 2), ColumnJson("a", kInt, 3)},
      .primary_key = {"a", "day", "b"},
      .partition_key = {"day"},
      .buckets = 2};
  ASSERT_EQ(Create("t", table), std::nullopt);
  const json told = Told("t");
  EXPECT_EQ(told["schema"]["primary_key"], (json{"a", "day", "b"}));
  EXPECT_EQ(told["bucket_key"], (json{"a", "b"}));
  EXPECT_EQ(told["partition_key"], json::array({"day"}));
  EXPECT_EQ(told["bucket_count"], 2);
  for (const json& column : told["schema"]["columns"]) {
    EXPECT_EQ(column["data_type"].contains("nullable"), column["name"] != "v") << column;
  }
}

TEST_F(CreateTable, TakesEveryTypeThatCanBeAPartitionKey) {
  for (const char* type : {"STRING", "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT",
                           "DOUBLE", "BYTES", "DATE"}) {
    EXPECT_EQ(TryCreate(OneKey({}, type)), std::nullopt) << type;
  }
}

TEST_F(CreateTable, WantsAutoPartitionsThatCanBe) {
  const std::string prefix = "table.auto-partition.";
  const Properties on = {{prefix + "enabled", "true"}};
  const auto with = [&](Properties more) {
    more.insert(on.begin(), on.end());
    return more;
  };
  const auto table = ErrorCode::kInvalidTable;
  const auto config = ErrorCode::kInvalidConfig;
  const std::vector<std::pair<TableJson, std::optional<ErrorCode>>> cases = {
      {TwoKeys(on), table},
      {TwoKeys(with({{prefix + "key", "id"}})), table},
      {TwoKeys(with({{prefix + "key", "day"}, {prefix + "num-precreate", "2"}})), table},
      {TwoKeys(with({{prefix + "key", "day"}, {prefix + "time-unit", "FORTNIGHT"}})), config},
      {TwoKeys(with({{prefix + "key", "day"}})), std::nullopt},
      {OneKey(on), std::nullopt},
      {OneKey(on, "INTEGER"), std::nullopt},
      {OneKey(on, "BIGINT"), std::nullopt},
      {OneKey(on, "DATE"), std::nullopt},
      {OneKey(on, "BOOLEAN"), table},
      {OneKey(on, "SMALLINT"), table},
      {OneKey(with({{prefix + "time-unit", "year"}}), "SMALLINT"), std::nullopt},
      {OneKey(with({{prefix + "time-format", "yyyy-MM-dd"}}), "DATE"), std::nullopt},
      {OneKey(with({{prefix + "time-format", "yyyyMMdd"}}), "DATE"), table},
      {OneKey(with({{prefix + "time-unit", "MONTH"}}), "DATE"), table},
      {OneKey(with({{prefix + "time-format", "yyyy-MM-dd"}}), "INTEGER"), table},
      {OneKey(with({{prefix + "time-format", "dd-MM-yyyy"}})), config},
      {OneKey(with({{prefix + "time-zone", "Mars/Base"}})), config},
      {OneKey(with({{prefix + "time-zone", "Asia/Shanghai"}})), std::nullopt},
      {OneKey(with({{prefix + "num-precreate", "-1"}})), config},
      {OneKey(with({{prefix + "num-retention", "-1"}})), std::nullopt},
  };
  for (const auto& [json, code] : cases) EXPECT_EQ(TryCreate(json), code) << json.Dump();
}

TEST_F(CreateTable, MakesNothingAheadWithSeveralPartitionKeys) {
  ASSERT_EQ(Create("t", TwoKeys({{"table.auto-partition.enabled", "true"},
                                 {"table.auto-partition.key", "day"}})),
            std::nullopt);
  EXPECT_EQ(Told("t")["properties"]["table.auto-partition.num-precreate"], "0");
}

TEST_F(CreateTable, LeavesATableThatIsThere) {
  ASSERT_EQ(Create("t", {}), std::nullopt);
  const TablePtr before = catalog_.FindTable(PathOf("t"));
  const TableJson other{.columns = {ColumnJson("x", kInt, 0)}};
  EXPECT_EQ(Create("t", other), ErrorCode::kTableExists);
  const auto ignored = catalog_.PlanCreateTable(PathOf("t"), other.Dump(), true, kNow);
  ASSERT_TRUE(ignored.ok());
  EXPECT_FALSE(ignored->has_value());
  EXPECT_EQ(catalog_.FindTable(PathOf("t")), before);
}

TEST_F(CreateTable, JudgesNamesFirstAndTheDatabaseLast) {
  const auto create = [&](const std::string& database, const std::string& table,
                          const std::string& descriptor) {
    return Do(catalog_.PlanCreateTable(TablePath{database, table}, descriptor, false, kNow));
  };
  EXPECT_EQ(create("no.database", "t", "{}"), ErrorCode::kInvalidName);
  EXPECT_EQ(create("nowhere", "a.b", "{}"), ErrorCode::kInvalidTable);
  EXPECT_EQ(create("nowhere", "t", "{}"), ErrorCode::kInvalidTable);
  EXPECT_EQ(create("nowhere", "t", TableJson().Dump()), ErrorCode::kDatabaseNotFound);
}

TEST_F(CreateTable, NeverUsesAnIdAgain) {
  std::vector<TableId> seen;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(Create("t", {}), std::nullopt);
    seen.push_back(catalog_.FindTable(PathOf("t"))->id);
    ASSERT_EQ(Do(catalog_.PlanDropTable(PathOf("t"), false)), std::nullopt);
  }
  EXPECT_THAT(seen, testing::ElementsAre(TableId(0), TableId(1), TableId(2)));
}

TEST_F(CreateTable, RefusesBadNames) {
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("a.b"), std::string("a b"),
        std::string("a$b"), std::string("a/b"), std::string("é"), std::string("__x"),
        std::string(201, 'x')}) {
    EXPECT_EQ(Create(name, {}), ErrorCode::kInvalidTable) << name;
  }
  EXPECT_EQ(Create(std::string(200, 'x'), {}), std::nullopt);
}

TEST_F(CreateTable, ReadsItsOptions) {
  const TableJson table{.primary_key = {"id"},
                        .properties = {{"table.log.ttl", "2d"},
                                       {"table.log.max-bytes", "64mb"},
                                       {"table.durability", "OS"},
                                       {"table.log.arrow.compression.type", "none"},
                                       {"table.kv.format-version", "1"},
                                       {"table.kv.row.ttl", "36h"},
                                       {"table.merge-engine", "aggregation"}}};
  ASSERT_EQ(Create("t", table), std::nullopt);
  const TableOptions& options = catalog_.FindTable(PathOf("t"))->options;
  EXPECT_EQ(options.log_ttl, std::chrono::hours(48));
  EXPECT_EQ(options.log_bytes_max, 64u << 20);
  EXPECT_EQ(options.durability, Durability::kOs);
  EXPECT_EQ(options.row_ttl, std::chrono::hours(36));
  EXPECT_EQ(options.log_codec, ArrowCodec::kNone);
  EXPECT_EQ(options.merge_engine, MergeEngine::kAggregation);
  EXPECT_EQ(options.delete_behavior, DeleteBehavior::kIgnore);
  EXPECT_FALSE(options.auto_partition);
  ASSERT_EQ(Create("bare", {}), std::nullopt);
  const TableOptions& bare = catalog_.FindTable(PathOf("bare"))->options;
  EXPECT_EQ(bare.log_ttl, std::chrono::hours(7 * 24));
  EXPECT_EQ(bare.log_codec, ArrowCodec::kZstd);
  EXPECT_EQ(bare.log_zstd_level, 1);
  EXPECT_FALSE(bare.durability);
  EXPECT_EQ(bare.row_ttl.count(), 0);
  EXPECT_FALSE(bare.log_bytes_max);
}

}  // namespace
}  // namespace weir
