#include "weir/record/partition_name.h"

#include <fstream>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace weir {
namespace {

using nlohmann::json;
using testing::ElementsAre;

std::vector<std::byte> FromHex(const std::string& hex) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

template <typename Float>
Float FloatOf(const json& value) {
  if (value == "NaN") return std::numeric_limits<Float>::quiet_NaN();
  if (value == "-Infinity") return -std::numeric_limits<Float>::infinity();
  return value.get<Float>();
}

/// What a typed value of the vectors is written as; nothing if its type is written as in JSON.
std::string ValueOf(const std::string& type, const json& value) {
  if (type == "BYTES") return PartitionValueOfBytes(FromHex(value["hex"]));
  if (type == "FLOAT") return PartitionValueOfFloat(FloatOf<float>(value));
  if (type == "DOUBLE") return PartitionValueOfDouble(FloatOf<double>(value));
  if (type == "DATE") return PartitionValueOfDate(value);
  if (type == "TIME") return PartitionValueOfTime(value);
  if (type == "TIMESTAMP")
    return PartitionValueOfTimestamp(value["ntz_millis"], value["nanos_of_milli"]);
  if (type == "TIMESTAMP_LTZ")
    return PartitionValueOfTimestamp(value["ltz_millis"], value["nanos_of_milli"]);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

TEST(PartitionValue, IsWrittenAsClientsWriteIt) {
  std::ifstream file(WEIR_TESTDATA "/vectors/partitions.json");
  const json vectors = json::parse(file);
  ASSERT_FALSE(vectors["values"].empty());
  for (const json& vector : vectors["values"]) {
    EXPECT_EQ(ValueOf(vector["type"], vector["value"]),
              vector["partition_value"].get<std::string>())
        << vector;
  }
}

// Java's rules for the form of a number, at the edges that the vectors do not reach.
TEST(PartitionValue, OfANumberHasJavasForm) {
  EXPECT_EQ(PartitionValueOfDouble(0.0), "0_0");
  EXPECT_EQ(PartitionValueOfDouble(-0.0), "-0_0");
  EXPECT_EQ(PartitionValueOfDouble(0.001), "0_001");
  EXPECT_EQ(PartitionValueOfDouble(0.00099), "9_9E-4");
  EXPECT_EQ(PartitionValueOfDouble(9999999.0), "9999999_0");
  EXPECT_EQ(PartitionValueOfDouble(1e7), "1_0E7");
  EXPECT_EQ(PartitionValueOfDouble(123456.789), "123456_789");
  EXPECT_EQ(PartitionValueOfDouble(100), "100_0");
  EXPECT_EQ(PartitionValueOfDouble(std::numeric_limits<double>::infinity()), "Inf");
}

TEST(CheckPartitionValue, WantsTheCharactersOfNames) {
  for (const std::string& good : {std::string("a-b_C"), std::string("0"), std::string("2024-05-01"),
                                  std::string(200, 'x'), std::string("-42"), std::string("_a")}) {
    EXPECT_TRUE(CheckPartitionValue(good).ok()) << good;
  }
  for (const std::string& bad :
       {std::string(), std::string("a.b"), std::string("a$b"), std::string("a b"),
        std::string("a/b"), std::string("é"), std::string("__a"), std::string(201, 'x')}) {
    const Status status = CheckPartitionValue(bad);
    ASSERT_FALSE(status.ok()) << bad;
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidPartition);
  }
}

TEST(OrderPartitionValues, TakesKeysInAnyOrder) {
  const auto values = OrderPartitionValues({{"day", "1"}, {"region", "eu"}}, {"region", "day"});
  ASSERT_TRUE(values.ok());
  EXPECT_THAT(*values, ElementsAre("eu", "1"));
}

TEST(OrderPartitionValues, WantsEachKeyOnce) {
  const std::vector<std::string> keys = {"region", "day"};
  for (const PartitionSpec& spec :
       {PartitionSpec{{"region", "eu"}}, PartitionSpec{{"region", "eu"}, {"day", "1"}, {"x", "1"}},
        PartitionSpec{{"region", "eu"}, {"x", "1"}},
        PartitionSpec{{"region", "eu"}, {"region", "eu"}}, PartitionSpec{}}) {
    const auto values = OrderPartitionValues(spec, keys);
    ASSERT_FALSE(values.ok());
    EXPECT_EQ(values.error().code, ErrorCode::kInvalidPartition);
  }
}

TEST(PartitionName, JoinsAndSplitsValues) {
  EXPECT_EQ(JoinPartitionValues({"2024", "us"}), "2024$us");
  EXPECT_THAT(SplitPartitionName("2024$us"), ElementsAre("2024", "us"));
  EXPECT_THAT(SplitPartitionName("2024"), ElementsAre("2024"));
  EXPECT_THAT(SplitPartitionName("$"), ElementsAre("", ""));
}

}  // namespace
}  // namespace weir
