#include "weir/base/crc32c.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

uint32_t BitByBit(Bytes bytes) {
  uint32_t crc = ~0u;
  for (std::byte b : bytes) {
    crc ^= std::to_integer<uint32_t>(b);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ ((crc & 1) ? 0x82f63b78u : 0);
  }
  return ~crc;
}

// RFC 3720, B.4.
TEST(Crc32c, GivesTheKnownChecksums) {
  EXPECT_EQ(Crc32c({}), 0u);
  EXPECT_EQ(Crc32c(AsBytes("123456789")), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::vector<std::byte>(32, std::byte{0})), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::vector<std::byte>(32, std::byte{0xff})), 0x62a8ab43u);
}

TEST(Crc32c, AgreesWithTheDefinitionAtEverySizeAroundItsBlocks) {
  std::mt19937 random(7);
  std::vector<std::byte> data(40000);
  for (std::byte& b : data) b = static_cast<std::byte>(random());
  for (size_t size :
       {1u, 7u, 8u, 9u, 4095u, 12287u, 12288u, 12289u, 24575u, 24577u, 36871u, 39999u}) {
    for (size_t start : {0u, 1u}) {
      const Bytes part = Bytes(data).subspan(start, size);
      EXPECT_EQ(Crc32c(part), BitByBit(part)) << size;
    }
  }
}

TEST(Crc32c, GoesOnWhereItStopped) {
  std::vector<std::byte> data(30000, std::byte{0x5a});
  const Bytes all(data);
  EXPECT_EQ(Crc32c(all.subspan(13000), Crc32c(all.first(13000))), Crc32c(all));
}

}  // namespace
}  // namespace weir
