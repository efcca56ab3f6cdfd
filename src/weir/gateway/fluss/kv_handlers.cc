// Rows of primary-key tables, which this version does not serve: each request is told why, bucket
// by bucket. Their kv snapshots, of which there are none yet, so that readers begin with the
// changelog.
#include "weir/gateway/fluss/handlers.h"
#include "weir/gateway/fluss/lookups.h"
#include "weir/gateway/fluss/produce_codec.h"
#include "weir/gateway/fluss/responses.h"

namespace weir::fluss {
namespace {

/// A response to LOOKUP or PREFIX_LOOKUP in which each bucket is refused.
template <typename Response, typename Request>
Answer<Response> RefuseLookups(const RequestContext& context, Request request) {
  WEIR_CO_TRY(CheckBucketCount(request.buckets_req_size()));
  std::vector<TableBucket> buckets;
  for (const auto& bucket : request.buckets_req()) {
    buckets.push_back({TableId(request.table_id()), PartitionOf(bucket), bucket.bucket_id()});
  }
  const std::vector<Error> reasons = co_await WhyNoRows(context.node(), std::move(buckets));
  Response response;
  for (int i = 0; i < request.buckets_req_size(); ++i) {
    const auto& asked = request.buckets_req(i);
    auto& bucket = *response.add_buckets_resp();
    if (asked.has_partition_id()) bucket.set_partition_id(asked.partition_id());
    bucket.set_bucket_id(asked.bucket_id());
    SetError(bucket, reasons[static_cast<size_t>(i)]);
  }
  co_return response;
}

/// Errors: kUnknownBucket (no such table), kNotPrimaryKeyTable.
Status CheckLeases(const Catalog& catalog, const std::vector<TableId>& tables) {
  for (const TableId id : tables) {
    const TablePtr table = catalog.FindTable(id);
    if (table == nullptr)
      return Fail(ErrorCode::kUnknownBucket, "table id is not known: table_id={}", id);
    if (!table->is_primary_key_table()) {
      return Fail(ErrorCode::kNotPrimaryKeyTable, "table has no primary key: table={}",
                  table->path);
    }
  }
  return Ok();
}

}  // namespace

Task<Frame> PutKv(const RequestContext& context, Buffer body) {
  const Result<WriteRequest> request = DecodePutKvRequest(body);
  if (!request.ok()) co_return ErrorFrame(context, request.error());
  std::vector<TableBucket> buckets;
  for (const BucketWrite& bucket : request->buckets) {
    buckets.push_back({request->table_id, bucket.partition_id, bucket.bucket_id});
  }
  const std::vector<Error> reasons = co_await WhyNoRows(context.node(), std::move(buckets));
  const std::vector<Result<LogOffset>> results(reasons.begin(), reasons.end());
  Frame frame;
  frame.Add(EncodeWriteResponse(context.head.request_id, request->buckets, results));
  co_return frame;
}

Answer<wire::LookupResponse> Lookup(const RequestContext& context, wire::LookupRequest request) {
  return RefuseLookups<wire::LookupResponse>(context, std::move(request));
}

Answer<wire::PrefixLookupResponse> PrefixLookup(const RequestContext& context,
                                                wire::PrefixLookupRequest request) {
  return RefuseLookups<wire::PrefixLookupResponse>(context, std::move(request));
}

Answer<wire::ScanKvResponse> ScanKv(const RequestContext& context, wire::ScanKvRequest request) {
  // Errors stand in the message. A scan is closed, continued or opened; without scans, the first of
  // them always succeeds.
  wire::ScanKvResponse response;
  if (request.has_scanner_id() == request.has_bucket_scan_req()) {
    SetError(response,
             Fail(ErrorCode::kInvalidScan, "a scan is asked for by its id or by a bucket"));
  } else if (request.has_scanner_id() && request.close_scanner()) {
    response.set_has_more_results(false);
  } else if (request.close_scanner() || !request.has_call_seq_id() ||
             request.batch_size_bytes() <= 0 ||
             (request.has_bucket_scan_req() && request.call_seq_id() != 0)) {
    SetError(response,
             Fail(ErrorCode::kInvalidScan, "a scan needs a call number, from 0, and a batch size"));
  } else if (request.has_scanner_id()) {
    SetError(response, Fail(ErrorCode::kUnknownScanner, "scan is not known"));
  } else {
    const wire::PbScanReqForBucket& scan = request.bucket_scan_req();
    std::vector<TableBucket> buckets = {
        {TableId(scan.table_id()), PartitionOf(scan), scan.bucket_id()}};
    const std::vector<Error> reasons = co_await WhyNoRows(context.node(), std::move(buckets));
    SetError(response, reasons.front());
  }
  co_return response;
}

Answer<wire::GetLatestKvSnapshotsResponse> GetLatestKvSnapshots(
    const RequestContext& context, wire::GetLatestKvSnapshotsRequest request) {
  const TablePath path = ToPath(request.table_path());
  wire::GetLatestKvSnapshotsResponse response;
  auto read = [&](const Catalog& catalog) -> Status {
    WEIR_ASSIGN(const TablePtr table, catalog.GetTable(path));
    if (!table->is_primary_key_table()) {
      return Fail(ErrorCode::kNotPrimaryKeyTable, "table has no primary key: table={}", path);
    }
    if (request.has_partition_name() && !table->is_partitioned()) {
      return Fail(ErrorCode::kNotPartitioned, "table is not partitioned: table={}", path);
    }
    response.set_table_id(table->id.value);
    if (table->is_partitioned()) {
      WEIR_ASSIGN(const PartitionPtr partition,
                  catalog.GetPartition(path, request.partition_name()));
      response.set_partition_id(partition->id.value);
    }
    // Clients ask for an entry for each bucket, also without a snapshot.
    for (int32_t i = 0; i < table->bucket_count(); ++i)
      response.add_latest_snapshots()->set_bucket_id(i);
    return Ok();
  };
  WEIR_CO_TRY(co_await context.node().ReadCatalog(read));
  co_return response;
}

Answer<wire::GetKvSnapshotMetadataResponse> GetKvSnapshotMetadata(
    const RequestContext&, wire::GetKvSnapshotMetadataRequest request) {
  co_return Fail(ErrorCode::kSnapshotNotFound,
                 "there is no such kv snapshot: table_id={} snapshot_id={}", request.table_id(),
                 request.snapshot_id());
}

Answer<wire::AcquireKvSnapshotLeaseResponse> AcquireKvSnapshotLease(
    const RequestContext& context, wire::AcquireKvSnapshotLeaseRequest request) {
  std::vector<TableId> tables;
  for (const wire::PbKvSnapshotLeaseForTable& table : request.snapshots_to_lease()) {
    tables.emplace_back(table.table_id());
  }
  auto read = [&](const Catalog& catalog) { return CheckLeases(catalog, tables); };
  WEIR_CO_TRY(co_await context.node().ReadCatalog(read));
  co_return wire::AcquireKvSnapshotLeaseResponse();
}

Answer<wire::ReleaseKvSnapshotLeaseResponse> ReleaseKvSnapshotLease(
    const RequestContext& context, wire::ReleaseKvSnapshotLeaseRequest request) {
  std::vector<TableId> tables;
  for (const wire::PbTableBucket& bucket : request.buckets_to_release())
    tables.emplace_back(bucket.table_id());
  auto read = [&](const Catalog& catalog) { return CheckLeases(catalog, tables); };
  WEIR_CO_TRY(co_await context.node().ReadCatalog(read));
  co_return wire::ReleaseKvSnapshotLeaseResponse();
}

Answer<wire::DropKvSnapshotLeaseResponse> DropKvSnapshotLease(const RequestContext&,
                                                              wire::DropKvSnapshotLeaseRequest) {
  co_return wire::DropKvSnapshotLeaseResponse();
}

Answer<wire::ListKvSnapshotsResponse> ListKvSnapshots(const RequestContext& context,
                                                      wire::ListKvSnapshotsRequest request) {
  WEIR_CO_TRY(
      co_await FindTable(context.node(), TableId(request.table_id()), PartitionOf(request)));
  wire::ListKvSnapshotsResponse response;
  response.set_table_id(request.table_id());
  if (request.has_partition_id()) response.set_partition_id(request.partition_id());
  co_return response;
}

}  // namespace weir::fluss
