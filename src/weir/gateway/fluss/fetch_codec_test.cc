#include "weir/gateway/fluss/fetch_codec.h"

#include <gtest/gtest.h>

#include "weir/gateway/fluss/gateway_testing.h"
#include "weir/gateway/fluss/produce_codec.h"

namespace weir::fluss {
namespace {

wire::FetchLogRequest SomeRequest() {
  wire::FetchLogRequest request;
  request.set_follower_server_id(-1);
  request.set_max_bytes(1000);
  auto& table = *request.add_tables_req();
  table.set_table_id(12);
  table.set_projection_pushdown_enabled(true);
  table.add_projected_fields(1);
  table.add_projected_fields(200);
  auto& bucket = *table.add_buckets_req();
  bucket.set_partition_id(0);
  bucket.set_bucket_id(4);
  bucket.set_fetch_offset(-2);
  bucket.set_max_fetch_bytes(500);
  return request;
}

auto Decode(const wire::FetchLogRequest& request) {
  return DecodeFetchLogRequest(AsBytes(request.SerializePartialAsString()));
}

TEST(FetchCodec, ReadsWhatAClientWrites) {
  const auto request = Decode(SomeRequest());
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->bytes_max, 1000);
  EXPECT_EQ(request->wait_max_ms, std::nullopt);
  EXPECT_EQ(request->bytes_min, std::nullopt);
  ASSERT_EQ(request->tables.size(), 1u);
  EXPECT_EQ(request->tables[0].projection, (std::vector<int32_t>{1, 200}));
  ASSERT_EQ(request->tables[0].buckets.size(), 1u);
  const BucketFetch& bucket = request->tables[0].buckets[0];
  EXPECT_EQ(bucket.partition_id, PartitionId(0));
  EXPECT_EQ(bucket.bucket_id, 4);
  EXPECT_EQ(bucket.from, kEarliestOffset);
  EXPECT_EQ(bucket.bytes_max, 500u);
}

TEST(FetchCodec, TellsAnEmptyProjectionFromNone) {
  wire::FetchLogRequest request = SomeRequest();
  request.mutable_tables_req(0)->clear_projected_fields();
  EXPECT_EQ(Decode(request)->tables[0].projection, std::vector<int32_t>());
  request.mutable_tables_req(0)->set_projection_pushdown_enabled(false);
  EXPECT_EQ(Decode(request)->tables[0].projection, std::nullopt);
}

TEST(FetchCodec, ReadsProjectionsOneByOneToo) {
  using namespace std::string_literals;
  // A table with the fields 7 and 300, each with a tag of its own.
  const std::string table = "\x08\x0c\x10\x01\x18\x07\x18\xac\x02"s;
  const std::string body = "\x08\x01\x10\x01\x1a"s + static_cast<char>(table.size()) + table;
  const auto request = DecodeFetchLogRequest(AsBytes(body));
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->tables[0].projection, (std::vector<int32_t>{7, 300}));
}

TEST(FetchCodec, TakesNegativeSizesForNone) {
  wire::FetchLogRequest request = SomeRequest();
  request.mutable_tables_req(0)->mutable_buckets_req(0)->set_max_fetch_bytes(-1);
  EXPECT_EQ(Decode(request)->tables[0].buckets[0].bytes_max, 0u);
}

TEST(FetchCodec, PassesOverFilters) {
  wire::FetchLogRequest request = SomeRequest();
  request.mutable_tables_req(0)->set_filter_schema_id(1);
  auto& filter = *request.mutable_tables_req(0)->mutable_filter_predicate();
  filter.set_type(0);
  filter.mutable_leaf()->set_function(0);
  filter.mutable_leaf()->set_field_id(1);
  EXPECT_TRUE(Decode(request).ok());
}

TEST(FetchCodec, RefusesWhatLacksARequiredField) {
  auto without = [](auto change) {
    wire::FetchLogRequest request = SomeRequest();
    change(request);
    return Decode(request);
  };
  EXPECT_FALSE(without([](auto& r) { r.clear_follower_server_id(); }).ok());
  EXPECT_FALSE(without([](auto& r) { r.clear_max_bytes(); }).ok());
  EXPECT_FALSE(without([](auto& r) { r.mutable_tables_req(0)->clear_table_id(); }).ok());
  EXPECT_FALSE(
      without([](auto& r) { r.mutable_tables_req(0)->clear_projection_pushdown_enabled(); }).ok());
  EXPECT_FALSE(without([](auto& r) {
                 r.mutable_tables_req(0)->mutable_buckets_req(0)->clear_bucket_id();
               }).ok());
  EXPECT_FALSE(without([](auto& r) {
                 r.mutable_tables_req(0)->mutable_buckets_req(0)->clear_fetch_offset();
               }).ok());
  EXPECT_FALSE(without([](auto& r) {
                 r.mutable_tables_req(0)->mutable_buckets_req(0)->clear_max_fetch_bytes();
               }).ok());
  EXPECT_TRUE(without([](auto& r) { r.clear_tables_req(); }).ok());
}

TEST(FetchCodec, BoundsTheBucketsOfAllTablesTogether) {
  wire::FetchLogRequest request = SomeRequest();
  auto& second = *request.add_tables_req();
  second = request.tables_req(0);
  for (size_t i = 2; i < kRequestBucketsMax; ++i) *second.add_buckets_req() = second.buckets_req(0);
  EXPECT_TRUE(Decode(request).ok());
  *second.add_buckets_req() = second.buckets_req(0);
  EXPECT_FALSE(Decode(request).ok());
}

LogPieces Pieces(std::vector<std::string> texts) {
  LogPieces pieces;
  for (const std::string& text : texts) {
    pieces.bytes += text.size();
    pieces.pieces.push_back(Buffer::CopyOf(AsBytes(text)));
  }
  return pieces;
}

TEST(FetchCodec, SendsRecordsFromWhereTheyLie) {
  std::vector<TableFetch> tables(2);
  tables[0].table_id = TableId(12);
  tables[0].buckets = {{PartitionId(0), 4, LogOffset(0), 1}, {PartitionId(0), 5, LogOffset(0), 1}};
  tables[1].table_id = TableId(13);
  tables[1].buckets = {{std::nullopt, 0, LogOffset(0), 1}, {std::nullopt, 1, LogOffset(9), 1}};
  FetchResponse response(2);
  response[0].push_back(
      FetchedBucket{LogOffset(10), LogOffset(0), Pieces({"first", "", "second"})});
  response[0].push_back(Fail(ErrorCode::kOffsetOutOfRange, "gone"));
  response[1].push_back(FetchedBucket{LogOffset(0), LogOffset(0), {}});
  response[1].push_back(FetchedBucket{LogOffset(300), LogOffset(7), Pieces({"third"})});
  const std::byte* const third = response[1][1]->records.pieces[0].data();

  const Frame frame = EncodeFetchLogResponse(5, tables, std::move(response));
  EXPECT_EQ(frame.pieces.back().data(), third);
  std::string sent;
  for (const Buffer& piece : frame.pieces) sent += AsText(piece.bytes());
  EXPECT_EQ(sent.size(), frame.bytes);
  const std::vector<ReceivedFrame> frames = SplitFrames(sent);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].request_id, 5);
  wire::FetchLogResponse decoded;
  ASSERT_TRUE(decoded.ParseFromString(frames[0].body));
  ASSERT_EQ(decoded.tables_resp_size(), 2);
  EXPECT_EQ(decoded.tables_resp(0).table_id(), 12);
  const auto& first = decoded.tables_resp(0).buckets_resp(0);
  EXPECT_TRUE(first.has_partition_id());
  EXPECT_EQ(first.bucket_id(), 4);
  EXPECT_FALSE(first.has_error_code());
  EXPECT_EQ(first.high_watermark(), 10);
  EXPECT_TRUE(first.has_log_start_offset());
  EXPECT_EQ(first.records(), "firstsecond");
  const auto& failed = decoded.tables_resp(0).buckets_resp(1);
  EXPECT_EQ(failed.error_code(), 19);
  EXPECT_EQ(failed.error_message(), "gone");
  EXPECT_FALSE(failed.has_records());
  const auto& empty = decoded.tables_resp(1).buckets_resp(0);
  EXPECT_FALSE(empty.has_partition_id());
  EXPECT_TRUE(empty.has_records());  // clients drop a whole response over a missing one
  EXPECT_TRUE(empty.has_high_watermark());
  EXPECT_EQ(decoded.tables_resp(1).buckets_resp(1).log_start_offset(), 7);
  EXPECT_EQ(decoded.tables_resp(1).buckets_resp(1).records(), "third");
}

TEST(FetchCodec, AnswersAFetchOfNothingWithNothing) {
  const Frame frame = EncodeFetchLogResponse(1, {}, {});
  EXPECT_EQ(frame.bytes, kResponseHeadBytes);
}

}  // namespace
}  // namespace weir::fluss
