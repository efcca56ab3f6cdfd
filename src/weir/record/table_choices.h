// What the properties of a table choose between. For readers: docs/tables.md.
#pragma once

#include <cstdint>

namespace weir {

/// How the records of the log are encoded (table.log.format).
enum class LogFormat : uint8_t { kArrow, kIndexed, kCompacted };

/// How the rows of a primary-key table are encoded (table.kv.format).
enum class KvFormat : uint8_t { kCompacted, kIndexed };

/// The lake that the data may move to. It decides how keys are encoded and hashed, so that a row
/// has the same bucket in both (table.datalake.format).
enum class LakeFormat : uint8_t { kPaimon, kIceberg, kLance, kHudi };

/// What becomes of a row when another one is written over it (table.merge-engine).
enum class MergeEngine : uint8_t { kNone, kFirstRow, kVersioned, kAggregation, kPartialUpdate };

/// What becomes of deletes (table.delete.behavior).
enum class DeleteBehavior : uint8_t { kAllow, kIgnore, kDisable };

/// Whether the changelog tells the row before a change, too (table.changelog.image).
enum class ChangelogImage : uint8_t { kFull, kWal };

}  // namespace weir
