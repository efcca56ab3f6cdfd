// Keys of primary-key tables as bytes, and the bucket of a key. Format: docs/formats/keys.md (Fluss
// key encoders and bucketing functions).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/base/bytes.h"
#include "weir/base/result.h"
#include "weir/record/row.h"
#include "weir/record/table_choices.h"

namespace weir {

enum class KeyEncoding : uint8_t { kCompacted, kPaimon, kIceberg, kHudi };

/// How stored keys and lookup keys are encoded.
KeyEncoding KeyEncodingOf(std::optional<LakeFormat> lake, int32_t kv_format_version,
                          bool is_default_bucket_key);

/// How bucket keys are encoded.
KeyEncoding BucketKeyEncodingOf(std::optional<LakeFormat> lake);

class KeyCodec {
 public:
  /// Errors: kInvalidTable: a type, or a number of columns, that the encoding does not have.
  static Result<KeyCodec> Make(KeyEncoding encoding, std::vector<DataType> types);

  /// Appends the key of `fields`, one a key column. Errors: kCorruptBatch: a field is null, or
  /// finer than its type tells (half a second of a TIME(0)), so that it would not come back the
  /// same from the changelog; or Hudi would not tell its text from others.
  Status Encode(std::span<const FieldValue> fields, std::string& out) const;

  /// Takes a key apart; bytes of fields point into `key`. `scratch` is memory that is used on the
  /// way. Errors: kCorruptBatch unless `key` is what Encode makes of its fields; kUnsupported
  /// (Hudi's cannot be taken apart).
  Status Decode(Bytes key, std::span<FieldValue> fields, std::string& scratch) const;

 private:
  KeyCodec(KeyEncoding encoding, std::vector<DataType> types, std::vector<ValuePlan> plans)
      : encoding_(encoding), types_(std::move(types)), plans_(std::move(plans)) {}

  KeyEncoding encoding_;
  std::vector<DataType> types_;
  std::vector<ValuePlan> plans_;
};

/// The bucket, of `bucket_count`, of an encoded bucket key. Errors: kCorruptBatch: the key is empty
/// and the function has no value for that.
Result<int32_t> BucketOf(std::optional<LakeFormat> lake, Bytes bucket_key, int32_t bucket_count);

}  // namespace weir
