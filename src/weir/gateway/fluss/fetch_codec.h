// FETCH_LOG requests, and responses whose records are sent from where they lie. Specified by "Fluss
// protocol, FETCH_LOG".
#pragma once

#include <optional>
#include <vector>

#include "weir/base/buffer.h"
#include "weir/base/result.h"
#include "weir/gateway/fluss/frame.h"
#include "weir/server/node.h"

namespace weir::fluss {

/// A request as the client sends it: nothing is bounded yet but the number of its buckets
/// (kRequestBucketsMax) and of a table's projected columns (kProjectedFieldsMax).
struct FetchLogRequest {
  int32_t bytes_max = 0;
  std::optional<int32_t> wait_max_ms;
  std::optional<int32_t> bytes_min;
  std::vector<TableFetch> tables;
};

/// More columns than a table can have.
inline constexpr size_t kProjectedFieldsMax = 32'768;

/// Filters are not looked at: clients take a filter for a hint. Errors: kMalformedRequest.
Result<FetchLogRequest> DecodeFetchLogRequest(Bytes body);

/// A whole response frame: heads and records in turn. `response` has what was found for each bucket
/// of `tables`.
Frame EncodeFetchLogResponse(int32_t request_id, const std::vector<TableFetch>& tables,
                             FetchResponse response);

}  // namespace weir::fluss
