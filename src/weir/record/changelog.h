// The log batches of primary-key tables: made of the changes that a put makes, and taken apart
// again, where the state is made of its changelog. Format: docs/formats/log_batch.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "weir/base/buffer.h"
#include "weir/base/ids.h"
#include "weir/base/result.h"
#include "weir/record/arrow_writer.h"
#include "weir/record/log_batch.h"
#include "weir/record/row.h"
#include "weir/record/table_choices.h"

namespace weir {

/// What a record of a log says of its row.
enum class ChangeType : uint8_t {
  kAppend = 0,
  kInsert = 1,
  kUpdateBefore = 2,
  kUpdateAfter = 3,
  kDelete = 4,
};

/// As people write it: "+A", "+I", "-U", "+U", "-D".
std::string_view ToString(ChangeType type);

struct ChangelogFormat {
  LogFormat log_format = LogFormat::kArrow;
  ArrowCompression compression;
  /// The form of nested rows in FieldValues.
  KvFormat kv_format = KvFormat::kCompacted;
};

/// Collects the changes of one put, and then makes the batch. Keeps its memory from one batch to
/// the next.
class ChangelogWriter {
 public:
  /// `types` are the columns of the schema in which the batches are written.
  ChangelogWriter(ChangelogFormat format, std::vector<DataType> types);
  ~ChangelogWriter();

  /// Adds a change. A row of an older schema has fewer fields; the others are null. Copies what it
  /// needs.
  void Add(ChangeType type, std::span<const FieldValue> row);

  int32_t record_count() const;
  /// About what the batch will take, before it is compressed.
  size_t bytes() const;

  /// Forgets what was added.
  void Clear();

  /// The batch, at offset 0 and not append-only; begins anew. Without records: the header alone,
  /// which takes one offset, so that the batch sequence is seen. Errors: kRecordTooLarge: a batch
  /// of more than kLogBatchBytesMax; begins anew.
  Result<Buffer> Finish(SchemaId schema_id, WriterId writer_id, BatchSequence batch_sequence);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Reads the records of a log batch, of any log format, in order.
class ChangelogReader {
 public:
  /// `types` are the columns of the batch's schema. The batch stays where it is. Errors:
  /// kCorruptBatch.
  static Result<ChangelogReader> Open(LogBatchView batch, ChangelogFormat format,
                                      std::vector<DataType> types);
  ~ChangelogReader();
  ChangelogReader(ChangelogReader&&) noexcept;

  /// The next record into `fields`, which has one entry a column. What fields point to stays
  /// until the next call. Nothing behind the last record. Errors: kCorruptBatch.
  Result<std::optional<ChangeType>> Next(std::span<FieldValue> fields);

 private:
  class Impl;
  explicit ChangelogReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir
