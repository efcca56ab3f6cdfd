// Requests that fetch: what is accepted names the same tables and buckets as generated code reads
// from it.
#include "weir/gateway/fluss/fetch_codec.h"
#include "weir/gateway/fluss/messages.pb.h"
#include "weir/gateway/fluss/produce_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir;
  using namespace weir::fluss;
  const Result<FetchLogRequest> request =
      DecodeFetchLogRequest({reinterpret_cast<const std::byte*>(data), size});
  if (!request.ok()) return 0;
  fluss_wire::FetchLogRequest generated;
  // Filters are passed over here, but not by generated code.
  if (!generated.ParsePartialFromArray(data, static_cast<int>(size))) return 0;
  WEIR_CHECK(static_cast<size_t>(generated.tables_req_size()) == request->tables.size());
  FetchResponse response;
  size_t buckets = 0;
  for (int t = 0; t < generated.tables_req_size(); ++t) {
    const TableFetch& table = request->tables[static_cast<size_t>(t)];
    WEIR_CHECK(generated.tables_req(t).table_id() == table.table_id.value);
    WEIR_CHECK(static_cast<size_t>(generated.tables_req(t).buckets_req_size()) ==
               table.buckets.size());
    if (table.projection) {
      WEIR_CHECK(static_cast<size_t>(generated.tables_req(t).projected_fields_size()) ==
                 table.projection->size());
    }
    auto& answers = response.emplace_back();
    for (const BucketFetch& bucket : table.buckets) {
      if (++buckets % 2 == 0) {
        answers.push_back(Fail(ErrorCode::kUnknownBucket, "none"));
      } else {
        answers.push_back(FetchedBucket{bucket.from, LogOffset(0), {}});
      }
    }
  }
  WEIR_CHECK(buckets <= kRequestBucketsMax);
  EncodeFetchLogResponse(1, request->tables, std::move(response));
  return 0;
}
