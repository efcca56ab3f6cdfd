// Takes any bytes apart as a kv batch, with length and checksum set right. What is accepted must
// encode to itself.
#include <vector>

#include "weir/base/check.h"
#include "weir/base/crc32c.h"
#include "weir/record/kv_batch.h"

using namespace weir;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Memory of just this size, so that a sanitizer sees a read beyond it.
  Buffer batch = Buffer::CopyOf({reinterpret_cast<const std::byte*>(data), size});
  constexpr size_t kCrcStart = 9;
  if (size >= kCrcStart) {
    StoreLittle(batch.mutable_data(), static_cast<int32_t>(size - sizeof(int32_t)));
    StoreLittle(batch.mutable_data() + 5, Crc32c(batch.bytes().subspan(kCrcStart)));
  }
  const Result<KvBatchView> view = DecodeKvBatch(batch.bytes());
  if (!view.ok()) return 0;
  KvBatchWriter writer;
  for (const KvRecord& record : view->records) {
    record.row ? writer.Put(record.key, *record.row) : writer.Delete(record.key);
  }
  const Buffer again =
      writer.Finish(view->header.schema_id, view->header.writer_id, view->header.batch_sequence);
  // The length of a key may be written longer than it needs to be.
  WEIR_CHECK(again.size() <= batch.size());
  WEIR_CHECK(again.size() < batch.size() || AsText(again.bytes()) == AsText(batch.bytes()));
  return 0;
}
