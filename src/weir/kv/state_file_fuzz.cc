// A file STATE may be anything: it is refused, or is what it encodes to.
#include <cstddef>
#include <cstdint>

#include "weir/base/check.h"
#include "weir/kv/state_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const weir::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto state = weir::DecodeStateFile(bytes);
  if (state.ok()) WEIR_CHECK(weir::EncodeStateFile(*state) == weir::AsText(bytes));
  return 0;
}
