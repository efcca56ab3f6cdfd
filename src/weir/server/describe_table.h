// What buckets are told of their table.
#pragma once

#include <memory>

#include "weir/bucket/bucket_table.h"
#include "weir/catalog/entities.h"

namespace weir {

/// `sync_by_default` is what acks=all waits for where the table does not say.
std::shared_ptr<const BucketTable> DescribeTable(const TableInfo& table, bool sync_by_default);

}  // namespace weir
