#include "weir/kv/bitmap.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

using Numbers = std::set<uint64_t>;

std::string FromHex(std::string_view hex) {
  std::string bytes;
  std::string digits;
  for (const char c : hex) {
    if (c == ' ') continue;
    digits += c;
    if (digits.size() < 2) continue;
    bytes += static_cast<char>(std::stoi(digits, nullptr, 16));
    digits.clear();
  }
  return bytes;
}

std::string ToHex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return out;
}

template <typename T>
void Append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

/// The union with a bitmap of no numbers leaves a bitmap as it is but for its encoding.
const std::string kEmpty32 = FromHex("3a300000 00000000");
const std::string kEmpty64 = FromHex("00");

std::string Unite(BitmapFormat format, std::string_view a, std::string_view b) {
  std::string out = "what was there";
  const Status status = UniteBitmaps(format, AsBytes(a), AsBytes(b), out);
  EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  return out;
}

/// One number after the other, as a plain array each, united.
std::string Single32(uint64_t number) {
  std::string out = FromHex("3a300000 01000000");
  Append(out, static_cast<uint16_t>(number >> 16));
  Append(out, uint16_t{0});
  Append(out, uint32_t{16});
  Append(out, static_cast<uint16_t>(number));
  return out;
}

std::string Single64(uint64_t number) {
  std::string out = FromHex("01 0100000000000000 04 0000 00");
  for (int shift = 56; shift >= 16; shift -= 8) out += static_cast<char>(number >> shift);
  out += FromHex("0000000000000000 01000000 fe 01000000 01 02 01000000");
  Append(out, static_cast<uint16_t>(number));
  out += FromHex("0100000000000000 00000000 00000000");
  return out;
}

std::string Single(BitmapFormat format, uint64_t number) {
  return format == BitmapFormat::k32 ? Single32(number) : Single64(number);
}

/// Halves are united, so that this is quick.
std::string Make(BitmapFormat format, const std::vector<uint64_t>& numbers) {
  if (numbers.empty()) return format == BitmapFormat::k32 ? kEmpty32 : kEmpty64;
  if (numbers.size() == 1) return Single(format, numbers.front());
  const auto middle = numbers.begin() + static_cast<ptrdiff_t>(numbers.size() / 2);
  return Unite(format, Make(format, {numbers.begin(), middle}),
               Make(format, {middle, numbers.end()}));
}

uint16_t ShortAt(std::string_view bytes, size_t at) {
  return LoadLittle<uint16_t>(AsBytes(bytes).data() + at);
}

/// Reads bodies by the words of the formats alone, to hold against what the code under test wrote.
size_t ReadBody(std::string_view bytes, uint64_t high, int kind, size_t cardinality, Numbers& out) {
  if (kind == 2) {
    for (size_t i = 0; i < cardinality; ++i) out.insert(high | ShortAt(bytes, 2 * i));
    return 2 * cardinality;
  }
  if (kind == 1) {
    for (size_t i = 0; i < 65'536; ++i) {
      if ((static_cast<uint8_t>(bytes[i / 8]) >> (i % 8) & 1) != 0) out.insert(high | i);
    }
    return 8192;
  }
  const size_t runs = ShortAt(bytes, 0);
  for (size_t i = 0; i < runs; ++i) {
    const uint64_t first = ShortAt(bytes, 2 + 4 * i);
    for (uint64_t n = 0; n <= ShortAt(bytes, 4 + 4 * i); ++n) out.insert(high | (first + n));
  }
  return 2 + 4 * runs;
}

Numbers Read32(std::string_view bytes) {
  const auto cookie = LoadLittle<uint32_t>(AsBytes(bytes).data());
  const bool has_runs = (cookie & 0xffff) == 12347;
  const size_t count =
      has_runs ? (cookie >> 16) + 1 : LoadLittle<uint32_t>(AsBytes(bytes).data() + 4);
  const size_t flags = 4;
  const size_t heads = has_runs ? flags + (count + 7) / 8 : 8;
  const bool has_positions = !has_runs || count >= 4;
  size_t at = heads + 4 * count + (has_positions ? 4 * count : 0);
  Numbers out;
  for (size_t i = 0; i < count; ++i) {
    if (has_positions) {
      EXPECT_EQ(LoadLittle<uint32_t>(AsBytes(bytes).data() + heads + 4 * count + 4 * i), at);
    }
    const uint64_t key = ShortAt(bytes, heads + 4 * i);
    const size_t cardinality = ShortAt(bytes, heads + 4 * i + 2) + size_t{1};
    const bool is_run = has_runs && (bytes[flags + i / 8] >> (i % 8) & 1) != 0;
    at += ReadBody(bytes.substr(at), key << 16, is_run ? 0 : (cardinality > 4096 ? 1 : 2),
                   cardinality, out);
  }
  EXPECT_EQ(at, bytes.size());
  return out;
}

/// Walks the tree as Java does to look a key up: by the prefixes and the keys of its branches.
size_t ReadTree(std::string_view bytes, size_t at, std::vector<uint8_t> path,
                std::vector<std::pair<uint64_t, uint64_t>>& leaves) {
  const int node = bytes[at];
  const size_t count = ShortAt(bytes, at + 1);
  const size_t prefix = static_cast<uint8_t>(bytes[at + 3]);
  at += 4;
  for (size_t i = 0; i < prefix; ++i) path.push_back(static_cast<uint8_t>(bytes[at + i]));
  at += prefix;
  if (node == 4) {
    uint64_t key = 0;
    for (size_t i = 0; i < 6; ++i) {
      const auto byte = static_cast<uint8_t>(bytes[at + i]);
      if (i < path.size()) {
        EXPECT_EQ(byte, path[i]);
      }
      key = key << 8 | byte;
    }
    leaves.emplace_back(key, LoadLittle<uint64_t>(AsBytes(bytes).data() + at + 6));
    return at + 14;
  }
  std::vector<uint8_t> keys;
  if (node == 0) {
    for (size_t i = 0; i < count; ++i) keys.push_back(static_cast<uint8_t>(bytes[at + 3 - i]));
    at += 4;
  } else if (node == 1) {
    for (size_t i = 0; i < count; ++i) {
      keys.push_back(static_cast<uint8_t>(bytes[at + i / 8 * 8 + 7 - i % 8]));
    }
    at += 16;
  } else if (node == 2) {
    Numbers places;
    for (size_t key = 0; key < 256; ++key) {
      const auto place = static_cast<uint8_t>(bytes[at + key / 8 * 8 + 7 - key % 8]);
      if (place == 0xff) continue;
      EXPECT_LT(place, 48);
      EXPECT_TRUE(places.insert(place).second);
      keys.push_back(static_cast<uint8_t>(key));
    }
    at += 256;
  } else {
    for (size_t key = 0; key < 256; ++key) {
      const auto word = LoadLittle<uint64_t>(AsBytes(bytes).data() + at + key / 64 * 8);
      if ((word >> (key % 64) & 1) != 0) keys.push_back(static_cast<uint8_t>(key));
    }
    at += 32;
  }
  EXPECT_EQ(keys.size(), count);
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  for (const uint8_t key : keys) {
    path.push_back(key);
    at = ReadTree(bytes, at, path, leaves);
    path.pop_back();
  }
  return at;
}

Numbers Read64(std::string_view bytes) {
  Numbers out;
  if (bytes[0] == 0) return out;
  std::vector<std::pair<uint64_t, uint64_t>> leaves;
  size_t at = ReadTree(bytes, 9, {}, leaves);
  EXPECT_EQ(LoadLittle<uint64_t>(AsBytes(bytes).data() + 1), leaves.size());
  at += 4 + 1 + 4;
  for (size_t i = 0; i < leaves.size(); ++i) {
    EXPECT_EQ(leaves[i].second, i);
    const auto cardinality = LoadLittle<uint32_t>(AsBytes(bytes).data() + at + 2);
    at += 6;
    at += ReadBody(bytes.substr(at), leaves[i].first << 16, bytes[at - 5], cardinality, out);
  }
  EXPECT_EQ(at + 16, bytes.size());
  return out;
}

Numbers Read(BitmapFormat format, std::string_view bytes) {
  return format == BitmapFormat::k32 ? Read32(bytes) : Read64(bytes);
}

TEST(Bitmaps, OfJavaAreUnitedToWhatJavaWrites) {
  // Of the documentation of Apache Fluss: {10, 20}, {20, 30}, and their union.
  const std::string tail = "0100000000000000 00000000 00000000";
  const std::string head =
      "01 0100000000000000 04 0000 00 000000000000 0000000000000000 01000000 fe 01000000 01 02 ";
  const std::string a = FromHex(head + "02000000 0a00 1400" + tail);
  const std::string b = FromHex(head + "02000000 1400 1e00" + tail);
  const std::string both = FromHex(head + "03000000 0a00 1400 1e00" + tail);
  EXPECT_EQ(ToHex(Unite(BitmapFormat::k64, a, b)), ToHex(both));
  EXPECT_EQ(ToHex(Unite(BitmapFormat::k64, b, a)), ToHex(both));
}

TEST(Bitmaps, Of32BitsAreInThePortableFormat) {
  const std::string a = FromHex("3a300000 01000000 0000 0100 10000000 0100 0200");
  const std::string b = FromHex("3a300000 01000000 0000 0100 10000000 0200 0500");
  EXPECT_EQ(ToHex(Unite(BitmapFormat::k32, a, b)),
            ToHex(FromHex("3a300000 01000000 0000 0200 10000000 0100 0200 0500")));
}

TEST(Bitmaps, BecomeRunsWhereTheseAreSmaller) {
  const std::string runs =
      Make(BitmapFormat::k32, {100, 101, 102, 103, 104, 105, 106, 107, 108, 109});
  EXPECT_EQ(ToHex(runs), ToHex(FromHex("3b300000 01 0000 0900 0100 6400 0900")));
}

TEST(Bitmaps, HoldTheNumbersOfBoth) {
  std::mt19937_64 random(11);
  for (const BitmapFormat format : {BitmapFormat::k32, BitmapFormat::k64}) {
    for (int turn = 0; turn < 16; ++turn) {
      // Few or many numbers, alone or in runs, in one container or in far-apart ones.
      const auto some = [&] {
        const size_t count = random() % (turn % 4 == 0 ? 9000 : 60);
        const int spread = static_cast<int>(random() % (format == BitmapFormat::k32 ? 33 : 65));
        const uint64_t mask = spread == 64 ? ~uint64_t{0} : (uint64_t{1} << spread) - 1;
        std::vector<uint64_t> numbers;
        while (numbers.size() < count) {
          const uint64_t first = random() & mask;
          const uint64_t length = random() % 3 == 0 ? random() % 200 : 1;
          for (uint64_t i = 0; i < length && ((first + i) & ~mask) == 0; ++i) {
            numbers.push_back(first + i);
          }
          if (length == 0) numbers.push_back(first);
        }
        return numbers;
      };
      const std::vector<uint64_t> x = some();
      const std::vector<uint64_t> y = some();
      const std::string a = Make(format, x);
      const std::string b = Make(format, y);
      EXPECT_EQ(Read(format, a), Numbers(x.begin(), x.end()));
      Numbers expected(x.begin(), x.end());
      expected.insert(y.begin(), y.end());
      const std::string both = Unite(format, a, b);
      EXPECT_EQ(Read(format, both), expected);
      EXPECT_EQ(both, Unite(format, b, a));
      EXPECT_EQ(both, Unite(format, both, a));
    }
  }
}

TEST(Bitmaps, HaveBranchesOfEachSize) {
  for (const size_t count : {1, 2, 4, 5, 16, 17, 48, 49, 256}) {
    std::vector<uint64_t> numbers;
    for (size_t i = 0; i < count; ++i) numbers.push_back(i * 256 / count << 40 | i);
    EXPECT_EQ(Read64(Make(BitmapFormat::k64, numbers)), Numbers(numbers.begin(), numbers.end()))
        << count;
  }
}

TEST(Bitmaps, OfAllNumbersOfAContainerAreOneRun) {
  std::vector<uint64_t> numbers(65'536);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = 0x70000 + i;
  EXPECT_EQ(ToHex(Make(BitmapFormat::k32, numbers)),
            ToHex(FromHex("3b300000 01 0700 ffff 0100 0000 ffff")));
}

TEST(Bitmaps, WithoutNumbersAreUnitedToo) {
  EXPECT_EQ(Unite(BitmapFormat::k32, kEmpty32, kEmpty32), kEmpty32);
  EXPECT_EQ(Unite(BitmapFormat::k64, kEmpty64, kEmpty64), kEmpty64);
  EXPECT_EQ(Unite(BitmapFormat::k32, kEmpty32, Single32(7)), Single32(7));
  EXPECT_EQ(Unite(BitmapFormat::k64, Single64(7), kEmpty64), Single64(7));
}

TEST(Bitmaps, AreRefusedWhenTheyAreNone) {
  const std::vector<std::pair<BitmapFormat, std::string>> cases = {
      {BitmapFormat::k32, ""},
      {BitmapFormat::k32, "3a30"},
      {BitmapFormat::k32, "3c300000 00000000"},
      {BitmapFormat::k32, "3a300000 ffffffff"},
      {BitmapFormat::k32, "3a300000 01000000 0000 0100 10000000 0200 0100"},  // not in order
      {BitmapFormat::k32, "3a300000 01000000 0000 0100 10000000 0200"},       // cut off
      {BitmapFormat::k32, "3b300000 01 0000 0000 0100 ffff 0100"},            // a run too long
      {BitmapFormat::k32, "3b300000 01 0000 0000 0000"},                      // no run
      {BitmapFormat::k64, ""},
      {BitmapFormat::k64, "02"},
      {BitmapFormat::k64, "01 0100000000000000"},
      {BitmapFormat::k64, "01 0100000000000000 05 0000 00"},
      // No container, two lists of containers, a container that two keys share.
      {BitmapFormat::k64,
       "01 0100000000000000 04 0000 00 000000000000 0000000000000000 01000000 fe "
       "01000000 00 0100000000000000 00000000 00000000"},
      {BitmapFormat::k64, "01 0100000000000000 04 0000 00 000000000000 0000000000000000 02000000"},
      {BitmapFormat::k64,
       "01 0200000000000000 00 0200 05 0000000000 00000100 "
       "04 0000 00 000000000000 0000000000000000 04 0000 00 000000000001 0000000000000000 "
       "01000000 fe 01000000 01 02 01000000 0a00 0200000000000000 00000000 00000000"},
  };
  for (const auto& [format, hex] : cases) {
    const std::string bytes = FromHex(hex);
    const Status status = CheckBitmap(format, AsBytes(bytes));
    ASSERT_FALSE(status.ok()) << hex;
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidValue);
    std::string out;
    EXPECT_FALSE(UniteBitmaps(format, AsBytes(Single(format, 1)), AsBytes(bytes), out).ok());
  }
}

TEST(Bitmaps, AreRefusedWhereverTheyAreCutOff) {
  for (const BitmapFormat format : {BitmapFormat::k32, BitmapFormat::k64}) {
    std::vector<uint64_t> numbers;
    for (uint64_t i = 0; i < 30; ++i) numbers.push_back(i * i * i << 12 & 0xffffffff);
    const std::string whole = Make(format, numbers);
    const size_t needed = format == BitmapFormat::k32 ? whole.size() : whole.size() - 16;
    for (size_t size = 0; size < needed; ++size) {
      EXPECT_FALSE(CheckBitmap(format, AsBytes(std::string_view(whole).substr(0, size))).ok());
    }
    EXPECT_TRUE(CheckBitmap(format, AsBytes(whole)).ok());
  }
}

}  // namespace
}  // namespace weir
