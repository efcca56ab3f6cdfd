#include "weir/log/manifest.h"

#include <gtest/gtest.h>

#include "weir/base/crc32c.h"

namespace weir {
namespace {

Manifest SomeManifest() {
  Manifest manifest;
  manifest.group = GroupId(3);
  manifest.epoch = Epoch(18);
  manifest.owner = JournalId{1, 2};
  manifest.floor = Slot(77);
  manifest.files = {{"journals/00000000000000010000000000000002/00000000000000000000.journal", 0},
                    {"groups/3/17-00000000000000aa-0.seg", 2}};
  manifest.states = "groups/3/18-00000000000000bb.states";
  return manifest;
}

std::string WithChecksum(std::string body) {
  return body + fmt::format("\ncrc32c {:08x}\n", Crc32c(AsBytes(body)));
}

TEST(Manifest, ComesBackAsItWas) {
  const std::string text = EncodeManifest(SomeManifest());
  const Manifest manifest = DecodeManifest(text).value();
  EXPECT_EQ(EncodeManifest(manifest), text);
  EXPECT_EQ(manifest.floor, Slot(77));
  EXPECT_EQ(manifest.files[1].level, 2);
}

TEST(Manifest, AnyFlippedBitIsNoticed) {
  std::string text = EncodeManifest(SomeManifest());
  for (size_t i = 0; i < text.size(); ++i) {
    text[i] = static_cast<char>(text[i] ^ 4);
    EXPECT_FALSE(DecodeManifest(text).ok()) << i;
    text[i] = static_cast<char>(text[i] ^ 4);
  }
}

TEST(Manifest, WhatIsCutShortIsRefused) {
  const std::string text = EncodeManifest(SomeManifest());
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(DecodeManifest(text.substr(0, size)).error().code, ErrorCode::kCorruptData);
  }
}

TEST(Manifest, OneOfANewerVersionIsToldFromADamagedOne) {
  EXPECT_EQ(DecodeManifest(WithChecksum(R"({"format": 2})")).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(DecodeManifest(WithChecksum(R"({"format": 1})")).error().code, ErrorCode::kCorruptData);
  EXPECT_EQ(DecodeManifest(WithChecksum("[1")).error().code, ErrorCode::kCorruptData);
}

TEST(Manifest, NumbersThatAreNoneOrTooLargeAreRefused) {
  const std::string text = EncodeManifest(SomeManifest());
  const std::string body = text.substr(0, text.rfind("\ncrc32c"));
  ASSERT_TRUE(DecodeManifest(WithChecksum(body)).ok());
  for (const std::string& number :
       {std::string(40, '8'), std::string("1.5"), std::string("-1"), std::string("\"1\"")}) {
    for (const char* field :
         {"\"format\": ", "\"group\": ", "\"epoch\": ", "\"floor\": ", "\"level\": "}) {
      std::string changed = body;
      const size_t begin = changed.find(field) + std::string_view(field).size();
      const size_t end = changed.find_first_not_of("0123456789", begin);
      changed.replace(begin, end - begin, number);
      EXPECT_EQ(DecodeManifest(WithChecksum(changed)).error().code, ErrorCode::kCorruptData)
          << field << number;
    }
  }
}

TEST(Manifest, NamesNothingOutsideOfTheDataDirectory) {
  for (const char* name : {"/etc/passwd", "../groups/1/x.seg", "groups/../../x", ""}) {
    Manifest manifest = SomeManifest();
    manifest.files[0].name = name;
    EXPECT_FALSE(DecodeManifest(EncodeManifest(manifest)).ok());
    manifest = SomeManifest();
    manifest.states = name;
    EXPECT_FALSE(DecodeManifest(EncodeManifest(manifest)).ok());
  }
}

BucketStates SomeStates() {
  BucketStates states;
  BucketState& first = states[TableBucket{TableId(-1), std::nullopt, 0}];
  first = {LogOffset(5), LogOffset(5), kNoTimestamp, {}};
  BucketState& second = states[TableBucket{TableId(1), PartitionId(0), 7}];
  second = {LogOffset(0), LogOffset(1000), Timestamp(123456789), {}};
  second.writers.Record(WriterId(4), {BatchSequence(1), LogOffset(990), LogOffset(1000)},
                        Timestamp(5));
  states[TableBucket{TableId(1), std::nullopt, 7}] = {LogOffset(3), LogOffset(4), Timestamp(1), {}};
  return states;
}

TEST(BucketStates, ComeBackAsTheyWere) {
  const std::string bytes = EncodeBucketStates(SomeStates());
  const BucketStates states = DecodeBucketStates(bytes).value();
  EXPECT_EQ(states.size(), 3u);
  EXPECT_EQ(EncodeBucketStates(states), bytes);
  const BucketState& second = states.at(TableBucket{TableId(1), PartitionId(0), 7});
  EXPECT_EQ(second.end, LogOffset(1000));
  EXPECT_EQ(second.writers.Find(WriterId(4))->recent.at(0).base, LogOffset(990));
}

TEST(BucketStates, DamageIsNoticed) {
  std::string bytes = EncodeBucketStates(SomeStates());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(DecodeBucketStates(bytes.substr(0, size)).ok());
  }
  for (size_t i = 0; i < bytes.size() * 8; ++i) {
    bytes[i / 8] = static_cast<char>(bytes[i / 8] ^ (1 << i % 8));
    EXPECT_FALSE(DecodeBucketStates(bytes).ok());
    bytes[i / 8] = static_cast<char>(bytes[i / 8] ^ (1 << i % 8));
  }
}

TEST(BucketStates, NumbersThatWouldOverflowAreRefused) {
  const std::string large = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
  const auto states_of = [](const std::string& body) {
    std::string bytes = "WEIRSTA1" + body;
    const uint32_t crc = Crc32c(AsBytes(bytes));
    bytes.append(reinterpret_cast<const char*>(&crc), sizeof crc);
    return bytes;
  };
  const std::string zero(1, '\0');
  const std::string one = "\x01";
  EXPECT_TRUE(DecodeBucketStates(states_of(one + one + zero + zero + one + one + one + zero)).ok());
  // In turn: partition, bucket, start, records.
  EXPECT_FALSE(
      DecodeBucketStates(states_of(one + one + large + zero + one + one + one + zero)).ok());
  EXPECT_FALSE(
      DecodeBucketStates(states_of(one + one + zero + large + one + one + one + zero)).ok());
  EXPECT_FALSE(
      DecodeBucketStates(states_of(one + one + zero + zero + large + one + one + zero)).ok());
  EXPECT_FALSE(
      DecodeBucketStates(states_of(one + one + zero + zero + one + large + one + zero)).ok());
  // A count without what is counted, and bytes behind the end.
  EXPECT_FALSE(DecodeBucketStates(states_of(large)).ok());
  EXPECT_FALSE(
      DecodeBucketStates(states_of(one + one + zero + zero + one + one + one + zero + zero)).ok());
}

}  // namespace
}  // namespace weir
