#include "weir/record/arrow_message.h"

#include <functional>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "weir/record/batch_testing.h"

namespace weir {
namespace {

using nlohmann::json;

ArrowMessage SmallMessage() {
  return {.row_count = 3,
          .codec = ArrowCodec::kNone,
          .nodes = {{3, 1}, {3, 1}},
          .buffers = {{0, 1}, {8, 12}, {24, 1}, {32, 16}, {48, 4}},
          .body_bytes = 56};
}

std::vector<json> GoldenArrowBatches() {
  std::vector<json> batches;
  for (const char* file : {"log_batches.json", "log_batches_rust.json",
                           "log_batches_arrow_cpp.json", "log_batches_v1_v2_stats.json"}) {
    for (const json& vector : LoadVectors(file)) {
      const bool is_arrow = vector.value("log_format", "ARROW") == "ARROW";
      const bool is_empty = vector.at("name") == "arrow_v0_changelog_empty";
      const bool is_old =
          vector.at("name").get<std::string>().starts_with("arrow_magic1_AS_DEFINED_IN_0_9_1");
      if (is_arrow && !is_empty && !is_old) batches.push_back(vector);
    }
  }
  return batches;
}

ErrorCode CodeOf(const Result<ArrowMessage>& message) {
  return message.ok() ? ErrorCode::kInternal : message.error().code;
}

TEST(ArrowMessage, ReadsTheWorkedExample) {
  const std::vector<std::byte> batch = HexOf(LoadVectors("log_batches.json").at(1), "batch_hex");
  EXPECT_EQ(DecodeArrowMessage(SplitArrowBatch(batch).message_head).value(), SmallMessage());
}

TEST(ArrowMessage, ReadsWhatEveryClientWritesAndArrowReadsWhatWeWrite) {
  const std::vector<DataType> two_columns = {DataType::Of(TypeKind::kInt),
                                             DataType::Of(TypeKind::kString)};
  const std::vector<DataType> all_types =
      TypesOf(LoadVectors("log_batches.json").at(8).at("schema"));
  for (const json& vector : GoldenArrowBatches()) {
    SCOPED_TRACE(vector.at("name").get<std::string>());
    const std::vector<DataType> types = vector.contains("schema") ? TypesOf(vector.at("schema"))
                                        : vector.contains("schema_ref") ? all_types
                                                                        : two_columns;
    const std::vector<std::byte> batch = HexOf(vector, "batch_hex");
    const ArrowBatchParts parts = SplitArrowBatch(batch);
    const auto message = DecodeArrowMessage(parts.message_head);
    ASSERT_TRUE(message.ok()) << message.error().message;
    EXPECT_EQ(message->row_count, parts.header.record_count);
    EXPECT_EQ(static_cast<size_t>(message->body_bytes), parts.body.size());
    const std::string text = vector.value("compression", "NONE");
    EXPECT_EQ(message->codec, text.starts_with("z") || text.starts_with("Z") ? ArrowCodec::kZstd
                              : text.starts_with("l") || text.starts_with("L")
                                  ? ArrowCodec::kLz4Frame
                                  : ArrowCodec::kNone);

    const std::string again = EncodeArrowMessage(*message);
    EXPECT_EQ(again.size() % kArrowAlignment, 0u);
    EXPECT_EQ(DecodeArrowMessage(AsBytes(again)).value(), *message);
    const auto expected = ReadWithArrow(parts.message_head, parts.body, types);
    EXPECT_TRUE(ReadWithArrow(AsBytes(again), parts.body, types)->Equals(*expected));
  }
}

TEST(ArrowMessage, CanLieAtAnyAddress) {
  const std::string head = EncodeArrowMessage(SmallMessage());
  for (size_t shift = 0; shift < 8; ++shift) {
    std::string shifted = std::string(shift, '\0') + head;
    EXPECT_EQ(DecodeArrowMessage(AsBytes(shifted).subspan(shift)).value(), SmallMessage()) << shift;
  }
}

TEST(ArrowMessage, TellsWhereTheBodyBegins) {
  const std::string head = EncodeArrowMessage(SmallMessage());
  EXPECT_EQ(DecodeArrowPrefix(AsBytes(head).first(kArrowPrefixBytes)).value(), head.size());
  EXPECT_EQ(DecodeArrowPrefix(AsBytes(head + "body")).value(), head.size());
}

TEST(ArrowMessage, RefusesAPrefixThatCannotBe) {
  std::string head = EncodeArrowMessage(SmallMessage());
  auto* at = reinterpret_cast<std::byte*>(head.data());
  for (size_t size = 0; size < kArrowPrefixBytes; ++size)
    EXPECT_FALSE(DecodeArrowPrefix(AsBytes(head).first(size)).ok());

  StoreLittle(at + 4, static_cast<uint32_t>(kArrowMetadataBytesMax));
  EXPECT_TRUE(DecodeArrowPrefix(AsBytes(head)).ok());
  StoreLittle(at + 4, static_cast<uint32_t>(kArrowMetadataBytesMax + 1));
  EXPECT_FALSE(DecodeArrowPrefix(AsBytes(head)).ok());
  StoreLittle(at + 4, int32_t{-1});
  EXPECT_FALSE(DecodeArrowPrefix(AsBytes(head)).ok());

  StoreLittle(at + 4, uint32_t{8});
  StoreLittle(at, uint32_t{0xfffffffe});
  EXPECT_FALSE(DecodeArrowPrefix(AsBytes(head)).ok());
}

TEST(ArrowMessage, RefusesNumbersThatCannotBe) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const std::function<void(ArrowMessage&)> breakages[] = {
      [](auto& m) { m.row_count = -1; },
      [](auto& m) { m.body_bytes = -1; },
      [](auto& m) { m.body_bytes = 51; },  // the last buffer ends at 52
      [](auto& m) { m.nodes[0].length = -1; },
      [](auto& m) { m.nodes[1].null_count = -1; },
      [](auto& m) { m.nodes[1].null_count = 4; },
      [](auto& m) { m.buffers[0].position = -8; },
      [](auto& m) { m.buffers[1].bytes = -1; },
      [](auto& m) { m.buffers[1].bytes = 17; },  // into the next one
      [](auto& m) { std::swap(m.buffers[1], m.buffers[2]); },
      [](auto& m) { m.buffers[4].position = 57; },
      [](auto& m) { m.buffers[4].bytes = 9; },
      [=](auto& m) { m.buffers[4].bytes = kMax; },
      [=](auto& m) { m.buffers[4].position = kMax; },
      [=](auto& m) { m.buffers[2] = {kMax, kMax}; },
  };
  for (size_t i = 0; i < std::size(breakages); ++i) {
    ArrowMessage message = SmallMessage();
    breakages[i](message);
    EXPECT_EQ(CodeOf(DecodeArrowMessage(AsBytes(EncodeArrowMessage(message)))),
              ErrorCode::kCorruptBatch)
        << i;
  }
}

TEST(ArrowMessage, RefusesOtherMessages) {
  const auto schema = arrow::schema({arrow::field("a", arrow::int32())});
  const auto buffer = arrow::ipc::SerializeSchema(*schema).ValueOrDie();
  const Bytes bytes =
      AsBytes({reinterpret_cast<const char*>(buffer->data()), static_cast<size_t>(buffer->size())});
  const size_t head_bytes = DecodeArrowPrefix(bytes).value();
  EXPECT_EQ(CodeOf(DecodeArrowMessage(bytes.first(head_bytes))), ErrorCode::kCorruptBatch);
}

TEST(ArrowMessage, PassesOverCustomMetadataUpToABound) {
  arrow::Int32Builder builder;
  ASSERT_TRUE(builder.AppendValues({1, 2, 3}).ok());
  const auto schema = arrow::schema({arrow::field("a", arrow::int32())});
  const auto batch = arrow::RecordBatch::Make(schema, 3, {builder.Finish().ValueOrDie()});
  for (const auto& [entries, is_accepted] : {std::pair(5, true), std::pair(1000, false)}) {
    std::vector<std::string> keys(entries, "key");
    std::vector<std::string> values(entries, "value");
    arrow::ipc::IpcPayload payload;
    ASSERT_TRUE(arrow::ipc::GetRecordBatchPayload(*batch, arrow::key_value_metadata(keys, values),
                                                  arrow::ipc::IpcWriteOptions::Defaults(), &payload)
                    .ok());
    std::string head(kArrowPrefixBytes, '\xff');
    head += payload.metadata->ToString();
    StoreLittle(reinterpret_cast<std::byte*>(head.data()) + 4,
                static_cast<uint32_t>(payload.metadata->size()));
    EXPECT_EQ(DecodeArrowMessage(AsBytes(head)).ok(), is_accepted) << entries;
  }
}

TEST(ArrowMessage, RefusesWhatIsCutShort) {
  const std::string head = EncodeArrowMessage(SmallMessage());
  for (size_t size = 0; size < head.size(); ++size) {
    EXPECT_EQ(CodeOf(DecodeArrowMessage(AsBytes(head).first(size))), ErrorCode::kCorruptBatch)
        << size;
    if (size < kArrowPrefixBytes) continue;
    // The same with a length that agrees.
    std::string cut = head.substr(0, size);
    StoreLittle(reinterpret_cast<std::byte*>(cut.data()) + 4,
                static_cast<uint32_t>(size - kArrowPrefixBytes));
    const auto message = DecodeArrowMessage(AsBytes(cut));
    // The padding at the end may be missing, no more.
    EXPECT_TRUE(!message.ok() || *message == SmallMessage()) << size;
  }
}

TEST(ArrowMessage, SurvivesRandomDamage) {
  std::mt19937 random(11);
  const std::string head = EncodeArrowMessage(SmallMessage());
  for (int round = 0; round < 20'000; ++round) {
    std::string damaged = head;
    for (int i = 0; i <= round % 4; ++i) {
      damaged[kArrowPrefixBytes + random() % (head.size() - kArrowPrefixBytes)] =
          static_cast<char>(random());
    }
    (void)DecodeArrowMessage(AsBytes(damaged)).ok();
  }
}

}  // namespace
}  // namespace weir
