// Requests about the lake and remote files, of which this server has none: all records are local.
#include "weir/gateway/fluss/handlers.h"
#include "weir/gateway/fluss/lookups.h"

namespace weir::fluss {
namespace {

Error NoLake() {
  return Fail(ErrorCode::kLakeNotConfigured, "this server has no lake");
}

}  // namespace

Answer<wire::GetLakeSnapshotResponse> GetLakeSnapshot(const RequestContext& context,
                                                      wire::GetLakeSnapshotRequest request) {
  if (request.has_snapshot_id() && request.readable()) {
    co_return Fail(ErrorCode::kMalformedRequest,
                   "a lake snapshot is asked for by its id or as the readable one, not both");
  }
  const TablePath path = ToPath(request.table_path());
  WEIR_CO_TRY(co_await FindTable(context.node(), path));
  co_return Fail(ErrorCode::kLakeSnapshotNotFound, "table has no lake snapshot: table={}", path);
}

Answer<wire::PrepareLakeTableSnapshotResponse> PrepareLakeTableSnapshot(
    const RequestContext&, wire::PrepareLakeTableSnapshotRequest) {
  co_return NoLake();
}

Answer<wire::CommitLakeTableSnapshotResponse> CommitLakeTableSnapshot(
    const RequestContext&, wire::CommitLakeTableSnapshotRequest) {
  co_return NoLake();
}

Answer<wire::LakeTieringHeartbeatResponse> LakeTieringHeartbeat(const RequestContext&,
                                                                wire::LakeTieringHeartbeatRequest) {
  co_return NoLake();
}

Answer<wire::ListRemoteLogManifestsResponse> ListRemoteLogManifests(
    const RequestContext& context, wire::ListRemoteLogManifestsRequest request) {
  WEIR_CO_TRY(
      co_await FindTable(context.node(), TableId(request.table_id()), PartitionOf(request)));
  co_return wire::ListRemoteLogManifestsResponse();
}

}  // namespace weir::fluss
