// Column projection of ARROW log batches: a new head over the parts of a batch that hold the wanted
// columns. Column data is neither read nor decompressed nor copied. Format:
// docs/formats/log_batch.md (Fluss protocol, column projection).
//
// A batch that lies in a file is projected in three steps: read its beginning until
// ProjectionHeadBytes is satisfied, plan, and read the ranges of the plan.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weir/base/buffer.h"
#include "weir/base/bytes.h"
#include "weir/base/result.h"
#include "weir/record/data_type.h"
#include "weir/record/log_batch.h"

namespace weir {

/// One node of a column in Arrow's layout, with the buffers that it has besides its validity.
struct LayoutNode {
  enum class Kind : uint8_t {
    kBits,      // one bit a value
    kFixed,     // byte_width bytes a value
    kVariable,  // offsets and data
    kList,      // offsets; the children have a length of their own
    kStruct,    // none; the children are as long as their parent
  };

  Kind kind;
  int32_t byte_width = 0;
  /// How many of the nodes behind this one lie inside of it.
  int32_t descendants = 0;

  bool operator==(const LayoutNode&) const = default;
};

/// The nodes of a column, a parent before its children.
struct ColumnLayout {
  std::vector<LayoutNode> nodes;

  size_t buffer_count() const;
};

ColumnLayout LayoutOf(const DataType& type);

/// Null columns that are made for one batch take no more than this; more is kInvalidProjection.
inline constexpr size_t kNullColumnBytesMax = size_t{64} << 20;

/// A part of a batch, counted from the batch's beginning.
struct ByteRange {
  size_t position = 0;
  size_t bytes = 0;

  bool operator==(const ByteRange&) const = default;
};

/// What is sent in place of a batch, one behind the other.
struct ProjectedBatch {
  Buffer head;                    // made anew
  std::vector<ByteRange> ranges;  // of the source batch, as they lie
  Buffer tail;                    // columns that the source does not have

  size_t bytes() const;
};

/// How many bytes from the beginning of a batch Projection::Plan needs, as far as `head`, which is
/// such a beginning with the whole header, can tell. If it is more than `head` has, ask again with
/// so many; the second answer is final. Errors: kCorruptBatch.
Result<size_t> ProjectionHeadBytes(const LogBatchHeader& header, Bytes head);

/// The wanted columns of all batches of one schema. Immutable; may be used by any thread.
class Projection {
 public:
  /// `positions` are the wanted columns in the table's latest schema, whose columns are `latest`. A
  /// batch has the first `batch_columns` of them, because columns are only ever added at the end;
  /// the others are made as nulls. Errors: kInvalidProjection if there are no positions, they do
  /// not ascend, or one is not a column.
  static Result<Projection> Make(std::span<const int32_t> positions,
                                 std::span<const ColumnLayout> latest, size_t batch_columns);

  /// What to send in place of the batch that begins with `head`, of which there are
  /// ProjectionHeadBytes at least.
  ///
  /// The checksum is the source's and does not fit any more, as readers who asked for a projection
  /// expect. Statistics are left out. A batch without records is sent as it is. Errors:
  /// kCorruptBatch if the batch is not an ARROW batch of its schema; kInvalidProjection if null
  /// columns would take more than kNullColumnBytesMax or the batch more than kLogBatchBytesMax.
  Result<ProjectedBatch> Plan(const LogBatchHeader& header, Bytes head) const;

 private:
  /// Neighbours among the columns of a batch that are all wanted.
  struct Run {
    size_t first_node = 0;
    size_t nodes = 0;
    size_t first_buffer = 0;
    size_t buffers = 0;
  };

  Projection() = default;

  std::vector<Run> runs_;
  std::vector<ColumnLayout> missing_;
  /// Of the source batch, wanted or not.
  size_t batch_nodes_ = 0;
  size_t batch_buffers_ = 0;
};

}  // namespace weir
