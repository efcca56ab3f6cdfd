#include "weir/gateway/fluss/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/gateway/fluss/gateway_testing.h"

namespace weir::fluss {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int16_t kApiVersions = 1000;
constexpr int16_t kProduce = 1014;
constexpr int16_t kFetch = 1015;

class ConnectionTest : public testing::Test {
 protected:
  void Start(FlussGatewayConfig config = {}) {
    service_.emplace(node_, clock_, loop_, config);
    served_.emplace(*service_, Session{service_->config.plain}, loop_, wire_.Open());
    scope_.Spawn(served_->Run());
  }

  ~ConnectionTest() override {
    node_.ReleaseAppends();
    wire_.Hold(false);
    served_->Stop();
    loop_.Run();
    loop_.Advance(std::chrono::hours(1));
    EXPECT_EQ(scope_.running(), 0u);
    EXPECT_EQ(service_->request_bytes.taken(), 0u);
    EXPECT_EQ(service_->response_bytes.load(), 0u);
  }

  void Send(std::string_view bytes) {
    wire_.Send(bytes);
    loop_.Run();
  }

  /// Ids of the responses that came since the last call.
  std::vector<int32_t> Answered() {
    loop_.Run();
    std::vector<int32_t> ids;
    for (const ReceivedFrame& frame : SplitFrames(wire_.Take())) ids.push_back(frame.request_id);
    return ids;
  }

  /// Sweeps as the gateway does.
  void Pass(Duration time) {
    for (Duration passed{0}; passed < time; passed += std::chrono::seconds(1)) {
      loop_.Advance(std::chrono::seconds(1));
      served_->CloseIfStuck();
      loop_.Run();
    }
  }

  static std::string Versions(int32_t id) {
    wire::ApiVersionsRequest request;
    request.set_client_software_name("test");
    request.set_client_software_version("1");
    return RequestFrame(kApiVersions, id, request.SerializeAsString());
  }

  static Result<FetchedBucket> NothingYet(const BucketFetch&) { return FetchedBucket{}; }

  ManualLoop loop_;
  FixedClock clock_;
  FakeNode node_{loop_};
  FakeWire wire_{loop_};
  std::optional<Service> service_;
  std::optional<ServedConnection> served_;
  TaskScope scope_;
};

TEST_F(ConnectionTest, AnswersRequestsThatComeTogetherAndInParts) {
  Start();
  const std::string three = Versions(1) + Versions(2) + Versions(3);
  Send(three.substr(0, three.size() - 5));
  EXPECT_THAT(Answered(), ElementsAre(1, 2));
  Send(three.substr(three.size() - 5));
  EXPECT_THAT(Answered(), ElementsAre(3));
  for (const char byte : Versions(4)) Send({&byte, 1});
  EXPECT_THAT(Answered(), ElementsAre(4));
}

TEST_F(ConnectionTest, ReadsBodiesThatAreLargerThanItsInbox) {
  Start();
  const std::string records(100'000, 'r');
  Send(Versions(1) + RequestFrame(kProduce, 2, ProduceBody(records)) + Versions(3));
  EXPECT_THAT(Answered(), testing::UnorderedElementsAre(1, 2, 3));
  ASSERT_EQ(node_.appended.size(), 1u);
  EXPECT_EQ(node_.appended[0].records, records);
}

TEST_F(ConnectionTest, StartsAppendsInTheOrderOfTheirRequests) {
  Start();
  node_.holds_appends = true;
  std::string sent;
  for (int i = 0; i < 5; ++i)
    sent += RequestFrame(kProduce, i, ProduceBody("batch " + std::to_string(i)));
  Send(sent);
  EXPECT_THAT(Answered(), IsEmpty());
  ASSERT_EQ(node_.appended.size(), 5u);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(node_.appended[i].records, "batch " + std::to_string(i));
  node_.ReleaseAppends();
  EXPECT_THAT(Answered(), ElementsAre(0, 1, 2, 3, 4));
}

TEST_F(ConnectionTest, AFetchThatWaitsKeepsNobodyElseWaiting) {
  Start();
  node_.fetched = NothingYet;
  Send(RequestFrame(kFetch, 1, FetchBody(500, 1)) + Versions(2));
  EXPECT_THAT(Answered(), ElementsAre(2));
  loop_.Advance(std::chrono::milliseconds(499));
  EXPECT_THAT(Answered(), IsEmpty());
  loop_.Advance(std::chrono::milliseconds(1));
  EXPECT_THAT(Answered(), ElementsAre(1));
}

TEST_F(ConnectionTest, ABodyThatCannotBeDecodedCostsOneRequestOnly) {
  Start();
  Send(RequestFrame(kProduce, 1, "\xff") + RequestFrame(kFetch, 2, "nonsense") +
       RequestFrame(4711, 3, "") + Versions(4));
  EXPECT_THAT(Answered(), testing::UnorderedElementsAre(1, 2, 3, 4));
  EXPECT_FALSE(wire_.is_closed());
}

TEST_F(ConnectionTest, AFrameThatIsTooLargeIsRefusedByItsIdBeforeTheEnd) {
  FlussGatewayConfig config;
  config.frame_bytes_max = 1000;
  Start(config);
  std::string head = RequestFrame(kProduce, 9, std::string(1001, 'x'));
  Send(head.substr(0, 500));
  const std::vector<ReceivedFrame> frames = SplitFrames(wire_.Take());
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].type, 1);
  EXPECT_EQ(frames[0].request_id, 9);
  wire::ErrorResponse error;
  ASSERT_TRUE(error.ParseFromString(frames[0].body));
  EXPECT_EQ(error.error_code(), 3);
  loop_.Advance(std::chrono::seconds(3));
  Send(head.substr(500));
  EXPECT_TRUE(wire_.is_closed());
}

TEST_F(ConnectionTest, OtherRequestsMayNotBeAsLargeAsThoseWithRecords) {
  FlussGatewayConfig config;
  config.control_frame_bytes_max = 100;
  Start(config);
  Send(RequestFrame(kProduce, 1, ProduceBody(std::string(200, 'r'))));
  EXPECT_THAT(Answered(), ElementsAre(1));
  EXPECT_EQ(node_.appended.size(), 1u);
  Send(RequestFrame(kApiVersions, 2, std::string(200, 'x')));
  EXPECT_THAT(Answered(), ElementsAre(2));
  wire_.Finish();
  loop_.Run();
  EXPECT_TRUE(wire_.is_closed());
}

TEST_F(ConnectionTest, ALengthThatCannotBeEndsTheConnection) {
  Start();
  Send(Versions(1) + std::string(12, '\0'));
  EXPECT_THAT(Answered(), ElementsAre(1));
  EXPECT_TRUE(wire_.is_closed());
}

TEST_F(ConnectionTest, RequestsBeyondTheBoundAreNotRead) {
  FlussGatewayConfig config;
  config.requests_running_max = 3;
  Start(config);
  node_.holds_appends = true;
  std::string sent;
  for (int i = 0; i < 100; ++i)
    sent += RequestFrame(kProduce, i, ProduceBody(std::string(1000, 'r')));
  Send(sent);
  EXPECT_EQ(node_.appended.size(), 3u);
  EXPECT_GT(wire_.unread(), 90'000u);
  node_.ReleaseAppends();
  EXPECT_EQ(Answered().size(), 100u);
}

TEST_F(ConnectionTest, RequestsThatFindNoMemoryWaitForIt) {
  FlussGatewayConfig config;
  config.frame_bytes_max = 10'000;
  config.control_frame_bytes_max = 300;
  config.request_bytes_max = 10'000;
  Start(config);
  node_.holds_appends = true;
  std::string sent;
  for (int i = 0; i < 3; ++i)
    sent += RequestFrame(kProduce, i, ProduceBody(std::string(4'000, 'r')));
  Send(sent);
  EXPECT_EQ(node_.appended.size(), 2u);
  EXPECT_LE(service_->request_bytes.taken(), 10'000u);
  node_.ReleaseAppends();
  EXPECT_THAT(Answered(), testing::UnorderedElementsAre(0, 1, 2));
}

TEST_F(ConnectionTest, AClientThatDoesNotTakeItsResponsesIsNotRead) {
  FlussGatewayConfig config;
  config.unsent_bytes_max = 2'000;
  Start(config);
  wire_.Hold(true);
  std::string sent;
  for (int i = 0; i < 500; ++i) sent += Versions(i);
  Send(sent);
  EXPECT_LT(service_->response_bytes.load(), 4'000u);
  EXPECT_GT(wire_.unread(), 0u);
  wire_.Hold(false);
  EXPECT_EQ(Answered().size(), 500u);
}

TEST_F(ConnectionTest, AStopEndsTheWaitsAndSendsWhatWasAsked) {
  Start();
  node_.fetched = NothingYet;
  node_.holds_appends = true;
  Send(RequestFrame(kFetch, 1, FetchBody(300'000, 1)) +
       RequestFrame(kProduce, 2, ProduceBody("r")));
  served_->Stop();
  EXPECT_THAT(Answered(), ElementsAre(1));
  EXPECT_FALSE(wire_.is_closed());
  Send(Versions(3));  // comes too late
  node_.ReleaseAppends();
  EXPECT_THAT(Answered(), ElementsAre(2));
  EXPECT_TRUE(wire_.is_closed());
  EXPECT_EQ(scope_.running(), 0u);
}

TEST_F(ConnectionTest, AClientThatGoesEndsItsFetches) {
  Start();
  node_.fetched = NothingYet;
  Send(RequestFrame(kFetch, 1, FetchBody(300'000, 1)));
  EXPECT_EQ(scope_.running(), 1u);
  wire_.Finish();
  loop_.Run();
  EXPECT_EQ(scope_.running(), 0u);
  EXPECT_TRUE(wire_.is_closed());
}

TEST_F(ConnectionTest, AnIdleConnectionIsClosed) {
  Start();
  Send(Versions(1));
  Pass(std::chrono::minutes(9));
  EXPECT_FALSE(wire_.is_closed());
  Send(Versions(2));
  Pass(std::chrono::minutes(9));
  EXPECT_FALSE(wire_.is_closed());
  Pass(std::chrono::minutes(2));
  EXPECT_TRUE(wire_.is_closed());
}

TEST_F(ConnectionTest, AConnectionWithARequestIsNotIdle) {
  Start();
  node_.holds_appends = true;
  Send(RequestFrame(kProduce, 1, ProduceBody("r")));
  Pass(std::chrono::minutes(30));
  EXPECT_FALSE(wire_.is_closed());
}

TEST_F(ConnectionTest, AFrameThatStallsEndsTheConnection) {
  Start();
  Send(RequestFrame(kProduce, 1, ProduceBody(std::string(9'000, 'r'))).substr(0, 8'000));
  Pass(std::chrono::seconds(50));
  EXPECT_FALSE(wire_.is_closed());
  Send("rrr");
  Pass(std::chrono::seconds(50));
  EXPECT_FALSE(wire_.is_closed());
  Pass(std::chrono::seconds(20));
  EXPECT_TRUE(wire_.is_closed());
}

TEST_F(ConnectionTest, AResponseThatIsNotTakenEndsTheConnection) {
  Start();
  wire_.Hold(true);
  Send(Versions(1));
  Pass(std::chrono::seconds(50));
  EXPECT_FALSE(wire_.is_closed());
  Pass(std::chrono::seconds(20));
  EXPECT_TRUE(wire_.is_closed());
}

TEST_F(ConnectionTest, LargeResponsesGoOutInPartsAndWhole) {
  Start();
  const std::string piece(300'000, 'p');
  node_.fetched = [&](const BucketFetch&) -> Result<FetchedBucket> {
    FetchedBucket bucket;
    for (int i = 0; i < 200; ++i) {
      bucket.records.pieces.push_back(
          Buffer::CopyOf(AsBytes(piece).first(i % 2 == 0 ? piece.size() : 1)));
      bucket.records.bytes += bucket.records.pieces.back().size();
    }
    return bucket;
  };
  Send(RequestFrame(kFetch, 1, FetchBody(0, 1)) + RequestFrame(kFetch, 2, FetchBody(0, 1)));
  const std::vector<ReceivedFrame> frames = SplitFrames(wire_.Take());
  ASSERT_EQ(frames.size(), 2u);
  for (const ReceivedFrame& frame : frames) {
    wire::FetchLogResponse response;
    ASSERT_TRUE(response.ParseFromString(frame.body));
    EXPECT_EQ(response.tables_resp(0).buckets_resp(0).records(),
              std::string(100 * piece.size() + 100, 'p'));
  }
}

}  // namespace
}  // namespace weir::fluss
