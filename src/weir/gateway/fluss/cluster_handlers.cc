// Access control, settings and state of the cluster, which is one node: this one.
#include <algorithm>
#include <charconv>

#include "weir/catalog/table_rules.h"
#include "weir/gateway/fluss/handlers.h"
#include "weir/gateway/fluss/lookups.h"

namespace weir::fluss {
namespace {

Error NoAccessControl() {
  return Fail(ErrorCode::kSecurityDisabled,
              "this server has no access control: everybody may do everything");
}

// Numbers of the protocol.
constexpr int32_t kServerTagMax = 1;  // 0 permanently, 1 temporarily offline
constexpr int32_t kRebalanceCompleted = 3;
constexpr int32_t kHealthGreen = 0;

constexpr std::string_view kRebalancePrefix = "rebalance-";

/// Errors: kServerNotFound, kMalformedRequest.
template <typename Request>
Status CheckTagRequest(const Request& request) {
  if (request.server_tag() < 0 || request.server_tag() > kServerTagMax) {
    return Fail(ErrorCode::kMalformedRequest, "server tag is not known: tag={}",
                request.server_tag());
  }
  for (const int32_t id : request.server_ids()) {
    if (id != kTabletServerId)
      return Fail(ErrorCode::kServerNotFound, "there is no such server: server_id={}", id);
  }
  return Ok();
}

}  // namespace

Answer<wire::CreateAclsResponse> CreateAcls(const RequestContext&, wire::CreateAclsRequest) {
  co_return NoAccessControl();
}

Answer<wire::ListAclsResponse> ListAcls(const RequestContext&, wire::ListAclsRequest) {
  co_return NoAccessControl();
}

Answer<wire::DropAclsResponse> DropAcls(const RequestContext&, wire::DropAclsRequest) {
  co_return NoAccessControl();
}

Answer<wire::DescribeClusterConfigsResponse> DescribeClusterConfigs(
    const RequestContext& context, wire::DescribeClusterConfigsRequest) {
  // Under the names that clients know, what holds here.
  const FlussGatewayConfig& config = context.service.config;
  const FlussListenerConfig& listener = context.session.listener;
  const std::pair<const char*, std::string> settings[] = {
      {"advertised.listeners",
       fmt::format("FLUSS://{}:{}", listener.advertised_host, listener.advertised_port)},
      {"authorizer.enabled", "false"},
      {"bind.listeners", fmt::format("FLUSS://{}:{}", listener.host, listener.port)},
      {"default.bucket.number", fmt::format("{}", kBucketsDefault)},
      {"default.replication.factor", "1"},
      {"log.replica.min-in-sync-replicas-number", "1"},
      {"max.bucket.num", fmt::format("{}", kPartitionedBucketsMax)},
      {"max.partition.num", fmt::format("{}", kPartitionsMax)},
      {"netty.connection.max-idle-time",
       fmt::format("{}s",
                   std::chrono::duration_cast<std::chrono::seconds>(config.idle_max).count())},
      {"netty.server.max-request-size", fmt::format("{}b", config.frame_bytes_max)},
      {"security.protocol.map", context.session.needs_user ? "FLUSS:SASL" : "FLUSS:PLAINTEXT"},
  };
  wire::DescribeClusterConfigsResponse response;
  for (const auto& [key, value] : settings) {
    wire::PbDescribeConfig& setting = *response.add_configs();
    setting.set_config_key(key);
    setting.set_config_value(value);
    setting.set_config_source("INITIAL_SERVER_CONFIG");
  }
  co_return response;
}

Answer<wire::AlterClusterConfigsResponse> AlterClusterConfigs(
    const RequestContext&, wire::AlterClusterConfigsRequest request) {
  if (request.alter_configs_size() > 0) {
    co_return Fail(ErrorCode::kInvalidServerConfig,
                   "setting cannot be changed while the server runs: key={}",
                   request.alter_configs(0).config_key());
  }
  co_return wire::AlterClusterConfigsResponse();
}

Answer<wire::GetClusterHealthResponse> GetClusterHealth(const RequestContext& context,
                                                        wire::GetClusterHealthRequest) {
  auto read = [](const Catalog& catalog) {
    int64_t buckets = 0;
    for (const TablePtr& table : catalog.AllTables()) {
      const size_t parts = table->is_partitioned() ? catalog.PartitionsOf(table->id).size() : 1;
      buckets += static_cast<int64_t>(parts) * table->bucket_count();
    }
    return buckets;
  };
  const auto buckets =
      static_cast<int32_t>(std::min<int64_t>(co_await context.node().ReadCatalog(read), INT32_MAX));
  wire::GetClusterHealthResponse response;
  response.set_num_replicas(buckets);
  response.set_in_sync_replicas(buckets);
  response.set_num_leader_replicas(buckets);
  response.set_active_leader_replicas(buckets);
  response.set_status(kHealthGreen);
  co_return response;
}

Answer<wire::AddServerTagResponse> AddServerTag(const RequestContext& context,
                                                wire::AddServerTagRequest request) {
  WEIR_CO_TRY(CheckTagRequest(request));
  if (request.server_ids_size() > 0) {
    int32_t present = Service::kNoServerTag;
    if (!context.service.server_tag.compare_exchange_strong(present, request.server_tag())) {
      co_return Fail(ErrorCode::kServerTagExists, "server has a tag already: server_id={} tag={}",
                     kTabletServerId, present);
    }
  }
  co_return wire::AddServerTagResponse();
}

Answer<wire::RemoveServerTagResponse> RemoveServerTag(const RequestContext& context,
                                                      wire::RemoveServerTagRequest request) {
  WEIR_CO_TRY(CheckTagRequest(request));
  if (request.server_ids_size() > 0) {
    int32_t present = request.server_tag();
    if (!context.service.server_tag.compare_exchange_strong(present, Service::kNoServerTag)) {
      co_return Fail(ErrorCode::kServerTagNotFound,
                     "server does not have the tag: server_id={} tag={}", kTabletServerId,
                     request.server_tag());
    }
  }
  co_return wire::RemoveServerTagResponse();
}

Answer<wire::RebalanceResponse> Rebalance(const RequestContext& context, wire::RebalanceRequest) {
  // There is nowhere to move anything, so it is done at once.
  wire::RebalanceResponse response;
  response.set_rebalance_id(
      fmt::format("{}{}", kRebalancePrefix, context.service.rebalances.fetch_add(1) + 1));
  co_return response;
}

Answer<wire::ListRebalanceProgressResponse> ListRebalanceProgress(
    const RequestContext& context, wire::ListRebalanceProgressRequest request) {
  const int64_t last = context.service.rebalances.load();
  int64_t asked = last;
  if (request.has_rebalance_id()) {
    std::string_view id = request.rebalance_id();
    asked = 0;
    if (id.starts_with(kRebalancePrefix)) {
      id.remove_prefix(kRebalancePrefix.size());
      const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), asked);
      if (error != std::errc() || end != id.data() + id.size()) asked = 0;
    }
  }
  wire::ListRebalanceProgressResponse response;
  if (asked >= 1 && asked <= last) {
    response.set_rebalance_id(fmt::format("{}{}", kRebalancePrefix, asked));
    response.set_rebalance_status(kRebalanceCompleted);
  }
  co_return response;
}

Answer<wire::CancelRebalanceResponse> CancelRebalance(const RequestContext&,
                                                      wire::CancelRebalanceRequest) {
  co_return Fail(ErrorCode::kNoRebalance, "no rebalance is in progress");
}

}  // namespace weir::fluss
