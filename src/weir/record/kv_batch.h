// Kv batches: the unit in which rows of a primary-key table are written; and value batches, in
// which they are scanned. Format: docs/formats/kv_batch.md (Fluss KvRecordBatch, ValueRecordBatch).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/buffer.h"
#include "weir/base/bytes.h"
#include "weir/base/ids.h"
#include "weir/base/result.h"

namespace weir {

struct KvBatchHeader {
  SchemaId schema_id{};
  WriterId writer_id = kNoWriterId;
  BatchSequence batch_sequence = kNoBatchSequence;
  int32_t record_count = 0;
};

/// A key and its row as they stand in the batch; without a row: the key is deleted.
struct KvRecord {
  Bytes key;
  std::optional<Bytes> row;
};

struct KvBatchView {
  KvBatchHeader header;
  std::vector<KvRecord> records;
};

/// Takes a whole batch apart, checksum included. Allocates no more than the batch's bytes justify.
/// Errors: kCorruptBatch.
Result<KvBatchView> DecodeKvBatch(Bytes batch);

/// Makes kv batches, as clients do: for load generators and tests.
class KvBatchWriter {
 public:
  void Put(Bytes key, Bytes row);
  void Delete(Bytes key);
  /// The batch; the writer begins anew.
  Buffer Finish(SchemaId schema_id, WriterId writer_id = kNoWriterId,
                BatchSequence batch_sequence = kNoBatchSequence);

 private:
  std::string records_;
  int32_t record_count_ = 0;
};

/// Makes a whole batch another one of a writer, checksum included.
void AddressKvBatch(MutableBytes batch, WriterId writer_id, BatchSequence batch_sequence);

/// A stored value is the id of its schema and its row: so it stands in the state, in answers to
/// lookups and in value batches.
inline constexpr size_t kValueHeadBytes = sizeof(int16_t);
SchemaId SchemaIdOf(Bytes value);
inline Bytes RowOf(Bytes value) {
  return value.subspan(kValueHeadBytes);
}

/// Collects stored values into a value batch.
class ValueBatchWriter {
 public:
  void Add(Bytes value);
  int32_t record_count() const { return record_count_; }
  /// Of the batch as it would be now.
  size_t bytes() const;
  Buffer Finish();

 private:
  std::string records_;
  int32_t record_count_ = 0;
};

}  // namespace weir
