// Offsets that exactly-once sinks keep on the server, to undo what was written after their last
// checkpoint.
#include "weir/gateway/fluss/handlers.h"
#include "weir/gateway/fluss/lookups.h"

namespace weir::fluss {
namespace {

// Numbers of the protocol.
constexpr int32_t kRegistered = 0;
constexpr int32_t kRegisteredBefore = 1;

}  // namespace

Answer<wire::RegisterProducerOffsetsResponse> RegisterProducerOffsets(
    const RequestContext& context, wire::RegisterProducerOffsetsRequest request) {
  ProducerOffsets offsets;
  offsets.producer_id = request.producer_id();
  if (request.has_ttl_ms()) offsets.ttl = std::chrono::milliseconds(request.ttl_ms());
  for (const wire::PbProducerTableOffsets& table : request.table_offsets()) {
    for (const wire::PbBucketOffset& bucket : table.bucket_offsets()) {
      if (!bucket.has_log_end_offset()) {
        co_return Fail(ErrorCode::kMalformedRequest,
                       "offset of a bucket is missing: table_id={} bucket={}", table.table_id(),
                       bucket.bucket_id());
      }
      offsets.offsets.push_back(
          {{TableId(table.table_id()), PartitionOf(bucket), bucket.bucket_id()},
           LogOffset(bucket.log_end_offset())});
    }
  }
  WEIR_CO_ASSIGN(const bool is_new,
                 co_await context.node().RegisterProducerOffsets(std::move(offsets)));
  wire::RegisterProducerOffsetsResponse response;
  response.set_result(is_new ? kRegistered : kRegisteredBefore);
  co_return response;
}

Answer<wire::GetProducerOffsetsResponse> GetProducerOffsets(
    const RequestContext& context, wire::GetProducerOffsetsRequest request) {
  wire::GetProducerOffsetsResponse response;
  const Timestamp now = context.service.clock.Now();
  auto read = [&](const Catalog& catalog) {
    const RegisteredOffsets* const offsets = catalog.FindProducer(request.producer_id(), now);
    if (offsets == nullptr) return Ok();
    response.set_producer_id(offsets->producer_id);
    response.set_expiration_time(offsets->expires.value);
    wire::PbProducerTableOffsets* table = nullptr;
    for (const BucketEnd& end : offsets->offsets) {
      if (table == nullptr || table->table_id() != end.bucket.table_id.value) {
        table = response.add_table_offsets();
        table->set_table_id(end.bucket.table_id.value);
      }
      wire::PbBucketOffset& bucket = *table->add_bucket_offsets();
      if (end.bucket.partition_id) bucket.set_partition_id(end.bucket.partition_id->value);
      bucket.set_bucket_id(end.bucket.bucket_id);
      bucket.set_log_end_offset(end.end.value);
    }
    return Ok();
  };
  WEIR_CO_TRY(co_await context.node().ReadCatalog(read));
  co_return response;
}

Answer<wire::DeleteProducerOffsetsResponse> DeleteProducerOffsets(
    const RequestContext& context, wire::DeleteProducerOffsetsRequest request) {
  WEIR_CO_TRY(co_await context.node().DeleteProducerOffsets(request.producer_id()));
  co_return wire::DeleteProducerOffsetsResponse();
}

}  // namespace weir::fluss
