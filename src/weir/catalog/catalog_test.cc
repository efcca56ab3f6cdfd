// Databases, names, writer ids and the offsets of producers.
#include "weir/catalog/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/catalog/catalog_testing.h"

namespace weir {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

const Timestamp kLater(kNow.value + 1000);

class Databases : public CatalogTest {
 protected:
  std::optional<ErrorCode> CreateDatabase(const std::string& name, std::string_view descriptor = "",
                                          bool ignore = false) {
    return Do(catalog_.PlanCreateDatabase(name, descriptor, ignore, kNow));
  }
};

TEST_F(Databases, BeginWithTheDefaultOneWhichStays) {
  Catalog catalog;
  const auto change = catalog.PlanDefaultDatabase(kNow);
  ASSERT_TRUE(change);
  ASSERT_TRUE(catalog.Apply(*change).ok());
  EXPECT_THAT(catalog.ListDatabases(), ElementsAre("fluss"));
  EXPECT_FALSE(catalog.PlanDefaultDatabase(kLater));
  const auto drop = catalog.PlanDropDatabase("fluss", false, true);
  ASSERT_FALSE(drop.ok());
  EXPECT_EQ(drop.error().code, ErrorCode::kInvalidName);
}

TEST_F(Databases, KeepCommentAndProperties) {
  ASSERT_EQ(
      CreateDatabase("daily",
                     R"({"version":1,"comment":"täglich","custom_properties":{"team":"growth"}})"),
      std::nullopt);
  const DatabaseInfo database = *catalog_.GetDatabase("daily");
  EXPECT_EQ(database.comment, "täglich");
  EXPECT_EQ(database.custom_properties, (Properties{{"team", "growth"}}));
  EXPECT_EQ(database.created, kNow);
  EXPECT_EQ(database.modified, kNow);
  EXPECT_EQ(
      json::parse(EncodeDatabaseDescriptor(database)),
      (json{{"version", 1}, {"comment", "täglich"}, {"custom_properties", {{"team", "growth"}}}}));
}

TEST_F(Databases, NeedNoDescriptor) {
  EXPECT_EQ(EncodeDatabaseDescriptor(*catalog_.GetDatabase(kDatabase)),
            R"({"custom_properties":{},"version":1})");
}

TEST_F(Databases, WantGoodNamesAndDescriptors) {
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("a.b"), std::string("a b"),
        std::string("a/b"), std::string("a$b"), std::string("é"), std::string("__x"),
        std::string(201, 'x')}) {
    EXPECT_EQ(CreateDatabase(name), ErrorCode::kInvalidName) << name;
  }
  for (const std::string& name : {std::string("A-b_c"), std::string("1abc"), std::string("-x"),
                                  std::string("_x"), std::string(200, 'x')}) {
    EXPECT_EQ(CreateDatabase(name), std::nullopt) << name;
  }
  EXPECT_EQ(CreateDatabase("d", "{not json"), ErrorCode::kInvalidName);
  EXPECT_EQ(CreateDatabase("d", R"({"custom_properties":{"a":1}})"), ErrorCode::kInvalidName);
}

TEST_F(Databases, StayWhenTheyAreCreatedAgain) {
  EXPECT_EQ(CreateDatabase(kDatabase), ErrorCode::kDatabaseExists);
  EXPECT_EQ(CreateDatabase(kDatabase, R"({"comment":"ignored","custom_properties":{}})", true),
            std::nullopt);
  EXPECT_EQ(catalog_.GetDatabase(kDatabase)->comment, std::nullopt);
}

TEST_F(Databases, ThatAreNotThereAreNotFound) {
  EXPECT_EQ(Do(catalog_.PlanDropDatabase("no", false, false)), ErrorCode::kDatabaseNotFound);
  EXPECT_EQ(Do(catalog_.PlanDropDatabase("no", true, false)), std::nullopt);
  EXPECT_EQ(catalog_.GetDatabase("no").error().code, ErrorCode::kDatabaseNotFound);
  EXPECT_EQ(catalog_.ListTables("no").error().code, ErrorCode::kDatabaseNotFound);
  EXPECT_EQ(catalog_.FindDatabase("no"), nullptr);
  EXPECT_THAT(catalog_.TablesOf("no"), IsEmpty());
}

TEST_F(Databases, AreDroppedWithTheirTablesOnlyIfThatIsSaid) {
  ASSERT_EQ(Create("t", {}), std::nullopt);
  const TableId id = catalog_.FindTable(PathOf("t"))->id;
  EXPECT_EQ(Do(catalog_.PlanDropDatabase(kDatabase, false, false)), ErrorCode::kDatabaseNotEmpty);
  EXPECT_THAT(catalog_.TablesOf(kDatabase), ElementsAre(catalog_.FindTable(id)));
  EXPECT_EQ(Do(catalog_.PlanDropDatabase(kDatabase, false, true)), std::nullopt);
  EXPECT_EQ(catalog_.FindTable(id), nullptr);
  EXPECT_EQ(catalog_.FindTable(PathOf("t")), nullptr);
  EXPECT_EQ(CreateDatabase(kDatabase), std::nullopt);
  EXPECT_THAT(*catalog_.ListTables(kDatabase), IsEmpty());
}

TEST_F(Databases, TellHowManyTablesTheyHave) {
  ASSERT_EQ(Create("b", {}), std::nullopt);
  ASSERT_EQ(Create("a", {}), std::nullopt);
  const std::vector<DatabaseSummary> summaries = catalog_.SummarizeDatabases();
  ASSERT_EQ(summaries.size(), 1u);
  EXPECT_EQ(summaries[0].table_count, 2);
  EXPECT_EQ(summaries[0].created, kNow);
  EXPECT_THAT(*catalog_.ListTables(kDatabase), ElementsAre("a", "b"));
  EXPECT_EQ(catalog_.AllTables().size(), 2u);
}

TEST_F(Databases, AreAltered) {
  const auto alter = [&](DatabaseAlteration alteration) {
    return Do(catalog_.PlanAlterDatabase(alteration, kLater));
  };
  EXPECT_EQ(alter({.name = kDatabase,
                   .ignore_if_missing = false,
                   .properties = {{"a", "1", PropertyOperation::kSet}},
                   .comment = "new"}),
            std::nullopt);
  EXPECT_EQ(catalog_.GetDatabase(kDatabase)->comment, "new");
  EXPECT_EQ(catalog_.GetDatabase(kDatabase)->modified, kLater);
  EXPECT_EQ(alter({.name = kDatabase,
                   .ignore_if_missing = false,
                   .properties = {{"a", std::nullopt, PropertyOperation::kDelete}},
                   .comment = ""}),
            std::nullopt);
  EXPECT_EQ(catalog_.GetDatabase(kDatabase)->comment, std::nullopt);
  EXPECT_THAT(catalog_.GetDatabase(kDatabase)->custom_properties, IsEmpty());
  EXPECT_EQ(alter({.name = kDatabase,
                   .ignore_if_missing = false,
                   .properties = {{"a", "1", PropertyOperation::kSubtract}},
                   .comment = {}}),
            ErrorCode::kInvalidAlteration);
  EXPECT_EQ(alter({.name = "no", .ignore_if_missing = false, .properties = {}, .comment = {}}),
            ErrorCode::kDatabaseNotFound);
  EXPECT_EQ(alter({.name = "no", .ignore_if_missing = true, .properties = {}, .comment = {}}),
            std::nullopt);
}

class Tables : public CatalogTest {};

TEST_F(Tables, ThatAreNotThereAreNotFound) {
  EXPECT_EQ(catalog_.GetTable(PathOf("no")).error().code, ErrorCode::kTableNotFound);
  EXPECT_EQ(catalog_.GetTable(TablePath{"no", "no"}).error().code, ErrorCode::kTableNotFound);
  EXPECT_EQ(Do(catalog_.PlanDropTable(PathOf("no"), false)), ErrorCode::kTableNotFound);
  EXPECT_EQ(Do(catalog_.PlanDropTable(PathOf("no"), true)), std::nullopt);
}

class Writers : public CatalogTest {};

TEST_F(Writers, GetIdsThatAreReservedInRanges) {
  EXPECT_EQ(catalog_.next_writer_id(), WriterId(0));
  Carry(catalog_.PlanReserveWriters(1000));
  EXPECT_EQ(catalog_.next_writer_id(), WriterId(1000));
  Carry(catalog_.PlanReserveWriters(1));
  EXPECT_EQ(catalog_.next_writer_id(), WriterId(1001));
  EXPECT_FALSE(catalog_.Apply(WritersReserved{WriterId(1000)}).ok());
}

class Producers : public CatalogTest {
 protected:
  static ProducerOffsets Offsets(std::string id) {
    return ProducerOffsets{.producer_id = std::move(id),
                           .offsets = {{TableBucket{TableId(7), std::nullopt, 1}, LogOffset(40)},
                                       {TableBucket{TableId(8), PartitionId(3), 0}, LogOffset(2)}},
                           .ttl = std::chrono::milliseconds(500)};
  }
};

TEST_F(Producers, KeepTheirFirstOffsetsUntilTheirTimeIsOver) {
  ASSERT_EQ(Do(catalog_.PlanRegisterProducer(Offsets("sink"), kNow)), std::nullopt);
  const RegisteredOffsets* kept = catalog_.FindProducer("sink", kNow);
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(kept->expires, Timestamp(kNow.value + 500));
  ASSERT_EQ(kept->offsets.size(), 2u);
  EXPECT_EQ(kept->offsets[1].bucket, (TableBucket{TableId(8), PartitionId(3), 0}));
  EXPECT_EQ(kept->offsets[1].end, LogOffset(2));
  EXPECT_FALSE(
      catalog_.PlanRegisterProducer(Offsets("sink"), Timestamp(kNow.value + 499))->has_value());
  EXPECT_EQ(catalog_.FindProducer("sink", Timestamp(kNow.value + 500)), nullptr);
  EXPECT_TRUE(
      catalog_.PlanRegisterProducer(Offsets("sink"), Timestamp(kNow.value + 500))->has_value());
}

TEST_F(Producers, AreForgottenOnRequestAndInTime) {
  ASSERT_EQ(Do(catalog_.PlanRegisterProducer(Offsets("a"), kNow)), std::nullopt);
  ASSERT_EQ(Do(catalog_.PlanRegisterProducer(Offsets("b"), kLater)), std::nullopt);
  EXPECT_FALSE(catalog_.PlanForgetProducers(kNow));
  Carry(*catalog_.PlanForgetProducers(kLater));
  EXPECT_EQ(catalog_.FindProducer("a", kNow), nullptr);
  EXPECT_NE(catalog_.FindProducer("b", kLater), nullptr);
  Carry(*catalog_.PlanDropProducer("b"));
  EXPECT_FALSE(catalog_.PlanDropProducer("b"));
}

TEST_F(Producers, LiveForADayIfTheySayNothing) {
  ProducerOffsets offsets = Offsets("sink");
  offsets.ttl.reset();
  ASSERT_EQ(Do(catalog_.PlanRegisterProducer(offsets, kNow)), std::nullopt);
  EXPECT_EQ(catalog_.FindProducer("sink", kNow)->expires, Timestamp(kNow.value + 24 * 3600 * 1000));
}

TEST_F(Producers, NeedAnIdAndABoundedList) {
  for (const std::string& id : {std::string(), std::string("a/b"), std::string("\xff"),
                                std::string("a\n"), std::string(256, 'x')}) {
    EXPECT_EQ(Do(catalog_.PlanRegisterProducer(Offsets(id), kNow)), ErrorCode::kInvalidProducer)
        << id;
  }
  ProducerOffsets long_list = Offsets("sink");
  long_list.offsets.resize(100'001);
  EXPECT_EQ(Do(catalog_.PlanRegisterProducer(long_list, kNow)), ErrorCode::kInvalidProducer);
  ProducerOffsets short_lived = Offsets("sink");
  short_lived.ttl = std::chrono::milliseconds(0);
  EXPECT_EQ(Do(catalog_.PlanRegisterProducer(short_lived, kNow)), ErrorCode::kInvalidProducer);
  ProducerOffsets immortal = Offsets("sink");
  immortal.ttl = std::chrono::milliseconds::max();
  EXPECT_EQ(Do(catalog_.PlanRegisterProducer(immortal, kNow)), std::nullopt);
  EXPECT_GT(catalog_.FindProducer("sink", kNow)->expires, kNow);
}

}  // namespace
}  // namespace weir
