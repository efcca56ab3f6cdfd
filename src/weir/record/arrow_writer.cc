#include "weir/record/arrow_writer.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "weir/base/check.h"
#include "weir/record/log_batch.h"

namespace weir {
namespace {

std::vector<std::byte> PackBits(size_t count, auto&& bit_at) {
  std::vector<std::byte> bits((count + 7) / 8);
  for (size_t i = 0; i < count; ++i) {
    if (bit_at(i)) bits[i / 8] |= std::byte{1} << (i % 8);
  }
  return bits;
}

}  // namespace

void ArrowBatchWriter::AddBooleans(std::span<const bool> values, Nulls nulls) {
  BeginColumn(values.size(), nulls);
  body_.AddBuffer(PackBits(values.size(), [&](size_t i) { return values[i]; }));
}

void ArrowBatchWriter::AddStrings(std::span<const std::string_view> values, Nulls nulls) {
  BeginColumn(values.size(), nulls);
  std::vector<int32_t> offsets{0};
  std::string data;
  offsets.reserve(values.size() + 1);
  for (size_t i = 0; i < values.size(); ++i) {
    if (nulls.empty() || nulls[i] == 0) data += values[i];
    WEIR_CHECK(data.size() <= static_cast<size_t>(std::numeric_limits<int32_t>::max()));
    offsets.push_back(static_cast<int32_t>(data.size()));
  }
  body_.AddBuffer(std::as_bytes(std::span(offsets)));
  body_.AddBuffer(AsBytes(data));
}

Buffer ArrowBatchWriter::Finish(SchemaId schema_id, WriterId writer_id,
                                BatchSequence batch_sequence) {
  WEIR_CHECK(row_count_.has_value() && *row_count_ <= std::numeric_limits<int32_t>::max());
  const LogBatchHeader header{.schema_id = schema_id,
                              .is_append_only = true,
                              .writer_id = writer_id,
                              .batch_sequence = batch_sequence,
                              .record_count = static_cast<int32_t>(*row_count_)};
  row_count_.reset();
  if (header.record_count != 0) return body_.Finish(header, {}).value();
  body_.Clear();
  return MakeLogBatch(header, {}).value();
}

void ArrowBatchWriter::AddFixed(Bytes values, size_t rows, Nulls nulls) {
  BeginColumn(rows, nulls);
  body_.AddBuffer(values);
}

void ArrowBatchWriter::BeginColumn(size_t rows, Nulls nulls) {
  WEIR_CHECK(row_count_.value_or(rows) == rows);
  WEIR_CHECK(nulls.empty() || nulls.size() == rows);
  row_count_ = rows;
  const int64_t null_count =
      std::ranges::count_if(nulls, [](uint8_t is_null) { return is_null != 0; });
  body_.AddNode(static_cast<int64_t>(rows), null_count);
  // Also where nothing is null, as the writers in Java and Rust do.
  body_.AddBuffer(PackBits(rows, [&](size_t i) { return nulls.empty() || nulls[i] == 0; }));
}

}  // namespace weir
