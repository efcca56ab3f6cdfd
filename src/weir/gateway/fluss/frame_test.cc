#include "weir/gateway/fluss/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/gateway/fluss/fetch_codec.h"
#include "weir/gateway/fluss/gateway_testing.h"

namespace weir::fluss {
namespace {

std::string FromHex(std::string_view hex) {
  std::string bytes;
  int digits = 0;
  int value = 0;
  for (const char c : hex) {
    if (c == ' ') continue;
    value = value * 16 + (c <= '9' ? c - '0' : c - 'a' + 10);
    if (++digits % 2 == 0) bytes.push_back(static_cast<char>(std::exchange(value, 0)));
  }
  return bytes;
}

std::string Text(const Buffer& buffer) {
  return std::string(AsText(buffer.bytes()));
}

// The bytes below were recorded from the Python client 1.0.0.

TEST(Frame, ReadsTheHeadsThatTheRealClientSends) {
  const std::string versions =
      FromHex("0000001b 03e8 0000 00000000 0a0a 666c7573732d72757374 1205 312e302e30");
  const auto first = DecodeRequestHead(AsBytes(versions));
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->api_key, 1000);
  EXPECT_EQ(first->api_version, 0);
  EXPECT_EQ(first->request_id, 0);
  EXPECT_EQ(first->body_bytes, versions.size() - kRequestHeadBytes);
  wire::ApiVersionsRequest request;
  ASSERT_TRUE(request.ParseFromString(versions.substr(kRequestHeadBytes)));
  EXPECT_EQ(request.client_software_name(), "fluss-rust");

  const auto second = DecodeRequestHead(AsBytes(FromHex("00000008 03f4 0000 00000001")));
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->api_key, 1012);
  EXPECT_EQ(second->request_id, 1);
  EXPECT_EQ(second->body_bytes, 0u);
}

TEST(Frame, WritesAnErrorAsTheRealClientReadsIt) {
  EXPECT_EQ(Text(EncodeErrorResponse(1, FlussCode::kTableNotExist, "nope")),
            FromHex("0000000d 01 00000001 0807 1204 6e6f7065"));
}

TEST(Frame, ReadsTheFetchThatTheRealClientSends) {
  const std::string body = FromHex(
      "08 ffffffffffffffffff01 10 80808008 1a 0e 0807 1000 2208 1000 1800 20 808040 20 f403 28 01");
  const auto request = DecodeFetchLogRequest(AsBytes(body));
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->bytes_max, 16 << 20);
  EXPECT_EQ(request->wait_max_ms, 500);
  EXPECT_EQ(request->bytes_min, 1);
  ASSERT_EQ(request->tables.size(), 1u);
  EXPECT_EQ(request->tables[0].table_id, TableId(7));
  EXPECT_EQ(request->tables[0].projection, std::nullopt);
  ASSERT_EQ(request->tables[0].buckets.size(), 1u);
  EXPECT_EQ(request->tables[0].buckets[0].partition_id, std::nullopt);
  EXPECT_EQ(request->tables[0].buckets[0].bytes_max, 1u << 20);
}

TEST(Frame, WritesANegativeCodeAsTenBytes) {
  const std::string error = Text(EncodeErrorResponse(-2, FlussCode::kUnknownServerError, ""));
  EXPECT_EQ(error, FromHex("00000010 01 fffffffe 08 ffffffffffffffffff01"));
}

TEST(Frame, WritesAnEmptyResponseAsAHeadOnly) {
  std::string head(kResponseHeadBytes, 'x');
  EncodeResponseHead({reinterpret_cast<std::byte*>(head.data()), head.size()}, 258, 0);
  EXPECT_EQ(head, FromHex("00000005 00 00000102"));
}

TEST(Frame, RefusesALengthThatCannotBe) {
  for (const char* length : {"00000007", "00000000", "ffffffff", "80000000"}) {
    const auto head =
        DecodeRequestHead(AsBytes(FromHex(std::string(length) + "03e8 0000 00000000")));
    ASSERT_FALSE(head.ok()) << length;
    EXPECT_EQ(head.error().code, ErrorCode::kMalformedRequest);
  }
  const auto largest = DecodeRequestHead(AsBytes(FromHex("7fffffff 03e8 0000 00000000")));
  ASSERT_TRUE(largest.ok());
  EXPECT_EQ(largest->body_bytes, 0x7fffffffu - 8);
}

TEST(SentMessage, KeepsTextAsItIs) {
  EXPECT_EQ(SentMessage("täglich 表 🙂"), "täglich 表 🙂");
  EXPECT_EQ(SentMessage(""), "");
}

TEST(SentMessage, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(SentMessage("a\xff"
                        "b\xc3"),
            "a?b?");
  EXPECT_EQ(SentMessage("\xed\xa0\x80"), "???");       // a surrogate
  EXPECT_EQ(SentMessage("\xc0\xaf"), "??");            // longer than needed
  EXPECT_EQ(SentMessage("\xf4\x90\x80\x80"), "????");  // beyond the last character
}

TEST(SentMessage, IsCutBetweenCharacters) {
  const std::string long_text = std::string(2047, 'x') + "ä" + std::string(100, 'y');
  EXPECT_EQ(SentMessage(long_text), std::string(2047, 'x'));
  EXPECT_EQ(SentMessage(std::string(5000, 'z')).size(), 2048u);
}

}  // namespace
}  // namespace weir::fluss
