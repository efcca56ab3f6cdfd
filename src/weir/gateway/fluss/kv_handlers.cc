// Rows of primary-key tables, and their kv snapshots.
#include <algorithm>
#include <limits>

#include "weir/gateway/fluss/handlers.h"
#include "weir/gateway/fluss/lookup_codec.h"
#include "weir/gateway/fluss/lookups.h"
#include "weir/gateway/fluss/produce_codec.h"
#include "weir/gateway/fluss/responses.h"

namespace weir::fluss {
namespace {

/// Clients of version 0 encode the keys of some tables in another way than all later ones: their
/// keys would name other rows. Errors: kUnsupported.
Task<Status> CheckKeyVersion(const RequestContext& context, TableId table_id) {
  if (context.head.api_version > 0) co_return Ok();
  const Result<TablePtr> found = co_await FindTable(context.node(), table_id);
  if (!found.ok()) co_return Ok();  // each bucket is told
  const TableInfo& table = **found;
  const bool keys_differ = table.options.lake_format && table.options.kv_format_version >= 2 &&
                           table.descriptor.bucket_key != table.descriptor.PhysicalPrimaryKey();
  if (!keys_differ) co_return Ok();
  co_return Fail(ErrorCode::kUnsupported,
                 "this client encodes the keys of the table in a way that it does not have; use a "
                 "newer client: table={}",
                 table.path);
}

Task<Result<RowValues>> RefuseHistorical(TableBucket bucket) {
  co_return Fail(ErrorCode::kInvalidTable,
                 "rows of partitions that are only in the lake cannot be looked up: bucket={}",
                 bucket);
}

}  // namespace

Task<Frame> PutKv(const RequestContext& context, Buffer body) {
  const Result<PutKvRequest> request = DecodePutKvRequest(body);
  if (!request.ok()) co_return ErrorFrame(context, request.error());
  const std::optional<Acks> acks = ToAcks(request->acks);
  if (!acks) {
    co_return ErrorFrame(
        context, Fail(ErrorCode::kInvalidAcks, "acks must be 0, 1 or -1: acks={}", request->acks));
  }
  if (request->agg_mode < 0 || request->agg_mode > 1) {
    co_return ErrorFrame(context, Fail(ErrorCode::kMalformedRequest,
                                       "merge mode is not known: agg_mode={}", request->agg_mode));
  }
  if (const Status keys = co_await CheckKeyVersion(context, request->table_id); !keys.ok())
    co_return ErrorFrame(context, keys.error());
  PutMode mode;
  mode.target_columns = request->target_columns;
  mode.is_overwrite = request->agg_mode == 1;
  const Duration timeout = WriteTimeout(request->timeout_ms);
  // All are put in order here, before anything suspends.
  std::vector<Task<Result<LogOffset>>> puts;
  puts.reserve(request->buckets.size());
  for (const BucketWrite& bucket : request->buckets) {
    puts.push_back(
        context.node().Put(TableBucket{request->table_id, bucket.partition_id, bucket.bucket_id},
                           bucket.records, mode, *acks, timeout));
  }
  const std::vector<Result<LogOffset>> ends = co_await WhenAll(std::move(puts));
  Frame frame;
  frame.Add(EncodeWriteResponse(context.head.request_id, request->buckets, ends));
  co_return frame;
}

Task<Frame> Lookup(const RequestContext& context, Buffer body) {
  const Result<LookupRequest> request = DecodeLookupRequest(body.bytes());
  if (!request.ok()) co_return ErrorFrame(context, request.error());
  const std::optional<Acks> acks = ToAcks(request->acks);
  if (!acks) {
    co_return ErrorFrame(
        context, Fail(ErrorCode::kInvalidAcks, "acks must be 0, 1 or -1: acks={}", request->acks));
  }
  if (const Status keys = co_await CheckKeyVersion(context, request->table_id); !keys.ok())
    co_return ErrorFrame(context, keys.error());
  std::vector<Task<Result<RowValues>>> lookups;
  lookups.reserve(request->buckets.size());
  for (const BucketLookup& bucket : request->buckets) {
    const TableBucket id{request->table_id, bucket.partition_id, bucket.bucket_id};
    if (bucket.is_historical) {
      lookups.push_back(RefuseHistorical(id));
    } else if (request->is_insert) {
      lookups.push_back(
          context.node().LookupOrInsert(id, bucket.keys, *acks, WriteTimeout(request->timeout_ms)));
    } else {
      lookups.push_back(context.node().Lookup(id, bucket.keys));
    }
  }
  const std::vector<Result<RowValues>> values = co_await WhenAll(std::move(lookups));
  Frame frame;
  frame.Add(EncodeLookupResponse(context.head.request_id, request->buckets, values));
  co_return frame;
}

Task<Frame> PrefixLookup(const RequestContext& context, Buffer body) {
  const Result<LookupRequest> request = DecodeLookupRequest(body.bytes());
  if (!request.ok()) co_return ErrorFrame(context, request.error());
  if (const Status keys = co_await CheckKeyVersion(context, request->table_id); !keys.ok())
    co_return ErrorFrame(context, keys.error());
  std::vector<Task<Result<std::vector<RowValues>>>> lookups;
  lookups.reserve(request->buckets.size());
  for (const BucketLookup& bucket : request->buckets) {
    const TableBucket id{request->table_id, bucket.partition_id, bucket.bucket_id};
    lookups.push_back(context.node().LookupPrefixes(id, bucket.keys));
  }
  const std::vector<Result<std::vector<RowValues>>> values = co_await WhenAll(std::move(lookups));
  Frame frame;
  frame.Add(EncodePrefixLookupResponse(context.head.request_id, request->buckets, values));
  co_return frame;
}

Answer<wire::ScanKvResponse> ScanKv(const RequestContext& context, wire::ScanKvRequest request) {
  // Errors stand in the message. A scan is closed, continued or opened.
  wire::ScanKvResponse response;
  if (request.has_scanner_id() == request.has_bucket_scan_req()) {
    SetError(response,
             Fail(ErrorCode::kInvalidScan, "a scan is asked for by its id or by a bucket"));
    co_return response;
  }
  if (request.has_scanner_id() && request.close_scanner()) {
    co_await context.node().CloseScan(request.scanner_id());
    response.set_has_more_results(false);
    co_return response;
  }
  if (request.close_scanner() || !request.has_call_seq_id() || request.batch_size_bytes() <= 0 ||
      (request.has_bucket_scan_req() && request.call_seq_id() != 0)) {
    SetError(response,
             Fail(ErrorCode::kInvalidScan, "a scan needs a call number, from 0, and a batch size"));
    co_return response;
  }
  const auto bytes_max = static_cast<size_t>(request.batch_size_bytes());
  Result<ScanPage> page = ScanPage();
  if (request.has_scanner_id()) {
    page = co_await context.node().ContinueScan(request.scanner_id(), request.call_seq_id(),
                                                bytes_max);
  } else {
    const wire::PbScanReqForBucket& scan = request.bucket_scan_req();
    const TableBucket bucket{TableId(scan.table_id()), PartitionOf(scan), scan.bucket_id()};
    const int64_t rows_max =
        scan.has_limit() ? std::max<int64_t>(scan.limit(), 0) : std::numeric_limits<int64_t>::max();
    page = co_await context.node().OpenScan(bucket, rows_max, bytes_max);
  }
  if (!page.ok()) {
    SetError(response, page.error());
    co_return response;
  }
  response.set_has_more_results(page->has_more());
  if (page->has_more()) response.set_scanner_id(page->scanner_id);
  if (!page->rows.empty()) response.set_records(page->rows.data(), page->rows.size());
  if (page->log_offset) response.set_log_offset(page->log_offset->value);
  co_return response;
}

Answer<wire::GetLatestKvSnapshotsResponse> GetLatestKvSnapshots(
    const RequestContext& context, wire::GetLatestKvSnapshotsRequest request) {
  const TablePath path = ToPath(request.table_path());
  wire::GetLatestKvSnapshotsResponse response;
  int32_t bucket_count = 0;
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
    bucket_count = table->bucket_count();
    return Ok();
  };
  WEIR_CO_TRY(co_await context.node().ReadCatalog(read));
  // Clients ask for an entry for each bucket, also without a snapshot.
  for (int32_t i = 0; i < bucket_count; ++i) {
    const TableBucket bucket{TableId(response.table_id()), PartitionOf(response), i};
    const Result<std::vector<KvSnapshot>> snapshots = co_await context.node().KvSnapshotsOf(bucket);
    wire::PbKvSnapshot& entry = *response.add_latest_snapshots();
    entry.set_bucket_id(i);
    if (!snapshots.ok() || snapshots->empty()) continue;
    entry.set_snapshot_id(snapshots->back().id);
    entry.set_log_offset(snapshots->back().log_offset.value);
  }
  co_return response;
}

Answer<wire::GetKvSnapshotMetadataResponse> GetKvSnapshotMetadata(
    const RequestContext& context, wire::GetKvSnapshotMetadataRequest request) {
  const TableBucket bucket{TableId(request.table_id()), PartitionOf(request), request.bucket_id()};
  const Result<std::vector<KvSnapshot>> snapshots = co_await context.node().KvSnapshotsOf(bucket);
  const KvSnapshot* found = nullptr;
  if (snapshots.ok()) {
    const auto at = std::ranges::find(*snapshots, request.snapshot_id(), &KvSnapshot::id);
    if (at != snapshots->end()) found = &*at;
  }
  if (found == nullptr) {
    co_return Fail(ErrorCode::kSnapshotNotFound,
                   "there is no such kv snapshot, or not any more: bucket={} snapshot_id={}",
                   bucket, request.snapshot_id());
  }
  wire::GetKvSnapshotMetadataResponse response;
  response.set_log_offset(found->log_offset.value);
  for (const std::string& name : found->files) {
    wire::PbRemotePathAndLocalFile& file = *response.add_snapshot_files();
    // With two slashes before the path: clients in Rust take file:/path for a relative one.
    file.set_remote_path(fmt::format("file://{}/{}", found->directory, name));
    file.set_local_file_name(name);
  }
  co_return response;
}

Answer<wire::AcquireKvSnapshotLeaseResponse> AcquireKvSnapshotLease(
    const RequestContext& context, wire::AcquireKvSnapshotLeaseRequest request) {
  std::vector<KvSnapshotName> snapshots;
  for (const wire::PbKvSnapshotLeaseForTable& table : request.snapshots_to_lease()) {
    if (table.bucket_snapshots().empty()) {
      // A table without buckets is judged like one with them.
      snapshots.push_back({{TableId(table.table_id()), std::nullopt, 0}, -1});
    }
    for (const wire::PbKvSnapshotLeaseForBucket& bucket : table.bucket_snapshots()) {
      snapshots.push_back({{TableId(table.table_id()), PartitionOf(bucket), bucket.bucket_id()},
                           bucket.snapshot_id()});
    }
  }
  WEIR_CO_ASSIGN(const std::vector<KvSnapshotName> missing,
                 co_await context.node().AcquireLease(
                     request.lease_id(), std::chrono::milliseconds(request.lease_duration_ms()),
                     std::move(snapshots)));
  wire::AcquireKvSnapshotLeaseResponse response;
  for (const KvSnapshotName& snapshot : missing) {
    if (snapshot.snapshot_id < 0) continue;
    // Those of a table come one behind the other.
    const int tables = response.unavailable_snapshots_size();
    wire::PbKvSnapshotLeaseForTable* table =
        tables > 0 ? response.mutable_unavailable_snapshots(tables - 1) : nullptr;
    if (table == nullptr || table->table_id() != snapshot.bucket.table_id.value) {
      table = response.add_unavailable_snapshots();
      table->set_table_id(snapshot.bucket.table_id.value);
    }
    wire::PbKvSnapshotLeaseForBucket& bucket = *table->add_bucket_snapshots();
    if (snapshot.bucket.partition_id) bucket.set_partition_id(snapshot.bucket.partition_id->value);
    bucket.set_bucket_id(snapshot.bucket.bucket_id);
    bucket.set_snapshot_id(snapshot.snapshot_id);
  }
  co_return response;
}

Answer<wire::ReleaseKvSnapshotLeaseResponse> ReleaseKvSnapshotLease(
    const RequestContext& context, wire::ReleaseKvSnapshotLeaseRequest request) {
  std::vector<TableBucket> buckets;
  for (const wire::PbTableBucket& bucket : request.buckets_to_release())
    buckets.push_back({TableId(bucket.table_id()), PartitionOf(bucket), bucket.bucket_id()});
  WEIR_CO_TRY(co_await context.node().ReleaseLease(request.lease_id(), std::move(buckets)));
  co_return wire::ReleaseKvSnapshotLeaseResponse();
}

Answer<wire::DropKvSnapshotLeaseResponse> DropKvSnapshotLease(
    const RequestContext& context, wire::DropKvSnapshotLeaseRequest request) {
  WEIR_CO_TRY(co_await context.node().DropLease(request.lease_id()));
  co_return wire::DropKvSnapshotLeaseResponse();
}

Answer<wire::ListKvSnapshotsResponse> ListKvSnapshots(const RequestContext& context,
                                                      wire::ListKvSnapshotsRequest request) {
  WEIR_CO_ASSIGN(
      const TablePtr table,
      co_await FindTable(context.node(), TableId(request.table_id()), PartitionOf(request)));
  wire::ListKvSnapshotsResponse response;
  response.set_table_id(request.table_id());
  if (request.has_partition_id()) response.set_partition_id(request.partition_id());
  for (int32_t i = 0; i < table->bucket_count(); ++i) {
    const TableBucket bucket{table->id, PartitionOf(request), i};
    const Result<std::vector<KvSnapshot>> snapshots = co_await context.node().KvSnapshotsOf(bucket);
    if (!snapshots.ok()) continue;
    for (const KvSnapshot& snapshot : *snapshots) {
      wire::PbKvSnapshot& entry = *response.add_active_snapshots();
      entry.set_bucket_id(i);
      entry.set_snapshot_id(snapshot.id);
      entry.set_log_offset(snapshot.log_offset.value);
    }
  }
  co_return response;
}

}  // namespace weir::fluss
