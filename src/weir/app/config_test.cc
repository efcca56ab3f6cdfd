#include "weir/app/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using testing::HasSubstr;

std::string Problem(std::string_view text) {
  Config config;
  const Status status = ReadConfigText(text, "weir.toml", config);
  return status.ok() ? "" : status.error().message;
}

TEST(Config, ReadsEverySetting) {
  Config config;
  const Status status = ReadConfigText(R"(
data_dir = "/data"
log_level = "warn"
shards = 3
blocking_threads = 5
[log]
durability = "os"
journal_file_size = "32mb"
maintenance_interval = "1s"
writer_idle_max = "2d"
[fluss]
listen = "0.0.0.0:19123"
advertised = "[::1]:29123"
sasl_listen = "0.0.0.0:19125"
sasl_advertised = "weir.example:29125"
connections_max = 7
requests_running_max = 8
frame_size_max = "10mb"
request_memory_max = "300mb"
response_memory_max = "400mb"
fetch_size_max = "20mb"
idle_max = "1min"
stall_max = "5s"
[users]
alice = "secret"
"b.o.b" = "other"
)",
                                       "weir.toml", config);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(config.node.data_dir, "/data");
  EXPECT_EQ(config.log_level, LogLevel::kWarn);
  EXPECT_EQ(config.shards, 3u);
  EXPECT_EQ(config.blocking_threads, 5u);
  EXPECT_FALSE(config.node.sync_by_default);
  EXPECT_EQ(config.node.journal_file_bytes, 32u << 20);
  EXPECT_EQ(config.node.maintenance_interval, std::chrono::seconds(1));
  EXPECT_EQ(config.node.maintenance.writer_idle_max, std::chrono::hours(48));
  EXPECT_EQ(config.fluss.plain.host, "0.0.0.0");
  EXPECT_EQ(config.fluss.plain.port, 19123);
  EXPECT_EQ(config.fluss.plain.advertised_host, "::1");
  EXPECT_EQ(config.fluss.plain.advertised_port, 29123);
  EXPECT_EQ(config.fluss.sasl.host, "0.0.0.0");
  EXPECT_EQ(config.fluss.sasl.port, 19125);
  EXPECT_EQ(config.fluss.sasl.advertised_host, "weir.example");
  EXPECT_EQ(config.fluss.sasl.advertised_port, 29125);
  const std::map<std::string, std::string> users = {{"alice", "secret"}, {"b.o.b", "other"}};
  EXPECT_EQ(config.fluss.users, users);
  EXPECT_EQ(config.fluss.connections_max, 7u);
  EXPECT_EQ(config.fluss.requests_running_max, 8u);
  EXPECT_EQ(config.fluss.frame_bytes_max, 10u << 20);
  EXPECT_EQ(config.fluss.request_bytes_max, 300u << 20);
  EXPECT_EQ(config.fluss.response_bytes_max, 400u << 20);
  EXPECT_EQ(config.fluss.fetch_bytes_max, 20u << 20);
  EXPECT_EQ(config.fluss.idle_max, std::chrono::minutes(1));
  EXPECT_EQ(config.fluss.stall_max, std::chrono::seconds(5));
  EXPECT_TRUE(CheckConfig(config).ok());
}

TEST(Config, DefaultsAreValidOnceThereIsADataDirectory) {
  Config config;
  ASSERT_FALSE(CheckConfig(config).ok());
  EXPECT_THAT(CheckConfig(config).error().message, HasSubstr("--data-dir"));
  config.node.data_dir = "d";
  EXPECT_TRUE(CheckConfig(config).ok());
}

TEST(Config, RefusesWhatItDoesNotKnowAndSaysWhatIsNear) {
  EXPECT_THAT(Problem("[fluss]\nlisen = 'x'"),
              HasSubstr("'fluss.lisen': did you mean 'fluss.listen'?"));
  EXPECT_THAT(Problem("datadir = 'x'"), HasSubstr("did you mean 'data_dir'?"));
  EXPECT_EQ(Problem("completely_different_thing = 1"),
            "weir.toml: there is no setting 'completely_different_thing'");
}

TEST(Config, TellsAllProblemsAtOnce) {
  const std::string problem =
      Problem("shards = -1\nlog_level = 'loud'\n[fluss]\nidle_max = 5\nlisten = 'host'\nx = 1");
  for (const char* part : {"shards", "log_level", "fluss.idle_max", "fluss.listen", "fluss.x"}) {
    EXPECT_THAT(problem, HasSubstr(part));
  }
  EXPECT_THAT(problem, testing::Not(HasSubstr("\n")));
}

TEST(Config, SaysInWhichLineAFileIsBroken) {
  EXPECT_THAT(Problem("shards = 1\nshards = = 2"), HasSubstr("weir.toml, line 2"));
}

TEST(Config, ClientsHaveToGetInSomehow) {
  Config config;
  config.node.data_dir = "d";
  ASSERT_TRUE(ReadConfigText("[fluss]\nlisten = ''", "f", config).ok());
  EXPECT_THAT(CheckConfig(config).error().message, HasSubstr("nobody can connect"));
  ASSERT_TRUE(ReadConfigText("[fluss]\nsasl_listen = 'h:1'", "f", config).ok());
  EXPECT_THAT(CheckConfig(config).error().message, HasSubstr("[users]"));
  ASSERT_TRUE(ReadConfigText("[users]\na = ''", "f", config).ok());
  EXPECT_THAT(CheckConfig(config).error().message, HasSubstr("users.a"));
  ASSERT_TRUE(ReadConfigText("[users]\na = 'b'", "f", config).ok());
  EXPECT_TRUE(CheckConfig(config).ok());
  EXPECT_THAT(Problem("[users]\na = 1"), HasSubstr("users.a: must be a text"));
}

TEST(Config, ValuesHaveToFitTogether) {
  Config config;
  config.node.data_dir = "d";
  config.shards = 17;
  config.fluss.request_bytes_max = 1 << 20;
  const Status status = CheckConfig(config);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("shards"));
  EXPECT_THAT(status.error().message, HasSubstr("fluss.request_memory_max"));
}

TEST(HostPort, IsReadOrRefused) {
  EXPECT_EQ(ParseHostPort("localhost:9123")->host, "localhost");
  EXPECT_EQ(ParseHostPort("localhost:0")->port, 0);
  EXPECT_EQ(ParseHostPort("[::]:65535")->host, "::");
  for (const char* text : {"", ":", "localhost", "localhost:", ":9123", "localhost:65536",
                           "localhost:x", "a:1 ", "::1:9123", "localhost:-1"}) {
    EXPECT_FALSE(ParseHostPort(text).ok()) << text;
  }
}

TEST(NearestWord, IsNearOrNone) {
  EXPECT_EQ(NearestWord("shard", {"shards", "data_dir"}), "shards");
  EXPECT_EQ(NearestWord("zzzzzz", {"shards", "data_dir"}), "");
  EXPECT_EQ(NearestWord("", {}), "");
}

}  // namespace
}  // namespace weir
