// Every API, from the bytes of a request to those of its response, over a catalog in memory.
#include "weir/gateway/fluss/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/gateway/fluss/api_testing.h"

namespace weir::fluss {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// --- The table of APIs
// -------------------------------------------------------------------------------

TEST_F(ApiTest, ApisAreSortedByTheirKeys) {
  for (size_t i = 1; i < Apis().size(); ++i) EXPECT_LT(Apis()[i - 1].key, Apis()[i].key);
  for (const Api& api : Apis()) EXPECT_EQ(FindApi(api.key), &api);
}

TEST_F(ApiTest, ClientsAreNotToldOfWhatServersCall) {
  for (const int16_t key : {1013, 1018, 1019, 1020, 1022, 1027, 1028, 1029, 1031, 1043}) {
    EXPECT_EQ(FindApi(key), nullptr) << key;
  }
  EXPECT_EQ(Apis().size(), 65u - 10u);
}

TEST_F(ApiTest, VersionsAreThoseThatAreServed) {
  wire::ApiVersionsRequest request;
  request.set_client_software_name("test");
  request.set_client_software_version("1");
  const auto response = Must<wire::ApiVersionsResponse>(1000, request);
  EXPECT_FALSE(response.has_server_type());  // one port serves both roles
  std::map<int32_t, int32_t> versions;
  for (const auto& version : response.api_versions()) {
    EXPECT_EQ(version.min_version(), 0);
    versions[version.api_key()] = version.max_version();
  }
  EXPECT_EQ(versions.size(), Apis().size());
  EXPECT_EQ(versions.at(1016), 2);
  EXPECT_EQ(versions.at(1017), 1);
  EXPECT_EQ(versions.at(1034), 1);
  EXPECT_EQ(versions.at(1014), 0);
}

TEST_F(ApiTest, UnknownApisAndVersionsAreAnsweredAsUnsupported) {
  std::string response;
  for (const int16_t key : {0, 18, 999, 1013, 1043, 1065, 32767, -1}) {
    EXPECT_EQ(CallBytes(key, "", response), 2) << key;
  }
  EXPECT_EQ(CallBytes(1014, "", response, 1), 2);
  EXPECT_EQ(CallBytes(1000, "", response, -1), 2);
}

TEST_F(ApiTest, BodiesThatCannotBeDecodedAreAnsweredAsCorrupt) {
  std::string response;
  for (const Api& api : Apis())
    EXPECT_EQ(CallBytes(api.key, "\xff\xff\xff", response), 3) << api.name;
  for (const int16_t key : {1001, 1005, 1012 + 2, 1015, 1016, 1021, 1033, 1038, 1053}) {
    EXPECT_EQ(CallBytes(key, "", response), 3) << key;  // required fields are missing
  }
}

TEST_F(ApiTest, AnEmptyFileSystemTokenSaysThatNoneIsNeeded) {
  const auto response = Must<wire::GetFileSystemSecurityTokenResponse>(
      1025, wire::GetFileSystemSecurityTokenRequest());
  EXPECT_EQ(response.schema(), "file");
  EXPECT_TRUE(response.has_token());
  EXPECT_EQ(response.token(), "");
}

// --- Databases, tables, partitions
// -------------------------------------------------------------------

TEST_F(ApiTest, DatabasesAreMadeListedAndDropped) {
  wire::CreateDatabaseRequest create;
  create.set_database_name("sales");
  create.set_ignore_if_exists(false);
  create.set_database_json(R"({"version":1,"comment":"c","custom_properties":{"a":"b"}})");
  Must<wire::CreateDatabaseResponse>(1001, create);
  EXPECT_EQ(CodeOf(1001, create), 6);
  EXPECT_THAT(Must<wire::ListDatabasesResponse>(1003, wire::ListDatabasesRequest()).database_name(),
              ElementsAre("fluss", "sales"));

  wire::ListDatabasesRequest summaries;
  summaries.set_include_summary(true);
  const auto listed = Must<wire::ListDatabasesResponse>(1003, summaries);
  EXPECT_THAT(listed.database_name(), IsEmpty());
  ASSERT_EQ(listed.database_summary_size(), 2);
  EXPECT_EQ(listed.database_summary(1).table_count(), 0);

  wire::AlterDatabaseRequest alter;
  alter.set_database_name("sales");
  alter.set_ignore_if_not_exists(false);
  alter.set_comment("");
  Must<wire::AlterDatabaseResponse>(1060, alter);
  wire::GetDatabaseInfoRequest ask;
  ask.set_database_name("sales");
  EXPECT_EQ(Must<wire::GetDatabaseInfoResponse>(1035, ask).database_json().find("comment"),
            std::string::npos);

  wire::DropDatabaseRequest drop;
  drop.set_database_name("sales");
  drop.set_ignore_if_not_exists(false);
  drop.set_cascade(false);
  Must<wire::DropDatabaseResponse>(1002, drop);
  EXPECT_EQ(CodeOf(1002, drop), 4);
  EXPECT_EQ(CodeOf(1035, ask), 4);
  wire::DatabaseExistsRequest exists;
  exists.set_database_name("sales");
  EXPECT_FALSE(Must<wire::DatabaseExistsResponse>(1004, exists).exists());
}

TEST_F(ApiTest, TablesAreToldAsTheyAreStored) {
  const int64_t id = MakeTable("t", kLogTable);
  wire::GetTableInfoRequest ask;
  *ask.mutable_table_path() = Path("t");
  const auto info = Must<wire::GetTableInfoResponse>(1007, ask);
  EXPECT_EQ(info.table_id(), id);
  EXPECT_EQ(info.schema_id(), 1);
  EXPECT_NE(info.table_json().find("table.replication.factor"), std::string::npos);
  *ask.mutable_table_path() = Path("nope");
  EXPECT_EQ(CodeOf(1007, ask), 7);

  wire::ListTablesRequest list;
  list.set_database_name("fluss");
  EXPECT_THAT(Must<wire::ListTablesResponse>(1008, list).table_name(), ElementsAre("t"));
  list.set_database_name("nope");
  EXPECT_EQ(CodeOf(1008, list), 4);

  wire::TableExistsRequest exists;
  *exists.mutable_table_path() = Path("t", "nope");
  EXPECT_FALSE(Must<wire::TableExistsResponse>(1010, exists).exists());
}

TEST_F(ApiTest, EverySchemaVersionStaysReadable) {
  MakeTable("t", kLogTable);
  wire::AlterTableRequest alter;
  *alter.mutable_table_path() = Path("t");
  alter.set_ignore_if_not_exists(false);
  auto& column = *alter.add_add_columns();
  column.set_column_name("more");
  column.set_data_type_json(R"({"type":"DOUBLE"})");
  column.set_column_position_type(0);
  Must<wire::AlterTableResponse>(1044, alter);
  wire::GetTableSchemaRequest ask;
  *ask.mutable_table_path() = Path("t");
  EXPECT_EQ(Must<wire::GetTableSchemaResponse>(1011, ask).schema_id(), 2);
  ask.set_schema_id(1);
  const auto first = Must<wire::GetTableSchemaResponse>(1011, ask);
  EXPECT_EQ(first.schema_id(), 1);
  EXPECT_EQ(first.schema_json().find("more"), std::string::npos);
  for (const int32_t id : {0, 3, -1, 65537}) {
    ask.set_schema_id(id);
    EXPECT_EQ(CodeOf(1011, ask), 9) << id;
  }
}

TEST_F(ApiTest, AlterationsThatAreNotOfferedAreRefused) {
  MakeTable("t", kLogTable);
  wire::AlterTableRequest alter;
  *alter.mutable_table_path() = Path("t");
  alter.set_ignore_if_not_exists(false);
  alter.add_drop_columns()->set_column_name("day");
  EXPECT_EQ(CodeOf(1044, alter), 56);
  alter.clear_drop_columns();
  auto& column = *alter.add_add_columns();
  column.set_column_name("first");
  column.set_data_type_json(R"({"type":"INTEGER"})");
  column.set_column_position_type(1);
  EXPECT_EQ(CodeOf(1044, alter), 56);
}

TEST_F(ApiTest, PartitionsAreListedWithTheirValues) {
  MakeTable("p", kPartitionedTable);
  EXPECT_EQ(ChangePartition(1036, "p", "mon"), 0);
  EXPECT_EQ(ChangePartition(1036, "p", "mon"), 42);
  EXPECT_EQ(ChangePartition(1036, "p", "mon", true),
            0);  // the flag means "if it exists", whatever its name
  EXPECT_EQ(ChangePartition(1036, "p", "tue"), 0);
  EXPECT_EQ(ChangePartition(1037, "p", "wed"), 36);
  EXPECT_EQ(ChangePartition(1037, "p", "tue"), 0);
  EXPECT_EQ(ChangePartition(1036, "p", "a.b"), 43);
  wire::ListPartitionInfosRequest list;
  *list.mutable_table_path() = Path("p");
  const auto listed = Must<wire::ListPartitionInfosResponse>(1009, list);
  ASSERT_EQ(listed.partitions_info_size(), 1);
  const auto& spec = listed.partitions_info(0).partition_spec();
  ASSERT_EQ(spec.partition_key_values_size(), 1);
  EXPECT_EQ(spec.partition_key_values(0).key(), "day");
  EXPECT_EQ(spec.partition_key_values(0).value(), "mon");
  MakeTable("t", kLogTable);
  *list.mutable_table_path() = Path("t");
  EXPECT_EQ(CodeOf(1009, list), 37);
}

// --- Metadata
// ----------------------------------------------------------------------------------------

TEST_F(ApiTest, MetadataAlwaysNamesTheServersInBothRoles) {
  const auto metadata = Must<wire::MetadataResponse>(1012, wire::MetadataRequest());
  EXPECT_EQ(metadata.coordinator_server().host(), "weir.example");
  EXPECT_EQ(metadata.coordinator_server().port(), 19123);
  ASSERT_EQ(metadata.tablet_servers_size(), 1);
  EXPECT_EQ(metadata.tablet_servers(0).host(), "weir.example");
  EXPECT_GE(metadata.tablet_servers(0).node_id(), 0);
  EXPECT_EQ(metadata.table_metadata_size(), 0);
}

TEST_F(ApiTest, MetadataOfATableNamesEachBucketOnce) {
  const int64_t id = MakeTable("t", kLogTable);
  wire::MetadataRequest request;
  *request.add_table_path() = Path("t");
  const auto metadata = Must<wire::MetadataResponse>(1012, request);
  ASSERT_EQ(metadata.table_metadata_size(), 1);
  const auto& table = metadata.table_metadata(0);
  EXPECT_EQ(table.table_id(), id);
  ASSERT_EQ(table.bucket_metadata_size(), 2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(table.bucket_metadata(i).bucket_id(), i);
    EXPECT_EQ(table.bucket_metadata(i).leader_id(), metadata.tablet_servers(0).node_id());
    EXPECT_THAT(table.bucket_metadata(i).replica_id(),
                ElementsAre(table.bucket_metadata(i).leader_id()));
  }
  *request.add_table_path() = Path("nope");
  EXPECT_EQ(CodeOf(1012, request), 7);
}

TEST_F(ApiTest, MetadataOfPartitionsIsGivenOnlyWhenAskedFor) {
  MakeTable("p", kPartitionedTable);
  ChangePartition(1036, "p", "mon");
  wire::MetadataRequest request;
  *request.add_table_path() = Path("p");
  auto metadata = Must<wire::MetadataResponse>(1012, request);
  EXPECT_EQ(metadata.table_metadata(0).bucket_metadata_size(), 0);
  EXPECT_EQ(metadata.partition_metadata_size(), 0);

  auto& path = *request.add_partitions_path();
  path.set_database_name("fluss");
  path.set_table_name("p");
  path.set_partition_name("mon");
  metadata = Must<wire::MetadataResponse>(1012, request);
  ASSERT_EQ(metadata.partition_metadata_size(), 1);
  EXPECT_EQ(metadata.partition_metadata(0).partition_name(), "mon");
  EXPECT_EQ(metadata.partition_metadata(0).bucket_metadata_size(), 2);

  wire::MetadataRequest by_id;
  by_id.add_partitions_id(metadata.partition_metadata(0).partition_id());
  EXPECT_EQ(Must<wire::MetadataResponse>(1012, by_id).partition_metadata(0).partition_name(),
            "mon");
  by_id.add_partitions_id(999);
  EXPECT_EQ(CodeOf(1012, by_id), 36);
  path.set_partition_name("never");
  EXPECT_EQ(CodeOf(1012, request), 36);  // writers wait for exactly this code
}

TEST_F(ApiTest, MetadataOfOneTableManyTimesIsBounded) {
  std::string large = kLogTable;
  large.replace(large.find("\"bucket_count\":2"), 16, "\"bucket_count\":4096");
  MakeTable("t", large.c_str());
  wire::MetadataRequest request;
  for (int i = 0; i < 100; ++i) *request.add_table_path() = Path("t");
  EXPECT_EQ(CodeOf(1012, request), 0);
  for (int i = 0; i < 600; ++i) *request.add_table_path() = Path("t");
  EXPECT_EQ(CodeOf(1012, request), 3);
}

// --- Logs
// --------------------------------------------------------------------------------------------

TEST_F(ApiTest, AppendsAreGivenToTheNodeInTheirOrder) {
  wire::ProduceLogRequest request;
  request.set_acks(1);
  request.set_table_id(7);
  request.set_timeout_ms(1000);
  for (const int bucket : {2, 0, 1}) {
    auto& added = *request.add_buckets_req();
    added.set_bucket_id(bucket);
    added.set_records(std::to_string(bucket));
  }
  node_.append_results = {LogOffset(100), Fail(ErrorCode::kOutOfOrderSequence, "gap"),
                          LogOffset(7)};
  const auto response = Must<wire::ProduceLogResponse>(1014, request);
  ASSERT_EQ(node_.appended.size(), 3u);
  EXPECT_EQ(node_.appended[0].bucket, (TableBucket{TableId(7), std::nullopt, 2}));
  EXPECT_EQ(node_.appended[0].acks, Acks::kLeader);
  EXPECT_EQ(node_.appended[0].timeout, std::chrono::seconds(1));
  EXPECT_EQ(node_.appended[1].records, "0");
  ASSERT_EQ(response.buckets_resp_size(), 3);
  EXPECT_EQ(response.buckets_resp(0).base_offset(), 100);
  EXPECT_EQ(response.buckets_resp(1).error_code(), 31);
  EXPECT_EQ(response.buckets_resp(2).base_offset(), 7);
}

TEST_F(ApiTest, AcksThatAreNoneOfThreeAreRefusedAsAWhole) {
  std::string response;
  for (const int32_t acks : {2, -2, 100})
    EXPECT_EQ(CallBytes(1014, ProduceBody("x", acks), response), 18);
  EXPECT_THAT(node_.appended, IsEmpty());
  for (const int32_t acks : {0, 1, -1})
    EXPECT_EQ(CallBytes(1014, ProduceBody("x", acks), response), 0);
}

TEST_F(ApiTest, AFetchWithoutMinBytesDoesNotWait) {
  wire::FetchLogRequest request;
  ASSERT_TRUE(request.ParseFromString(FetchBody(500, 1)));
  request.clear_min_bytes();
  Must<wire::FetchLogResponse>(1015, request);
  EXPECT_EQ(node_.fetches.back().wait_max, Duration::zero());
  EXPECT_EQ(node_.fetches.back().bytes_min, 0u);
}

TEST_F(ApiTest, AFetchIsBoundedWhateverItAsksFor) {
  wire::FetchLogRequest request;
  ASSERT_TRUE(request.ParseFromString(FetchBody(INT32_MAX, 0)));
  request.set_max_bytes(INT32_MAX);
  Must<wire::FetchLogResponse>(1015, request);
  EXPECT_EQ(node_.fetches.back().wait_max, std::chrono::minutes(5));
  EXPECT_EQ(node_.fetches.back().bytes_max, service_.config.fetch_bytes_max);
  request.set_max_bytes(-1);
  request.set_min_bytes(-1);
  request.clear_max_wait_ms();
  Must<wire::FetchLogResponse>(1015, request);
  EXPECT_EQ(node_.fetches.back().wait_max, std::chrono::milliseconds(100));
  EXPECT_EQ(node_.fetches.back().bytes_max, 0u);
  EXPECT_EQ(node_.fetches.back().bytes_min, 0u);
  service_.response_bytes = service_.config.response_bytes_max;
  request.set_max_bytes(INT32_MAX);
  Must<wire::FetchLogResponse>(1015, request);
  EXPECT_EQ(node_.fetches.back().bytes_max, 64u << 10);
  service_.response_bytes = 0;
}

TEST_F(ApiTest, OffsetsAreListedBucketByBucket) {
  node_.offset = [](TableBucket bucket, OffsetSpec spec) -> Result<LogOffset> {
    if (bucket.bucket_id == 3) return Fail(ErrorCode::kUnknownBucket, "no");
    EXPECT_EQ(spec.kind, OffsetSpec::Kind::kTimestamp);
    EXPECT_EQ(spec.timestamp, Timestamp(5));
    return LogOffset(bucket.bucket_id * 10);
  };
  wire::ListOffsetsRequest request;
  request.set_follower_server_id(-1);
  request.set_offset_type(2);
  request.set_start_timestamp(5);
  request.set_table_id(7);
  request.add_bucket_id(0);
  request.add_bucket_id(3);
  const auto response = Must<wire::ListOffsetsResponse>(1021, request);
  ASSERT_EQ(response.buckets_resp_size(), 2);
  EXPECT_TRUE(response.buckets_resp(0).has_offset());
  EXPECT_FALSE(response.buckets_resp(0).has_error_code());
  EXPECT_EQ(response.buckets_resp(1).error_code(), 21);
  request.clear_start_timestamp();
  EXPECT_EQ(CodeOf(1021, request), 3);
  request.set_offset_type(3);
  EXPECT_EQ(CodeOf(1021, request), 3);
}

TEST_F(ApiTest, ManyBucketsAreAskedInTurns) {
  node_.offset = [](TableBucket bucket, OffsetSpec) -> Result<LogOffset> {
    return LogOffset(bucket.bucket_id);
  };
  wire::ListOffsetsRequest request;
  request.set_follower_server_id(-1);
  request.set_offset_type(1);
  request.set_table_id(7);
  for (int i = 0; i < 1000; ++i) request.add_bucket_id(i);
  const auto response = Must<wire::ListOffsetsResponse>(1021, request);
  ASSERT_EQ(response.buckets_resp_size(), 1000);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(response.buckets_resp(i).offset(), i);
  for (int i = 0; i < 70'000; ++i) request.add_bucket_id(i);
  EXPECT_EQ(CodeOf(1021, request), 3);
}

TEST_F(ApiTest, StatisticsHaveARowCountOrAnError) {
  node_.count = [](TableBucket bucket) -> Result<int64_t> {
    if (bucket.bucket_id == 1) return Fail(ErrorCode::kUnknownBucket, "no");
    return 0;
  };
  wire::GetTableStatsRequest request;
  request.set_table_id(MakeTable("log", kLogTable));
  for (const int bucket : {0, 1}) request.add_buckets_req()->set_bucket_id(bucket);
  const auto response = Must<wire::GetTableStatsResponse>(1059, request);
  EXPECT_TRUE(response.buckets_resp(0).has_row_count());
  EXPECT_FALSE(response.buckets_resp(0).has_error_code());
  EXPECT_EQ(response.buckets_resp(1).error_code(), 21);
}

TEST_F(ApiTest, ALimitScanSendsRecordsOrFailsAsAWhole) {
  wire::LimitScanRequest request;
  request.set_table_id(MakeTable("log", kLogTable));
  request.set_bucket_id(0);
  request.set_limit(10);
  node_.limit_scan = [](TableBucket, int64_t limit) -> Result<LogPieces> {
    EXPECT_EQ(limit, 10);
    LogPieces pieces;
    for (const char* text : {"ab", "cde"}) pieces.pieces.push_back(Buffer::CopyOf(AsBytes(text)));
    pieces.bytes = 5;
    return pieces;
  };
  const auto response = Must<wire::LimitScanResponse>(1033, request);
  EXPECT_EQ(response.records(), "abcde");
  EXPECT_TRUE(response.is_log_table());
  EXPECT_FALSE(response.has_error_code());
  node_.limit_scan = nullptr;
  EXPECT_EQ(CodeOf(1033, request), 21);
  request.set_table_id(10'000);
  EXPECT_EQ(CodeOf(1033, request), 21);
}

TEST_F(ApiTest, ALimitScanOfAPrimaryKeyTableSendsItsFirstRows) {
  node_.first_rows = [](int64_t limit) {
    EXPECT_EQ(limit, 3);
    return Buffer::CopyOf(AsBytes("rows"));
  };
  wire::LimitScanRequest request;
  request.set_table_id(MakeTable("keyed", kKeyedTable));
  request.set_bucket_id(0);
  request.set_limit(3);
  const auto response = Must<wire::LimitScanResponse>(1033, request);
  EXPECT_EQ(response.records(), "rows");
  EXPECT_FALSE(response.is_log_table());
}

TEST_F(ApiTest, WriterIdsAreGivenOutOnce) {
  const auto first = Must<wire::InitWriterResponse>(1026, wire::InitWriterRequest());
  const auto second = Must<wire::InitWriterResponse>(1026, wire::InitWriterRequest());
  EXPECT_GE(first.writer_id(), 0);
  EXPECT_NE(first.writer_id(), second.writer_id());
}

// --- Lake, cluster, producers
// ------------------------------------------------------------------------

TEST_F(ApiTest, ATableThatWasNeverTieredHasNoLakeSnapshot) {
  MakeTable("t", kLogTable);
  wire::GetLakeSnapshotRequest request;
  *request.mutable_table_path() = Path("t");
  EXPECT_EQ(CodeOf(1032, request), 53);
  *request.mutable_table_path() = Path("nope");
  EXPECT_EQ(CodeOf(1032, request), 7);
  EXPECT_EQ(CodeOf(1042, wire::LakeTieringHeartbeatRequest()), 40);
  EXPECT_EQ(CodeOf(1052, wire::PrepareLakeTableSnapshotRequest()), 40);
  EXPECT_EQ(CodeOf(1030, wire::CommitLakeTableSnapshotRequest()), 40);
}

TEST_F(ApiTest, AccessControlIsOff) {
  EXPECT_EQ(CodeOf(1039, wire::CreateAclsRequest()), 47);
  EXPECT_EQ(CodeOf(1041, wire::DropAclsRequest()), 47);
  wire::ListAclsRequest list;
  list.mutable_acl_filter()->set_resource_type(1);
  list.mutable_acl_filter()->set_operation_type(1);
  list.mutable_acl_filter()->set_permission_type(1);
  EXPECT_EQ(CodeOf(1040, list), 47);
}

TEST_F(ApiTest, SettingsAreToldAndCannotBeChanged) {
  std::map<std::string, std::string> settings;
  const auto described =
      Must<wire::DescribeClusterConfigsResponse>(1045, wire::DescribeClusterConfigsRequest());
  for (const auto& config : described.configs()) {
    settings[config.config_key()] = config.config_value();
    EXPECT_EQ(config.config_source(), "INITIAL_SERVER_CONFIG");
  }
  EXPECT_EQ(settings.at("default.bucket.number"), "1");
  EXPECT_EQ(settings.at("default.replication.factor"), "1");
  wire::AlterClusterConfigsRequest alter;
  Must<wire::AlterClusterConfigsResponse>(1046, alter);
  alter.add_alter_configs()->set_config_key("no.such.key");
  alter.mutable_alter_configs(0)->set_op_type(0);
  EXPECT_EQ(CodeOf(1046, alter), 64);
}

TEST_F(ApiTest, HealthCountsTheBucketsThatThereAre) {
  auto health = Must<wire::GetClusterHealthResponse>(1062, wire::GetClusterHealthRequest());
  EXPECT_EQ(health.num_leader_replicas(), 0);
  MakeTable("t", kLogTable);
  MakeTable("p", kPartitionedTable);
  ChangePartition(1036, "p", "mon");
  ChangePartition(1036, "p", "tue");
  health = Must<wire::GetClusterHealthResponse>(1062, wire::GetClusterHealthRequest());
  EXPECT_EQ(health.num_leader_replicas(), 6);
  EXPECT_EQ(health.active_leader_replicas(), 6);
  EXPECT_EQ(health.status(), 0);
}

TEST_F(ApiTest, ServerTagsAreKeptForTheOneServer) {
  wire::AddServerTagRequest add;
  add.set_server_tag(1);
  add.add_server_ids(5);
  EXPECT_EQ(CodeOf(1047, add), 58);
  add.set_server_ids(0, 0);
  EXPECT_EQ(CodeOf(1047, add), 0);
  EXPECT_EQ(CodeOf(1047, add), 59);
  wire::RemoveServerTagRequest remove;
  remove.add_server_ids(0);
  remove.set_server_tag(0);
  EXPECT_EQ(CodeOf(1048, remove), 60);
  remove.set_server_tag(1);
  EXPECT_EQ(CodeOf(1048, remove), 0);
  EXPECT_EQ(CodeOf(1048, remove), 60);
}

TEST_F(ApiTest, ARebalanceIsDoneAtOnce) {
  wire::ListRebalanceProgressRequest ask;
  EXPECT_FALSE(Must<wire::ListRebalanceProgressResponse>(1050, ask).has_rebalance_id());
  const auto made = Must<wire::RebalanceResponse>(1049, wire::RebalanceRequest());
  auto progress = Must<wire::ListRebalanceProgressResponse>(1050, ask);
  EXPECT_EQ(progress.rebalance_id(), made.rebalance_id());
  EXPECT_EQ(progress.rebalance_status(), 3);
  ask.set_rebalance_id("rebalance-2");
  EXPECT_FALSE(Must<wire::ListRebalanceProgressResponse>(1050, ask).has_rebalance_id());
  EXPECT_EQ(CodeOf(1051, wire::CancelRebalanceRequest()), 62);
}

TEST_F(ApiTest, TheFirstOffsetsOfAProducerStay) {
  wire::RegisterProducerOffsetsRequest request;
  request.set_producer_id("job");
  auto& table = *request.add_table_offsets();
  table.set_table_id(4);
  table.add_bucket_offsets()->set_bucket_id(0);
  EXPECT_EQ(CodeOf(1053, request), 3);
  table.mutable_bucket_offsets(0)->set_log_end_offset(5);
  EXPECT_EQ(Must<wire::RegisterProducerOffsetsResponse>(1053, request).result(), 0);
  table.mutable_bucket_offsets(0)->set_log_end_offset(99);
  EXPECT_EQ(Must<wire::RegisterProducerOffsetsResponse>(1053, request).result(), 1);
  wire::GetProducerOffsetsRequest ask;
  ask.set_producer_id("job");
  const auto kept = Must<wire::GetProducerOffsetsResponse>(1054, ask);
  EXPECT_EQ(kept.producer_id(), "job");
  EXPECT_GT(kept.expiration_time(), clock_.Now().value);
  ASSERT_EQ(kept.table_offsets_size(), 1);
  EXPECT_EQ(kept.table_offsets(0).bucket_offsets(0).log_end_offset(), 5);
  wire::DeleteProducerOffsetsRequest drop;
  drop.set_producer_id("job");
  Must<wire::DeleteProducerOffsetsResponse>(1055, drop);
  Must<wire::DeleteProducerOffsetsResponse>(1055, drop);
  const auto gone = Must<wire::GetProducerOffsetsResponse>(1054, ask);
  EXPECT_FALSE(gone.has_producer_id());
  EXPECT_FALSE(gone.has_expiration_time());
  request.set_producer_id("");
  EXPECT_EQ(CodeOf(1053, request), 63);
}

}  // namespace
}  // namespace weir::fluss
