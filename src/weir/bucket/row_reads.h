// Reads of the rows of a bucket: what is below the high watermark, as it goes over the wire.
//
// On the bucket's loop. Keys and the state stay until the read has ended.
#pragma once

#include <cstdint>
#include <vector>

#include "weir/base/buffer.h"
#include "weir/kv/kv_state.h"
#include "weir/runtime/task.h"

namespace weir {

/// The values of one answer take no more than this.
inline constexpr size_t kLookupBytesMax = size_t{128} << 20;

/// Stored values, one behind the other.
struct RowValues {
  static constexpr int32_t kAbsent = -1;

  Buffer bytes;
  /// One entry a value; kAbsent where there is no row.
  std::vector<int32_t> sizes;
};

/// Values of `keys`, in their order. Errors: kIo, kCorruptData, kRecordTooLarge.
Task<Result<RowValues>> LookupRows(KvState* state, std::vector<Bytes> keys);

/// For each prefix the values of all keys that begin with it, in key order. Errors: as LookupRows.
Task<Result<std::vector<RowValues>>> LookupRowsByPrefix(KvState* state,
                                                        std::vector<Bytes> prefixes);

/// A value batch of the first `limit` rows in key order. Errors: as LookupRows.
Task<Result<Buffer>> ReadFirstRows(KvState* state, int64_t limit);

}  // namespace weir
