// A row version in memory: key, value and its place among the versions of the key, in one block of
// memory. HotRowRef is a share in it.
//
// Shares are counted without atomics, so they are taken and given back on the state's loop only.
// Key and value never change: another thread may read them while the loop keeps a share.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include "weir/base/bytes.h"
#include "weir/base/check.h"
#include "weir/base/ids.h"

namespace weir {

/// What glibc takes for a block of this size.
constexpr size_t AllocatedBytes(size_t bytes) {
  return bytes <= 24 ? 32 : (bytes + 8 + 15) / 16 * 16;
}

/// Of what the disk has of a row; see docs/formats/kv_state.md.
inline constexpr size_t kRowTimeBytes = sizeof(int64_t);

/// The value of a row: schema id, then the row. In a state that keeps times, the time of the write
/// follows. A tombstone has no value: the key is absent.
struct HotRow {
  /// Which list of its HotMap it is in.
  enum class Place : uint8_t {
    kNone,      // in no list, and not in the map
    kPending,   // written, but not below the high watermark
    kDirty,     // committed, and not on the disk
    kFlushing,  // a flush writes it, and has it in its own list
    kClean,     // as it is on the disk
  };

  static constexpr LogOffset kStagedEnd{std::numeric_limits<int64_t>::max()};

  HotRow* previous = nullptr;
  HotRow* next = nullptr;
  /// The version before this one, with a share in it.
  HotRow* older = nullptr;
  /// Of the log after the write that made this version: visible when the high watermark is there.
  LogOffset end;
  uint32_t shares = 0;
  const uint32_t key_bytes;
  const uint32_t value_bytes;
  const bool is_tombstone;
  const bool has_time;
  Place place = Place::kNone;
  /// Read since it was last considered for eviction.
  bool was_read = false;

  Bytes key() const { return {data(), key_bytes}; }
  Bytes value() const { return {data() + key_bytes, value_bytes - (has_time ? kRowTimeBytes : 0)}; }
  /// As it is on the disk.
  Bytes stored_value() const { return {data() + key_bytes, value_bytes}; }
  /// Only with a time.
  Timestamp written_at() const {
    return Timestamp(LoadLittle<int64_t>(data() + key_bytes + value_bytes - kRowTimeBytes));
  }
  size_t allocated_bytes() const {
    return AllocatedBytes(sizeof(HotRow) + size_t{key_bytes} + value_bytes);
  }

  /// Each makes a row without shares.
  static HotRow* Make(Bytes key, SchemaId schema_id, Bytes row,
                      std::optional<Timestamp> written_at) {
    const size_t value_bytes = sizeof(int16_t) + row.size() + (written_at ? kRowTimeBytes : 0);
    HotRow* const made = Allocate(key, value_bytes, false, written_at.has_value());
    std::byte* const value = made->data() + key.size();
    StoreLittle(value, schema_id.value);
    if (!row.empty()) std::memcpy(value + sizeof(int16_t), row.data(), row.size());
    if (written_at) StoreLittle(value + value_bytes - kRowTimeBytes, written_at->value);
    return made;
  }
  /// Of what the disk has.
  static HotRow* MakeStored(Bytes key, Bytes value, bool has_time) {
    WEIR_CHECK(value.size() >= sizeof(int16_t) + (has_time ? kRowTimeBytes : 0));
    HotRow* const made = Allocate(key, value.size(), false, has_time);
    if (!value.empty()) std::memcpy(made->data() + key.size(), value.data(), value.size());
    return made;
  }
  static HotRow* MakeTombstone(Bytes key) { return Allocate(key, 0, true, false); }

  void Drop() {
    if (--shares == 0) std::free(this);
  }

  HotRow(const HotRow&) = delete;
  HotRow& operator=(const HotRow&) = delete;

 private:
  HotRow(size_t key_size, size_t value_size, bool is_tombstone, bool has_time)
      : key_bytes(static_cast<uint32_t>(key_size)),
        value_bytes(static_cast<uint32_t>(value_size)),
        is_tombstone(is_tombstone),
        has_time(has_time) {}

  static HotRow* Allocate(Bytes key, size_t value_size, bool is_tombstone, bool has_time) {
    // Larger than a request can be.
    WEIR_CHECK(key.size() <= kBytesMax && value_size <= kBytesMax);
    void* const block = std::malloc(sizeof(HotRow) + key.size() + value_size);
    WEIR_CHECK(block != nullptr);
    auto* const made = new (block) HotRow(key.size(), value_size, is_tombstone, has_time);
    if (!key.empty()) std::memcpy(made->data(), key.data(), key.size());
    return made;
  }

  static constexpr size_t kBytesMax = size_t{1} << 30;

  std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }
  const std::byte* data() const { return reinterpret_cast<const std::byte*>(this + 1); }
};

class HotRowRef {
 public:
  HotRowRef() = default;
  explicit HotRowRef(HotRow* row) : row_(row) {
    if (row_ != nullptr) ++row_->shares;
  }
  HotRowRef(const HotRowRef& other) : HotRowRef(other.row_) {}
  HotRowRef(HotRowRef&& other) noexcept : row_(std::exchange(other.row_, nullptr)) {}
  HotRowRef& operator=(HotRowRef other) noexcept {
    std::swap(row_, other.row_);
    return *this;
  }
  ~HotRowRef() {
    if (row_ != nullptr) row_->Drop();
  }

  explicit operator bool() const { return row_ != nullptr; }

  Bytes key() const { return row_->key(); }
  /// Schema id (little-endian), then the row: as it goes over the wire. Empty for a tombstone.
  Bytes value() const { return row_->value(); }
  SchemaId schema_id() const { return SchemaId(LoadLittle<int16_t>(row_->value().data())); }
  Bytes row() const { return row_->value().subspan(sizeof(int16_t)); }
  /// Of a state that keeps times, and no tombstone.
  Timestamp written_at() const { return row_->written_at(); }
  /// Whether this says that the key is absent.
  bool is_tombstone() const { return row_->is_tombstone; }

  HotRow* get() const { return row_; }

 private:
  HotRow* row_ = nullptr;
};

}  // namespace weir
