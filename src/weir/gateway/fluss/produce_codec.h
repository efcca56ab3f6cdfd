// Requests that write to buckets, and their responses. The records stay where they were received: a
// decoded request shares the memory of its frame. Specified by "Fluss protocol, PRODUCE_LOG and
// PUT_KV".
#pragma once

#include <optional>
#include <vector>

#include "weir/base/buffer.h"
#include "weir/base/ids.h"
#include "weir/base/result.h"

namespace weir::fluss {

struct BucketWrite {
  std::optional<PartitionId> partition_id;
  int32_t bucket_id = 0;
  Buffer records;  // a part of the frame
};

/// Writes to buckets of one table.
struct WriteRequest {
  int32_t acks = 0;
  TableId table_id;
  int32_t timeout_ms = 0;
  std::vector<BucketWrite> buckets;
};

/// No request names more buckets; it bounds what a decoded request takes beyond its frame.
inline constexpr size_t kRequestBucketsMax = 65'536;

/// Errors: kMalformedRequest.
Result<WriteRequest> DecodeProduceLogRequest(const Buffer& body);

struct PutKvRequest : WriteRequest {
  /// Positions of the columns that are written; empty: all.
  std::vector<int32_t> target_columns;
  /// 0: as the merge engine says, 1: rows replace what there is.
  int32_t agg_mode = 0;
};

/// No request names more columns than this.
inline constexpr size_t kTargetColumnsMax = 32'768;

/// Errors: kMalformedRequest.
Result<PutKvRequest> DecodePutKvRequest(const Buffer& body);

/// A whole response frame. `results` has one offset or error for each of `buckets`: of the first
/// record for PRODUCE_LOG, of the changelog's end for PUT_KV.
Buffer EncodeWriteResponse(int32_t request_id, const std::vector<BucketWrite>& buckets,
                           const std::vector<Result<LogOffset>>& results);

}  // namespace weir::fluss
