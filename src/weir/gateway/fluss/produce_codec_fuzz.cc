// Requests that write: what is accepted names the same buckets and records as generated code reads
// from it.
#include "weir/gateway/fluss/messages.pb.h"
#include "weir/gateway/fluss/produce_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace weir;
  using namespace weir::fluss;
  const Buffer body = Buffer::CopyOf({reinterpret_cast<const std::byte*>(data), size});
  static_cast<void>(DecodePutKvRequest(body));
  const Result<WriteRequest> request = DecodeProduceLogRequest(body);
  if (!request.ok()) return 0;
  WEIR_CHECK(request->buckets.size() <= kRequestBucketsMax);
  fluss_wire::ProduceLogRequest generated;
  WEIR_CHECK(generated.ParseFromArray(data, static_cast<int>(size)));
  WEIR_CHECK(generated.acks() == request->acks && generated.table_id() == request->table_id.value);
  WEIR_CHECK(static_cast<size_t>(generated.buckets_req_size()) == request->buckets.size());
  std::vector<Result<LogOffset>> results;
  for (int i = 0; i < generated.buckets_req_size(); ++i) {
    const BucketWrite& bucket = request->buckets[static_cast<size_t>(i)];
    WEIR_CHECK(generated.buckets_req(i).bucket_id() == bucket.bucket_id);
    WEIR_CHECK(generated.buckets_req(i).has_partition_id() == bucket.partition_id.has_value());
    WEIR_CHECK(generated.buckets_req(i).records() == AsText(bucket.records.bytes()));
    results.push_back(LogOffset(i));
  }
  EncodeWriteResponse(1, request->buckets, results);
  return 0;
}
