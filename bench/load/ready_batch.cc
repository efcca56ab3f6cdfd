// See ready_batch.h.
#include "weir/load/ready_batch.h"

#include "weir/record/kv_batch.h"
#include "weir/record/log_batch.h"

namespace weir::load {

ReadyBatch ReadyBatch::OfLog(Buffer batch) {
  const int row_count = DecodeLogBatchHeader(batch.bytes()).value().record_count;
  return {std::move(batch), row_count, true};
}

ReadyBatch ReadyBatch::OfKv(Buffer batch, int row_count) {
  return {std::move(batch), row_count, false};
}

std::string_view ReadyBatch::Address(WriterId writer, BatchSequence sequence) {
  if (is_log_) {
    LogBatchHeader header = DecodeLogBatchHeader(bytes_.bytes()).value();
    header.writer_id = writer;
    header.batch_sequence = sequence;
    SealLogBatch(header, bytes_.mutable_bytes());
  } else {
    AddressKvBatch(bytes_.mutable_bytes(), writer, sequence);
  }
  return AsText(bytes_.bytes());
}

}  // namespace weir::load
