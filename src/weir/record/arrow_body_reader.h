// The nodes and buffers of an ARROW log batch, in their order, decompressed. Format:
// docs/formats/log_batch.md.
#pragma once

#include <cstdint>
#include <memory>

#include "weir/base/bytes.h"
#include "weir/base/result.h"
#include "weir/record/arrow_message.h"

namespace weir {

/// What all buffers of a batch may take together when they are decompressed: as much as those who
/// make batches may hold.
inline constexpr size_t kArrowBodyBytesMax = size_t{1} << 30;

class ArrowBodyReader {
 public:
  /// `message` is the encapsulated message, which ends where the batch ends. It stays where it is;
  /// buffers that are not compressed point into it. Allocates no more than kArrowBodyBytesMax and
  /// what DecodeArrowMessage does. Errors: kCorruptBatch.
  static Result<ArrowBodyReader> Open(Bytes message);

  int64_t row_count() const { return message_.row_count; }

  /// The next node. Errors: kCorruptBatch: there is none.
  Result<ArrowNode> TakeNode();

  /// Of the next node; 0 if there is none.
  int64_t next_node_length() const;

  /// The next buffer, which has `bytes_min` bytes at least. One that is compressed is not
  /// decompressed if it claims to be larger than `bytes_max`. It is good as long as the reader is.
  /// Errors: kCorruptBatch.
  Result<Bytes> TakeBuffer(size_t bytes_min, size_t bytes_max);

  /// Whether the next buffer has no bytes at all. Not if there is none.
  bool is_next_empty() const;

  /// Whether there is nothing left. Errors: kCorruptBatch.
  Status Finish() const;

 private:
  ArrowBodyReader() = default;

  Result<Bytes> Decompress(Bytes stored, size_t bytes_min, size_t bytes_max);

  ArrowMessage message_;
  Bytes body_;
  size_t next_node_ = 0;
  size_t next_buffer_ = 0;
  std::unique_ptr<std::byte[]> decompressed_;
  size_t decompressed_end_ = 0;
};

}  // namespace weir
