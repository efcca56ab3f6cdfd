// Batches that are encoded once and sent many times, each time as another batch of its writer.
#pragma once

#include <string_view>

#include "weir/base/buffer.h"
#include "weir/base/ids.h"
#include "weir/load/wire.h"

namespace weir::load {

class ReadyBatch {
 public:
  /// A log batch, as log tables take them.
  static ReadyBatch OfLog(Buffer batch);
  /// A kv batch, as primary-key tables take them.
  static ReadyBatch OfKv(Buffer batch, int row_count);

  /// The batch as number `sequence` of `writer`.
  std::string_view Address(WriterId writer, BatchSequence sequence);
  size_t size() const { return bytes_.size(); }
  int row_count() const { return row_count_; }
  /// By which it is written, and the field of that request in which it stands.
  Api api() const { return is_log_ ? Api::kProduceLog : Api::kPutKv; }
  int bucket_field() const { return is_log_ ? 4 : 5; }

 private:
  ReadyBatch(Buffer batch, int row_count, bool is_log)
      : bytes_(std::move(batch)), row_count_(row_count), is_log_(is_log) {}

  Buffer bytes_;
  int row_count_;
  bool is_log_;
};

}  // namespace weir::load
