#include "weir/kv/state_file.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

std::string Hex(const std::string& bytes) {
  std::string hex;
  for (const char byte : bytes) hex += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return hex;
}

TEST(StateFile, HasTheBytesOfItsDescription) {
  EXPECT_EQ(Hex(EncodeStateFile({{LogOffset(1000), 42}, true})),
            "574549524b56535401000000"
            "01000000"
            "e803000000000000"
            "2a00000000000000"
            "00000000"
            "8dc62515");
}

TEST(StateFile, IsReadAsItWasWritten) {
  for (const bool has_tables : {false, true}) {
    const std::string bytes = EncodeStateFile({{LogOffset(7), -3}, has_tables});
    const auto state = DecodeStateFile(AsBytes(bytes));
    ASSERT_TRUE(state.ok());
    EXPECT_EQ(state->checkpoint.log_offset, LogOffset(7));
    EXPECT_EQ(state->checkpoint.row_count, -3);
    EXPECT_EQ(state->has_tables, has_tables);
  }
}

TEST(StateFile, DamageIsFoundWhereverItIs) {
  const std::string bytes = EncodeStateFile({{LogOffset(7), 3}, true});
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    const auto state = DecodeStateFile(AsBytes(damaged));
    ASSERT_FALSE(state.ok()) << at;
    EXPECT_EQ(state.error().code, ErrorCode::kCorruptData);
    EXPECT_FALSE(DecodeStateFile(AsBytes(bytes).first(at)).ok());
  }
  EXPECT_FALSE(DecodeStateFile(AsBytes(bytes + "x")).ok());
}

TEST(StateFile, OneOfANewerVersionIsNotTakenForDamage) {
  std::string bytes = EncodeStateFile({{LogOffset(7), 3}, true});
  bytes[8] = 2;
  const auto state = DecodeStateFile(AsBytes(bytes));
  ASSERT_FALSE(state.ok());
  EXPECT_NE(state.error().message.find("newer version"), std::string::npos);
}

}  // namespace
}  // namespace weir
