// Changes and snapshots: what is written is read again, and what does not fit is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/catalog/catalog_testing.h"

namespace weir {
namespace {

using nlohmann::json;

class CatalogState : public CatalogTest {
 protected:
  // A bit of everything.
  void Fill() {
    ASSERT_EQ(Do(catalog_.PlanCreateDatabase(
                  "noted", R"({"comment":"täglich","custom_properties":{"a":"b"}})", false, kNow)),
              std::nullopt);
    ASSERT_EQ(Create("plain", {}), std::nullopt);
    ASSERT_EQ(Create("dropped", {}), std::nullopt);
    ASSERT_EQ(Do(catalog_.PlanDropTable(PathOf("dropped"), false)), std::nullopt);
    ASSERT_EQ(Create("parted", TwoKeys()), std::nullopt);
    ASSERT_EQ(CreatePartition("parted", {{"region", "eu"}, {"day", "1"}}), std::nullopt);
    ASSERT_EQ(CreatePartition("parted", {{"region", "eu"}, {"day", "2"}}), std::nullopt);
    ASSERT_EQ(
        Do(catalog_.PlanDropPartition(PathOf("parted"), {{"region", "eu"}, {"day", "1"}}, false)),
        std::nullopt);
    const TableAlteration grow{.path = PathOf("plain"),
                               .ignore_if_missing = false,
                               .properties = {},
                               .added_columns = {{.name = "more",
                                                  .data_type_json = R"({"type":"DATE"})",
                                                  .comment = "later",
                                                  .is_last = true,
                                                  .aggregate = {},
                                                  .aggregate_parameters = {}}},
                               .changes_columns = false};
    ASSERT_EQ(Do(catalog_.PlanAlterTable(grow, Timestamp(kNow.value + 1))), std::nullopt);
    Carry(catalog_.PlanReserveWriters(1000));
    const ProducerOffsets offsets{
        .producer_id = "sink",
        .offsets = {{TableBucket{TableId(0), std::nullopt, 0}, LogOffset(5)},
                    {TableBucket{TableId(2), PartitionId(1), 0}, LogOffset(6)}},
        .ttl = {}};
    ASSERT_EQ(Do(catalog_.PlanRegisterProducer(offsets, kNow)), std::nullopt);
  }
};

TEST_F(CatalogState, ComesBackFromASnapshot) {
  Fill();
  const std::string snapshot = catalog_.EncodeSnapshot();
  const auto again = Catalog::DecodeSnapshot(snapshot);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->EncodeSnapshot(), snapshot);

  const TablePtr plain = again->FindTable(PathOf("plain"));
  ASSERT_NE(plain, nullptr);
  EXPECT_EQ(plain->descriptor_json, catalog_.FindTable(PathOf("plain"))->descriptor_json);
  EXPECT_EQ(plain->schema_versions, catalog_.FindTable(PathOf("plain"))->schema_versions);
  EXPECT_EQ(plain->modified, Timestamp(kNow.value + 1));
  EXPECT_EQ(again->GetDatabase("noted")->comment, "täglich");
  EXPECT_EQ(again->FindPartition(PartitionId(1))->name, "eu$2");
  EXPECT_EQ(again->next_writer_id(), WriterId(1000));
  EXPECT_EQ(again->FindProducer("sink", kNow)->offsets.size(), 2u);
}

TEST_F(CatalogState, NeverUsesAnIdAgainAfterASnapshot) {
  ASSERT_EQ(Create("t", OneKey()), std::nullopt);
  ASSERT_EQ(CreatePartition("t", {{"p", "a"}}), std::nullopt);
  ASSERT_EQ(Do(catalog_.PlanDropTable(PathOf("t"), false)), std::nullopt);
  catalog_ = *Catalog::DecodeSnapshot(catalog_.EncodeSnapshot());
  ASSERT_EQ(Create("t", OneKey()), std::nullopt);
  ASSERT_EQ(CreatePartition("t", {{"p", "a"}}), std::nullopt);
  EXPECT_EQ(catalog_.FindTable(PathOf("t"))->id, TableId(1));
  EXPECT_NE(catalog_.FindPartition(PartitionId(1)), nullptr);
}

TEST_F(CatalogState, RefusesASnapshotThatIsBroken) {
  Fill();
  const std::string snapshot = catalog_.EncodeSnapshot();
  const auto code = [](const std::string& text) {
    const auto catalog = Catalog::DecodeSnapshot(text);
    return catalog.ok() ? std::nullopt : std::optional(catalog.error().code);
  };
  EXPECT_EQ(code(""), ErrorCode::kCorruptData);
  EXPECT_EQ(code(snapshot.substr(0, snapshot.size() - 1)), ErrorCode::kCorruptData);
  EXPECT_EQ(code(snapshot.substr(0, snapshot.size() / 2)), ErrorCode::kCorruptData);
  EXPECT_EQ(code(snapshot + "{}\n"), ErrorCode::kCorruptData);
  const std::string second_line = snapshot.substr(snapshot.find('\n') + 1);
  EXPECT_EQ(code(snapshot.substr(0, snapshot.find('\n') + 1)), ErrorCode::kCorruptData);
  EXPECT_EQ(code(second_line), ErrorCode::kUnsupported) << "a change is no head";
  json head = json::parse(snapshot.substr(0, snapshot.find('\n')));
  head["version"] = 2;
  EXPECT_EQ(code(head.dump() + "\n" + second_line), ErrorCode::kUnsupported);
}

TEST_F(CatalogState, RefusesChangesThatDoNotFitAndStaysAsItIs) {
  Fill();
  const std::string before = catalog_.EncodeSnapshot();
  const TablePtr plain = catalog_.FindTable(PathOf("plain"));
  const TablePtr parted = catalog_.FindTable(PathOf("parted"));
  const TableCreated created{.id = TableId(50),
                             .path = PathOf("new"),
                             .descriptor = plain->descriptor,
                             .schema_versions = plain->schema_versions,
                             .created = kNow,
                             .modified = kNow};
  TableCreated no_database = created;
  no_database.path.database = "nowhere";
  TableCreated same_path = created;
  same_path.path = plain->path;
  TableCreated same_id = created;
  same_id.id = plain->id;
  const auto partition = [&](int64_t id, const char* name) {
    return PartitionInfo{
        .id = PartitionId(id), .table_id = parted->id, .name = name, .created = kNow};
  };
  const std::vector<CatalogChange> changes = {
      DatabaseDropped{"nowhere"},
      no_database,
      same_path,
      same_id,
      TableAltered{.id = TableId(50), .descriptor = plain->descriptor, .modified = kNow},
      TableAltered{.id = plain->id, .descriptor = parted->descriptor, .modified = kNow},
      TableDropped{TableId(50)},
      PartitionsChanged{.table_id = plain->id, .created = {}, .dropped = {}},
      PartitionsChanged{.table_id = parted->id,
                        .created = {partition(9, "a$b"), partition(9, "a$c")},
                        .dropped = {}},
      PartitionsChanged{.table_id = parted->id,
                        .created = {partition(9, "a$b"), partition(10, "a$b")},
                        .dropped = {}},
      PartitionsChanged{.table_id = parted->id, .created = {partition(9, "eu$2")}, .dropped = {}},
      PartitionsChanged{.table_id = parted->id, .created = {partition(1, "a$b")}, .dropped = {}},
      PartitionsChanged{
          .table_id = parted->id, .created = {partition(9, "a$b")}, .dropped = {PartitionId(0)}},
      PartitionsChanged{
          .table_id = parted->id, .created = {}, .dropped = {PartitionId(1), PartitionId(1)}},
      WritersReserved{WriterId(1)},
  };
  for (const CatalogChange& change : changes) {
    const Status applied = catalog_.Apply(change);
    ASSERT_FALSE(applied.ok()) << EncodeCatalogChange(change);
    EXPECT_EQ(applied.error().code, ErrorCode::kCorruptData);
  }
  EXPECT_EQ(catalog_.EncodeSnapshot(), before);
}

TEST_F(CatalogState, MayDropAndMakeAPartitionOfOneNameAtOnce) {
  Fill();
  const TableId parted = catalog_.FindTable(PathOf("parted"))->id;
  Carry(PartitionsChanged{
      .table_id = parted,
      .created = {PartitionInfo{
          .id = PartitionId(9), .table_id = parted, .name = "eu$2", .created = kNow}},
      .dropped = {PartitionId(1)}});
  EXPECT_EQ(catalog_.FindPartition(parted, "eu$2")->id, PartitionId(9));
}

TEST_F(CatalogState, ReadsPropertiesThatANewerVersionKnows) {
  json change = json::parse(EncodeCatalogChange(
      *catalog_.PlanCreateTable(PathOf("t"), TableJson().Dump(), false, kNow).value()));
  change["descriptor"]["properties"]["table.invented.later"] = "x";
  const auto decoded = DecodeCatalogChange(change.dump());
  ASSERT_TRUE(decoded.ok());
  EXPECT_TRUE(catalog_.Apply(*decoded).ok());
  EXPECT_EQ(Told("t")["properties"]["table.invented.later"], "x");
}

TEST(CatalogChange, OfAnUnknownKindOrVersionIsUnsupported) {
  for (const char* text : {R"({"version":1,"kind":"invented_later"})",
                           R"({"version":2,"kind":"drop_table","table_id":1})"}) {
    const auto change = DecodeCatalogChange(text);
    ASSERT_FALSE(change.ok());
    EXPECT_EQ(change.error().code, ErrorCode::kUnsupported) << text;
  }
}

TEST(CatalogChange, ThatCannotBeReadIsCorrupt) {
  for (
      const char* text : {
          "",
          "{}",
          "[]",
          R"({"kind":"drop_table","table_id":1})",
          R"({"version":1,"kind":"drop_table"})",
          R"({"version":1,"kind":"drop_table","table_id":-1})",
          R"({"version":1,"kind":"drop_table","table_id":9223372036854775807})",
          R"({"version":1,"kind":"drop_table","table_id":1.5})",
          R"({"version":1,"kind":"put_database","database":{"name":"x"}})",
          R"({"version":1,"kind":"put_database","database":7})",
          R"({"version":1,"kind":"drop_database"})",
          R"({"version":1,"kind":"create_table","table_id":1,"database":"d","table":"t","created":0,"modified":0,"schemas":[[0,-1]]})",
          R"({"version":1,"kind":"create_table","table_id":1,"database":"d","table":"t","created":0,"modified":0,"schemas":[],"descriptor":{"schema":{"columns":[]}}})",
          R"({"version":1,"kind":"create_table","table_id":1,"database":"d","table":"t","created":0,"modified":0,"schemas":[[0,-1],[0,-1]],"descriptor":{"schema":{"columns":[]}}})",
          R"({"version":1,"kind":"create_table","table_id":1,"database":"d","table":"t","created":0,"modified":0,"schemas":[[1,0]],"descriptor":{"schema":{"columns":[]}}})",
          R"({"version":1,"kind":"alter_table","table_id":1,"modified":0,"descriptor":{"schema":7}})",
          R"({"version":1,"kind":"change_partitions","table_id":1,"created":[{}],"dropped":[]})",
          R"({"version":1,"kind":"change_partitions","table_id":1,"created":[7],"dropped":[]})",
          R"({"version":1,"kind":"change_partitions","table_id":1,"created":[],"dropped":["x"]})",
          R"({"version":1,"kind":"change_partitions","table_id":1,"created":[]})",
          R"({"version":1,"kind":"reserve_writers","end":"x"})",
          R"({"version":1,"kind":"reserve_numbers","table_id":1})",
          R"({"version":1,"kind":"reserve_numbers","table_id":1,"end":-1})",
          R"({"version":1,"kind":"register_producer","producer_id":"p","expires":0,"offsets":[[1,null,0]]})",
          R"({"version":1,"kind":"register_producer","producer_id":"p","expires":0,"offsets":[[1,null,4294967296,0]]})",
          R"({"version":1,"kind":"drop_producers","producer_ids":[7]})",
      }) {
    const auto change = DecodeCatalogChange(text);
    ASSERT_FALSE(change.ok()) << text;
    EXPECT_EQ(change.error().code, ErrorCode::kCorruptData) << text;
  }
}

}  // namespace
}  // namespace weir
