// Reading of batches, see changelog.h.
#include "weir/base/check.h"
#include "weir/record/arrow_body_reader.h"
#include "weir/record/changelog.h"
#include "weir/record/column_reader.h"
#include "weir/record/nested_values.h"
#include "weir/record/row_fields.h"

namespace weir {
namespace {

constexpr size_t kRecordLengthBytes = sizeof(int32_t);
constexpr uint8_t kChangeTypeMask = 0x0f;

template <typename... Args>
Error Corrupt(fmt::format_string<Args...> what, Args&&... args) {
  return Fail(ErrorCode::kCorruptBatch, "records of a log batch are not valid: {}",
              fmt::format(what, std::forward<Args>(args)...));
}

Result<ChangeType> ToChangeType(std::byte type) {
  if (type > std::byte{4}) return Corrupt("change_type={}", std::to_integer<int>(type));
  return static_cast<ChangeType>(type);
}

}  // namespace

class ChangelogReader::Impl {
 public:
  Impl(const LogBatchView& batch, ChangelogFormat format, std::span<const DataType> types)
      : format_(format),
        plans_(PlansOf(types)),
        record_count_(static_cast<size_t>(batch.header.record_count)),
        is_append_only_(batch.header.is_append_only),
        records_(batch.bytes.subspan(batch.header.records_position())) {}

  Status Open() {
    if (record_count_ == 0) return Ok();
    if (format_.log_format == LogFormat::kArrow) return OpenColumns();
    row_format_ =
        format_.log_format == LogFormat::kIndexed ? KvFormat::kIndexed : KvFormat::kCompacted;
    if (row_format_ != format_.kv_format) nested_.resize(plans_.size());
    return Ok();
  }

  Result<std::optional<ChangeType>> Next(std::span<FieldValue> fields) {
    WEIR_CHECK(fields.size() == plans_.size());
    if (next_ == record_count_) return std::optional<ChangeType>();
    const size_t record = next_++;
    return format_.log_format == LogFormat::kArrow ? NextOfColumns(record, fields)
                                                   : NextRow(fields);
  }

 private:
  Status OpenColumns() {
    if (!is_append_only_) {
      if (records_.size() < record_count_) return Corrupt("change_types={}", records_.size());
      change_types_ = records_.first(record_count_);
    }
    WEIR_ASSIGN(ArrowBodyReader body,
                ArrowBodyReader::Open(records_.subspan(change_types_.size())));
    if (body.row_count() != static_cast<int64_t>(record_count_)) {
      return Corrupt("rows={} record_count={}", body.row_count(), record_count_);
    }
    columns_.reserve(plans_.size());
    for (const ValuePlan& plan : plans_) {
      WEIR_ASSIGN(ColumnReader column,
                  ColumnReader::Open(plan, format_.kv_format, record_count_, body));
      columns_.push_back(std::move(column));
    }
    WEIR_TRY(body.Finish());
    body_.emplace(std::move(body));
    return Ok();
  }

  Result<std::optional<ChangeType>> NextOfColumns(size_t record, std::span<FieldValue> fields) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (!columns_[i].Read(record, fields[i])) {
        return Corrupt("record={} column={}", record, i);
      }
    }
    if (is_append_only_) return std::optional(ChangeType::kAppend);
    WEIR_ASSIGN(const ChangeType type, ToChangeType(change_types_[record]));
    return std::optional(type);
  }

  Result<std::optional<ChangeType>> NextRow(std::span<FieldValue> fields) {
    if (records_.size() < kRecordLengthBytes) return Corrupt("bytes_left={}", records_.size());
    const size_t length = LoadLittle<uint32_t>(records_.data());
    if (length == 0 || length > records_.size() - kRecordLengthBytes) {
      return Corrupt("record_length={} bytes_left={}", length, records_.size());
    }
    const Bytes record = records_.subspan(kRecordLengthBytes, length);
    records_ = records_.subspan(kRecordLengthBytes + length);
    if (next_ == record_count_ && !records_.empty())
      return Corrupt("bytes_behind_records={}", records_.size());
    WEIR_ASSIGN(const ChangeType type, ToChangeType(record[0] & std::byte{kChangeTypeMask}));
    const size_t fault =
        DecodeRow(row_format_, plans_, record.subspan(1), fields, NestedValues::kCheck);
    if (fault != kNoFault) return Corrupt("record={} column={}", next_ - 1, fault);
    for (size_t i = 0; i < nested_.size(); ++i) {
      if (!Transcode(plans_[i], row_format_, format_.kv_format, fields[i], nested_[i]))
        return Corrupt("record={} column={}", next_ - 1, i);
    }
    return std::optional(type);
  }

  const ChangelogFormat format_;
  const std::vector<ValuePlan> plans_;
  const size_t record_count_;
  const bool is_append_only_;
  size_t next_ = 0;
  /// What is left of them, where they are rows.
  Bytes records_;

  // Of the format ARROW.
  Bytes change_types_;
  std::optional<ArrowBodyReader> body_;
  std::vector<ColumnReader> columns_;

  // Of the others.
  KvFormat row_format_ = KvFormat::kCompacted;
  std::vector<std::string> nested_;
};

Result<ChangelogReader> ChangelogReader::Open(LogBatchView batch, ChangelogFormat format,
                                              std::vector<DataType> types) {
  auto impl = std::make_unique<Impl>(batch, format, types);
  WEIR_TRY(impl->Open());
  return ChangelogReader(std::move(impl));
}

ChangelogReader::ChangelogReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ChangelogReader::ChangelogReader(ChangelogReader&&) noexcept = default;
ChangelogReader::~ChangelogReader() = default;

Result<std::optional<ChangeType>> ChangelogReader::Next(std::span<FieldValue> fields) {
  return impl_->Next(fields);
}

}  // namespace weir
