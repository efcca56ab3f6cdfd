// Any bytes: no crash; what is a bitmap is united with itself to one that is a bitmap again and
// does not change any more.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "weir/kv/bitmap.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto format = data[0] % 2 == 0 ? weir::BitmapFormat::k32 : weir::BitmapFormat::k64;
  const weir::Bytes bitmap(reinterpret_cast<const std::byte*>(data + 1), size - 1);
  std::string once;
  if (!weir::UniteBitmaps(format, bitmap, bitmap, once).ok()) return 0;
  std::string twice;
  if (!weir::UniteBitmaps(format, weir::AsBytes(once), weir::AsBytes(once), twice).ok() ||
      once != twice) {
    std::abort();
  }
  return 0;
}
