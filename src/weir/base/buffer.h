// Memory that is shared by those who still need it: a frame that was received, a piece that was
// read from a file.
#pragma once

#include <memory>
#include <utility>

#include "weir/base/bytes.h"
#include "weir/base/check.h"

namespace weir {

/// A range of bytes together with a share in the memory that holds it. Copying copies the share,
/// not the bytes. The bytes may be changed only while the writer is the only one who has a share.
class Buffer {
 public:
  Buffer() = default;

  /// New memory of `size` bytes with unspecified content.
  static Buffer Allocate(size_t size) {
    // make_shared_for_overwrite keeps count and bytes in one block and leaves the bytes alone.
    return Buffer(std::make_shared_for_overwrite<std::byte[]>(size), size);
  }

  static Buffer CopyOf(Bytes bytes) {
    Buffer copy = Allocate(bytes.size());
    if (!bytes.empty()) std::memcpy(copy.mutable_data(), bytes.data(), bytes.size());
    return copy;
  }

  const std::byte* data() const { return data_; }
  std::byte* mutable_data() { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Bytes bytes() const { return {data_, size_}; }
  MutableBytes mutable_bytes() { return {data_, size_}; }

  /// The part [position, position + size), sharing the same memory.
  Buffer Slice(size_t position, size_t size) const {
    WEIR_CHECK(position <= size_ && size <= size_ - position);
    Buffer part = *this;
    part.data_ += position;
    part.size_ = size;
    return part;
  }

 private:
  Buffer(std::shared_ptr<std::byte[]> owner, size_t size)
      : owner_(std::move(owner)), data_(owner_.get()), size_(size) {}

  std::shared_ptr<std::byte[]> owner_;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace weir
