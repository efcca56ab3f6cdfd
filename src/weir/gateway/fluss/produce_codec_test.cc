#include "weir/gateway/fluss/produce_codec.h"

#include <gtest/gtest.h>

#include "weir/gateway/fluss/gateway_testing.h"

namespace weir::fluss {
namespace {

Buffer BufferOf(std::string_view text) {
  return Buffer::CopyOf(AsBytes(text));
}

wire::ProduceLogRequest TwoBuckets() {
  wire::ProduceLogRequest request;
  request.set_acks(-1);
  request.set_table_id(12);
  request.set_timeout_ms(30'000);
  for (const int bucket : {3, 0}) {
    auto& added = *request.add_buckets_req();
    added.set_bucket_id(bucket);
    added.set_records("records of " + std::to_string(bucket));
    if (bucket == 0) added.set_partition_id(0);
  }
  return request;
}

wire::ProduceLogResponse Decode(const Buffer& frame, int32_t request_id) {
  const std::vector<ReceivedFrame> frames = SplitFrames(AsText(frame.bytes()));
  EXPECT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].type, 0);
  EXPECT_EQ(frames[0].request_id, request_id);
  wire::ProduceLogResponse response;
  EXPECT_TRUE(response.ParseFromString(frames[0].body));
  return response;
}

TEST(ProduceCodec, ReadsWhatAClientWrites) {
  const auto request = DecodeProduceLogRequest(BufferOf(TwoBuckets().SerializeAsString()));
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->acks, -1);
  EXPECT_EQ(request->table_id, TableId(12));
  EXPECT_EQ(request->timeout_ms, 30'000);
  ASSERT_EQ(request->buckets.size(), 2u);
  EXPECT_EQ(request->buckets[0].bucket_id, 3);
  EXPECT_EQ(request->buckets[0].partition_id, std::nullopt);
  EXPECT_EQ(AsText(request->buckets[0].records.bytes()), "records of 3");
  EXPECT_EQ(request->buckets[1].partition_id, PartitionId(0));  // an id like others
}

TEST(ProduceCodec, LeavesRecordsWhereTheyWereReceived) {
  const Buffer body = BufferOf(TwoBuckets().SerializeAsString());
  const auto request = DecodeProduceLogRequest(body);
  ASSERT_TRUE(request.ok());
  for (const BucketWrite& bucket : request->buckets) {
    EXPECT_GE(bucket.records.data(), body.data());
    EXPECT_LE(bucket.records.data() + bucket.records.size(), body.data() + body.size());
  }
}

TEST(ProduceCodec, SkipsFieldsThatItDoesNotKnow) {
  using namespace std::string_literals;
  const std::string body = TwoBuckets().SerializeAsString();
  EXPECT_TRUE(DecodeProduceLogRequest(BufferOf(body + "\xa2\x06\x03"
                                                      "abc"s))
                  .ok());  // field 100, bytes
  EXPECT_TRUE(
      DecodeProduceLogRequest(BufferOf(body + "\x3d\x01\x02\x03\x04"s)).ok());  // field 7, fixed32
  EXPECT_FALSE(DecodeProduceLogRequest(BufferOf(body + "\x3b\x3c"s)).ok());     // a group
  EXPECT_FALSE(DecodeProduceLogRequest(BufferOf(body + "\x00\x01"s)).ok());     // field 0
}

TEST(ProduceCodec, RefusesWhatIsCutShort) {
  const std::string body = TwoBuckets().SerializeAsString();
  size_t accepted = 0;
  for (size_t size = 0; size < body.size(); ++size) {
    const auto request = DecodeProduceLogRequest(BufferOf(body.substr(0, size)));
    if (request.ok()) {
      ++accepted;  // cut between fields that may be repeated
    } else {
      EXPECT_EQ(request.error().code, ErrorCode::kMalformedRequest);
    }
  }
  EXPECT_EQ(accepted, 2u);
}

TEST(ProduceCodec, RefusesWhatLacksARequiredField) {
  auto without = [](auto change) {
    wire::ProduceLogRequest request = TwoBuckets();
    change(request);
    return DecodeProduceLogRequest(BufferOf(request.SerializePartialAsString()));
  };
  EXPECT_FALSE(without([](auto& r) { r.clear_acks(); }).ok());
  EXPECT_FALSE(without([](auto& r) { r.clear_table_id(); }).ok());
  EXPECT_FALSE(without([](auto& r) { r.clear_timeout_ms(); }).ok());
  EXPECT_FALSE(without([](auto& r) { r.mutable_buckets_req(1)->clear_bucket_id(); }).ok());
  EXPECT_FALSE(without([](auto& r) { r.mutable_buckets_req(1)->clear_records(); }).ok());
  EXPECT_TRUE(without([](auto& r) { r.clear_buckets_req(); }).ok());
}

TEST(ProduceCodec, BoundsTheNumberOfBuckets) {
  wire::ProduceLogRequest request = TwoBuckets();
  for (size_t i = 2; i < kRequestBucketsMax; ++i)
    *request.add_buckets_req() = request.buckets_req(0);
  EXPECT_TRUE(DecodeProduceLogRequest(BufferOf(request.SerializeAsString())).ok());
  *request.add_buckets_req() = request.buckets_req(0);
  EXPECT_FALSE(DecodeProduceLogRequest(BufferOf(request.SerializeAsString())).ok());
}

TEST(ProduceCodec, ReadsTheBucketsOfAPutBesideItsColumns) {
  wire::PutKvRequest request;
  request.set_acks(1);
  request.set_table_id(5);
  request.set_timeout_ms(1);
  request.add_target_columns(0);
  request.add_target_columns(300);
  request.set_agg_mode(0);
  auto& bucket = *request.add_buckets_req();
  bucket.set_bucket_id(9);
  bucket.set_records("kv");
  const auto decoded = DecodePutKvRequest(BufferOf(request.SerializeAsString()));
  ASSERT_TRUE(decoded.ok());
  ASSERT_EQ(decoded->buckets.size(), 1u);
  EXPECT_EQ(decoded->buckets[0].bucket_id, 9);
}

TEST(ProduceCodec, AnswersEachBucketWithAnOffsetOrAnError) {
  const std::vector<BucketWrite> buckets = {
      {std::nullopt, 3, {}}, {PartitionId(0), 0, {}}, {PartitionId(8), -1, {}}};
  const std::vector<Result<LogOffset>> results = {
      LogOffset(0), LogOffset(int64_t{1} << 40), Fail(ErrorCode::kUnknownBucket, "no such bucket")};
  const wire::ProduceLogResponse response = Decode(EncodeWriteResponse(77, buckets, results), 77);
  ASSERT_EQ(response.buckets_resp_size(), 3);
  EXPECT_FALSE(response.buckets_resp(0).has_partition_id());
  EXPECT_FALSE(
      response.buckets_resp(0).has_error_code());  // its presence is failure, whatever its value
  EXPECT_TRUE(response.buckets_resp(0).has_base_offset());
  EXPECT_EQ(response.buckets_resp(0).base_offset(), 0);
  EXPECT_TRUE(response.buckets_resp(1).has_partition_id());
  EXPECT_EQ(response.buckets_resp(1).partition_id(), 0);
  EXPECT_EQ(response.buckets_resp(1).base_offset(), int64_t{1} << 40);
  EXPECT_EQ(response.buckets_resp(2).bucket_id(), -1);
  EXPECT_EQ(response.buckets_resp(2).error_code(), 21);
  EXPECT_EQ(response.buckets_resp(2).error_message(), "no such bucket");
  EXPECT_FALSE(response.buckets_resp(2).has_base_offset());
}

}  // namespace
}  // namespace weir::fluss
