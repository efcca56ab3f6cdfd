#include "weir/record/table_descriptor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace weir {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

json Column(const char* name, const char* type) {
  return {{"name", name}, {"data_type", {{"type", type}}}};
}

json Table(const std::vector<std::string>& primary_key = {}) {
  json schema = {
      {"columns", {Column("id", "INTEGER"), Column("region", "STRING"), Column("v", "STRING")}}};
  if (!primary_key.empty()) schema["primary_key"] = primary_key;
  return {{"schema", schema}};
}

json With(json table, const char* key, json value) {
  table[key] = std::move(value);
  return table;
}

TEST(TableDescriptor, IsWrittenAsItIsRead) {
  const std::string text =
      R"({"bucket_count":4,"bucket_key":["id"],"comment":"daily","custom_properties":{"owner":"bi","ünïcode":"värde"},)"
      R"("partition_key":["region"],"properties":{"table.log.ttl":"7d"},"schema":{"columns":[)"
      R"({"data_type":{"nullable":false,"type":"INTEGER"},"id":0,"name":"id"},)"
      R"({"data_type":{"nullable":false,"type":"STRING"},"id":1,"name":"region"}],"highest_field_id":1,)"
      R"("primary_key":["region","id"],"version":1},"version":1})";
  const auto table = DecodeTableDescriptor(text);
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(EncodeTableDescriptor(*table), text);
  EXPECT_THAT(table->PartitionKeyNames(), ElementsAre("region"));
}

TEST(TableDescriptor, FillsInWhatAClientLeavesOut) {
  const auto table = DecodeTableDescriptor(Table().dump());
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(table->bucket_count, 1);
  EXPECT_THAT(table->bucket_key, IsEmpty());
  EXPECT_FALSE(table->is_partitioned());
  EXPECT_FALSE(table->comment);
  const json told = json::parse(EncodeTableDescriptor(*table));
  EXPECT_EQ(told["partition_key"], json::array());
  EXPECT_EQ(told["custom_properties"], json::object());
  EXPECT_FALSE(told.contains("comment"));
}

TEST(TableDescriptor, TakesThePrimaryKeyWithoutPartitionColumnsForTheBucketKey) {
  const auto table =
      DecodeTableDescriptor(With(Table({"v", "region", "id"}), "partition_key", {"region"}).dump());
  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_THAT(table->bucket_key, ElementsAre(2, 0));
}

TEST(TableDescriptor, MayHaveABucketKeyThatIsAPartOfThePrimaryKey) {
  const auto table = DecodeTableDescriptor(With(Table({"id", "v"}), "bucket_key", {"id"}).dump());
  ASSERT_TRUE(table.ok());
  EXPECT_THAT(table->bucket_key, ElementsAre(0));
}

TEST(TableDescriptor, RefusesWhatBreaksItsRules) {
  json array_key = Table();
  array_key["schema"]["columns"][0]["data_type"] = {{"type", "ARRAY"},
                                                    {"element_type", {{"type", "INTEGER"}}}};
  json array_primary_key = array_key;
  array_primary_key["schema"]["primary_key"] = {"id"};
  json decimal = Table();
  decimal["schema"]["columns"][1]["data_type"] = {
      {"type", "DECIMAL"}, {"precision", 4}, {"scale", 1}};
  json reserved = Table();
  reserved["schema"]["columns"][2]["name"] = "_change_type";
  json twice_in_key = With(Table(), "partition_key", {"region", "region"});
  const std::vector<std::pair<const char*, json>> cases = {
      {"no schema", json::object()},
      {"a schema that is no object", {{"schema", 3}}},
      {"an unknown bucket key", With(Table(), "bucket_key", {"zz"})},
      {"an unknown partition key", With(Table(), "partition_key", {"zz"})},
      {"a bucket key column twice", With(Table(), "bucket_key", {"id", "id"})},
      {"a partition key column twice", twice_in_key},
      {"a bucket key outside of the primary key", With(Table({"id"}), "bucket_key", {"v"})},
      {"a partition key outside of the primary key",
       With(Table({"id"}), "partition_key", {"region"})},
      {"nothing but the partition key in the primary key",
       With(Table({"id"}), "partition_key", {"id"})},
      {"a bucket key that is a partition key",
       With(With(Table(), "partition_key", {"region"}), "bucket_key", {"region"})},
      {"an array as primary key", array_primary_key},
      {"an array as bucket key", With(array_key, "bucket_key", {"id"})},
      {"an array as partition key", With(array_key, "partition_key", {"id"})},
      {"a decimal as partition key", With(decimal, "partition_key", {"region"})},
      {"a reserved column name", reserved},
      {"no buckets", With(Table(), "bucket_count", 0)},
      {"a negative number of buckets", With(Table(), "bucket_count", -1)},
      {"a number of buckets that is none", With(Table(), "bucket_count", "4")},
      {"properties that are no object", With(Table(), "properties", json::array())},
      {"a property that is no string", With(Table(), "properties", {{"table.log.ttl", 7}})},
      {"a comment that is no string", With(Table(), "comment", 7)},
  };
  for (const auto& [name, table] : cases) {
    const auto decoded = DecodeTableDescriptor(table.dump());
    ASSERT_FALSE(decoded.ok()) << name;
    EXPECT_EQ(decoded.error().code, ErrorCode::kInvalidTable)
        << name << ": " << decoded.error().message;
  }
}

TEST(TableDescriptor, HasSoManyBucketsAndNoMore) {
  EXPECT_TRUE(DecodeTableDescriptor(With(Table(), "bucket_count", kBucketsMax).dump()).ok());
  for (const json& count : {json(kBucketsMax + 1), json(INT64_MAX)}) {
    const auto table = DecodeTableDescriptor(With(Table(), "bucket_count", count).dump());
    ASSERT_FALSE(table.ok());
    EXPECT_EQ(table.error().code, ErrorCode::kTooManyBuckets);
  }
}

TEST(TableDescriptor, IsReadUpToALengthOnly) {
  json table = Table();
  table["comment"] = std::string(5 << 20, 'x');
  EXPECT_FALSE(DecodeTableDescriptor(table.dump()).ok());
}

TEST(TableDescriptor, RefusesTextThatIsNotUtf8) {
  EXPECT_FALSE(
      DecodeTableDescriptor(With(Table(), "comment", "?").dump().replace(12, 1, "\xff")).ok());
}

}  // namespace
}  // namespace weir
