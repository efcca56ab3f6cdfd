#include "weir/record/key_codec.h"

#include <algorithm>
#include <bit>

#include "weir/base/check.h"
#include "weir/record/hudi_key.h"
#include "weir/record/nested_values.h"
#include "weir/record/row_fields.h"

namespace weir {
namespace {

constexpr size_t kWord = 8;

Error NotAKey(Bytes key) {
  return Fail(ErrorCode::kCorruptBatch, "key is not one of its columns: key_bytes={}", key.size());
}

KeyEncoding EncodingOfLake(std::optional<LakeFormat> lake) {
  if (!lake) return KeyEncoding::kCompacted;
  switch (*lake) {
    case LakeFormat::kPaimon: return KeyEncoding::kPaimon;
    case LakeFormat::kIceberg: return KeyEncoding::kIceberg;
    case LakeFormat::kLance: return KeyEncoding::kCompacted;
    case LakeFormat::kHudi: return KeyEncoding::kHudi;
  }
  WEIR_UNREACHABLE();
}

bool IsFinerThanItsType(const ValuePlan& plan, const FieldValue& field) {
  switch (plan.form) {
    case ValueForm::kTime:
    case ValueForm::kMillis: return plan.precision == 0 && field.number % 1000 != 0;
    case ValueForm::kNanos: return plan.precision <= 6 && field.nanos % 1000 != 0;
    default: return false;
  }
}

// ---- Paimon: the slots of all columns, with a head of the kind of row, which is 0, and null bits,
// which are not used.

constexpr size_t PaimonHeadBytes(size_t columns) {
  return (columns + 8 + 63) / 64 * kWord;
}

void EncodePaimon(std::span<const ValuePlan> plans, std::span<const FieldValue> fields,
                  std::string& out) {
  const size_t begin = out.size();
  const size_t slots = begin + PaimonHeadBytes(plans.size());
  out.resize(slots + kWord * plans.size());
  for (size_t i = 0; i < plans.size(); ++i)
    StoreSlot(plans[i], fields[i], begin, slots + kWord * i, out);
}

bool DecodePaimon(std::span<const ValuePlan> plans, Bytes key, std::span<FieldValue> fields) {
  const size_t head = PaimonHeadBytes(plans.size());
  if (key.size() < head + kWord * plans.size()) return false;
  for (size_t i = 0; i < plans.size(); ++i) {
    if (!LoadSlot(plans[i], key, head + kWord * i, fields[i])) return false;
  }
  return true;
}

// ---- Iceberg: the bytes of one value that its bucket function hashes.

bool IsIcebergForm(const DataType& type) {
  switch (type.kind()) {
    case TypeKind::kInt:
    case TypeKind::kBigInt:
    case TypeKind::kFloat:
    case TypeKind::kDouble:
    case TypeKind::kDecimal:
    case TypeKind::kChar:
    case TypeKind::kString:
    case TypeKind::kBinary:
    case TypeKind::kBytes:
    case TypeKind::kDate:
    case TypeKind::kTime:
    case TypeKind::kTimestamp: return true;
    case TypeKind::kBoolean:
    case TypeKind::kTinyInt:
    case TypeKind::kSmallInt:
    case TypeKind::kTimestampLtz:
    case TypeKind::kArray:
    case TypeKind::kMap:
    case TypeKind::kRow: return false;
  }
  WEIR_UNREACHABLE();
}

template <typename T>
void AppendLittle(T value, std::string& out) {
  out.append(AsText(std::as_bytes(std::span(&value, 1))));
}

Status EncodeIceberg(const ValuePlan& plan, const FieldValue& field, std::string& out) {
  switch (plan.form) {
    case ValueForm::kFloat: AppendLittle(static_cast<uint32_t>(field.number), out); return Ok();
    case ValueForm::kDecimal: {
      std::array<std::byte, kUnscaledBytesMax> bytes;
      out += AsText(StoreUnscaled(field.number, bytes));
      return Ok();
    }
    case ValueForm::kTime: AppendLittle(field.number * 1000, out); return Ok();
    case ValueForm::kMillis:
    case ValueForm::kNanos: {
      int64_t micros = 0;
      if (__builtin_mul_overflow(field.number, int64_t{1000}, &micros) ||
          __builtin_add_overflow(micros, field.nanos / 1000, &micros)) {
        return Fail(ErrorCode::kCorruptBatch, "key has a time that microseconds cannot count");
      }
      AppendLittle(micros, out);
      return Ok();
    }
    default:
      if (IsInBytes(plan.form)) {
        out += AsText(field.bytes);
      } else {
        AppendLittle(field.number, out);
      }
      return Ok();
  }
}

bool DecodeIceberg(const ValuePlan& plan, Bytes key, FieldValue& field) {
  field = {};
  field.is_null = false;
  if (plan.form == ValueForm::kDecimal) {
    const std::optional<Int128> value = DecodeUnscaled(key);
    if (!value || !FitsDigits(*value, plan.precision)) return false;
    field.number = static_cast<int64_t>(*value);
    return true;
  }
  if (IsInBytes(plan.form)) {
    field.bytes = key;
    return IsBytesValue(plan, key);
  }
  if (key.size() != (plan.form == ValueForm::kFloat ? sizeof(uint32_t) : sizeof(int64_t)))
    return false;
  if (plan.form == ValueForm::kFloat) {
    field.number = LoadLittle<uint32_t>(key.data());
    return true;
  }
  field.number = LoadLittle<int64_t>(key.data());
  switch (plan.form) {
    case ValueForm::kInt32: return field.number == static_cast<int32_t>(field.number);
    case ValueForm::kTime: {
      field.number /= 1000;
      return IsTimeValue(field.number);
    }
    case ValueForm::kMillis:
    case ValueForm::kNanos: {
      const int64_t millis = FloorDivide(field.number, 1000);
      field.nanos = static_cast<int32_t>(field.number - millis * 1000) * 1000;
      field.number = millis;
      return plan.form == ValueForm::kMillis || IsNanosValue(plan, millis, field.nanos);
    }
    default: return true;
  }
}

bool DecodeCompacted(std::span<const ValuePlan> plans, Bytes key, std::span<FieldValue> fields) {
  for (size_t i = 0; i < plans.size(); ++i) {
    if (!TakeCompactedField(plans[i], key, fields[i])) return false;
  }
  return key.empty();
}

bool TakeApart(KeyEncoding encoding, std::span<const ValuePlan> plans, Bytes key,
               std::span<FieldValue> fields) {
  switch (encoding) {
    case KeyEncoding::kCompacted: return DecodeCompacted(plans, key, fields);
    case KeyEncoding::kPaimon: return DecodePaimon(plans, key, fields);
    case KeyEncoding::kIceberg: return DecodeIceberg(plans[0], key, fields[0]);
    case KeyEncoding::kHudi: return false;
  }
  WEIR_UNREACHABLE();
}

// ---- bucketing

uint32_t MixKey(uint32_t key) {
  return std::rotl(key * 0xcc9e2d51, 15) * 0x1b873593;
}

uint32_t MixHash(uint32_t hash, uint32_t mixed_key) {
  return std::rotl(hash ^ mixed_key, 13) * 5 + 0xe6546b64;
}

uint32_t Finish(uint32_t hash) {
  hash ^= hash >> 16;
  hash *= 0x85ebca6b;
  hash ^= hash >> 13;
  hash *= 0xc2b2ae35;
  return hash ^ hash >> 16;
}

// Not quite Murmur3: the bytes behind the last word are mixed in one by one, with sign.
uint32_t FlussHash(Bytes key) {
  uint32_t hash = 42;
  size_t i = 0;
  for (; i + 4 <= key.size(); i += 4) hash = MixHash(hash, MixKey(LoadLittle<uint32_t>(&key[i])));
  for (; i < key.size(); ++i) {
    hash = MixHash(hash, MixKey(static_cast<uint32_t>(int32_t{LoadLittle<int8_t>(&key[i])})));
  }
  return Finish(hash ^ static_cast<uint32_t>(key.size()));
}

// Murmur3 of 32 bits with seed 0.
uint32_t IcebergHash(Bytes key) {
  uint32_t hash = 0;
  size_t i = 0;
  for (; i + 4 <= key.size(); i += 4) hash = MixHash(hash, MixKey(LoadLittle<uint32_t>(&key[i])));
  uint32_t rest = 0;
  for (size_t j = key.size(); j > i; --j) rest = rest << 8 | std::to_integer<uint32_t>(key[j - 1]);
  return Finish(hash ^ MixKey(rest) ^ static_cast<uint32_t>(key.size()));
}

int32_t FlussBucket(Bytes key, int32_t bucket_count) {
  // The hash once more, as of a number.
  const auto hash =
      static_cast<int32_t>(Finish(MixHash(0, MixKey(FlussHash(key))) ^ sizeof(uint32_t)));
  if (hash == std::numeric_limits<int32_t>::min()) return 0;
  return std::abs(hash) % bucket_count;
}

int32_t PositiveModulo(uint32_t hash, int32_t bucket_count) {
  return static_cast<int32_t>(hash & 0x7fffffff) % bucket_count;
}

}  // namespace

KeyEncoding KeyEncodingOf(std::optional<LakeFormat> lake, int32_t kv_format_version,
                          bool is_default_bucket_key) {
  // Hudi's keys do not tell rows apart.
  if (lake == LakeFormat::kHudi) return KeyEncoding::kCompacted;
  // Of COMPACTED keys that of the first columns is a prefix, for which there is no use if the
  // bucket key is the whole key.
  const bool needs_prefixes = kv_format_version >= 2 && !is_default_bucket_key;
  return needs_prefixes ? KeyEncoding::kCompacted : EncodingOfLake(lake);
}

KeyEncoding BucketKeyEncodingOf(std::optional<LakeFormat> lake) {
  return EncodingOfLake(lake);
}

Result<KeyCodec> KeyCodec::Make(KeyEncoding encoding, std::vector<DataType> types) {
  for (const DataType& type : types) {
    const bool is_possible = encoding == KeyEncoding::kIceberg ? IsIcebergForm(type)
                             : encoding == KeyEncoding::kHudi  ? HasHudiText(type)
                                                               : !IsNested(type.kind());
    if (!is_possible) {
      return Fail(ErrorCode::kInvalidTable, "type cannot be part of a key here: type={}",
                  ToString(type));
    }
  }
  if (types.empty() || (encoding == KeyEncoding::kIceberg && types.size() != 1)) {
    return Fail(ErrorCode::kInvalidTable, "keys cannot have so many columns here: columns={}",
                types.size());
  }
  std::vector<ValuePlan> plans = PlansOf(types);
  return KeyCodec(encoding, std::move(types), std::move(plans));
}

Status KeyCodec::Encode(std::span<const FieldValue> fields, std::string& out) const {
  WEIR_CHECK(fields.size() == plans_.size());
  for (size_t i = 0; i < plans_.size(); ++i) {
    if (fields[i].is_null || IsFinerThanItsType(plans_[i], fields[i])) {
      return Fail(ErrorCode::kCorruptBatch,
                  "a value cannot be part of a key: column={} type={} is_null={}", i,
                  ToString(types_[i]), fields[i].is_null);
    }
  }
  switch (encoding_) {
    case KeyEncoding::kCompacted:
      for (size_t i = 0; i < plans_.size(); ++i) EncodeCompactedField(plans_[i], fields[i], out);
      return Ok();
    case KeyEncoding::kPaimon: EncodePaimon(plans_, fields, out); return Ok();
    case KeyEncoding::kIceberg: return EncodeIceberg(plans_[0], fields[0], out);
    case KeyEncoding::kHudi: {
      WEIR_ASSIGN(const int32_t hash, HudiKeyHash(types_, fields));
      std::byte bytes[sizeof(hash)];
      StoreBig(bytes, hash);
      out += AsText(bytes);
      return Ok();
    }
  }
  WEIR_UNREACHABLE();
}

Status KeyCodec::Decode(Bytes key, std::span<FieldValue> fields, std::string& scratch) const {
  WEIR_CHECK(fields.size() == plans_.size());
  if (encoding_ == KeyEncoding::kHudi)
    return Fail(ErrorCode::kUnsupported, "keys of Hudi cannot be taken apart");
  if (!TakeApart(encoding_, plans_, key, fields)) return NotAKey(key);
  // There may be many ways to lay out a value, and only one makes a key.
  scratch.clear();
  WEIR_TRY(Encode(fields, scratch));
  return scratch == AsText(key) ? Ok() : Status(NotAKey(key));
}

Result<int32_t> BucketOf(std::optional<LakeFormat> lake, Bytes bucket_key, int32_t bucket_count) {
  WEIR_CHECK(bucket_count > 0);
  const bool is_hudi = lake == LakeFormat::kHudi;
  if (lake == LakeFormat::kPaimon) {
    const auto hash = static_cast<int32_t>(FlussHash(bucket_key));
    return std::abs(hash % bucket_count);
  }
  if (bucket_key.empty() || (is_hudi && bucket_key.size() != sizeof(int32_t))) {
    return Fail(ErrorCode::kCorruptBatch, "bucket key has no bucket: key_bytes={}",
                bucket_key.size());
  }
  if (is_hudi) return PositiveModulo(LoadBig<uint32_t>(bucket_key.data()), bucket_count);
  if (lake == LakeFormat::kIceberg) return PositiveModulo(IcebergHash(bucket_key), bucket_count);
  return FlussBucket(bucket_key, bucket_count);
}

}  // namespace weir
