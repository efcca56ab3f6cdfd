// Keys come from outside: whatever they are, the tree is the same as an ordered map.
//
// The input is a row of operations: what to do (1 byte), how many bytes of the key before are kept
// (1), how many follow (1), those bytes.
#include <cstddef>
#include <cstdint>
#include <string>

#include "weir/base/bytes.h"
#include "weir/kv/row_tree_testing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using weir::AsText;
  weir::Bytes left(reinterpret_cast<const std::byte*>(data), size);
  weir::TreeModel model;
  std::string key;
  while (left.size() >= 3) {
    const auto act = std::to_integer<uint8_t>(left[0]);
    const auto kept = std::to_integer<size_t>(left[1]);
    const size_t more = std::min(std::to_integer<size_t>(left[2]), left.size() - 3);
    key = key.substr(0, kept);
    key += AsText(left.subspan(3, more));
    left = left.subspan(3 + more);
    switch (act % 4) {
      case 0:
      case 1: model.Put(key); break;
      case 2: model.Erase(key); break;
      default: model.CheckOrderFrom(key); break;
    }
  }
  model.CheckAll();
  return 0;
}
