// Takes any bytes apart as a row. The first byte says in which form and of which columns; the row
// follows. What is accepted must have one form that encodes to itself, and come back from a
// changelog as it went in.
#include <string>
#include <vector>

#include "weir/base/check.h"
#include "weir/record/changelog.h"
#include "weir/record/every_type.h"
#include "weir/record/row.h"

using namespace weir;

namespace {

std::string Encoded(const RowCodec& codec, std::span<const FieldValue> fields) {
  std::string row;
  codec.Encode(fields, row);
  return row;
}

/// The row as its changelog tells it.
std::string FromChangelog(const RowCodec& codec, std::span<const FieldValue> fields) {
  const std::vector<DataType> types(codec.types().begin(), codec.types().end());
  const ChangelogFormat format{LogFormat::kArrow, {.codec = ArrowCodec::kNone}, codec.format()};
  ChangelogWriter writer(format, types);
  writer.Add(ChangeType::kInsert, fields);
  const Buffer batch = writer.Finish(SchemaId{1}, kNoWriterId, kNoBatchSequence).value();
  const LogBatchView view{DecodeLogBatchHeader(batch.bytes()).value(), batch.bytes()};
  ChangelogReader reader = ChangelogReader::Open(view, format, types).value();
  std::vector<FieldValue> read(types.size());
  WEIR_CHECK(reader.Next(read).value() == ChangeType::kInsert);
  return Encoded(codec, read);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const KvFormat format = data[0] % 2 == 0 ? KvFormat::kCompacted : KvFormat::kIndexed;
  static const std::vector<DataType> all = EveryType();
  const size_t choice = data[0] / 2;
  const RowCodec codec(format, choice == 0 ? all : std::vector{all[choice % all.size()]});
  // Memory of just this size, so that a sanitizer sees a read beyond it.
  const Buffer row = Buffer::CopyOf({reinterpret_cast<const std::byte*>(data + 1), size - 1});
  std::vector<FieldValue> fields(codec.types().size());
  if (!codec.Decode(row.bytes(), fields).ok()) return 0;

  // Numbers may be written longer than they need to be, and text with zeros behind it.
  const std::string again = Encoded(codec, fields);
  WEIR_CHECK(again.size() <= row.size());
  WEIR_CHECK(format == KvFormat::kIndexed || again.size() < row.size() ||
             again == AsText(row.bytes()));
  WEIR_CHECK(codec.Decode(AsBytes(again), fields).ok());
  WEIR_CHECK(Encoded(codec, fields) == again);

  // Values that are finer than their types are cut, once; then nothing changes any more.
  const std::string told = FromChangelog(codec, fields);
  WEIR_CHECK(codec.Decode(AsBytes(told), fields).ok());
  WEIR_CHECK(FromChangelog(codec, fields) == told);
  return 0;
}
