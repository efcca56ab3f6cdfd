// Makes ARROW log batches out of columns, as clients do: for load generators and tests. Format:
// docs/formats/log_batch.md.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <ranges>
#include <span>
#include <string_view>

#include "weir/base/buffer.h"
#include "weir/base/bytes.h"
#include "weir/base/ids.h"
#include "weir/record/arrow_body.h"

namespace weir {

template <typename T>
concept ArrowNumber = (std::integral<T> && !std::same_as<T, bool>) || std::floating_point<T>;

/// Collects the columns of one batch in the order of the schema, all with the same number of rows,
/// and then makes the batch; after that it begins anew. The lengths of columns, and the sizes that
/// the format can hold, are WEIR_CHECKed.
class ArrowBatchWriter {
 public:
  /// Which rows of a column are null: a byte a row that is not 0 if it is. Empty: none.
  using Nulls = std::span<const uint8_t>;

  explicit ArrowBatchWriter(ArrowCompression compression) : body_(compression, memory_) {}
  ArrowBatchWriter(const ArrowBatchWriter&) = delete;
  ArrowBatchWriter& operator=(const ArrowBatchWriter&) = delete;

  /// TINYINT, SMALLINT, INT, BIGINT, FLOAT and DOUBLE, and what is a number in Arrow: DATE, TIME
  /// and the TIMESTAMPs.
  template <std::ranges::contiguous_range Values>
    requires ArrowNumber<std::ranges::range_value_t<Values>>
  void AddNumbers(const Values& values, Nulls nulls = {}) {
    AddFixed(std::as_bytes(std::span(values)), std::ranges::size(values), nulls);
  }

  /// BOOLEAN.
  void AddBooleans(std::span<const bool> values, Nulls nulls = {});

  /// CHAR, STRING and BYTES.
  void AddStrings(std::span<const std::string_view> values, Nulls nulls = {});

  /// An append-only batch of magic 0, with its checksum, at offset 0. Without rows it is a header
  /// alone.
  Buffer Finish(SchemaId schema_id, WriterId writer_id = kNoWriterId,
                BatchSequence batch_sequence = kNoBatchSequence);

 private:
  void AddFixed(Bytes values, size_t rows, Nulls nulls);
  /// Begins a column with its node and its validity.
  void BeginColumn(size_t rows, Nulls nulls);

  MemoryBudget memory_{.bytes_max = size_t{1} << 30};
  ArrowBody body_;
  std::optional<size_t> row_count_;
};

}  // namespace weir
