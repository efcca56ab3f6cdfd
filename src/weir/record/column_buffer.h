// Memory of columns that are being made: it grows at its end, is not initialized, and is kept from
// one batch to the next.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>

#include "weir/base/bytes.h"
#include "weir/base/check.h"

namespace weir {

/// What the buffers of one writer may hold together.
struct MemoryBudget {
  size_t bytes_max;
  size_t held_bytes = 0;
  /// Once the budget is exceeded, the buffers hold nonsense, and what they were for has failed.
  bool is_exceeded = false;
};

/// Growing never fails: a buffer for which there is no budget begins anew, in which case it does
/// not hold more than the bytes that were asked for last.
class ColumnBuffer {
 public:
  /// `budget` outlives the buffer.
  explicit ColumnBuffer(MemoryBudget& budget) : budget_(&budget) {}
  ~ColumnBuffer() { Release(); }
  ColumnBuffer(ColumnBuffer&& other) noexcept
      : budget_(other.budget_),
        bytes_(std::move(other.bytes_)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}

  size_t size() const { return size_; }
  Bytes bytes() const { return {bytes_.get(), size_}; }
  std::byte& operator[](size_t i) { return bytes_[i]; }

  /// `count` more bytes at the end, with unspecified content; good until the next call.
  std::byte* Extend(size_t count) {
    if (count > capacity_ - size_) [[unlikely]]
      Grow(count);
    std::byte* const at = bytes_.get() + size_;
    size_ += count;
    return at;
  }

  template <typename T>
  void Push(T value) {
    StoreLittle(Extend(sizeof(T)), value);
  }

  void Append(Bytes bytes) {
    if (!bytes.empty()) std::memcpy(Extend(bytes.size()), bytes.data(), bytes.size());
  }

  void AppendZeros(size_t count) {
    if (count != 0) std::memset(Extend(count), 0, count);
  }

  void ShrinkTo(size_t size) {
    WEIR_CHECK(size <= size_);
    size_ = size;
  }

  /// Without giving the memory back.
  void Clear() { size_ = 0; }

  void Release() {
    budget_->held_bytes -= capacity_;
    bytes_.reset();
    size_ = capacity_ = 0;
  }

 private:
  void Grow(size_t count) {
    constexpr size_t kFirstBytes = 64;
    const size_t capacity = std::max({kFirstBytes, 2 * capacity_, size_ + count});
    if (capacity - capacity_ >
        budget_->bytes_max - std::min(budget_->held_bytes, budget_->bytes_max)) {
      budget_->is_exceeded = true;
      size_ = 0;
      if (count <= capacity_) return;
      Replace(count);
      return;
    }
    Replace(capacity);
  }

  void Replace(size_t capacity) {
    auto bytes = std::make_unique_for_overwrite<std::byte[]>(capacity);
    if (size_ != 0) std::memcpy(bytes.get(), bytes_.get(), size_);
    bytes_ = std::move(bytes);
    budget_->held_bytes += capacity - capacity_;
    capacity_ = capacity;
  }

  MemoryBudget* budget_;
  std::unique_ptr<std::byte[]> bytes_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace weir
