// Partitions: made by request, made and dropped by time, listed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/catalog/catalog_testing.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kDayMillis = 24 * 3600 * 1000;

class Partitions : public CatalogTest {
 protected:
  std::optional<ErrorCode> DropPartition(const std::string& table, const PartitionSpec& spec,
                                         bool ignore = false) {
    return Do(catalog_.PlanDropPartition(PathOf(table), spec, ignore));
  }

  Result<std::vector<std::string>> List(const std::string& table,
                                        const PartitionSpec& filter = {}) const {
    WEIR_ASSIGN(const std::vector<PartitionPtr> partitions,
                catalog_.ListPartitions(PathOf(table), filter));
    std::vector<std::string> names;
    for (const PartitionPtr& partition : partitions) names.push_back(partition->name);
    return names;
  }

  std::optional<ErrorCode> AutoPartition(const std::string& table, Timestamp now = kNow) {
    return Do(catalog_.PlanAutoPartition(catalog_.FindTable(PathOf(table))->id, now));
  }
};

Properties Auto(Properties more = {}) {
  more.emplace("table.auto-partition.enabled", "true");
  return more;
}

TEST_F(Partitions, AreMadeListedAndDropped) {
  ASSERT_EQ(Create("t", TwoKeys()), std::nullopt);
  EXPECT_THAT(*List("t"), IsEmpty());
  EXPECT_EQ(CreatePartition("t", {{"region", "eu"}, {"day", "1"}}), std::nullopt);
  EXPECT_EQ(CreatePartition("t", {{"day", "2"}, {"region", "eu"}}), std::nullopt);
  EXPECT_EQ(CreatePartition("t", {{"day", "1"}, {"region", "us"}}), std::nullopt);
  EXPECT_THAT(*List("t"), ElementsAre("eu$1", "eu$2", "us$1"));
  EXPECT_THAT(*List("t", {{"region", "eu"}}), ElementsAre("eu$1", "eu$2"));
  EXPECT_THAT(*List("t", {{"day", "1"}}), ElementsAre("eu$1", "us$1"));
  EXPECT_THAT(*List("t", {{"day", "1"}, {"region", "us"}}), ElementsAre("us$1"));
  EXPECT_THAT(*List("t", {{"region", "asia"}}), IsEmpty());

  EXPECT_EQ(CreatePartition("t", {{"region", "eu"}, {"day", "1"}}), ErrorCode::kPartitionExists);
  EXPECT_EQ(CreatePartition("t", {{"region", "eu"}, {"day", "1"}}, true), std::nullopt);
  EXPECT_EQ(DropPartition("t", {{"region", "eu"}, {"day", "1"}}), std::nullopt);
  EXPECT_THAT(*List("t", {{"region", "eu"}}), ElementsAre("eu$2"));
  EXPECT_EQ(DropPartition("t", {{"region", "eu"}, {"day", "1"}}), ErrorCode::kPartitionNotFound);
  EXPECT_EQ(DropPartition("t", {{"region", "eu"}, {"day", "1"}}, true), std::nullopt);
}

TEST_F(Partitions, NeverGetAnIdAgain) {
  ASSERT_EQ(Create("t", OneKey()), std::nullopt);
  ASSERT_EQ(Create("u", OneKey()), std::nullopt);
  const TableId t = catalog_.FindTable(PathOf("t"))->id;
  ASSERT_EQ(CreatePartition("t", {{"p", "a"}}), std::nullopt);
  ASSERT_EQ(CreatePartition("u", {{"p", "a"}}), std::nullopt);
  EXPECT_EQ(catalog_.FindPartition(t, "a")->id, PartitionId(0));
  ASSERT_EQ(DropPartition("t", {{"p", "a"}}), std::nullopt);
  ASSERT_EQ(CreatePartition("t", {{"p", "a"}}), std::nullopt);
  EXPECT_EQ(catalog_.FindPartition(t, "a")->id, PartitionId(2));
  EXPECT_EQ(catalog_.FindPartition(PartitionId(2))->table_id, t);
  EXPECT_EQ(catalog_.FindPartition(PartitionId(0)), nullptr);
}

TEST_F(Partitions, AreFoundByName) {
  ASSERT_EQ(Create("t", OneKey()), std::nullopt);
  ASSERT_EQ(CreatePartition("t", {{"p", "a"}}), std::nullopt);
  EXPECT_EQ((*catalog_.GetPartition(PathOf("t"), "a"))->created, kNow);
  EXPECT_EQ(catalog_.GetPartition(PathOf("t"), "b").error().code, ErrorCode::kPartitionNotFound);
  EXPECT_EQ(catalog_.GetPartition(PathOf("nope"), "a").error().code, ErrorCode::kTableNotFound);
  EXPECT_EQ(catalog_.FindPartition(TableId(77), "a"), nullptr);
  EXPECT_THAT(catalog_.PartitionsOf(TableId(77)), IsEmpty());
}

TEST_F(Partitions, WantSpecsWithEachKeyOnce) {
  ASSERT_EQ(Create("t", TwoKeys()), std::nullopt);
  for (const PartitionSpec& spec :
       {PartitionSpec{{"region", "eu"}}, PartitionSpec{{"region", "eu"}, {"day", "1"}, {"x", "1"}},
        PartitionSpec{{"region", "eu"}, {"x", "1"}}, PartitionSpec{}}) {
    EXPECT_EQ(CreatePartition("t", spec), ErrorCode::kInvalidPartition);
    EXPECT_EQ(DropPartition("t", spec), ErrorCode::kInvalidPartition);
  }
  EXPECT_EQ(List("t", {{"x", "1"}}).error().code, ErrorCode::kInvalidPartition);
  EXPECT_EQ(List("t", {{"day", "1"}, {"day", "1"}}).error().code, ErrorCode::kInvalidPartition);
}

TEST_F(Partitions, WantValuesOfGoodCharacters) {
  ASSERT_EQ(Create("t", OneKey()), std::nullopt);
  for (const std::string& value :
       {std::string(), std::string("a.b"), std::string("a$b"), std::string("a b"),
        std::string("a/b"), std::string("é"), std::string("__a"), std::string(201, 'x')}) {
    EXPECT_EQ(CreatePartition("t", {{"p", value}}), ErrorCode::kInvalidPartition) << value;
  }
  for (const std::string& value :
       {std::string("a-b_C"), std::string("0"), std::string("2024-05-01"), std::string(200, 'x')}) {
    EXPECT_EQ(CreatePartition("t", {{"p", value}}), std::nullopt) << value;
  }
}

TEST_F(Partitions, AreNotOfTablesWithoutAKeyForThem) {
  ASSERT_EQ(Create("t", {}), std::nullopt);
  EXPECT_EQ(CreatePartition("t", {{"id", "1"}}), ErrorCode::kNotPartitioned);
  EXPECT_EQ(DropPartition("t", {{"id", "1"}}), ErrorCode::kNotPartitioned);
  EXPECT_EQ(List("t").error().code, ErrorCode::kNotPartitioned);
  EXPECT_EQ(CreatePartition("nope", {{"id", "1"}}), ErrorCode::kTableNotFound);
  EXPECT_EQ(DropPartition("nope", {{"id", "1"}}), ErrorCode::kTableNotFound);
  EXPECT_EQ(List("nope").error().code, ErrorCode::kTableNotFound);
}

TEST_F(Partitions, AreSoManyAndNoMore) {
  ASSERT_EQ(Create("t", OneKey()), std::nullopt);
  for (size_t i = 0; i < kPartitionsMax; ++i) {
    ASSERT_EQ(CreatePartition("t", {{"p", std::to_string(i)}}), std::nullopt);
  }
  EXPECT_EQ(CreatePartition("t", {{"p", "more"}}), ErrorCode::kTooManyPartitions);
  EXPECT_EQ(CreatePartition("t", {{"p", "7"}}, true), std::nullopt) << "is there already";
}

TEST_F(Partitions, HaveSoManyBucketsTogetherAndNoMore) {
  TableJson table = OneKey();
  table.buckets = 2048;
  ASSERT_EQ(Create("t", table), std::nullopt);
  EXPECT_EQ(CreatePartition("t", {{"p", "a"}}), std::nullopt);
  EXPECT_EQ(CreatePartition("t", {{"p", "b"}}), std::nullopt);
  EXPECT_EQ(CreatePartition("t", {{"p", "c"}}), ErrorCode::kTooManyBuckets);
}

TEST_F(Partitions, GoWithTheirTable) {
  ASSERT_EQ(Create("t", OneKey()), std::nullopt);
  ASSERT_EQ(CreatePartition("t", {{"p", "a"}}), std::nullopt);
  ASSERT_EQ(Do(catalog_.PlanDropTable(PathOf("t"), false)), std::nullopt);
  EXPECT_EQ(catalog_.FindPartition(PartitionId(0)), nullptr);
}

TEST_F(Partitions, OfTimeAreMadeAhead) {
  ASSERT_EQ(Create("t", OneKey(Auto({{"table.auto-partition.num-precreate", "3"}}))), std::nullopt);
  ASSERT_EQ(Create("other", OneKey()), std::nullopt);
  EXPECT_THAT(catalog_.AutoPartitionedTables(), ElementsAre(catalog_.FindTable(PathOf("t"))->id));
  EXPECT_EQ(AutoPartition("t"), std::nullopt);
  EXPECT_THAT(PartitionNames("t"), ElementsAre("20241111", "20241112", "20241113"));
  EXPECT_EQ(AutoPartition("t", Timestamp(kNow.value + kDayMillis)), std::nullopt);
  EXPECT_THAT(PartitionNames("t"), ElementsAre("20241111", "20241112", "20241113", "20241114"));
  const auto again = catalog_.PlanAutoPartition(TableId(0), kNow);
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->has_value()) << "nothing to do";
  EXPECT_EQ(AutoPartition("other"), std::nullopt);
  EXPECT_THAT(PartitionNames("other"), IsEmpty());
  EXPECT_FALSE(catalog_.PlanAutoPartition(TableId(77), kNow)->has_value()) << "no such table";
}

TEST_F(Partitions, OfTimeAreNamedByTheClocksOfTheirZone) {
  const auto with = [](const char* zone) {
    return OneKey(Auto({{"table.auto-partition.time-unit", "HOUR"},
                        {"table.auto-partition.time-zone", zone},
                        {"table.auto-partition.num-precreate", "1"}}));
  };
  ASSERT_EQ(Create("utc", with("UTC")), std::nullopt);
  ASSERT_EQ(Create("shanghai", with("Asia/Shanghai")), std::nullopt);
  ASSERT_EQ(Create("fixed", with("-03:30")), std::nullopt);
  for (const char* table : {"utc", "shanghai", "fixed"})
    EXPECT_EQ(AutoPartition(table), std::nullopt);
  EXPECT_THAT(PartitionNames("utc"), ElementsAre("2024111111"));
  EXPECT_THAT(PartitionNames("shanghai"), ElementsAre("2024111119"));
  EXPECT_THAT(PartitionNames("fixed"), ElementsAre("2024111107"));
}

TEST_F(Partitions, OfTimeAreDroppedWhenTheyAreTooOld) {
  ASSERT_EQ(Create("t", OneKey({{"table.auto-partition.time-format", "yyyyMMdd"}})), std::nullopt);
  for (const char* day : {"20241101", "20241107", "20241108", "20241110"}) {
    ASSERT_EQ(CreatePartition("t", {{"p", day}}), std::nullopt);
  }
  TableAlteration enable{.path = PathOf("t"),
                         .ignore_if_missing = false,
                         .properties = {},
                         .added_columns = {},
                         .changes_columns = false};
  enable.properties = {{"table.auto-partition.enabled", "true"},
                       {"table.auto-partition.num-precreate", "1"},
                       {"table.auto-partition.num-retention", "3"}};
  ASSERT_EQ(Do(catalog_.PlanAlterTable(enable, kNow)), std::nullopt);
  EXPECT_EQ(AutoPartition("t"), std::nullopt);
  EXPECT_THAT(PartitionNames("t"), ElementsAre("20241108", "20241110", "20241111"));
}

TEST_F(Partitions, OfTimeAndAnotherKeyAreDroppedByTheirTime) {
  ASSERT_EQ(Create("t", TwoKeys(Auto({{"table.auto-partition.key", "day"},
                                      {"table.auto-partition.num-retention", "2"}}))),
            std::nullopt);
  const Timestamp earlier(kNow.value - 2 * kDayMillis);
  ASSERT_EQ(CreatePartition("t", {{"region", "eu"}, {"day", "20241108"}}, false, earlier),
            std::nullopt);
  ASSERT_EQ(CreatePartition("t", {{"region", "us"}, {"day", "20241111"}}), std::nullopt);
  EXPECT_EQ(AutoPartition("t"), std::nullopt);
  EXPECT_THAT(PartitionNames("t"), ElementsAre("us$20241111"));
}

TEST_F(Partitions, OfTimeHaveValuesThatAreTimes) {
  ASSERT_EQ(Create("t", OneKey(Auto())), std::nullopt);
  for (const char* value :
       {"tomorrow", "2024-05-01", "202405", "20241399", "20240230", "2024111a"}) {
    EXPECT_EQ(CreatePartition("t", {{"p", value}}), ErrorCode::kInvalidPartition) << value;
  }
}

TEST_F(Partitions, OfTimeAreNotMadeWhenTheyWouldBeDropped) {
  ASSERT_EQ(Create("t", OneKey(Auto({{"table.auto-partition.num-retention", "3"}}))), std::nullopt);
  EXPECT_EQ(CreatePartition("t", {{"p", "20241012"}}), ErrorCode::kInvalidPartition);
  EXPECT_EQ(CreatePartition("t", {{"p", "20241107"}}), ErrorCode::kInvalidPartition);
  EXPECT_EQ(CreatePartition("t", {{"p", "20241108"}}), std::nullopt);
  EXPECT_EQ(CreatePartition("t", {{"p", "20241201"}}), std::nullopt);
  ASSERT_EQ(Create("forever", OneKey(Auto({{"table.auto-partition.num-retention", "0"}}))),
            std::nullopt);
  EXPECT_EQ(CreatePartition("forever", {{"p", "19990101"}}), std::nullopt);
}

TEST_F(Partitions, OfTimeAreMadeAsFarAsTheLimitsGo) {
  TableJson many = OneKey(Auto({{"table.auto-partition.num-precreate", "2000000000"}}));
  ASSERT_EQ(Create("t", many), std::nullopt);
  EXPECT_EQ(AutoPartition("t"), std::nullopt);
  EXPECT_EQ(PartitionNames("t").size(), kPartitionsMax);
  many.buckets = 2000;
  ASSERT_EQ(Create("wide", many), std::nullopt);
  EXPECT_EQ(AutoPartition("wide"), std::nullopt);
  EXPECT_EQ(PartitionNames("wide").size(), 2u);
}

}  // namespace
}  // namespace weir
