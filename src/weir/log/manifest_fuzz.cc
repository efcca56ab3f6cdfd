// Takes any bytes for a manifest or for the states of buckets. The first byte says which; checksums
// are put right, or nothing would get behind them. What is accepted must come back from its
// encoding.
#include <string>

#include "weir/base/check.h"
#include "weir/base/crc32c.h"
#include "weir/log/manifest.h"

using namespace weir;

namespace {

void FuzzManifest(const std::string& body) {
  (void)DecodeManifest(body);
  const auto manifest =
      DecodeManifest(body + fmt::format("\ncrc32c {:08x}\n", Crc32c(AsBytes(body))));
  if (!manifest.ok()) return;
  const std::string text = EncodeManifest(*manifest);
  WEIR_CHECK(EncodeManifest(DecodeManifest(text).value()) == text);
}

void FuzzStates(const std::string& body) {
  (void)DecodeBucketStates(body);
  std::string bytes = "WEIRSTA1" + body;
  const uint32_t crc = Crc32c(AsBytes(bytes));
  bytes.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  const auto states = DecodeBucketStates(bytes);
  if (!states.ok()) return;
  const std::string again = EncodeBucketStates(*states);
  WEIR_CHECK(EncodeBucketStates(DecodeBucketStates(again).value()) == again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string body(reinterpret_cast<const char*>(data) + 1, size - 1);
  data[0] % 2 == 0 ? FuzzManifest(body) : FuzzStates(body);
  return 0;
}
