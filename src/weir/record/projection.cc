#include "weir/record/projection.h"

#include <algorithm>
#include <string>

#include "weir/base/check.h"
#include "weir/record/arrow_message.h"

namespace weir {
namespace {

using Kind = LayoutNode::Kind;

size_t BuffersOf(Kind kind) {
  switch (kind) {
    case Kind::kBits: return 2;
    case Kind::kFixed: return 2;
    case Kind::kVariable: return 3;
    case Kind::kList: return 2;
    case Kind::kStruct: return 1;
  }
  WEIR_UNREACHABLE();
}

LayoutNode NodeOf(const DataType& type) {
  switch (type.kind()) {
    case TypeKind::kBoolean: return {Kind::kBits};
    case TypeKind::kTinyInt: return {Kind::kFixed, 1};
    case TypeKind::kSmallInt: return {Kind::kFixed, 2};
    case TypeKind::kInt: return {Kind::kFixed, 4};
    case TypeKind::kBigInt: return {Kind::kFixed, 8};
    case TypeKind::kFloat: return {Kind::kFixed, 4};
    case TypeKind::kDouble: return {Kind::kFixed, 8};
    case TypeKind::kDecimal: return {Kind::kFixed, 16};
    case TypeKind::kChar: return {Kind::kVariable};
    case TypeKind::kString: return {Kind::kVariable};
    case TypeKind::kBinary: return {Kind::kFixed, type.length()};
    case TypeKind::kBytes: return {Kind::kVariable};
    case TypeKind::kDate: return {Kind::kFixed, 4};
    case TypeKind::kTime: return {Kind::kFixed, type.precision() <= 3 ? 4 : 8};
    case TypeKind::kTimestamp: return {Kind::kFixed, 8};
    case TypeKind::kTimestampLtz: return {Kind::kFixed, 8};
    case TypeKind::kArray: return {Kind::kList};
    case TypeKind::kMap: return {Kind::kList};
    case TypeKind::kRow: return {Kind::kStruct};
  }
  WEIR_UNREACHABLE();
}

void AppendLayout(const DataType& type, std::vector<LayoutNode>& nodes) {
  const size_t self = nodes.size();
  const bool is_map = type.kind() == TypeKind::kMap;
  nodes.push_back(NodeOf(type));
  // A map is a list of structs of key and value.
  if (is_map) nodes.push_back({Kind::kStruct});
  for (const RowField& child : type.children()) AppendLayout(child.type, nodes);
  const auto descendants = static_cast<int32_t>(nodes.size() - self - 1);
  nodes[self].descendants = descendants;
  if (is_map) nodes[self + 1].descendants = descendants - 1;
}

size_t ChangeTypeBytes(const LogBatchHeader& header) {
  return header.is_append_only ? 0 : static_cast<size_t>(header.record_count);
}

/// Appends columns in which all is null to a message.
class NullColumns {
 public:
  explicit NullColumns(ArrowMessage& message)
      : message_(message), first_buffer_(message.buffers.size()) {
    // Only a body that nobody of ours made ends elsewhere.
    message.body_bytes =
        static_cast<int64_t>(PaddedForArrow(static_cast<size_t>(message.body_bytes)));
  }

  Status Add(const ColumnLayout& column) {
    AddNode(column.nodes.data(), message_.row_count);
    if (bytes_ > static_cast<int64_t>(kNullColumnBytesMax)) {
      return Fail(ErrorCode::kInvalidProjection,
                  "null columns for an older batch are too large: rows={} bytes_max={}",
                  message_.row_count, kNullColumnBytesMax);
    }
    return Ok();
  }

  /// What belongs behind the first `body_bytes` of the body.
  Buffer Encode(size_t body_bytes) const {
    Buffer tail = Buffer::Allocate(static_cast<size_t>(message_.body_bytes) - body_bytes);
    // Nothing is valid, all values are 0, and all lists and strings begin and end at 0.
    std::memset(tail.mutable_data(), 0, tail.size());
    if (message_.codec != ArrowCodec::kNone) {
      for (size_t i = first_buffer_; i < message_.buffers.size(); ++i) {
        const ArrowBuffer& buffer = message_.buffers[i];
        if (buffer.bytes != 0)
          StoreLittle(tail.mutable_data() + buffer.position - body_bytes, kArrowStoredRaw);
      }
    }
    return tail;
  }

 private:
  void AddNode(const LayoutNode* node, int64_t rows) {
    message_.nodes.push_back({rows, rows});
    AddBuffer((rows + 7) / 8);
    switch (node->kind) {
      case Kind::kBits: AddBuffer((rows + 7) / 8); break;
      case Kind::kFixed: AddBuffer(rows * node->byte_width); break;
      case Kind::kVariable:
        AddBuffer((rows + 1) * static_cast<int64_t>(sizeof(int32_t)));
        AddBuffer(0);
        break;
      case Kind::kList: AddBuffer((rows + 1) * static_cast<int64_t>(sizeof(int32_t))); break;
      case Kind::kStruct: break;
    }
    const LayoutNode* end = node + node->descendants + 1;
    for (const LayoutNode* child = node + 1; child != end; child += child->descendants + 1) {
      AddNode(child, node->kind == Kind::kStruct ? rows : 0);
    }
  }

  // Rows and widths are below 2^31, so one buffer cannot overflow the sum, and beyond the limit
  // sizes stay as they are.
  void AddBuffer(int64_t bytes) {
    if (bytes != 0 && message_.codec != ArrowCodec::kNone)
      bytes += static_cast<int64_t>(sizeof(kArrowStoredRaw));
    message_.buffers.push_back({message_.body_bytes, bytes});
    if (bytes_ > static_cast<int64_t>(kNullColumnBytesMax)) return;
    const auto padded = static_cast<int64_t>(PaddedForArrow(static_cast<size_t>(bytes)));
    bytes_ += padded;
    message_.body_bytes += padded;
  }

  ArrowMessage& message_;
  const size_t first_buffer_;
  int64_t bytes_ = 0;
};

// Prefix and metadata of the batch's message, and where its body begins.
struct SourceMessage {
  ArrowMessage message;
  size_t body_position;
};

Result<SourceMessage> DecodeSource(const LogBatchHeader& header, Bytes head) {
  const size_t message_position = header.records_position() + ChangeTypeBytes(header);
  WEIR_ASSIGN(const size_t body_position, ProjectionHeadBytes(header, head));
  WEIR_CHECK(head.size() >= body_position);
  WEIR_ASSIGN(ArrowMessage message,
              DecodeArrowMessage(head.subspan(message_position, body_position - message_position)));
  if (message.row_count != header.record_count ||
      static_cast<uint64_t>(message.body_bytes) != header.batch_bytes - body_position) {
    return Fail(
        ErrorCode::kCorruptBatch,
        "arrow message does not fit its batch: rows={} record_count={} body_bytes={} bytes_left={}",
        message.row_count, header.record_count, message.body_bytes,
        header.batch_bytes - body_position);
  }
  return SourceMessage{std::move(message), body_position};
}

Result<Buffer> EncodeHead(LogBatchHeader header, Bytes change_types, const ArrowMessage& message) {
  const std::string arrow_head = EncodeArrowMessage(message);
  const size_t head_bytes = header.header_bytes() + change_types.size() + arrow_head.size();
  header.statistics_bytes = 0;
  header.batch_bytes = head_bytes + static_cast<size_t>(message.body_bytes);
  if (header.batch_bytes > kLogBatchBytesMax) {
    return Fail(ErrorCode::kInvalidProjection,
                "projected batch is too large: batch_bytes={} bytes_max={}", header.batch_bytes,
                kLogBatchBytesMax);
  }
  Buffer head = Buffer::Allocate(head_bytes);
  EncodeLogBatchHeader(header, head.mutable_bytes());
  std::byte* at = head.mutable_data() + header.header_bytes();
  at = std::copy(change_types.begin(), change_types.end(), at);
  std::memcpy(at, arrow_head.data(), arrow_head.size());
  return head;
}

}  // namespace

size_t ColumnLayout::buffer_count() const {
  size_t count = 0;
  for (const LayoutNode& node : nodes) count += BuffersOf(node.kind);
  return count;
}

ColumnLayout LayoutOf(const DataType& type) {
  ColumnLayout layout;
  AppendLayout(type, layout.nodes);
  return layout;
}

size_t ProjectedBatch::bytes() const {
  size_t sum = head.size() + tail.size();
  for (const ByteRange& range : ranges) sum += range.bytes;
  return sum;
}

Result<size_t> ProjectionHeadBytes(const LogBatchHeader& header, Bytes head) {
  if (header.record_count == 0) return header.header_bytes();
  const size_t message_position = header.records_position() + ChangeTypeBytes(header);
  const size_t prefix_end = message_position + kArrowPrefixBytes;
  size_t needed = prefix_end;
  if (head.size() >= prefix_end) {
    WEIR_ASSIGN(const size_t message_head_bytes, DecodeArrowPrefix(head.subspan(message_position)));
    needed = message_position + message_head_bytes;
  }
  if (needed > header.batch_bytes) {
    return Fail(ErrorCode::kCorruptBatch,
                "arrow message is larger than its batch: head_bytes={} batch_bytes={}", needed,
                header.batch_bytes);
  }
  return needed;
}

Result<Projection> Projection::Make(std::span<const int32_t> positions,
                                    std::span<const ColumnLayout> latest, size_t batch_columns) {
  WEIR_CHECK(batch_columns <= latest.size());
  if (positions.empty()) return Fail(ErrorCode::kInvalidProjection, "projection has no columns");
  int32_t previous = -1;
  for (const int32_t position : positions) {
    if (position <= previous || static_cast<size_t>(position) >= latest.size()) {
      return Fail(ErrorCode::kInvalidProjection,
                  "projected columns must ascend and be columns of the table: position={} "
                  "previous={} columns={}",
                  position, previous, latest.size());
    }
    previous = position;
  }

  Projection projection;
  size_t wanted = 0;
  for (size_t column = 0; column < latest.size(); ++column) {
    const ColumnLayout& layout = latest[column];
    const bool is_wanted =
        wanted < positions.size() && static_cast<size_t>(positions[wanted]) == column;
    wanted += is_wanted ? 1 : 0;
    if (column >= batch_columns) {
      if (is_wanted) projection.missing_.push_back(layout);
      continue;
    }
    const Run run{projection.batch_nodes_, layout.nodes.size(), projection.batch_buffers_,
                  layout.buffer_count()};
    projection.batch_nodes_ += run.nodes;
    projection.batch_buffers_ += run.buffers;
    if (!is_wanted) continue;
    Run* last = projection.runs_.empty() ? nullptr : &projection.runs_.back();
    if (last != nullptr && last->first_buffer + last->buffers == run.first_buffer) {
      last->nodes += run.nodes;
      last->buffers += run.buffers;
    } else {
      projection.runs_.push_back(run);
    }
  }
  return projection;
}

Result<ProjectedBatch> Projection::Plan(const LogBatchHeader& header, Bytes head) const {
  ProjectedBatch projected;
  if (header.record_count == 0) {
    projected.ranges.push_back({0, header.batch_bytes});
    return projected;
  }
  WEIR_ASSIGN(SourceMessage source, DecodeSource(header, head));
  ArrowMessage& message = source.message;
  if (message.nodes.size() != batch_nodes_ || message.buffers.size() != batch_buffers_) {
    return Fail(ErrorCode::kCorruptBatch,
                "arrow message does not fit its schema: nodes={}/{} buffers={}/{}",
                message.nodes.size(), batch_nodes_, message.buffers.size(), batch_buffers_);
  }

  // Moves the wanted nodes and buffers to the front, in place: no run is read after it was written
  // over.
  size_t nodes = 0;
  size_t buffers = 0;
  int64_t body_bytes = 0;
  projected.ranges.reserve(runs_.size());
  for (const Run& run : runs_) {
    // Up to the next buffer, because padding differs between writers and belongs to the data.
    const size_t run_end = run.first_buffer + run.buffers;
    const int64_t begin = message.buffers[run.first_buffer].position;
    const int64_t end =
        run_end < message.buffers.size() ? message.buffers[run_end].position : message.body_bytes;
    for (size_t i = run.first_buffer; i < run_end; ++i) {
      const ArrowBuffer buffer = message.buffers[i];
      message.buffers[buffers++] = {buffer.position - begin + body_bytes, buffer.bytes};
    }
    for (size_t i = run.first_node; i < run.first_node + run.nodes; ++i)
      message.nodes[nodes++] = message.nodes[i];
    body_bytes += end - begin;
    if (end > begin) {
      projected.ranges.push_back(
          {source.body_position + static_cast<size_t>(begin), static_cast<size_t>(end - begin)});
    }
  }
  message.nodes.resize(nodes);
  message.buffers.resize(buffers);
  message.body_bytes = body_bytes;

  if (!missing_.empty()) {
    NullColumns null_columns(message);
    for (const ColumnLayout& column : missing_) WEIR_TRY(null_columns.Add(column));
    projected.tail = null_columns.Encode(static_cast<size_t>(body_bytes));
  }
  const Bytes change_types = head.subspan(header.records_position(), ChangeTypeBytes(header));
  WEIR_ASSIGN(projected.head, EncodeHead(header, change_types, message));
  return projected;
}

}  // namespace weir
