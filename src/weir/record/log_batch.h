// Log batches: the unit in which records are produced, stored and fetched. A batch is a header and
// an opaque section of records; nothing here looks into the records. Format:
// docs/formats/log_batch.md (Fluss protocol, log record batch).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "weir/base/buffer.h"
#include "weir/base/bytes.h"
#include "weir/base/ids.h"
#include "weir/base/result.h"

namespace weir {

/// A batch is no larger than this: a client's requests end at 100 MiB, and a batch lies in one
/// request.
inline constexpr size_t kLogBatchBytesMax = size_t{100} << 20;

/// The header of magic 0, which is what Weir itself writes.
inline constexpr size_t kLogBatchHeaderBytes = 48;
/// So many bytes from the beginning of a batch, or all of it if it has fewer, are enough for
/// DecodeLogBatchHeader.
inline constexpr size_t kLogBatchHeaderBytesMax = 56;

struct LogBatchHeader {
  LogOffset base_offset{};
  /// The whole batch: header, statistics and records.
  size_t batch_bytes = 0;
  int8_t magic = 0;
  Timestamp commit_timestamp{};
  /// Only in magic 2.
  std::optional<int32_t> leader_epoch{};
  uint32_t crc = 0;
  SchemaId schema_id{};
  /// All records are additions; otherwise each has a change type.
  bool is_append_only = false;
  /// Not record_count - 1 where there are no records: an empty batch takes one offset, so that its
  /// batch sequence is seen and its writer's next batch is in order.
  int32_t last_offset_delta = 0;
  WriterId writer_id = kNoWriterId;
  BatchSequence batch_sequence = kNoBatchSequence;
  int32_t record_count = 0;
  /// 0 in magic 0.
  size_t statistics_bytes = 0;

  LogOffset last_offset() const { return base_offset + last_offset_delta; }
  LogOffset end_offset() const { return base_offset + last_offset_delta + 1; }

  /// Without the statistics, which follow it.
  size_t header_bytes() const;
  /// Where the checksum's coverage begins. It ends with the batch.
  size_t crc_start() const;
  size_t records_position() const { return header_bytes() + statistics_bytes; }
  size_t records_bytes() const { return batch_bytes - records_position(); }

  bool operator==(const LogBatchHeader&) const = default;
};

/// A header and the bytes of the whole batch, which belong to somebody else.
struct LogBatchView {
  LogBatchHeader header;
  Bytes bytes;
};

/// Reads the header at the beginning of `bytes`, which need not hold more of the batch.
///
/// An accepted header is sound: its batch is kLogBatchBytesMax or smaller and holds header,
/// statistics and, unless there are no records, at least a byte of them; counts agree and offsets
/// do not overflow. Magic 1 is the layout with statistics; what Fluss 0.9 called magic 1 was never
/// written. Errors: kCorruptBatch, also if `bytes` ends within the header.
Result<LogBatchHeader> DecodeLogBatchHeader(Bytes bytes);

/// Writes `header` as it stands, length and checksum included, over the first header_bytes() of
/// `batch`.
void EncodeLogBatchHeader(const LogBatchHeader& header, MutableBytes batch);

/// Makes a batch of `batch`, whose bytes behind the header are in place: writes `header` with the
/// length and the checksum that they have.
void SealLogBatch(LogBatchHeader header, MutableBytes batch);

/// Makes a batch of `header` and of what stands behind it, part after part. Takes magic, ids, the
/// record count and whether it is append-only from `header`; the rest follows from them. Errors:
/// kRecordTooLarge: more than kLogBatchBytesMax.
Result<Buffer> MakeLogBatch(LogBatchHeader header, std::initializer_list<Bytes> parts);

/// Whether the bytes of a whole batch have the checksum of its header. Errors: kCorruptBatch.
Status CheckLogBatchCrc(Bytes batch, const LogBatchHeader& header);

/// Gives a batch its place in the log. Its checksum stays right, because it does not cover these
/// fields.
void StampLogBatch(MutableBytes batch, LogOffset base_offset, Timestamp commit_timestamp);

/// Takes concatenated batches apart:
///   for (LogBatchReader reader(records); !reader.at_end();) { WEIR_ASSIGN(LogBatchView batch,
///   reader.Next()); … }
class LogBatchReader {
 public:
  explicit LogBatchReader(Bytes batches) : batches_(batches) {}

  bool at_end() const { return position_ == batches_.size(); }
  /// Of the next batch, in the bytes given.
  size_t position() const { return position_; }

  /// The next batch; its checksum is not looked at. Not to be called at the end.
  /// Errors: kCorruptBatch if what is left does not begin with a whole batch. The reader stays
  /// where it is.
  Result<LogBatchView> Next();

 private:
  Bytes batches_;
  size_t position_ = 0;
};

}  // namespace weir
