// The head of an Arrow IPC message that holds one record batch: where the buffers of its columns
// lie in the body. Format: docs/formats/log_batch.md (Arrow columnar format, encapsulated message
// format). Bodies are not looked into.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weir/base/bytes.h"
#include "weir/base/result.h"

namespace weir {

/// How each buffer of a body is compressed.
enum class ArrowCodec : uint8_t { kNone, kLz4Frame, kZstd };

/// A column, or a part of a nested one.
struct ArrowNode {
  int64_t length = 0;
  int64_t null_count = 0;

  bool operator==(const ArrowNode&) const = default;
};

/// Counted from the beginning of the body; without the padding that may follow.
struct ArrowBuffer {
  int64_t position = 0;
  int64_t bytes = 0;

  bool operator==(const ArrowBuffer&) const = default;
};

/// Nodes and buffers stand in the order of the columns, a parent before its children.
struct ArrowMessage {
  int64_t row_count = 0;
  ArrowCodec codec = ArrowCodec::kNone;
  std::vector<ArrowNode> nodes;
  std::vector<ArrowBuffer> buffers;
  /// With padding.
  int64_t body_bytes = 0;

  bool operator==(const ArrowMessage&) const = default;
};

/// A message begins with a marker and the length of its metadata.
inline constexpr size_t kArrowPrefixBytes = 8;
/// Metadata is no longer than this: some 20,000 columns.
inline constexpr size_t kArrowMetadataBytesMax = size_t{1} << 20;

/// Buffers begin at multiples of this in the bodies that Weir makes.
inline constexpr size_t kArrowAlignment = 8;
constexpr size_t PaddedForArrow(size_t bytes) {
  return (bytes + kArrowAlignment - 1) / kArrowAlignment * kArrowAlignment;
}

/// In a compressed body each buffer that is not empty begins with its length before compression, 64
/// bits wide, or with this if it is not compressed.
inline constexpr int64_t kArrowStoredRaw = -1;

/// Length of prefix and metadata, which is where the body begins. `message` holds the prefix at
/// least. Errors: kCorruptBatch.
Result<size_t> DecodeArrowPrefix(Bytes message);

/// Reads prefix and metadata; `head` is exactly that, at any address. Allocates no more than twice
/// the size of `head`.
///
/// An accepted message has sound numbers: nothing is negative, buffers lie in the body one behind
/// the other without overlap, and no node has more nulls than values. Whether there are as many as
/// the schema needs is not known here. Errors: kCorruptBatch.
Result<ArrowMessage> DecodeArrowMessage(Bytes head);

/// Prefix and metadata, together a multiple of kArrowAlignment long.
std::string EncodeArrowMessage(const ArrowMessage& message);

}  // namespace weir
