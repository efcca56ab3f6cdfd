#include "weir/gateway/fluss/lookups.h"

namespace weir::fluss {

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

Error WhyNoRows(const TableInfo* table, const PartitionInfo* partition, const TableBucket& bucket) {
  const bool is_there =
      table != nullptr && table->is_partitioned() == bucket.partition_id.has_value() &&
      (!bucket.partition_id || (partition != nullptr && partition->table_id == table->id)) &&
      bucket.bucket_id >= 0 && bucket.bucket_id < table->bucket_count();
  if (!is_there) return Fail(ErrorCode::kUnknownBucket, "bucket is not known: bucket={}", bucket);
  if (!table->is_primary_key_table()) {
    return Fail(ErrorCode::kNotPrimaryKeyTable, "table has no primary key: table={}", table->path);
  }
  return PrimaryKeyDataNotServed();
}

Task<std::vector<Error>> WhyNoRows(Node& node, std::vector<TableBucket> buckets) {
  auto read = [&buckets](const Catalog& catalog) {
    std::vector<Error> reasons;
    reasons.reserve(buckets.size());
    for (const TableBucket& bucket : buckets) {
      const TablePtr table = catalog.FindTable(bucket.table_id);
      const PartitionPtr partition =
          bucket.partition_id ? catalog.FindPartition(*bucket.partition_id) : nullptr;
      reasons.push_back(WhyNoRows(table.get(), partition.get(), bucket));
    }
    return reasons;
  };
  co_return co_await node.ReadCatalog(read);
}

Error PrimaryKeyDataNotServed() {
  return Fail(ErrorCode::kUnsupported,
              "this version does not serve the data of primary-key tables");
}

Status CheckBucketCount(int count) {
  if (static_cast<size_t>(count) <= kRequestBucketsMax) return Ok();
  return Fail(ErrorCode::kMalformedRequest, "too many buckets in one request: max={}",
              kRequestBucketsMax);
}

}  // namespace weir::fluss
