// Handlers of requests, one an API: what a message asks is asked of the node, and its answer
// becomes a message. Errors that concern a single bucket or item stand in the message; others fail
// the request.
#pragma once

#include "weir/base/result.h"
#include "weir/gateway/fluss/messages.pb.h"
#include "weir/gateway/fluss/service.h"
#include "weir/runtime/task.h"

namespace weir::fluss {

namespace wire = fluss_wire;

template <typename Message>
using Answer = Task<Result<Message>>;

// Handshake and files: session_handlers.cc
Answer<wire::ApiVersionsResponse> ApiVersions(const RequestContext&, wire::ApiVersionsRequest);
Answer<wire::AuthenticateResponse> Authenticate(const RequestContext&, wire::AuthenticateRequest);
Answer<wire::GetFileSystemSecurityTokenResponse> GetFileSystemSecurityToken(
    const RequestContext&, wire::GetFileSystemSecurityTokenRequest);

// database_handlers.cc
Answer<wire::CreateDatabaseResponse> CreateDatabase(const RequestContext&,
                                                    wire::CreateDatabaseRequest);
Answer<wire::AlterDatabaseResponse> AlterDatabase(const RequestContext&,
                                                  wire::AlterDatabaseRequest);
Answer<wire::DropDatabaseResponse> DropDatabase(const RequestContext&, wire::DropDatabaseRequest);
Answer<wire::ListDatabasesResponse> ListDatabases(const RequestContext&,
                                                  wire::ListDatabasesRequest);
Answer<wire::DatabaseExistsResponse> DatabaseExists(const RequestContext&,
                                                    wire::DatabaseExistsRequest);
Answer<wire::GetDatabaseInfoResponse> GetDatabaseInfo(const RequestContext&,
                                                      wire::GetDatabaseInfoRequest);

// table_handlers.cc
Answer<wire::CreateTableResponse> CreateTable(const RequestContext&, wire::CreateTableRequest);
Answer<wire::DropTableResponse> DropTable(const RequestContext&, wire::DropTableRequest);
Answer<wire::AlterTableResponse> AlterTable(const RequestContext&, wire::AlterTableRequest);
Answer<wire::GetTableInfoResponse> GetTableInfo(const RequestContext&, wire::GetTableInfoRequest);
Answer<wire::GetTableSchemaResponse> GetTableSchema(const RequestContext&,
                                                    wire::GetTableSchemaRequest);
Answer<wire::ListTablesResponse> ListTables(const RequestContext&, wire::ListTablesRequest);
Answer<wire::TableExistsResponse> TableExists(const RequestContext&, wire::TableExistsRequest);

// partition_handlers.cc
Answer<wire::CreatePartitionResponse> CreatePartition(const RequestContext&,
                                                      wire::CreatePartitionRequest);
Answer<wire::DropPartitionResponse> DropPartition(const RequestContext&,
                                                  wire::DropPartitionRequest);
Answer<wire::ListPartitionInfosResponse> ListPartitionInfos(const RequestContext&,
                                                            wire::ListPartitionInfosRequest);

// metadata_handlers.cc
Answer<wire::MetadataResponse> GetMetadata(const RequestContext&, wire::MetadataRequest);

// log_handlers.cc. Those with records take and give whole frames.
Task<Frame> ProduceLog(const RequestContext&, Buffer body);
Task<Frame> FetchLog(const RequestContext&, Buffer body);
Task<Frame> LimitScan(const RequestContext&, Buffer body);
Answer<wire::ListOffsetsResponse> ListOffsets(const RequestContext&, wire::ListOffsetsRequest);
Answer<wire::GetTableStatsResponse> GetTableStats(const RequestContext&,
                                                  wire::GetTableStatsRequest);
Answer<wire::InitWriterResponse> InitWriter(const RequestContext&, wire::InitWriterRequest);

// kv_handlers.cc
Task<Frame> PutKv(const RequestContext&, Buffer body);
Task<Frame> Lookup(const RequestContext&, Buffer body);
Task<Frame> PrefixLookup(const RequestContext&, Buffer body);
Answer<wire::ScanKvResponse> ScanKv(const RequestContext&, wire::ScanKvRequest);
Answer<wire::GetLatestKvSnapshotsResponse> GetLatestKvSnapshots(const RequestContext&,
                                                                wire::GetLatestKvSnapshotsRequest);
Answer<wire::GetKvSnapshotMetadataResponse> GetKvSnapshotMetadata(
    const RequestContext&, wire::GetKvSnapshotMetadataRequest);
Answer<wire::AcquireKvSnapshotLeaseResponse> AcquireKvSnapshotLease(
    const RequestContext&, wire::AcquireKvSnapshotLeaseRequest);
Answer<wire::ReleaseKvSnapshotLeaseResponse> ReleaseKvSnapshotLease(
    const RequestContext&, wire::ReleaseKvSnapshotLeaseRequest);
Answer<wire::DropKvSnapshotLeaseResponse> DropKvSnapshotLease(const RequestContext&,
                                                              wire::DropKvSnapshotLeaseRequest);
Answer<wire::ListKvSnapshotsResponse> ListKvSnapshots(const RequestContext&,
                                                      wire::ListKvSnapshotsRequest);

// lake_handlers.cc
Answer<wire::GetLakeSnapshotResponse> GetLakeSnapshot(const RequestContext&,
                                                      wire::GetLakeSnapshotRequest);
Answer<wire::PrepareLakeTableSnapshotResponse> PrepareLakeTableSnapshot(
    const RequestContext&, wire::PrepareLakeTableSnapshotRequest);
Answer<wire::CommitLakeTableSnapshotResponse> CommitLakeTableSnapshot(
    const RequestContext&, wire::CommitLakeTableSnapshotRequest);
Answer<wire::LakeTieringHeartbeatResponse> LakeTieringHeartbeat(const RequestContext&,
                                                                wire::LakeTieringHeartbeatRequest);
Answer<wire::ListRemoteLogManifestsResponse> ListRemoteLogManifests(
    const RequestContext&, wire::ListRemoteLogManifestsRequest);

// cluster_handlers.cc
Answer<wire::CreateAclsResponse> CreateAcls(const RequestContext&, wire::CreateAclsRequest);
Answer<wire::ListAclsResponse> ListAcls(const RequestContext&, wire::ListAclsRequest);
Answer<wire::DropAclsResponse> DropAcls(const RequestContext&, wire::DropAclsRequest);
Answer<wire::DescribeClusterConfigsResponse> DescribeClusterConfigs(
    const RequestContext&, wire::DescribeClusterConfigsRequest);
Answer<wire::AlterClusterConfigsResponse> AlterClusterConfigs(const RequestContext&,
                                                              wire::AlterClusterConfigsRequest);
Answer<wire::GetClusterHealthResponse> GetClusterHealth(const RequestContext&,
                                                        wire::GetClusterHealthRequest);
Answer<wire::AddServerTagResponse> AddServerTag(const RequestContext&, wire::AddServerTagRequest);
Answer<wire::RemoveServerTagResponse> RemoveServerTag(const RequestContext&,
                                                      wire::RemoveServerTagRequest);
Answer<wire::RebalanceResponse> Rebalance(const RequestContext&, wire::RebalanceRequest);
Answer<wire::ListRebalanceProgressResponse> ListRebalanceProgress(
    const RequestContext&, wire::ListRebalanceProgressRequest);
Answer<wire::CancelRebalanceResponse> CancelRebalance(const RequestContext&,
                                                      wire::CancelRebalanceRequest);

// producer_handlers.cc
Answer<wire::RegisterProducerOffsetsResponse> RegisterProducerOffsets(
    const RequestContext&, wire::RegisterProducerOffsetsRequest);
Answer<wire::GetProducerOffsetsResponse> GetProducerOffsets(const RequestContext&,
                                                            wire::GetProducerOffsetsRequest);
Answer<wire::DeleteProducerOffsetsResponse> DeleteProducerOffsets(
    const RequestContext&, wire::DeleteProducerOffsetsRequest);

}  // namespace weir::fluss
