// Projects any bytes as an ARROW batch. The first byte says which columns are wanted, the second
// how many of them the batch has; the batch follows. What is accepted must make a batch that can be
// projected again and stays the same.
#include <algorithm>
#include <vector>

#include "weir/base/check.h"
#include "weir/record/arrow_message.h"
#include "weir/record/projection.h"

using namespace weir;

namespace {

// The columns of tests/vectors/projection.json, and two that came later.
std::vector<ColumnLayout> TableColumns() {
  const DataType text = DataType::Of(TypeKind::kString);
  const DataType row = DataType::Row({{"x", DataType::Of(TypeKind::kBigInt), {}, kNoFieldId},
                                      {"y", DataType::Array(text), {}, kNoFieldId}});
  return {LayoutOf(DataType::Of(TypeKind::kInt)),
          LayoutOf(text),
          LayoutOf(row),
          LayoutOf(DataType::Of(TypeKind::kDouble)),
          LayoutOf(DataType::Map(text, row)),
          LayoutOf(DataType::Of(TypeKind::kBoolean))};
}

Result<std::vector<std::byte>> Project(const Projection& projection, Bytes source) {
  WEIR_ASSIGN(const LogBatchHeader header, DecodeLogBatchHeader(source));
  if (header.batch_bytes != source.size()) return Fail(ErrorCode::kCorruptBatch, "not one batch");
  WEIR_ASSIGN(size_t head_bytes, ProjectionHeadBytes(header, source.first(header.header_bytes())));
  WEIR_ASSIGN(head_bytes, ProjectionHeadBytes(header, source.first(head_bytes)));
  // Memory of just this size, so that a sanitizer sees a read beyond it.
  const Buffer head = Buffer::CopyOf(source.first(head_bytes));
  WEIR_ASSIGN(const ProjectedBatch projected, projection.Plan(header, head.bytes()));

  std::vector<std::byte> batch;
  const auto append = [&](Bytes part) { batch.insert(batch.end(), part.begin(), part.end()); };
  append(projected.head.bytes());
  for (const ByteRange& range : projected.ranges) {
    WEIR_CHECK(range.position <= source.size() && range.bytes <= source.size() - range.position);
    append(source.subspan(range.position, range.bytes));
  }
  append(projected.tail.bytes());
  WEIR_CHECK(batch.size() == projected.bytes());
  return batch;
}

void CheckMessages(Bytes input) {
  const Result<size_t> head_bytes = DecodeArrowPrefix(input);
  if (!head_bytes.ok() || *head_bytes > input.size()) return;
  const Result<ArrowMessage> message = DecodeArrowMessage(input.first(*head_bytes));
  if (!message.ok()) return;
  WEIR_CHECK((message->nodes.size() + message->buffers.size()) * sizeof(ArrowNode) <=
             2 * input.size());
  WEIR_CHECK(DecodeArrowMessage(AsBytes(EncodeArrowMessage(*message))).value() == *message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<ColumnLayout> kColumns = TableColumns();
  if (size < 2) return 0;
  std::vector<int32_t> positions;
  std::vector<int32_t> all_of_projected;
  std::vector<ColumnLayout> wanted;
  for (size_t i = 0; i < kColumns.size(); ++i) {
    if ((data[0] >> i & 1) == 0) continue;
    all_of_projected.push_back(static_cast<int32_t>(positions.size()));
    positions.push_back(static_cast<int32_t>(i));
    wanted.push_back(kColumns[i]);
  }
  const Bytes input(reinterpret_cast<const std::byte*>(data + 2), size - 2);
  CheckMessages(input.subspan(std::min(input.size(), kLogBatchHeaderBytes)));

  const Result<Projection> projection =
      Projection::Make(positions, kColumns, data[1] % (kColumns.size() + 1));
  WEIR_CHECK(projection.ok() == !positions.empty());
  if (!projection.ok()) return 0;
  const Result<std::vector<std::byte>> projected = Project(*projection, input);
  if (!projected.ok()) return 0;
  const Projection same = Projection::Make(all_of_projected, wanted, wanted.size()).value();
  WEIR_CHECK(Project(same, *projected).value() == *projected);
  return 0;
}
