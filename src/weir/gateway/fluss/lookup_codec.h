// LOOKUP and PREFIX_LOOKUP requests, whose keys stay where they were received, and their responses.
// Specified by "Fluss protocol, LOOKUP and PREFIX_LOOKUP".
#pragma once

#include <optional>
#include <vector>

#include "weir/base/buffer.h"
#include "weir/base/ids.h"
#include "weir/base/result.h"
#include "weir/bucket/row_reads.h"

namespace weir::fluss {

struct BucketLookup {
  std::optional<PartitionId> partition_id;
  int32_t bucket_id = 0;
  std::vector<Bytes> keys;  // in the frame
  /// The partition is one that lives on in the lake only.
  bool is_historical = false;
};

/// Of both APIs; the last three concern LOOKUP only.
struct LookupRequest {
  TableId table_id;
  std::vector<BucketLookup> buckets;
  bool is_insert = false;
  int32_t acks = -1;
  int32_t timeout_ms = 0;
};

/// Fields point into `body`. Errors: kMalformedRequest.
Result<LookupRequest> DecodeLookupRequest(Bytes body);

/// Whole response frames. There is one result for each of `buckets`.
Buffer EncodeLookupResponse(int32_t request_id, const std::vector<BucketLookup>& buckets,
                            const std::vector<Result<RowValues>>& results);
Buffer EncodePrefixLookupResponse(int32_t request_id, const std::vector<BucketLookup>& buckets,
                                  const std::vector<Result<std::vector<RowValues>>>& results);

}  // namespace weir::fluss
