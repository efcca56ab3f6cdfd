// The rules about the properties of tables, and what a new table gets that was not given
// (docs/tables.md).
#pragma once

#include <cstdint>

#include "weir/base/result.h"
#include "weir/record/table_descriptor.h"

namespace weir {

/// Buckets of all partitions of a table together (Fluss max.bucket.num).
inline constexpr int32_t kPartitionedBucketsMax = 4096;

/// Adds the properties that a new table gets if they are not given: `table.replication.factor`, and
/// what depends on the kind of table. Clients see them.
void FillDefaultProperties(TableDescriptor& table);

/// Whether a table may be so, by all rules about properties. Errors: kInvalidConfig, kInvalidTable,
/// kInvalidReplication, kTooManyBuckets.
Status CheckProperties(const TableDescriptor& table);

}  // namespace weir
