// Calls APIs by the bytes of their requests, over a catalog in memory.
#pragma once

#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/gateway/fluss/api.h"
#include "weir/gateway/fluss/gateway_testing.h"

namespace weir::fluss {

inline FlussGatewayConfig AdvertisedConfig() {
  FlussGatewayConfig config;
  config.plain.advertised_host = "weir.example";
  config.plain.advertised_port = 19123;
  return config;
}

inline constexpr char kLogTable[] = R"({"version":1,"schema":{"version":1,"columns":[
    {"name":"id","data_type":{"type":"INTEGER"},"id":0},{"name":"day","data_type":{"type":"STRING"},"id":1}],
    "highest_field_id":1},"partition_key":[],"bucket_key":[],"bucket_count":2,"properties":{},"custom_properties":{}})";
inline constexpr char kKeyedTable[] = R"({"version":1,"schema":{"version":1,"columns":[
    {"name":"id","data_type":{"type":"INTEGER"},"id":0},{"name":"day","data_type":{"type":"STRING"},"id":1}],
    "primary_key":["id"],"highest_field_id":1},"partition_key":[],"bucket_key":["id"],"bucket_count":3,
    "properties":{},"custom_properties":{}})";
inline constexpr char kPartitionedTable[] = R"({"version":1,"schema":{"version":1,"columns":[
    {"name":"id","data_type":{"type":"INTEGER"},"id":0},{"name":"day","data_type":{"type":"STRING"},"id":1}],
    "highest_field_id":1},"partition_key":["day"],"bucket_key":[],"bucket_count":2,"properties":{},
    "custom_properties":{}})";

class ApiTest : public testing::Test {
 protected:
  /// Code of the error frame, or 0 and the message.
  int32_t CallBytes(int16_t key, std::string_view body, std::string& response,
                    int16_t version = 0) {
    const RequestContext context{service_, {key, version, 42, body.size()}, session_, canceller_};
    std::optional<Frame> frame;
    Spawn(Keep(context, Buffer::CopyOf(AsBytes(body)), frame));
    loop_.Run();
    WEIR_CHECK(frame.has_value());
    std::string sent;
    for (const Buffer& piece : frame->pieces) sent += AsText(piece.bytes());
    const std::vector<ReceivedFrame> frames = SplitFrames(sent);
    WEIR_CHECK(frames.size() == 1 && frames[0].request_id == 42);
    if (frames[0].type == 0) {
      response = frames[0].body;
      return 0;
    }
    wire::ErrorResponse error;
    WEIR_CHECK(frames[0].type == 1 && error.ParseFromString(frames[0].body));
    return error.error_code();
  }

  template <typename Response, typename Request>
  int32_t Call(int16_t key, const Request& request, Response& response) {
    std::string body;
    const int32_t code = CallBytes(key, request.SerializeAsString(), body);
    if (code != 0) return code;
    EXPECT_TRUE(response.ParseFromString(body)) << key;  // which looks for required fields
    return code;
  }
  template <typename Response, typename Request>
  Response Must(int16_t key, const Request& request) {
    Response response;
    EXPECT_EQ(Call(key, request, response), 0) << key;
    return response;
  }
  template <typename Request>
  int32_t CodeOf(int16_t key, const Request& request) {
    std::string body;
    return CallBytes(key, request.SerializeAsString(), body);
  }

  static wire::PbTablePath Path(const std::string& table, const std::string& database = "fluss") {
    wire::PbTablePath path;
    path.set_database_name(database);
    path.set_table_name(table);
    return path;
  }

  int64_t MakeTable(const std::string& name, const char* json) {
    wire::CreateTableRequest request;
    *request.mutable_table_path() = Path(name);
    request.set_table_json(json);
    request.set_ignore_if_exists(false);
    Must<wire::CreateTableResponse>(1005, request);
    wire::GetTableInfoRequest ask;
    *ask.mutable_table_path() = Path(name);
    return Must<wire::GetTableInfoResponse>(1007, ask).table_id();
  }

  int32_t ChangePartition(int16_t key, const std::string& table, const std::string& day,
                          bool ignore = false) {
    wire::CreatePartitionRequest request;  // that of a drop has the same fields
    *request.mutable_table_path() = Path(table);
    auto& value = *request.mutable_partition_spec()->add_partition_key_values();
    value.set_key("day");
    value.set_value(day);
    request.set_ignore_if_not_exists(ignore);
    return CodeOf(key, request);
  }

  ManualLoop loop_;
  FixedClock clock_;
  FakeNode node_{loop_};
  Service service_{node_, clock_, loop_, AdvertisedConfig()};
  Session session_{service_.config.plain};
  FetchCanceller canceller_;

 private:
  static Task<void> Keep(const RequestContext& context, Buffer body, std::optional<Frame>& frame) {
    frame = co_await Dispatch(context, std::move(body));
  }
};

}  // namespace weir::fluss
