// Reads any bytes as the records of a batch. Four bytes say of which format, of which columns and
// how many they are; the records follow. Each row that is read must be one that can be written.
#include <string>
#include <vector>

#include "weir/base/check.h"
#include "weir/record/changelog.h"
#include "weir/record/every_type.h"
#include "weir/record/row.h"

using namespace weir;

namespace {

constexpr size_t kChoiceBytes = 4;

ChangelogFormat FormatOf(uint8_t choice) {
  return {static_cast<LogFormat>(choice % 3),
          {.codec = ArrowCodec::kNone},
          static_cast<KvFormat>(choice / 3 % 2)};
}

std::vector<DataType> TypesOf(uint8_t choice) {
  static const std::vector<DataType> all = EveryType();
  if (choice == 0) return all;
  if (choice == 1) return {DataType::Of(TypeKind::kInt), DataType::Of(TypeKind::kString)};
  return {all[choice % all.size()]};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < kChoiceBytes) return 0;
  const ChangelogFormat format = FormatOf(data[0]);
  const std::vector<DataType> types = TypesOf(data[1]);
  const Bytes records(reinterpret_cast<const std::byte*>(data + kChoiceBytes), size - kChoiceBytes);
  const LogBatchHeader header{
      .schema_id = SchemaId{1}, .is_append_only = data[2] % 2 != 0, .record_count = data[3]};
  const Result<Buffer> batch = MakeLogBatch(header, {records});
  if (!batch.ok()) return 0;
  const Result<LogBatchHeader> decoded = DecodeLogBatchHeader(batch->bytes());
  if (!decoded.ok()) return 0;  // records without bytes
  Result<ChangelogReader> reader = ChangelogReader::Open({*decoded, batch->bytes()}, format, types);
  if (!reader.ok()) return 0;

  const RowCodec codec(format.kv_format, types);
  ChangelogWriter writer({LogFormat::kArrow, {.codec = ArrowCodec::kNone}, format.kv_format},
                         types);
  std::vector<FieldValue> fields(types.size());
  std::vector<FieldValue> again(types.size());
  while (true) {
    const Result<std::optional<ChangeType>> type = reader->Next(fields);
    if (!type.ok()) return 0;
    if (!*type) break;
    std::string row;
    codec.Encode(fields, row);
    WEIR_CHECK(codec.Decode(AsBytes(row), again).ok());
    writer.Add(**type, fields);
  }
  WEIR_CHECK(writer.record_count() == header.record_count);
  WEIR_CHECK(writer.Finish(SchemaId{1}, kNoWriterId, kNoBatchSequence).ok());
  return 0;
}
