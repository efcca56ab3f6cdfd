#include "weir/record/key_codec.h"

#include <gtest/gtest.h>

#include "weir/record/row_testing.h"

namespace weir {
namespace {

constexpr std::pair<KeyEncoding, const char*> kEncodings[] = {
    {KeyEncoding::kCompacted, "compacted"},
    {KeyEncoding::kPaimon, "paimon"},
    {KeyEncoding::kIceberg, "iceberg"}};

std::optional<LakeFormat> LakeOf(KeyEncoding encoding) {
  switch (encoding) {
    case KeyEncoding::kCompacted: return std::nullopt;
    case KeyEncoding::kPaimon: return LakeFormat::kPaimon;
    case KeyEncoding::kIceberg: return LakeFormat::kIceberg;
    case KeyEncoding::kHudi: return LakeFormat::kHudi;
  }
  WEIR_UNREACHABLE();
}

DataType TypeNamed(const nlohmann::json& text) {
  const auto name = text.get<std::string>();
  return TypeTextReader(name).Read();
}

std::string Encoded(const KeyCodec& codec, std::span<const FieldValue> fields) {
  std::string key;
  const Status encoded = codec.Encode(fields, key);
  EXPECT_TRUE(encoded.ok()) << encoded.error().message;
  return key;
}

void ExpectBuckets(KeyEncoding encoding, Bytes key, const nlohmann::json& by_count) {
  for (const auto& [count, bucket] : by_count.items()) {
    const Result<int32_t> got = BucketOf(LakeOf(encoding), key, std::stoi(count));
    if (bucket.is_number()) {
      EXPECT_EQ(got.value(), bucket.get<int32_t>());
    } else {  // "ERROR: ..."
      EXPECT_FALSE(got.ok());
    }
  }
}

void ExpectDecodes(const KeyCodec& codec, const std::vector<DataType>& types, Bytes key,
                   std::span<const FieldValue> expected) {
  std::vector<FieldValue> fields(types.size());
  std::string scratch;
  const Status decoded = codec.Decode(key, fields, scratch);
  ASSERT_TRUE(decoded.ok()) << decoded.error().message;
  ExpectSameRow(types, KvFormat::kCompacted, fields, expected);
}

bool Decodes(KeyEncoding encoding, std::vector<DataType> types, std::string_view hex) {
  const std::vector<std::byte> key = FromHex(hex);
  std::vector<FieldValue> fields(types.size());
  std::string scratch;
  return KeyCodec::Make(encoding, std::move(types)).value().Decode(key, fields, scratch).ok();
}

TEST(KeyCodec, MakesAndReadsTheGoldenKeysOfOneColumn) {
  for (const nlohmann::json& vector : LoadVectors("keys_and_buckets.json", "single_column")) {
    SCOPED_TRACE(vector.at("type").dump() + vector.at("value").dump());
    const DataType type = TypeNamed(vector.at("type"));
    FieldMaker maker(KvFormat::kCompacted);
    const std::vector fields = {maker.FromJson(type, vector.at("value"))};
    for (const auto& [encoding, name] : kEncodings) {
      const Result<KeyCodec> codec = KeyCodec::Make(encoding, {type});
      const nlohmann::json& golden = vector.at(name);
      ASSERT_EQ(codec.ok(), golden.contains("key_hex")) << name;
      if (!codec.ok()) continue;
      const std::vector<std::byte> key = HexOf(golden, "key_hex");
      EXPECT_EQ(Encoded(*codec, fields), AsText(key)) << name;
      ExpectDecodes(*codec, {type}, key, fields);
      ExpectBuckets(encoding, key, golden.at("bucket_by_num_buckets"));
    }
  }
}

TEST(KeyCodec, MakesAndReadsTheGoldenKeysOfSeveralColumns) {
  const std::map<std::string, std::pair<DataType, nlohmann::json>> columns = {
      {"a", {DataType::Of(TypeKind::kInt), 7}},
      {"b", {DataType::Of(TypeKind::kString), "keyB"}},
      {"c", {DataType::Of(TypeKind::kBigInt), -9}}};
  for (const nlohmann::json& vector : LoadVectors("keys_and_buckets.json", "multi_column")) {
    std::vector<DataType> types;
    std::vector<FieldValue> fields;
    FieldMaker maker(KvFormat::kCompacted);
    for (const nlohmann::json& name : vector.at("key_columns")) {
      const auto& [type, value] = columns.at(name.get<std::string>());
      types.push_back(type);
      fields.push_back(maker.FromJson(type, value));
    }
    for (const KeyEncoding encoding : {KeyEncoding::kCompacted, KeyEncoding::kPaimon}) {
      const bool is_paimon = encoding == KeyEncoding::kPaimon;
      const KeyCodec codec = KeyCodec::Make(encoding, types).value();
      const std::vector<std::byte> key = HexOf(vector, is_paimon ? "paimon_hex" : "compacted_hex");
      EXPECT_EQ(Encoded(codec, fields), AsText(key));
      ExpectDecodes(codec, types, key, fields);
      ExpectBuckets(encoding, key, vector.at(is_paimon ? "paimon_bucket" : "fluss_bucket"));
    }
  }
}

TEST(BucketOf, HashesTheGoldenBytes) {
  for (const nlohmann::json& vector : LoadVectors("keys_and_buckets.json", "raw_bytes_hash")) {
    const std::vector<std::byte> key = HexOf(vector, "bytes_hex");
    SCOPED_TRACE(vector.at("bytes_hex").get<std::string>());
    const bool is_empty = key.empty();
    for (const auto& [lake, field] :
         {std::pair(std::optional<LakeFormat>(), "fluss_bucket_of_10"),
          std::pair(std::optional(LakeFormat::kLance), "fluss_bucket_of_10"),
          std::pair(std::optional(LakeFormat::kPaimon), "paimon_bucket_of_10"),
          std::pair(std::optional(LakeFormat::kIceberg), "iceberg_bucket_of_10")}) {
      const Result<int32_t> bucket = BucketOf(lake, key, 10);
      ASSERT_EQ(bucket.ok(), !is_empty || lake == LakeFormat::kPaimon);
      if (is_empty) continue;
      EXPECT_EQ(*bucket, vector.at(field).get<int32_t>()) << field;
    }
  }
}

TEST(KeyCodec, ReadsWhatItMadeOfEveryType) {
  std::mt19937_64 random(11);
  std::vector<DataType> scalars = EveryType();
  std::erase_if(scalars, [](const DataType& type) { return IsNested(type.kind()); });
  for (const auto& [encoding, name] : kEncodings) {
    std::vector<DataType> types = scalars;
    std::vector<std::vector<DataType>> keys = {types};
    if (encoding == KeyEncoding::kIceberg) {
      keys.clear();
      for (const DataType& type : types) {
        if (KeyCodec::Make(encoding, {type}).ok()) keys.push_back({type});
      }
      EXPECT_EQ(keys.size(), 21u);
    }
    for (const std::vector<DataType>& key_types : keys) {
      const KeyCodec codec = KeyCodec::Make(encoding, key_types).value();
      for (int i = 0; i < 50; ++i) {
        FieldMaker maker(KvFormat::kCompacted);
        std::vector<FieldValue> fields;
        for (const DataType& type : key_types) {
          fields.push_back(maker.RandomValue(type, random));
          // Iceberg's count microseconds.
          if (encoding == KeyEncoding::kIceberg && type.kind() == TypeKind::kTimestamp) {
            fields.back().number %= 1'000'000'000'000;
            fields.back().nanos -= fields.back().nanos % 1000;
          }
        }
        ExpectDecodes(codec, key_types, AsBytes(Encoded(codec, fields)), fields);
      }
    }
  }
}

TEST(KeyCodec, RefusesKeysThatItWouldNotMake) {
  const DataType integer = DataType::Of(TypeKind::kInt);
  const DataType text = DataType::Of(TypeKind::kString);
  EXPECT_TRUE(Decodes(KeyEncoding::kCompacted, {integer}, "01"));
  EXPECT_FALSE(Decodes(KeyEncoding::kCompacted, {integer}, "8100"));
  EXPECT_FALSE(Decodes(KeyEncoding::kCompacted, {integer}, "0101"));
  EXPECT_FALSE(Decodes(KeyEncoding::kCompacted, {integer}, ""));
  EXPECT_FALSE(Decodes(KeyEncoding::kCompacted, {DataType::Time(0)}, "01"));
  const std::string head = "0000000000000000";
  EXPECT_TRUE(Decodes(KeyEncoding::kPaimon, {integer}, head + "0100000000000000"));
  EXPECT_FALSE(Decodes(KeyEncoding::kPaimon, {integer}, head + "0100000001000000"));
  EXPECT_FALSE(Decodes(KeyEncoding::kPaimon, {integer},
                       "0100000000000000"
                       "0100000000000000"));
  EXPECT_FALSE(Decodes(KeyEncoding::kPaimon, {integer}, head + "01000000"));
  EXPECT_TRUE(Decodes(KeyEncoding::kPaimon, {text},
                      head + "0800000010000000"
                             "6161616161616161"));
  EXPECT_FALSE(Decodes(KeyEncoding::kPaimon, {text},
                       head + "0800000011000000"
                              "6161616161616161"));
  // Of seven bytes, which have place in the slot.
  EXPECT_FALSE(Decodes(KeyEncoding::kPaimon, {text},
                       head + "0700000010000000"
                              "6161616161616100"));
  EXPECT_FALSE(Decodes(KeyEncoding::kIceberg, {integer}, "0000000001000000"));
  EXPECT_FALSE(Decodes(KeyEncoding::kIceberg, {integer}, "01000000"));
  EXPECT_FALSE(Decodes(KeyEncoding::kIceberg, {DataType::Decimal(10, 0)}, "0001"));
}

TEST(KeyCodec, RefusesValuesThatCannotBeFoundAgain) {
  const auto encodes = [](const DataType& type, FieldValue field) {
    std::string key;
    const Status encoded =
        KeyCodec::Make(KeyEncoding::kCompacted, {type}).value().Encode(std::span(&field, 1), key);
    EXPECT_TRUE(encoded.ok() || encoded.error().code == ErrorCode::kCorruptBatch);
    return encoded.ok();
  };
  EXPECT_FALSE(encodes(DataType::Of(TypeKind::kInt), FieldValue{}));
  EXPECT_TRUE(encodes(DataType::Time(0), FieldMaker::Number(1000)));
  EXPECT_FALSE(encodes(DataType::Time(0), FieldMaker::Number(1500)));
  EXPECT_FALSE(encodes(DataType::Timestamp(0), FieldMaker::Number(-1)));
  EXPECT_TRUE(encodes(DataType::Timestamp(1), FieldMaker::Number(-1)));
  FieldValue field = FieldMaker::Number(5);
  field.nanos = 1500;
  EXPECT_FALSE(encodes(DataType::TimestampLtz(6), field));
  EXPECT_TRUE(encodes(DataType::TimestampLtz(7), field));
}

TEST(KeyCodec, RefusesTypesThatItsEncodingDoesNotHave) {
  const DataType integer = DataType::Of(TypeKind::kInt);
  for (const auto& [encoding, name] : kEncodings) {
    EXPECT_FALSE(KeyCodec::Make(encoding, {DataType::Array(integer)}).ok());
    EXPECT_FALSE(KeyCodec::Make(encoding, {}).ok());
  }
  EXPECT_FALSE(KeyCodec::Make(KeyEncoding::kIceberg, {integer, integer}).ok());
  EXPECT_FALSE(KeyCodec::Make(KeyEncoding::kHudi, {DataType::Binary(2)}).ok());
  EXPECT_EQ(KeyCodec::Make(KeyEncoding::kIceberg, {DataType::Of(TypeKind::kBoolean)}).error().code,
            ErrorCode::kInvalidTable);
}

TEST(KeyEncodingOf, FollowsLakeVersionAndBucketKey) {
  EXPECT_EQ(KeyEncodingOf(std::nullopt, 2, true), KeyEncoding::kCompacted);
  EXPECT_EQ(KeyEncodingOf(LakeFormat::kLance, 1, false), KeyEncoding::kCompacted);
  EXPECT_EQ(KeyEncodingOf(LakeFormat::kHudi, 1, true), KeyEncoding::kCompacted);
  EXPECT_EQ(KeyEncodingOf(LakeFormat::kPaimon, 1, false), KeyEncoding::kPaimon);
  EXPECT_EQ(KeyEncodingOf(LakeFormat::kPaimon, 2, true), KeyEncoding::kPaimon);
  EXPECT_EQ(KeyEncodingOf(LakeFormat::kPaimon, 2, false), KeyEncoding::kCompacted);
  EXPECT_EQ(KeyEncodingOf(LakeFormat::kIceberg, 2, true), KeyEncoding::kIceberg);
  EXPECT_EQ(BucketKeyEncodingOf(LakeFormat::kPaimon), KeyEncoding::kPaimon);
  EXPECT_EQ(BucketKeyEncodingOf(LakeFormat::kHudi), KeyEncoding::kHudi);
  EXPECT_EQ(BucketKeyEncodingOf(std::nullopt), KeyEncoding::kCompacted);
}

// The hash of a list of one text h is 31 + h.
TEST(KeyCodec, HashesTextsForHudiAsJavaDoes) {
  FieldMaker maker(KvFormat::kCompacted);
  const auto hash = [&](const DataType& type, const FieldValue& field) {
    const std::string key =
        Encoded(KeyCodec::Make(KeyEncoding::kHudi, {type}).value(), std::span(&field, 1));
    return LoadBig<int32_t>(AsBytes(key).data()) - 31;
  };
  const DataType text = DataType::Of(TypeKind::kString);
  const auto hash_of_text = [&](std::string value) {
    return hash(text, maker.Text(std::move(value)));
  };
  EXPECT_EQ(hash_of_text(""), 0);
  EXPECT_EQ(hash_of_text("a"), 97);
  EXPECT_EQ(hash_of_text("hello"), 99162322);
  EXPECT_EQ(hash_of_text("\xe4\xb8\x96"), 0x4e16);
  // U+1F600 is d83d de00 in UTF-16.
  EXPECT_EQ(hash_of_text("\xf0\x9f\x98\x80"), 0xd83d * 31 + 0xde00);
  const auto same = [&](const DataType& type, const FieldValue& field, std::string expected) {
    EXPECT_EQ(hash(type, field), hash_of_text(expected)) << expected;
  };
  same(DataType::Of(TypeKind::kBoolean), FieldMaker::Number(1), "true");
  same(DataType::Of(TypeKind::kBigInt), FieldMaker::Number(-42), "-42");
  same(DataType::Of(TypeKind::kDouble), FieldMaker::Number(std::bit_cast<int64_t>(1.5e10)),
       "1.5E10");
  same(DataType::Of(TypeKind::kFloat), FieldMaker::Number(0xff800000), "-Infinity");
  same(DataType::Decimal(10, 2), FieldMaker::Number(-5), "-0.05");
  same(DataType::Decimal(10, 0), FieldMaker::Number(120), "120");
  same(DataType::Decimal(20, 3), maker.Unscaled(DataType::Decimal(20, 3), 1234567), "1234.567");
  same(DataType::Timestamp(3), FieldMaker::Number(1'700'000'000'000), "2023-11-14T22:13:20");
  same(DataType::Timestamp(3), FieldMaker::Number(1'700'000'000'120), "2023-11-14T22:13:20.120");
  same(DataType::Timestamp(3), FieldMaker::Number(0), "1970-01-01T00:00");
  same(DataType::TimestampLtz(3), FieldMaker::Number(-1000), "1969-12-31T23:59:59Z");
  FieldValue time = FieldMaker::Number(1);
  time.nanos = 23;
  same(DataType::TimestampLtz(9), time, "1970-01-01T00:00:00.001000023Z");
}

TEST(KeyCodec, RefusesTextsThatHudiTakesForOthers) {
  const DataType text = DataType::Of(TypeKind::kString);
  FieldMaker maker(KvFormat::kCompacted);
  const KeyCodec pair = KeyCodec::Make(KeyEncoding::kHudi, {text, text}).value();
  std::string key;
  for (const char* value : {"a,b", "__null__", "__empty__", "\xff"}) {
    EXPECT_FALSE(pair.Encode(std::vector{maker.Text("x"), maker.Text(value)}, key).ok()) << value;
  }
  EXPECT_TRUE(pair.Encode(std::vector{maker.Text("x"), maker.Text("")}, key).ok());
  std::vector<FieldValue> fields(2);
  std::string scratch;
  EXPECT_EQ(pair.Decode(AsBytes(key), fields, scratch).error().code, ErrorCode::kUnsupported);
  // (31 + "x") * 31 + "", without its sign.
  EXPECT_EQ(BucketOf(LakeFormat::kHudi, AsBytes(key), 10).value(), (31 + 'x') * 31 % 10);
  EXPECT_FALSE(BucketOf(LakeFormat::kHudi, AsBytes("abc"), 10).ok());
}

}  // namespace
}  // namespace weir
