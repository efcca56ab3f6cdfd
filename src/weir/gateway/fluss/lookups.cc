#include "weir/gateway/fluss/lookups.h"

#include <algorithm>

namespace weir::fluss {
namespace {

// A write waits no longer for its acknowledgement, whatever the client says.
constexpr Duration kWriteTimeoutMax = std::chrono::minutes(5);

}  // namespace

std::optional<Acks> ToAcks(int32_t acks) {
  switch (acks) {
    case 0: return Acks::kNone;
    case 1: return Acks::kLeader;
    case -1: return Acks::kAll;
    default: return std::nullopt;
  }
}

Duration WriteTimeout(int32_t timeout_ms) {
  return std::clamp<Duration>(std::chrono::milliseconds(timeout_ms), Duration::zero(),
                              kWriteTimeoutMax);
}

std::vector<PropertyChange> ToPropertyChanges(
    const google::protobuf::RepeatedPtrField<wire::PbAlterConfig>& changes) {
  std::vector<PropertyChange> properties;
  for (const wire::PbAlterConfig& change : changes) {
    PropertyChange& property = properties.emplace_back();
    property.name = change.config_key();
    if (change.has_config_value()) property.value = change.config_value();
    property.operation = static_cast<PropertyOperation>(change.op_type());
  }
  return properties;
}

Task<Result<TablePtr>> FindTable(Node& node, TablePath path) {
  auto read = [&path](const Catalog& catalog) { return catalog.GetTable(path); };
  co_return co_await node.ReadCatalog(read);
}

Task<Result<TablePtr>> FindTable(Node& node, TableId id, std::optional<PartitionId> partition_id) {
  auto read = [=](const Catalog& catalog) -> Result<TablePtr> {
    TablePtr table = catalog.FindTable(id);
    if (table == nullptr)
      return Fail(ErrorCode::kTableNotFound, "table id is not known: table_id={}", id);
    if (partition_id) {
      const PartitionPtr partition = catalog.FindPartition(*partition_id);
      if (partition == nullptr || partition->table_id != id) {
        return Fail(ErrorCode::kPartitionNotFound,
                    "partition id is not known: table_id={} partition_id={}", id, *partition_id);
      }
    }
    return table;
  };
  co_return co_await node.ReadCatalog(read);
}

Status CheckBucketCount(int count) {
  if (static_cast<size_t>(count) <= kRequestBucketsMax) return Ok();
  return Fail(ErrorCode::kMalformedRequest, "too many buckets in one request: max={}",
              kRequestBucketsMax);
}

}  // namespace weir::fluss
