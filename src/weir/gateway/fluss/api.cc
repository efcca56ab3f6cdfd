#include "weir/gateway/fluss/api.h"

#include <algorithm>

#include "weir/gateway/fluss/handlers.h"
#include "weir/gateway/fluss/responses.h"

namespace weir::fluss {
namespace {

Task<Frame> Refuse(const RequestContext& context, Error error) {
  co_return ErrorFrame(context, error);
}

template <typename Handler>
struct HandlerTypes;

template <typename Request, typename Response>
struct HandlerTypes<Answer<Response> (*)(const RequestContext&, Request)> {
  using RequestMessage = Request;
};

/// A handler of messages as a handler of bytes.
template <auto handler>
Task<Frame> Serve(const RequestContext& context, Buffer body) {
  typename HandlerTypes<decltype(handler)>::RequestMessage request;
  const bool is_whole = request.ParsePartialFromArray(body.data(), static_cast<int>(body.size())) &&
                        request.IsInitialized();
  if (!is_whole) {
    co_return ErrorFrame(context, Fail(ErrorCode::kMalformedRequest,
                                       "request cannot be decoded: api={}", context.head.api_key));
  }
  body = Buffer();
  auto response = co_await handler(context, std::move(request));
  if (!response.ok()) co_return ErrorFrame(context, response.error());
  co_return MessageFrame(context, *response);
}

constexpr bool kCarriesRecords = true;

// In the order of their keys. The APIs that servers call among each other are not here: 1013, 1018,
// 1019, 1020, 1022, 1027, 1028, 1029, 1031, 1043.
constexpr Api kApis[] = {
    {1000, "API_VERSIONS", 0, false, &Serve<&ApiVersions>},
    {1001, "CREATE_DATABASE", 0, false, &Serve<&CreateDatabase>},
    {1002, "DROP_DATABASE", 0, false, &Serve<&DropDatabase>},
    {1003, "LIST_DATABASES", 0, false, &Serve<&ListDatabases>},
    {1004, "DATABASE_EXISTS", 0, false, &Serve<&DatabaseExists>},
    {1005, "CREATE_TABLE", 0, false, &Serve<&CreateTable>},
    {1006, "DROP_TABLE", 0, false, &Serve<&DropTable>},
    {1007, "GET_TABLE_INFO", 0, false, &Serve<&GetTableInfo>},
    {1008, "LIST_TABLES", 0, false, &Serve<&ListTables>},
    {1009, "LIST_PARTITION_INFOS", 0, false, &Serve<&ListPartitionInfos>},
    {1010, "TABLE_EXISTS", 0, false, &Serve<&TableExists>},
    {1011, "GET_TABLE_SCHEMA", 0, false, &Serve<&GetTableSchema>},
    {1012, "GET_METADATA", 0, false, &Serve<&GetMetadata>},
    {1014, "PRODUCE_LOG", 0, kCarriesRecords, &ProduceLog},
    {1015, "FETCH_LOG", 0, false, &FetchLog},
    {1016, "PUT_KV", 2, kCarriesRecords, &PutKv},
    {1017, "LOOKUP", 1, false, &Lookup},
    {1021, "LIST_OFFSETS", 0, false, &Serve<&ListOffsets>},
    {1023, "GET_LATEST_KV_SNAPSHOTS", 0, false, &Serve<&GetLatestKvSnapshots>},
    {1024, "GET_KV_SNAPSHOT_METADATA", 0, false, &Serve<&GetKvSnapshotMetadata>},
    {1025, "GET_FILESYSTEM_SECURITY_TOKEN", 0, false, &Serve<&GetFileSystemSecurityToken>},
    {1026, "INIT_WRITER", 0, false, &Serve<&InitWriter>},
    {1030, "COMMIT_LAKE_TABLE_SNAPSHOT", 0, false, &Serve<&CommitLakeTableSnapshot>},
    {1032, "GET_LAKE_SNAPSHOT", 0, false, &Serve<&GetLakeSnapshot>},
    {1033, "LIMIT_SCAN", 0, false, &LimitScan},
    {1034, "PREFIX_LOOKUP", 1, false, &PrefixLookup},
    {1035, "GET_DATABASE_INFO", 0, false, &Serve<&GetDatabaseInfo>},
    {1036, "CREATE_PARTITION", 0, false, &Serve<&CreatePartition>},
    {1037, "DROP_PARTITION", 0, false, &Serve<&DropPartition>},
    {1038, "AUTHENTICATE", 0, false, &Serve<&Authenticate>},
    {1039, "CREATE_ACLS", 0, false, &Serve<&CreateAcls>},
    {1040, "LIST_ACLS", 0, false, &Serve<&ListAcls>},
    {1041, "DROP_ACLS", 0, false, &Serve<&DropAcls>},
    {1042, "LAKE_TIERING_HEARTBEAT", 0, false, &Serve<&LakeTieringHeartbeat>},
    {1044, "ALTER_TABLE", 0, false, &Serve<&AlterTable>},
    {1045, "DESCRIBE_CLUSTER_CONFIGS", 0, false, &Serve<&DescribeClusterConfigs>},
    {1046, "ALTER_CLUSTER_CONFIGS", 0, false, &Serve<&AlterClusterConfigs>},
    {1047, "ADD_SERVER_TAG", 0, false, &Serve<&AddServerTag>},
    {1048, "REMOVE_SERVER_TAG", 0, false, &Serve<&RemoveServerTag>},
    {1049, "REBALANCE", 0, false, &Serve<&Rebalance>},
    {1050, "LIST_REBALANCE_PROGRESS", 0, false, &Serve<&ListRebalanceProgress>},
    {1051, "CANCEL_REBALANCE", 0, false, &Serve<&CancelRebalance>},
    {1052, "PREPARE_LAKE_TABLE_SNAPSHOT", 0, false, &Serve<&PrepareLakeTableSnapshot>},
    {1053, "REGISTER_PRODUCER_OFFSETS", 0, false, &Serve<&RegisterProducerOffsets>},
    {1054, "GET_PRODUCER_OFFSETS", 0, false, &Serve<&GetProducerOffsets>},
    {1055, "DELETE_PRODUCER_OFFSETS", 0, false, &Serve<&DeleteProducerOffsets>},
    {1056, "ACQUIRE_KV_SNAPSHOT_LEASE", 0, false, &Serve<&AcquireKvSnapshotLease>},
    {1057, "RELEASE_KV_SNAPSHOT_LEASE", 0, false, &Serve<&ReleaseKvSnapshotLease>},
    {1058, "DROP_KV_SNAPSHOT_LEASE", 0, false, &Serve<&DropKvSnapshotLease>},
    {1059, "GET_TABLE_STATS", 0, false, &Serve<&GetTableStats>},
    {1060, "ALTER_DATABASE", 0, false, &Serve<&AlterDatabase>},
    {1061, "SCAN_KV", 0, false, &Serve<&ScanKv>},
    {1062, "GET_CLUSTER_HEALTH", 0, false, &Serve<&GetClusterHealth>},
    {1063, "LIST_REMOTE_LOG_MANIFESTS", 0, false, &Serve<&ListRemoteLogManifests>},
    {1064, "LIST_KV_SNAPSHOTS", 0, false, &Serve<&ListKvSnapshots>},
};

}  // namespace

std::span<const Api> Apis() {
  return kApis;
}

const Api* FindApi(int16_t key) {
  const auto* const found = std::ranges::lower_bound(kApis, key, {}, &Api::key);
  return found != std::end(kApis) && found->key == key ? found : nullptr;
}

Task<Frame> Dispatch(const RequestContext& context, Buffer body) {
  const RequestHead& head = context.head;
  const Api* const api = FindApi(head.api_key);
  if (api == nullptr) {
    // Silence would hang the client, which never gives up on a request.
    return Refuse(context, Fail(ErrorCode::kUnsupported, "api is not known to this server: api={}",
                                head.api_key));
  }
  if (head.api_version < 0 || head.api_version > api->version_max) {
    return Refuse(context, Fail(ErrorCode::kUnsupported,
                                "version of {} is not supported: version={} supported=0-{}",
                                api->name, head.api_version, api->version_max));
  }
  const bool is_open_to_all =
      api->serve == &Serve<&ApiVersions> || api->serve == &Serve<&Authenticate>;
  if (context.session.needs_user && !context.session.user && !is_open_to_all) {
    return Refuse(context, Fail(ErrorCode::kAuthenticationFailed,
                                "this address takes clients that authenticate: set "
                                "client.security.protocol to sasl, with a user and a password"));
  }
  return api->serve(context, std::move(body));
}

}  // namespace weir::fluss
