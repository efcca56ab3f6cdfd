// Feeds arbitrary bytes to the readers of table descriptors, schemas and data types. What they
// accept must be written and read again as the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weir/base/check.h"
#include "weir/record/table_descriptor.h"

namespace weir {
namespace {

template <typename Decode, typename Encode>
void CheckRoundTrip(std::string_view text, Decode decode, Encode encode) {
  const auto first = decode(text);
  if (!first.ok()) return;
  const std::string written = encode(*first);
  const auto second = decode(written);
  WEIR_CHECK(second.ok());
  WEIR_CHECK(encode(*second) == written);
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  weir::CheckRoundTrip(text, &weir::DecodeTableDescriptor, &weir::EncodeTableDescriptor);
  weir::CheckRoundTrip(text, &weir::DecodeSchema, &weir::EncodeSchema);
  weir::CheckRoundTrip(text, &weir::DecodeDataType, &weir::EncodeDataType);
  return 0;
}
