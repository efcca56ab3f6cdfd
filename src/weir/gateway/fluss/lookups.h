// What many handlers ask or translate: paths, partition specs, and whether a table is there and of
// which kind.
#pragma once

#include <optional>

#include "weir/gateway/fluss/handlers.h"
#include "weir/gateway/fluss/produce_codec.h"

namespace weir::fluss {

inline TablePath ToPath(const wire::PbTablePath& path) {
  return {path.database_name(), path.table_name()};
}

inline PartitionSpec ToSpec(const wire::PbPartitionSpec& spec) {
  PartitionSpec values;
  for (const wire::PbKeyValue& value : spec.partition_key_values())
    values.emplace_back(value.key(), value.value());
  return values;
}

/// A partition id that is 0 is one; a table that is not partitioned has none.
template <typename Message>
std::optional<PartitionId> PartitionOf(const Message& message) {
  if (!message.has_partition_id()) return std::nullopt;
  return PartitionId(message.partition_id());
}

std::vector<PropertyChange> ToPropertyChanges(
    const google::protobuf::RepeatedPtrField<wire::PbAlterConfig>& changes);

/// Errors: kTableNotFound.
Task<Result<TablePtr>> FindTable(Node& node, TablePath path);

/// A table by its id, and a partition of it if one is named. Errors: kTableNotFound;
/// kPartitionNotFound: the partition is not there or not the table's, or the table is not
/// partitioned.
Task<Result<TablePtr>> FindTable(Node& node, TableId id,
                                 std::optional<PartitionId> partition_id = std::nullopt);

/// Nothing if there is no such level.
std::optional<Acks> ToAcks(int32_t acks);

/// How long a write waits for its acknowledgement at most.
Duration WriteTimeout(int32_t timeout_ms);

/// Errors: kMalformedRequest if a request names more than kRequestBucketsMax.
Status CheckBucketCount(int count);

}  // namespace weir::fluss
