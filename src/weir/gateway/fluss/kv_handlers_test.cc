// The APIs of primary-key tables' rows and kv snapshots.
#include "weir/gateway/fluss/api_testing.h"

namespace weir::fluss {
namespace {

using testing::ElementsAre;

// --- Rows of primary-key tables
// -----------------------------------------------------------------------------------------------

RowValues Values(std::vector<std::optional<std::string>> values) {
  RowValues rows;
  std::string bytes;
  for (const auto& value : values) {
    rows.sizes.push_back(value ? static_cast<int32_t>(value->size()) : RowValues::kAbsent);
    bytes += value.value_or("");
  }
  rows.bytes = Buffer::CopyOf(AsBytes(bytes));
  return rows;
}

TEST_F(ApiTest, RowsOfUnknownBucketsAreRefusedBucketByBucket) {
  wire::LookupRequest lookup;
  lookup.set_table_id(999);
  lookup.add_buckets_req()->set_bucket_id(4);
  const auto looked_up = Must<wire::LookupResponse>(1017, lookup);
  ASSERT_EQ(looked_up.buckets_resp_size(), 1);
  EXPECT_EQ(looked_up.buckets_resp(0).bucket_id(), 4);
  EXPECT_EQ(looked_up.buckets_resp(0).error_code(), 21);

  wire::PrefixLookupRequest prefix;
  prefix.set_table_id(999);
  prefix.add_buckets_req()->set_bucket_id(4);
  EXPECT_EQ(Must<wire::PrefixLookupResponse>(1034, prefix).buckets_resp(0).error_code(), 21);

  wire::PutKvRequest put;
  put.set_acks(-1);
  put.set_table_id(999);
  put.set_timeout_ms(1);
  put.add_buckets_req()->set_bucket_id(4);
  put.mutable_buckets_req(0)->set_records("kv");
  const auto answered = Must<wire::PutKvResponse>(1016, put);
  EXPECT_EQ(answered.buckets_resp(0).error_code(), 21);
  EXPECT_FALSE(answered.buckets_resp(0).has_log_end_offset());

  wire::ScanKvRequest scan;
  scan.mutable_bucket_scan_req()->set_table_id(999);
  scan.mutable_bucket_scan_req()->set_bucket_id(4);
  scan.set_call_seq_id(0);
  scan.set_batch_size_bytes(1000);
  EXPECT_EQ(Must<wire::ScanKvResponse>(1061, scan).error_code(), 21);
}

TEST_F(ApiTest, APutCarriesItsColumnsAndItsModeAndTellsTheEndOfTheLog) {
  node_.put = [](TableBucket) { return LogOffset(17); };
  wire::PutKvRequest put;
  put.set_acks(-1);
  put.set_table_id(MakeTable("keyed", kKeyedTable));
  put.set_timeout_ms(1000);
  put.add_target_columns(0);
  put.add_target_columns(1);
  put.set_agg_mode(1);
  put.add_buckets_req()->set_bucket_id(2);
  put.mutable_buckets_req(0)->set_records("a batch");
  EXPECT_EQ(Must<wire::PutKvResponse>(1016, put).buckets_resp(0).log_end_offset(), 17);
  ASSERT_EQ(node_.puts.size(), 1u);
  EXPECT_EQ(node_.puts[0].batch, "a batch");
  EXPECT_THAT(node_.puts[0].mode.target_columns, ElementsAre(0, 1));
  EXPECT_TRUE(node_.puts[0].mode.is_overwrite);
  put.set_agg_mode(2);
  EXPECT_NE(CodeOf(1016, put), 0);
  put.set_agg_mode(0);
  put.set_acks(7);
  EXPECT_EQ(CodeOf(1016, put), 18);
}

TEST_F(ApiTest, ALookupAnswersEachKeyInItsPlace) {
  node_.lookup = [](const std::vector<Bytes>& keys) {
    std::vector<std::optional<std::string>> values;
    for (const Bytes key : keys) {
      values.push_back(AsText(key) == "no" ? std::nullopt
                                           : std::optional("v" + std::string(AsText(key))));
    }
    return Values(values);
  };
  wire::LookupRequest lookup;
  lookup.set_table_id(1);
  auto& bucket = *lookup.add_buckets_req();
  bucket.set_bucket_id(3);
  for (const char* key : {"a", "no", "a", ""}) bucket.add_keys(key);
  const auto answer = Must<wire::LookupResponse>(1017, lookup).buckets_resp(0);
  EXPECT_EQ(answer.bucket_id(), 3);
  EXPECT_FALSE(answer.has_error_code());
  ASSERT_EQ(answer.values_size(), 4);
  EXPECT_EQ(answer.values(0).values(), "va");
  EXPECT_FALSE(answer.values(1).has_values());
  EXPECT_EQ(answer.values(2).values(), "va");
  EXPECT_EQ(answer.values(3).values(), "v");
  EXPECT_TRUE(node_.puts.empty());
  lookup.set_insert_if_not_exists(true);
  lookup.set_acks(-1);
  lookup.set_timeout_ms(5);
  Must<wire::LookupResponse>(1017, lookup);
  EXPECT_EQ(node_.puts.size(), 1u) << "the node was asked to insert";
}

TEST_F(ApiTest, APrefixLookupAnswersWithAListForEachPrefix) {
  node_.lookup = [](const std::vector<Bytes>& keys) {
    return AsText(keys[0]) == "none" ? Values({}) : Values({"one", "two"});
  };
  wire::PrefixLookupRequest lookup;
  lookup.set_table_id(1);
  auto& bucket = *lookup.add_buckets_req();
  bucket.set_bucket_id(0);
  bucket.set_partition_id(5);
  bucket.add_keys("none");
  bucket.add_keys("p");
  const auto answer = Must<wire::PrefixLookupResponse>(1034, lookup).buckets_resp(0);
  EXPECT_EQ(answer.partition_id(), 5);
  ASSERT_EQ(answer.value_lists_size(), 2);
  EXPECT_EQ(answer.value_lists(0).values_size(), 0);
  EXPECT_THAT(answer.value_lists(1).values(), ElementsAre("one", "two"));
}

TEST_F(ApiTest, AScanIsReadPageByPage) {
  node_.open_scan = [](int64_t rows_max, size_t bytes_max) {
    EXPECT_EQ(rows_max, 10);
    EXPECT_EQ(bytes_max, 1000u);
    return ScanPage{"id", Buffer::CopyOf(AsBytes("rows")), LogOffset(8)};
  };
  node_.continue_scan = [](const std::string& id, int32_t call, size_t) {
    EXPECT_EQ(id, "id");
    EXPECT_EQ(call, 1);
    return ScanPage();
  };
  wire::ScanKvRequest open;
  open.mutable_bucket_scan_req()->set_table_id(1);
  open.mutable_bucket_scan_req()->set_bucket_id(0);
  open.mutable_bucket_scan_req()->set_limit(10);
  open.set_call_seq_id(0);
  open.set_batch_size_bytes(1000);
  const auto first = Must<wire::ScanKvResponse>(1061, open);
  EXPECT_FALSE(first.has_error_code());
  EXPECT_EQ(first.scanner_id(), "id");
  EXPECT_TRUE(first.has_more_results());
  EXPECT_EQ(first.records(), "rows");
  EXPECT_EQ(first.log_offset(), 8);
  wire::ScanKvRequest more;
  more.set_scanner_id("id");
  more.set_call_seq_id(1);
  more.set_batch_size_bytes(1000);
  const auto last = Must<wire::ScanKvResponse>(1061, more);
  EXPECT_FALSE(last.has_more_results());
  EXPECT_FALSE(last.has_scanner_id());
  EXPECT_FALSE(last.has_records());
  EXPECT_FALSE(last.has_log_offset());
}

TEST_F(ApiTest, ScansThatCannotBeAreRefusedInTheMessage) {
  wire::ScanKvRequest scan;
  EXPECT_EQ(Must<wire::ScanKvResponse>(1061, scan).error_code(), 68);
  scan.set_scanner_id("s");
  EXPECT_EQ(Must<wire::ScanKvResponse>(1061, scan).error_code(), 68);
  scan.set_call_seq_id(1);
  scan.set_batch_size_bytes(1);
  EXPECT_EQ(Must<wire::ScanKvResponse>(1061, scan).error_code(), 67);
  wire::ScanKvRequest close;
  close.set_scanner_id("s");
  close.set_close_scanner(true);
  const auto closed = Must<wire::ScanKvResponse>(1061, close);
  EXPECT_FALSE(closed.has_error_code());
  EXPECT_TRUE(closed.has_has_more_results());
  EXPECT_FALSE(closed.has_more_results());
}

TEST_F(ApiTest, EveryBucketHasAnEntryAmongTheLatestSnapshots) {
  MakeTable("log", kLogTable);
  MakeTable("keyed", kKeyedTable);
  wire::GetLatestKvSnapshotsRequest request;
  *request.mutable_table_path() = Path("keyed");
  const auto response = Must<wire::GetLatestKvSnapshotsResponse>(1023, request);
  EXPECT_FALSE(response.has_partition_id());
  ASSERT_EQ(response.latest_snapshots_size(), 3);
  for (const auto& snapshot : response.latest_snapshots()) {
    EXPECT_FALSE(snapshot.has_snapshot_id());
    EXPECT_FALSE(snapshot.has_log_offset());
  }
  request.set_partition_name("x");
  EXPECT_EQ(CodeOf(1023, request), 37);
  *request.mutable_table_path() = Path("log");
  EXPECT_EQ(CodeOf(1023, request), 20);
  *request.mutable_table_path() = Path("nope");
  EXPECT_EQ(CodeOf(1023, request), 7);
}

TEST_F(ApiTest, LeasesAreTakenForPrimaryKeyTablesOnly) {
  wire::AcquireKvSnapshotLeaseRequest acquire;
  acquire.set_lease_id("l");
  acquire.set_lease_duration_ms(1000);
  auto& table = *acquire.add_snapshots_to_lease();
  table.set_table_id(MakeTable("keyed", kKeyedTable));
  EXPECT_EQ(Must<wire::AcquireKvSnapshotLeaseResponse>(1056, acquire).unavailable_snapshots_size(),
            0);
  table.set_table_id(MakeTable("log", kLogTable));
  EXPECT_EQ(CodeOf(1056, acquire), 20);
  table.set_table_id(999);
  EXPECT_EQ(CodeOf(1056, acquire), 21);
  wire::DropKvSnapshotLeaseRequest drop;
  drop.set_lease_id("l");
  Must<wire::DropKvSnapshotLeaseResponse>(1058, drop);
}

TEST_F(ApiTest, TheNewestSnapshotIsToldAndItsFilesAreNamedByTheirUris) {
  node_.kv_snapshots = [](TableBucket bucket) {
    if (bucket.bucket_id != 1) return std::vector<KvSnapshot>();
    return std::vector<KvSnapshot>{{3, LogOffset(10), "/snapshots/3", {"CURRENT"}},
                                   {4, LogOffset(20), "/snapshots/4", {"000010.sst", "CURRENT"}}};
  };
  wire::GetLatestKvSnapshotsRequest latest;
  const int64_t table = MakeTable("keyed", kKeyedTable);
  *latest.mutable_table_path() = Path("keyed");
  const auto told = Must<wire::GetLatestKvSnapshotsResponse>(1023, latest);
  EXPECT_FALSE(told.latest_snapshots(0).has_snapshot_id());
  EXPECT_EQ(told.latest_snapshots(1).snapshot_id(), 4);
  EXPECT_EQ(told.latest_snapshots(1).log_offset(), 20);

  wire::GetKvSnapshotMetadataRequest metadata;
  metadata.set_table_id(table);
  metadata.set_bucket_id(1);
  metadata.set_snapshot_id(4);
  const auto files = Must<wire::GetKvSnapshotMetadataResponse>(1024, metadata);
  EXPECT_EQ(files.log_offset(), 20);
  ASSERT_EQ(files.snapshot_files_size(), 2);
  EXPECT_EQ(files.snapshot_files(0).remote_path(), "file:///snapshots/4/000010.sst");
  EXPECT_EQ(files.snapshot_files(0).local_file_name(), "000010.sst");
  metadata.set_snapshot_id(5);
  EXPECT_EQ(CodeOf(1024, metadata), 41);

  wire::ListKvSnapshotsRequest list;
  list.set_table_id(table);
  EXPECT_EQ(Must<wire::ListKvSnapshotsResponse>(1064, list).active_snapshots_size(), 2);
}

TEST_F(ApiTest, ALeaseKeepsSnapshotsUntilItIsReleased) {
  wire::AcquireKvSnapshotLeaseRequest acquire;
  acquire.set_lease_id("job");
  acquire.set_lease_duration_ms(1000);
  auto& table = *acquire.add_snapshots_to_lease();
  table.set_table_id(MakeTable("keyed", kKeyedTable));
  for (const int32_t i : {0, 2}) {
    auto& bucket = *table.add_bucket_snapshots();
    bucket.set_bucket_id(i);
    bucket.set_snapshot_id(7);
  }
  const TableBucket second{TableId(table.table_id()), std::nullopt, 2};
  node_.unavailable_snapshots = {{second, 7}};
  const auto answer = Must<wire::AcquireKvSnapshotLeaseResponse>(1056, acquire);
  ASSERT_EQ(answer.unavailable_snapshots_size(), 1);
  EXPECT_EQ(answer.unavailable_snapshots(0).bucket_snapshots(0).bucket_id(), 2);
  EXPECT_EQ(node_.leased().size(), 2u);
  wire::ReleaseKvSnapshotLeaseRequest release;
  release.set_lease_id("job");
  auto& released = *release.add_buckets_to_release();
  released.set_table_id(table.table_id());
  released.set_bucket_id(0);
  Must<wire::ReleaseKvSnapshotLeaseResponse>(1057, release);
  EXPECT_THAT(node_.leased(), ElementsAre(KvSnapshotName{second, 7}));
}

TEST_F(ApiTest, SnapshotsAndRemoteFilesAreNoneAtFirst) {
  wire::GetKvSnapshotMetadataRequest metadata;
  metadata.set_table_id(MakeTable("keyed", kKeyedTable));
  metadata.set_bucket_id(0);
  metadata.set_snapshot_id(0);
  EXPECT_EQ(CodeOf(1024, metadata), 41);
  for (const int16_t key : {1063, 1064}) {
    wire::ListKvSnapshotsRequest list;  // both have the same fields
    list.set_table_id(metadata.table_id());
    EXPECT_EQ(CodeOf(key, list), 0) << key;
    list.set_partition_id(5);
    EXPECT_EQ(CodeOf(key, list), 36) << key;
    list.set_table_id(999);
    EXPECT_EQ(CodeOf(key, list), 7) << key;
  }
}

}  // namespace
}  // namespace weir::fluss
