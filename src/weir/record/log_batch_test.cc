#include "weir/record/log_batch.h"

#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/record/batch_testing.h"

namespace weir {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const char* const kVectorFiles[] = {"log_batches.json", "log_batches_rust.json",
                                    "log_batches_arrow_cpp.json", "log_batches_v1_v2_stats.json"};
// Of a batch of magic 1 in which Fluss 0.9 meant something else.
constexpr const char* kOldMagic1 = "arrow_magic1_AS_DEFINED_IN_0_9_1_leader_epoch";

std::vector<std::byte> VectorNamed(const char* file, std::string_view name) {
  for (const json& vector : LoadVectors(file)) {
    if (vector.at("name") == name) return HexOf(vector, "batch_hex");
  }
  ADD_FAILURE() << "no vector " << name;
  return {};
}

std::vector<std::byte> SmallBatch() {
  return VectorNamed("log_batches.json", "compacted_v0_append_only");
}

template <typename Number>
std::vector<std::byte> With(std::vector<std::byte> batch, size_t position, Number value) {
  StoreLittle(&batch[position], value);
  return batch;
}

void ExpectRefused(Bytes batch, std::string_view field_and_value) {
  const auto header = DecodeLogBatchHeader(batch);
  ASSERT_FALSE(header.ok()) << field_and_value;
  EXPECT_EQ(header.error().code, ErrorCode::kCorruptBatch);
  EXPECT_THAT(header.error().message, HasSubstr(field_and_value));
}

TEST(LogBatchHeader, ReadsWhatEveryClientWritesAndWritesTheSameBytes) {
  for (const char* file : kVectorFiles) {
    for (const json& vector : LoadVectors(file)) {
      if (vector.at("name") == kOldMagic1) continue;
      SCOPED_TRACE(vector.at("name").get<std::string>());
      const std::vector<std::byte> batch = HexOf(vector, "batch_hex");
      const auto header = DecodeLogBatchHeader(batch);
      ASSERT_TRUE(header.ok()) << header.error().message;
      EXPECT_EQ(header->batch_bytes, batch.size());
      EXPECT_TRUE(CheckLogBatchCrc(batch, *header).ok());

      std::vector<std::byte> again = batch;
      std::fill_n(again.begin(), header->header_bytes(), std::byte{0xaa});
      EncodeLogBatchHeader(*header, again);
      EXPECT_EQ(again, batch);
      std::fill_n(again.begin(), header->header_bytes(), std::byte{0xaa});
      SealLogBatch(*header, again);
      EXPECT_EQ(again, batch);
    }
  }
}

TEST(LogBatchHeader, ReadsEachFieldOfTheGoldenBatches) {
  for (const char* file : kVectorFiles) {
    for (const json& vector : LoadVectors(file)) {
      if (vector.at("name") == kOldMagic1 || !vector.contains("header")) continue;
      SCOPED_TRACE(vector.at("name").get<std::string>());
      const json& expected = vector.at("header");
      const LogBatchHeader header = DecodeLogBatchHeader(HexOf(vector, "batch_hex")).value();
      EXPECT_EQ(header.base_offset.value, expected.at("base_offset"));
      EXPECT_EQ(header.batch_bytes - 12, expected.at("length"));
      EXPECT_EQ(header.magic, expected.at("magic"));
      EXPECT_EQ(header.commit_timestamp.value, expected.at("commit_timestamp"));
      EXPECT_EQ(header.crc, expected.at("crc32c"));
      EXPECT_EQ(header.schema_id.value, expected.at("schema_id"));
      EXPECT_EQ(header.is_append_only ? 1 : 0, expected.at("attributes"));
      EXPECT_EQ(header.last_offset_delta, expected.at("last_offset_delta"));
      EXPECT_EQ(header.writer_id.value, expected.at("writer_id"));
      EXPECT_EQ(header.batch_sequence.value, expected.at("batch_sequence"));
      EXPECT_EQ(header.record_count, expected.at("record_count"));
      EXPECT_EQ(header.leader_epoch.has_value(), expected.contains("leader_epoch"));
      if (header.leader_epoch.has_value()) {
        EXPECT_EQ(*header.leader_epoch, expected.at("leader_epoch"));
      }
      EXPECT_EQ(header.statistics_bytes, expected.value("statistics_length", 0));
    }
  }
}

TEST(LogBatchHeader, NeedsNoMoreThanTheHeader) {
  for (const char* name : {"v1_append_only_stats_abc", "v2_changelog_stats_abc"}) {
    const std::vector<std::byte> batch = VectorNamed("log_batches_v1_v2_stats.json", name);
    const LogBatchHeader whole = DecodeLogBatchHeader(batch).value();
    EXPECT_EQ(DecodeLogBatchHeader(Bytes(batch).first(whole.header_bytes())).value(), whole);
    ExpectRefused(Bytes(batch).first(whole.header_bytes() - 1), "bytes_left=");
  }
  for (size_t size = 0; size < kLogBatchHeaderBytes; ++size)
    ExpectRefused(Bytes(SmallBatch()).first(size), "bytes_left=");
}

TEST(LogBatchHeader, DoesNotTakeTheMagic1OfFluss09ForStatistics) {
  const std::vector<std::byte> batch = VectorNamed("log_batches.json", kOldMagic1);
  const auto header = DecodeLogBatchHeader(batch);
  EXPECT_TRUE(!header.ok() || !CheckLogBatchCrc(batch, *header).ok());
}

TEST(LogBatchHeader, AnEmptyBatchTakesOneOffset) {
  const LogBatchHeader header =
      DecodeLogBatchHeader(VectorNamed("log_batches.json", "arrow_v0_changelog_empty")).value();
  EXPECT_EQ(header.record_count, 0);
  EXPECT_EQ(header.records_bytes(), 0u);
  EXPECT_EQ(header.last_offset(), header.base_offset);
  EXPECT_EQ(header.end_offset(), header.base_offset + 1);
}

TEST(LogBatchHeader, RefusesFieldsThatCannotBe) {
  const std::vector<std::byte> batch = SmallBatch();
  ExpectRefused(With<int8_t>(batch, 12, 3), "magic=3");
  ExpectRefused(With<int8_t>(batch, 12, -1), "magic=-1");
  ExpectRefused(With<int32_t>(batch, 8, 35), "length=35");
  ExpectRefused(With<int32_t>(batch, 8, -1), "length=-1");
  ExpectRefused(With<uint8_t>(batch, 27, 2), "attributes=2");
  ExpectRefused(With<int32_t>(batch, 28, -1), "last_offset_delta=-1");
  ExpectRefused(With<int32_t>(batch, 28, 1), "last_offset_delta=1");
  ExpectRefused(With<int32_t>(batch, 44, -1), "record_count=-1");
  ExpectRefused(With<int32_t>(batch, 44, 0), "last_offset_delta=2");
  ExpectRefused(With<int32_t>(batch, 8, 36), "records_bytes=0");
  ExpectRefused(With<int64_t>(batch, 0, std::numeric_limits<int64_t>::max()), "base_offset=");
}

TEST(LogBatchHeader, RefusesStatisticsThatDoNotFit) {
  for (const auto& [name, position] :
       {std::pair("v1_append_only_stats_abc", 48), std::pair("v2_changelog_stats_abc", 52)}) {
    const std::vector<std::byte> batch = VectorNamed("log_batches_v1_v2_stats.json", name);
    const auto room = static_cast<int32_t>(batch.size()) - position - 4;
    ExpectRefused(With<int32_t>(batch, position, -1), "statistics_length=-1");
    ExpectRefused(With<int32_t>(batch, position, room + 1), "statistics_length=");
    ExpectRefused(With<int32_t>(batch, position, std::numeric_limits<int32_t>::max()),
                  "statistics_length=");
    ExpectRefused(With<int32_t>(batch, position, room), "records_bytes=0");
  }
}

TEST(LogBatchHeader, BoundsTheSizeOfABatch) {
  const auto length_max = static_cast<int32_t>(kLogBatchBytesMax - 12);
  EXPECT_EQ(DecodeLogBatchHeader(With(SmallBatch(), 8, length_max)).value().batch_bytes,
            kLogBatchBytesMax);
  ExpectRefused(With(SmallBatch(), 8, length_max + 1), "length=");
}

TEST(LogBatchHeader, EndsNoLaterThanTheLastOffsetThereIs) {
  std::vector<std::byte> batch = With(SmallBatch(), 44, std::numeric_limits<int32_t>::max());
  batch = With(batch, 28, std::numeric_limits<int32_t>::max() - 1);
  const int64_t base_max =
      std::numeric_limits<int64_t>::max() - std::numeric_limits<int32_t>::max() - 1;
  EXPECT_GT(DecodeLogBatchHeader(With(batch, 0, base_max)).value().end_offset().value, base_max);
  ExpectRefused(With(batch, 0, base_max + 1), "base_offset=");
}

TEST(CheckLogBatchCrc, SeesEveryFlippedBitThatItCovers) {
  std::vector<std::byte> batch = SmallBatch();
  const LogBatchHeader header = DecodeLogBatchHeader(batch).value();
  for (size_t i = 0; i < batch.size(); ++i) {
    batch[i] ^= std::byte{0x10};
    EXPECT_EQ(CheckLogBatchCrc(batch, header).ok(), i < header.crc_start()) << i;
    batch[i] ^= std::byte{0x10};
  }
}

TEST(StampLogBatch, ChangesOffsetAndTimeAndLeavesTheChecksumRight) {
  for (const char* name : {"v1_append_only_stats_abc", "v2_changelog_stats_abc"}) {
    std::vector<std::byte> batch = VectorNamed("log_batches_v1_v2_stats.json", name);
    LogBatchHeader expected = DecodeLogBatchHeader(batch).value();
    StampLogBatch(batch, LogOffset{1'000'000'007}, Timestamp{1'700'000'000'123});
    expected.base_offset = LogOffset{1'000'000'007};
    expected.commit_timestamp = Timestamp{1'700'000'000'123};
    EXPECT_EQ(DecodeLogBatchHeader(batch).value(), expected);
    EXPECT_TRUE(CheckLogBatchCrc(batch, expected).ok());
  }
}

TEST(LogBatchReader, TakesALogFileApart) {
  LogOffset expected_base{0};
  int64_t batches = 0;
  for (const json& file : LoadVectors("files_and_json.json", "log_directory")) {
    if (!file.at("file").get<std::string>().ends_with(".log")) continue;
    const std::vector<std::byte> log = HexOf(file, "hex");
    for (LogBatchReader reader(log); !reader.at_end();) {
      const size_t position = reader.position();
      const LogBatchView batch = reader.Next().value();
      EXPECT_EQ(batch.bytes.data(), log.data() + position);
      EXPECT_EQ(reader.position(), position + batch.header.batch_bytes);
      EXPECT_EQ(batch.header.base_offset, expected_base);
      EXPECT_EQ(batch.header.commit_timestamp.value, 1'700'000'000'000 + 1000 * batches);
      EXPECT_TRUE(CheckLogBatchCrc(batch.bytes, batch.header).ok());
      expected_base = batch.header.end_offset();
      ++batches;
    }
  }
  EXPECT_EQ(batches, 8);
  EXPECT_EQ(expected_base, LogOffset{16});
}

TEST(LogBatchReader, HasNothingToGiveWhereThereIsNothing) {
  EXPECT_TRUE(LogBatchReader({}).at_end());
}

TEST(LogBatchReader, RefusesWhatIsNotAWholeBatch) {
  std::vector<std::byte> batches = SmallBatch();
  const size_t first = batches.size();
  batches.insert(batches.end(), batches.begin(), batches.end());
  for (size_t size = first + 1; size < batches.size(); ++size) {
    LogBatchReader reader(Bytes(batches).first(size));
    EXPECT_TRUE(reader.Next().ok());
    ASSERT_FALSE(reader.at_end());
    const auto second = reader.Next();
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, ErrorCode::kCorruptBatch);
    EXPECT_EQ(reader.position(), first);
  }
}

}  // namespace
}  // namespace weir
