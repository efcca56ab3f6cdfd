// Metadata: who serves what. Clients ask for it in tight loops, so it is one read of the catalog in
// memory.
#include "weir/gateway/fluss/handlers.h"
#include "weir/gateway/fluss/lookups.h"

namespace weir::fluss {
namespace {

/// A request may name one table many times, and a descriptor may be large.
constexpr size_t kMetadataBytesMax = 256u << 20;

class MetadataReader {
 public:
  MetadataReader(const Catalog& catalog, wire::MetadataResponse& response)
      : catalog_(catalog), response_(response) {}

  Status AddTable(const TablePath& path) {
    WEIR_ASSIGN(const TablePtr table, catalog_.GetTable(path));
    WEIR_TRY(Account(*table, table->descriptor_json.size()));
    wire::PbTableMetadata& metadata = *response_.add_table_metadata();
    metadata.mutable_table_path()->set_database_name(path.database);
    metadata.mutable_table_path()->set_table_name(path.table);
    metadata.set_table_id(table->id.value);
    metadata.set_schema_id(table->schema_id().value);
    metadata.set_table_json(table->descriptor_json);
    metadata.set_created_time(table->created.value);
    metadata.set_modified_time(table->modified.value);
    // Clients would take buckets of a partitioned table for the table's own.
    if (!table->is_partitioned()) AddBuckets(*table, *metadata.mutable_bucket_metadata());
    return Ok();
  }

  Status AddPartition(const PartitionInfo& partition) {
    const TablePtr table = catalog_.FindTable(partition.table_id);
    WEIR_CHECK(table != nullptr);
    WEIR_TRY(Account(*table, 0));
    wire::PbPartitionMetadata& metadata = *response_.add_partition_metadata();
    metadata.set_table_id(partition.table_id.value);
    metadata.set_partition_name(partition.name);
    metadata.set_partition_id(partition.id.value);
    AddBuckets(*table, *metadata.mutable_bucket_metadata());
    return Ok();
  }

 private:
  Status Account(const TableInfo& table, size_t more) {
    // As objects in memory.
    constexpr size_t kEntryBytes = 256;
    constexpr size_t kBucketBytes = 96;
    bytes_ += kEntryBytes + more + static_cast<size_t>(table.bucket_count()) * kBucketBytes;
    if (bytes_ <= kMetadataBytesMax) return Ok();
    return Fail(ErrorCode::kMalformedRequest,
                "too much metadata in one request: ask for fewer tables at a time");
  }

  static void AddBuckets(const TableInfo& table,
                         google::protobuf::RepeatedPtrField<wire::PbBucketMetadata>& buckets) {
    buckets.Reserve(table.bucket_count());
    for (int32_t i = 0; i < table.bucket_count(); ++i) {
      wire::PbBucketMetadata& bucket = *buckets.Add();
      bucket.set_bucket_id(i);
      bucket.set_leader_id(kTabletServerId);
      bucket.add_replica_id(kTabletServerId);
      bucket.set_leader_epoch(0);
    }
  }

  const Catalog& catalog_;
  wire::MetadataResponse& response_;
  size_t bytes_ = 0;
};

void SetNode(wire::PbServerNode& node, int32_t id, const FlussListenerConfig& listener) {
  node.set_node_id(id);
  node.set_host(listener.advertised_host);
  node.set_port(listener.advertised_port);
}

}  // namespace

Answer<wire::MetadataResponse> GetMetadata(const RequestContext& context,
                                           wire::MetadataRequest request) {
  wire::MetadataResponse response;
  SetNode(*response.mutable_coordinator_server(), kCoordinatorId, context.session.listener);
  SetNode(*response.add_tablet_servers(), kTabletServerId, context.session.listener);
  // Nothing but what was asked for: clients cannot take a partition of a table that they do not
  // know.
  auto read = [&](const Catalog& catalog) -> Status {
    MetadataReader reader(catalog, response);
    for (const wire::PbTablePath& path : request.table_path())
      WEIR_TRY(reader.AddTable(ToPath(path)));
    for (const wire::PbPhysicalTablePath& path : request.partitions_path()) {
      const TablePath table{path.database_name(), path.table_name()};
      WEIR_ASSIGN(const PartitionPtr partition, catalog.GetPartition(table, path.partition_name()));
      WEIR_TRY(reader.AddPartition(*partition));
    }
    for (const int64_t id : request.partitions_id()) {
      const PartitionPtr partition = catalog.FindPartition(PartitionId(id));
      if (partition == nullptr) {
        return Fail(ErrorCode::kPartitionNotFound, "partition id is not known: partition_id={}",
                    id);
      }
      WEIR_TRY(reader.AddPartition(*partition));
    }
    return Ok();
  };
  WEIR_CO_TRY(co_await context.node().ReadCatalog(read));
  co_return response;
}

}  // namespace weir::fluss
