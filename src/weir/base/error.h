// What can go wrong, by what a caller can do about it. Each gateway maps every code to its
// protocol's own.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace weir {

enum class ErrorCode {
  kInternal,          // our mistake, found before it did harm
  kIo,                // the disk failed; the message says what is lost or refused
  kNoSpace,           // the disk is full; nothing changed, try again when there is room
  kCorruptData,       // stored bytes fail their checksum or their format
  kCorruptBatch,      // received bytes fail their checksum or their format
  kMalformedRequest,  // a request that cannot be decoded
  kUnsupported,       // not offered by this server, or not in this version
  kOverloaded,        // a bound is reached; try again later
  kTimedOut,          // not done within the time that the caller gave
  kCancelled,         // the server is stopping
  kInvalidName,       // a database name that breaks the rules
  kDatabaseNotFound,
  kDatabaseExists,
  kDatabaseNotEmpty,
  kTableNotFound,
  kTableExists,
  kInvalidTable,   // a table name, descriptor or operation that breaks the rules
  kInvalidConfig,  // a table property that is unknown or has a bad value
  kInvalidAlteration,
  kInvalidReplication,
  kSchemaNotFound,
  kTooManyBuckets,
  kTooManyPartitions,
  kNotPartitioned,
  kPartitionNotFound,
  kPartitionExists,
  kInvalidPartition,  // a partition spec or value that breaks the rules
  kNotPrimaryKeyTable,
  kUnknownBucket,  // table id, partition id or bucket that this server does not have
  kInvalidAcks,
  kRecordTooLarge,
  kOutOfOrderSequence,
  kOffsetOutOfRange,
  kInvalidProjection,
  kInvalidTimestamp,
  kSnapshotNotFound,
  kLakeSnapshotNotFound,
  kLakeNotConfigured,
  kSecurityDisabled,
  kAuthenticationFailed,
  kServerNotFound,
  kServerTagExists,
  kServerTagNotFound,
  kNoRebalance,
  kInvalidProducer,
  kInvalidServerConfig,
  kInvalidScan,
  kUnknownScanner,
  kExpiredScanner,
  kTooManyScanners,
  kInvalidTargetColumn,  // a partial write that the table does not take
  kDeletionDisabled,     // the table refuses deletes
  kInvalidValue,         // a value in a row that the table cannot take or aggregate
};

/// Name of a code as it stands in logs, for example "offset out of range".
std::string_view ToString(ErrorCode code);

struct Error {
  ErrorCode code;
  /// Lower case, constant words, then key=value: what was wrong, where, and what to do.
  std::string message;
};

/// An error whose message is formatted as by fmt. Converts to any Result.
template <typename... Args>
[[nodiscard]] Error Fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Error{code, fmt::format(format, std::forward<Args>(args)...)};
}

}  // namespace weir
