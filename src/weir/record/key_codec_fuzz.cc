// Takes any bytes apart as a key. The first byte says in which encoding, the second of which
// columns; the key follows. What is accepted must encode to itself and have a bucket.
#include <string>
#include <vector>

#include "weir/base/buffer.h"
#include "weir/base/check.h"
#include "weir/record/every_type.h"
#include "weir/record/key_codec.h"

using namespace weir;

namespace {

std::vector<DataType> Scalars() {
  std::vector<DataType> types = EveryType();
  std::erase_if(types, [](const DataType& type) { return IsNested(type.kind()); });
  return types;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  static const std::vector<DataType> all = Scalars();
  const auto encoding = static_cast<KeyEncoding>(data[0] % 4);
  const std::vector<DataType> types = data[1] == 0 ? all : std::vector{all[data[1] % all.size()]};
  const Result<KeyCodec> codec = KeyCodec::Make(encoding, types);
  if (!codec.ok()) return 0;
  // Memory of just this size, so that a sanitizer sees a read beyond it.
  const Buffer key = Buffer::CopyOf({reinterpret_cast<const std::byte*>(data + 2), size - 2});
  std::vector<FieldValue> fields(types.size());
  std::string scratch;
  if (!codec->Decode(key.bytes(), fields, scratch).ok()) return 0;
  std::string again;
  WEIR_CHECK(codec->Encode(fields, again).ok());
  WEIR_CHECK(again == AsText(key.bytes()));
  for (const std::optional<LakeFormat> lake :
       {std::optional<LakeFormat>(), std::optional(LakeFormat::kPaimon),
        std::optional(LakeFormat::kIceberg)}) {
    const Result<int32_t> bucket = BucketOf(lake, key.bytes(), 7);
    WEIR_CHECK(key.empty() || (bucket.ok() && *bucket >= 0 && *bucket < 7));
  }
  return 0;
}
