#include "weir/base/crc32c.h"

#include <array>

#if defined(__SSE4_2__)
#include <nmmintrin.h>
#endif

namespace weir {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;

#if defined(__SSE4_2__)

// The instruction has a latency of three cycles and a throughput of one: three independent streams
// of kStream bytes keep it busy. A stream's checksum is moved over the bytes behind it by a
// multiplication modulo the polynomial, done with four table lookups.
constexpr size_t kStream = 4096;

using Table = std::array<std::array<uint32_t, 256>, 4>;

// Effect of one zero bit on a checksum.
constexpr uint32_t ShiftBit(uint32_t crc) {
  return (crc >> 1) ^ ((crc & 1) ? kPolynomial : 0);
}

// Tables that move a checksum over `bytes` zero bytes.
constexpr Table MakeShiftTable(size_t bytes) {
  // Column i of the matrix is what becomes of bit i. Squaring a matrix doubles its distance.
  std::array<uint32_t, 32> matrix{};
  for (int i = 0; i < 32; ++i) matrix[i] = ShiftBit(1u << i);
  const auto apply = [](const std::array<uint32_t, 32>& m, uint32_t crc) {
    uint32_t sum = 0;
    for (int i = 0; crc != 0; ++i, crc >>= 1) {
      if (crc & 1) sum ^= m[i];
    }
    return sum;
  };
  for (size_t bits = 1; bits < bytes * 8; bits *= 2) {
    std::array<uint32_t, 32> square{};
    for (int i = 0; i < 32; ++i) square[i] = apply(matrix, matrix[i]);
    matrix = square;
  }
  Table table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    for (int k = 0; k < 4; ++k) table[k][byte] = apply(matrix, byte << (8 * k));
  }
  return table;
}

constexpr Table kShift = MakeShiftTable(kStream);
static_assert((kStream & (kStream - 1)) == 0, "the table is made by squaring");

uint32_t Shift(uint32_t crc) {
  return kShift[0][crc & 0xff] ^ kShift[1][(crc >> 8) & 0xff] ^ kShift[2][(crc >> 16) & 0xff] ^
         kShift[3][crc >> 24];
}

uint32_t Update(uint32_t crc, const std::byte* at, size_t size) {
  while (size >= 3 * kStream) {
    uint64_t a = crc, b = 0, c = 0;
    for (size_t i = 0; i < kStream; i += 8) {
      a = _mm_crc32_u64(a, LoadLittle<uint64_t>(at + i));
      b = _mm_crc32_u64(b, LoadLittle<uint64_t>(at + kStream + i));
      c = _mm_crc32_u64(c, LoadLittle<uint64_t>(at + 2 * kStream + i));
    }
    crc = Shift(Shift(static_cast<uint32_t>(a)) ^ static_cast<uint32_t>(b)) ^
          static_cast<uint32_t>(c);
    at += 3 * kStream;
    size -= 3 * kStream;
  }
  uint64_t wide = crc;
  for (; size >= 8; at += 8, size -= 8) wide = _mm_crc32_u64(wide, LoadLittle<uint64_t>(at));
  crc = static_cast<uint32_t>(wide);
  for (; size > 0; ++at, --size) crc = _mm_crc32_u8(crc, std::to_integer<uint8_t>(*at));
  return crc;
}

#else

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? kPolynomial : 0);
    table[i] = crc;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kTable = MakeTable();

uint32_t Update(uint32_t crc, const std::byte* at, size_t size) {
  for (; size > 0; ++at, --size)
    crc = (crc >> 8) ^ kTable[(crc ^ std::to_integer<uint32_t>(*at)) & 0xff];
  return crc;
}

#endif

}  // namespace

uint32_t Crc32c(Bytes bytes, uint32_t before) {
  return ~Update(~before, bytes.data(), bytes.size());
}

}  // namespace weir
