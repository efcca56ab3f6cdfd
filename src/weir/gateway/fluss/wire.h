// Fields of protobuf messages, read and written by hand where generated code would copy the bytes
// of records. Specified by "Fluss protocol, protobuf dialect": proto2 with varints,
// length-delimited fields and a few fixed ones, without groups.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "weir/base/bytes.h"
#include "weir/base/check.h"
#include "weir/base/varint.h"

namespace weir::fluss {

enum class WireKind : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

/// Walks over the fields of a message:
///
///   while (fields.Next()) switch (fields.number()) { case 1: id = fields.Int64(); break; }
///   if (!fields.ok()) ...
///
/// Fields that nobody asks for are skipped. Once something is malformed, Next gives false and ok()
/// stays false.
class FieldReader {
 public:
  explicit FieldReader(Bytes message) : rest_(message) {}

  bool Next() {
    if (!is_ok_ || rest_.empty()) return false;
    const std::optional<uint64_t> tag = TakeVarint(rest_);
    if (!tag || *tag >> 3 == 0 || *tag >> 32 != 0) return Malformed();
    number_ = static_cast<uint32_t>(*tag >> 3);
    kind_ = static_cast<WireKind>(*tag & 7);
    switch (kind_) {
      case WireKind::kVarint: {
        const std::optional<uint64_t> value = TakeVarint(rest_);
        if (!value) return Malformed();
        varint_ = *value;
        return true;
      }
      case WireKind::kFixed64: return Take(8);
      case WireKind::kFixed32: return Take(4);
      case WireKind::kBytes: {
        const std::optional<uint64_t> size = TakeVarint(rest_);
        return size ? Take(*size) : Malformed();
      }
    }
    return Malformed();
  }

  bool ok() const { return is_ok_; }
  uint32_t number() const { return number_; }

  /// Values of the field at which the reader stands; the message is malformed if it is of another
  /// kind.
  int64_t Int64() {
    if (kind_ != WireKind::kVarint) return Malformed();
    return static_cast<int64_t>(varint_);
  }
  int32_t Int32() { return static_cast<int32_t>(Int64()); }
  bool Bool() { return Int64() != 0; }
  Bytes Content() {
    if (kind_ != WireKind::kBytes) Malformed();
    return is_ok_ ? bytes_ : Bytes();
  }
  /// One element of a repeated number, or a packed list of them.
  void Int32s(std::vector<int32_t>& out) {
    if (kind_ == WireKind::kVarint) return out.push_back(Int32());
    Bytes packed = Content();
    while (!packed.empty()) {
      const std::optional<uint64_t> value = TakeVarint(packed);
      if (!value) return static_cast<void>(Malformed());
      out.push_back(static_cast<int32_t>(*value));
    }
  }

 private:
  bool Malformed() { return is_ok_ = false; }

  bool Take(uint64_t size) {
    if (size > rest_.size()) return Malformed();
    bytes_ = rest_.first(size);
    rest_ = rest_.subspan(size);
    return true;
  }

  Bytes rest_;
  bool is_ok_ = true;
  uint32_t number_ = 0;
  WireKind kind_ = WireKind::kVarint;
  uint64_t varint_ = 0;
  Bytes bytes_;
};

/// Sizes of encoded fields; field numbers are below 16, so that a tag is one byte.
constexpr size_t VarintBytes(uint64_t value) {
  return (std::bit_width(value | 1) + 6) / 7;
}
constexpr size_t Int64FieldBytes(int64_t value) {
  return 1 + VarintBytes(static_cast<uint64_t>(value));
}
constexpr size_t BytesFieldBytes(size_t size) {
  return 1 + VarintBytes(size) + size;
}

/// Writes fields into memory whose size was computed before.
class FieldWriter {
 public:
  explicit FieldWriter(MutableBytes into) : at_(into.data()), end_(into.data() + into.size()) {}

  void Int64(uint32_t number, int64_t value) {
    Tag(number, WireKind::kVarint);
    Varint(static_cast<uint64_t>(value));
  }
  void Text(uint32_t number, std::string_view text) {
    BytesHead(number, text.size());
    WEIR_CHECK(text.size() <= static_cast<size_t>(end_ - at_));
    if (!text.empty()) std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  /// Tag and size of a field of `size` bytes, which follow: a nested message, or bytes that are
  /// sent from elsewhere.
  void BytesHead(uint32_t number, size_t size) {
    Tag(number, WireKind::kBytes);
    Varint(size);
  }

  const std::byte* at() const { return at_; }
  bool is_full() const { return at_ == end_; }

 private:
  void Tag(uint32_t number, WireKind kind) {
    Byte(static_cast<uint8_t>(number << 3 | static_cast<uint32_t>(kind)));
  }
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) Byte(static_cast<uint8_t>(value | 0x80));
    Byte(static_cast<uint8_t>(value));
  }
  void Byte(uint8_t value) {
    WEIR_CHECK(at_ != end_);
    *at_++ = static_cast<std::byte>(value);
  }

  std::byte* at_;
  std::byte* end_;
};

}  // namespace weir::fluss
