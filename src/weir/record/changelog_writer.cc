// Making of batches, see changelog.h. What ColumnBuilder does is not needed for the log formats of
// rows: there a record is its length, its change type and its row.
#include <string>

#include "weir/base/check.h"
#include "weir/record/changelog.h"
#include "weir/record/column_builder.h"
#include "weir/record/nested_values.h"
#include "weir/record/row_fields.h"

namespace weir {
namespace {

/// Columns of a batch may hold this before they are compressed: more than a put of a full request
/// makes, old rows included.
constexpr size_t kMemoryBytesMax = size_t{1} << 30;
/// Memory that a writer keeps when a batch is done. There is one a bucket.
constexpr size_t kKeptBytesMax = size_t{4} << 20;

KvFormat RowsOf(LogFormat format) {
  WEIR_CHECK(format != LogFormat::kArrow);
  return format == LogFormat::kIndexed ? KvFormat::kIndexed : KvFormat::kCompacted;
}

}  // namespace

std::string_view ToString(ChangeType type) {
  switch (type) {
    case ChangeType::kAppend: return "+A";
    case ChangeType::kInsert: return "+I";
    case ChangeType::kUpdateBefore: return "-U";
    case ChangeType::kUpdateAfter: return "+U";
    case ChangeType::kDelete: return "-D";
  }
  WEIR_UNREACHABLE();
}

class ChangelogWriter::Impl {
 public:
  Impl(ChangelogFormat format, std::span<const DataType> types)
      : format_(format),
        plans_(PlansOf(types)),
        body_(format.compression, memory_),
        change_types_(memory_),
        records_(memory_) {
    if (is_arrow()) {
      columns_.reserve(plans_.size());
      for (const ValuePlan& plan : plans_) columns_.emplace_back(plan, format.kv_format, memory_);
    } else {
      fields_.resize(plans_.size());
      nested_.resize(plans_.size());
    }
  }

  void Add(ChangeType type, std::span<const FieldValue> row) {
    WEIR_CHECK(row.size() <= plans_.size());
    if (memory_.is_exceeded) return;
    ++record_count_;
    if (!is_arrow()) return AddRecord(type, row);
    change_types_.Push(type);
    for (size_t i = 0; i < row.size(); ++i) columns_[i].Append(row[i]);
    for (size_t i = row.size(); i < columns_.size(); ++i) columns_[i].Append(FieldValue{});
  }

  int32_t record_count() const { return record_count_; }

  size_t bytes() const {
    size_t bytes = kLogBatchHeaderBytes + change_types_.size() + records_.size();
    for (const ColumnBuilder& column : columns_) bytes += column.bytes();
    return bytes;
  }

  void Clear() {
    record_count_ = 0;
    memory_.is_exceeded = false;
    body_.Clear();
    if (memory_.held_bytes > kKeptBytesMax) {
      body_.Release();
      for (ColumnBuffer* buffer : {&change_types_, &records_}) buffer->Release();
      for (ColumnBuilder& column : columns_) column.Release();
    } else {
      for (ColumnBuffer* buffer : {&change_types_, &records_}) buffer->Clear();
      for (ColumnBuilder& column : columns_) column.Clear();
    }
  }

  Result<Buffer> Finish(SchemaId schema_id, WriterId writer_id, BatchSequence batch_sequence) {
    Result<Buffer> batch = Make({.schema_id = schema_id,
                                 .writer_id = writer_id,
                                 .batch_sequence = batch_sequence,
                                 .record_count = record_count_});
    Clear();
    return batch;
  }

 private:
  bool is_arrow() const { return format_.log_format == LogFormat::kArrow; }

  Result<Buffer> Make(const LogBatchHeader& header) {
    if (header.record_count != 0 && is_arrow()) {
      for (const ColumnBuilder& column : columns_) column.AddTo(body_);
      return body_.Finish(header, change_types_.bytes());
    }
    if (memory_.is_exceeded) {
      return Fail(ErrorCode::kRecordTooLarge, "rows of a log batch are too large: bytes_max={}",
                  memory_.bytes_max);
    }
    return MakeLogBatch(header, {records_.bytes()});
  }

  void AddRecord(ChangeType type, std::span<const FieldValue> row) {
    std::ranges::copy(row, fields_.begin());
    std::fill(fields_.begin() + static_cast<ptrdiff_t>(row.size()), fields_.end(), FieldValue{});
    const KvFormat rows = RowsOf(format_.log_format);
    if (rows != format_.kv_format) TranscodeFields(rows);
    record_.clear();
    EncodeRow(rows, plans_, fields_, record_);
    records_.Push(static_cast<int32_t>(sizeof(type) + record_.size()));
    records_.Push(type);
    records_.Append(AsBytes(record_));
  }

  void TranscodeFields(KvFormat to) {
    for (size_t i = 0; i < plans_.size(); ++i) {
      // Only COMPACTED rows may have values without a place in the others, and their tables do not
      // have logs of those.
      WEIR_CHECK(Transcode(plans_[i], format_.kv_format, to, fields_[i], nested_[i]));
    }
  }

  const ChangelogFormat format_;
  const std::vector<ValuePlan> plans_;
  MemoryBudget memory_{.bytes_max = kMemoryBytesMax};
  int32_t record_count_ = 0;

  // Of the format ARROW.
  ArrowBody body_;
  ColumnBuffer change_types_;
  std::vector<ColumnBuilder> columns_;

  // Of the others.
  ColumnBuffer records_;
  std::vector<FieldValue> fields_;
  std::vector<std::string> nested_;
  std::string record_;
};

ChangelogWriter::ChangelogWriter(ChangelogFormat format, std::vector<DataType> types)
    : impl_(std::make_unique<Impl>(format, types)) {}

ChangelogWriter::~ChangelogWriter() = default;

void ChangelogWriter::Add(ChangeType type, std::span<const FieldValue> row) {
  impl_->Add(type, row);
}

int32_t ChangelogWriter::record_count() const {
  return impl_->record_count();
}

size_t ChangelogWriter::bytes() const {
  return impl_->bytes();
}

void ChangelogWriter::Clear() {
  impl_->Clear();
}

Result<Buffer> ChangelogWriter::Finish(SchemaId schema_id, WriterId writer_id,
                                       BatchSequence batch_sequence) {
  return impl_->Finish(schema_id, writer_id, batch_sequence);
}

}  // namespace weir
