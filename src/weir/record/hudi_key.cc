#include "weir/record/hudi_key.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <string>
#include <string_view>

#include "weir/base/check.h"
#include "weir/record/partition_name.h"
#include "weir/record/unscaled.h"

namespace weir {
namespace {

constexpr uint32_t kHashFactor = 31;

// Java's Float.toString and Double.toString.
std::string JavaNumber(std::string partition_value) {
  std::ranges::replace(partition_value, '_', '.');
  if (partition_value.ends_with("Inf")) partition_value += "inity";
  return partition_value;
}

std::string DecimalText(Int128 value, int scale) {
  std::string digits;
  for (Int128 rest = value < 0 ? -value : value; rest != 0; rest /= 10) {
    digits += static_cast<char>('0' + static_cast<int>(rest % 10));
  }
  const auto fraction = static_cast<size_t>(scale);
  if (digits.size() <= fraction) digits.append(fraction + 1 - digits.size(), '0');
  if (fraction != 0) digits.insert(fraction, 1, '.');
  if (value < 0) digits += '-';
  std::ranges::reverse(digits);
  return digits;
}

// 3, 6 or 9 digits behind the second, as many as are needed, or none.
std::string FractionText(int64_t nanos) {
  if (nanos == 0) return "";
  if (nanos % 1'000'000 == 0) return fmt::format(".{:03}", nanos / 1'000'000);
  if (nanos % 1000 == 0) return fmt::format(".{:06}", nanos / 1000);
  return fmt::format(".{:09}", nanos);
}

Result<std::string> TimestampText(const FieldValue& field, bool is_instant) {
  constexpr int64_t kYear0 = -62'167'219'200'000;
  constexpr int64_t kYear10000 = 253'402'300'800'000;
  if (field.number < kYear0 || field.number >= kYear10000) {
    return Fail(ErrorCode::kCorruptBatch, "key has a time beyond the year 9999: millis={}",
                field.number);
  }
  const std::chrono::sys_time<std::chrono::milliseconds> time{
      std::chrono::milliseconds(field.number)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  const int64_t nanos = clock.subseconds().count() * 1'000'000 + field.nanos;
  std::string text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  clock.hours().count(), clock.minutes().count());
  // What a clock shows is written without seconds if there are none; an instant never is.
  if (is_instant || clock.seconds().count() != 0 || nanos != 0)
    text += fmt::format(":{:02}{}", clock.seconds().count(), FractionText(nanos));
  if (is_instant) text += 'Z';
  return text;
}

Result<std::string> TextOf(const DataType& type, const FieldValue& field) {
  switch (type.kind()) {
    case TypeKind::kBoolean: return std::string(field.number != 0 ? "true" : "false");
    case TypeKind::kTinyInt:
    case TypeKind::kSmallInt:
    case TypeKind::kInt:
    case TypeKind::kBigInt:
    case TypeKind::kDate:
    case TypeKind::kTime: return std::to_string(field.number);
    case TypeKind::kFloat:
      return JavaNumber(
          PartitionValueOfFloat(std::bit_cast<float>(static_cast<uint32_t>(field.number))));
    case TypeKind::kDouble:
      return JavaNumber(PartitionValueOfDouble(std::bit_cast<double>(field.number)));
    case TypeKind::kDecimal: {
      if (!IsInBytes(type)) return DecimalText(field.number, type.scale());
      const std::optional<Int128> unscaled = DecodeUnscaled(field.bytes);
      WEIR_CHECK(unscaled.has_value());
      return DecimalText(*unscaled, type.scale());
    }
    case TypeKind::kChar:
    case TypeKind::kString: return std::string(AsText(field.bytes));
    case TypeKind::kTimestamp: return TimestampText(field, false);
    case TypeKind::kTimestampLtz: return TimestampText(field, true);
    case TypeKind::kBinary:
    case TypeKind::kBytes:
    case TypeKind::kArray:
    case TypeKind::kMap:
    case TypeKind::kRow: break;
  }
  WEIR_UNREACHABLE();
}

/// A character of UTF-8 text, which is taken off its front; negative if it is none.
int32_t TakeCharacter(std::string_view& text) {
  const auto first = static_cast<uint8_t>(text.front());
  const int length = first < 0x80 ? 1 : std::countl_one(first);
  if ((first >= 0x80 && length < 2) || length > 4 || text.size() < static_cast<size_t>(length))
    return -1;
  int32_t character = length == 1 ? first : first & (0x7f >> length);
  for (int i = 1; i < length; ++i) {
    const auto byte = static_cast<uint8_t>(text[static_cast<size_t>(i)]);
    if ((byte & 0xc0) != 0x80) return -1;
    character = character << 6 | (byte & 0x3f);
  }
  text.remove_prefix(static_cast<size_t>(length));
  return character <= 0x10ffff ? character : -1;
}

// Java's String.hashCode, over the units of UTF-16.
Result<uint32_t> HashOf(std::string_view text) {
  uint32_t hash = 0;
  while (!text.empty()) {
    const int32_t character = TakeCharacter(text);
    if (character < 0) return Fail(ErrorCode::kCorruptBatch, "text of a key is not UTF-8");
    auto unit = static_cast<uint32_t>(character);
    if (unit > 0xffff) {
      unit -= 0x10000;
      hash = hash * kHashFactor + 0xd800 + (unit >> 10);
      unit = 0xdc00 + (unit & 0x3ff);
    }
    hash = hash * kHashFactor + unit;
  }
  return hash;
}

// Hudi joins the texts of several columns with `,` and has these words for null and for nothing.
bool IsAmbiguous(std::string_view text) {
  return text.find(',') != std::string_view::npos || text == "__null__" || text == "__empty__";
}

}  // namespace

bool HasHudiText(const DataType& type) {
  return !IsNested(type.kind()) && type.kind() != TypeKind::kBinary &&
         type.kind() != TypeKind::kBytes;
}

Result<int32_t> HudiKeyHash(std::span<const DataType> types, std::span<const FieldValue> fields) {
  uint32_t hash = 1;
  for (size_t i = 0; i < types.size(); ++i) {
    WEIR_ASSIGN(const std::string text, TextOf(types[i], fields[i]));
    if (types.size() > 1 && IsAmbiguous(text)) {
      return Fail(ErrorCode::kCorruptBatch, "key has a text that is not one for Hudi: column={}",
                  i);
    }
    WEIR_ASSIGN(const uint32_t text_hash, HashOf(text));
    hash = hash * kHashFactor + text_hash;
  }
  return static_cast<int32_t>(hash);
}

}  // namespace weir
