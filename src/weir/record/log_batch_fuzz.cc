// Takes any bytes apart as log batches. What is accepted must encode to itself.
#include <algorithm>
#include <vector>

#include "weir/base/check.h"
#include "weir/record/log_batch.h"

using namespace weir;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes input(reinterpret_cast<const std::byte*>(data), size);
  for (LogBatchReader reader(input); !reader.at_end();) {
    const Result<LogBatchView> batch = reader.Next();
    if (!batch.ok()) break;
    const LogBatchHeader& header = batch->header;
    WEIR_CHECK(batch->bytes.size() == header.batch_bytes &&
               header.batch_bytes <= kLogBatchBytesMax);
    WEIR_CHECK(header.records_position() + header.records_bytes() == header.batch_bytes);
    WEIR_CHECK(header.end_offset() > header.base_offset);

    std::vector<std::byte> again(batch->bytes.begin(), batch->bytes.end());
    std::fill_n(again.begin(), header.header_bytes(), std::byte{0xaa});
    EncodeLogBatchHeader(header, again);
    WEIR_CHECK(std::equal(again.begin(), again.end(), batch->bytes.begin()));

    SealLogBatch(header, again);
    const bool is_intact = CheckLogBatchCrc(batch->bytes, header).ok();
    WEIR_CHECK(is_intact == std::equal(again.begin(), again.end(), batch->bytes.begin()));

    StampLogBatch(again, LogOffset{7}, Timestamp{8});
    const LogBatchHeader stamped = DecodeLogBatchHeader(again).value();
    WEIR_CHECK(stamped.base_offset == LogOffset{7} && stamped.commit_timestamp == Timestamp{8});
    WEIR_CHECK(CheckLogBatchCrc(again, stamped).ok());
  }
  return 0;
}
