// Partitions.
#include "weir/gateway/fluss/handlers.h"
#include "weir/gateway/fluss/lookups.h"

namespace weir::fluss {

Answer<wire::CreatePartitionResponse> CreatePartition(const RequestContext& context,
                                                      wire::CreatePartitionRequest request) {
  // The field's name says the opposite of what clients mean by it.
  const bool ignore_if_exists = request.ignore_if_not_exists();
  WEIR_CO_TRY(co_await context.node().CreatePartition(
      ToPath(request.table_path()), ToSpec(request.partition_spec()), ignore_if_exists));
  co_return wire::CreatePartitionResponse();
}

Answer<wire::DropPartitionResponse> DropPartition(const RequestContext& context,
                                                  wire::DropPartitionRequest request) {
  WEIR_CO_TRY(co_await context.node().DropPartition(ToPath(request.table_path()),
                                                    ToSpec(request.partition_spec()),
                                                    request.ignore_if_not_exists()));
  co_return wire::DropPartitionResponse();
}

Answer<wire::ListPartitionInfosResponse> ListPartitionInfos(
    const RequestContext& context, wire::ListPartitionInfosRequest request) {
  const TablePath path = ToPath(request.table_path());
  const PartitionSpec filter = ToSpec(request.partial_partition_spec());
  wire::ListPartitionInfosResponse response;
  auto read = [&](const Catalog& catalog) -> Status {
    WEIR_ASSIGN(const std::vector<PartitionPtr> partitions, catalog.ListPartitions(path, filter));
    const std::vector<std::string> keys = catalog.FindTable(path)->descriptor.PartitionKeyNames();
    for (const PartitionPtr& partition : partitions) {
      wire::PbPartitionInfo& info = *response.add_partitions_info();
      info.set_partition_id(partition->id.value);
      const std::vector<std::string_view> values = SplitPartitionName(partition->name);
      WEIR_CHECK(values.size() == keys.size());
      for (size_t i = 0; i < keys.size(); ++i) {
        wire::PbKeyValue& value = *info.mutable_partition_spec()->add_partition_key_values();
        value.set_key(keys[i]);
        value.set_value(std::string(values[i]));
      }
    }
    return Ok();
  };
  WEIR_CO_TRY(co_await context.node().ReadCatalog(read));
  co_return response;
}

}  // namespace weir::fluss
