#include "weir/base/error.h"

#include "weir/base/check.h"

namespace weir {

std::string_view ToString(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInternal: return "internal error";
    case ErrorCode::kIo: return "input/output error";
    case ErrorCode::kNoSpace: return "no space";
    case ErrorCode::kCorruptData: return "corrupt data";
    case ErrorCode::kCorruptBatch: return "corrupt batch";
    case ErrorCode::kMalformedRequest: return "malformed request";
    case ErrorCode::kUnsupported: return "unsupported";
    case ErrorCode::kOverloaded: return "overloaded";
    case ErrorCode::kTimedOut: return "timed out";
    case ErrorCode::kCancelled: return "cancelled";
    case ErrorCode::kInvalidName: return "invalid database name";
    case ErrorCode::kDatabaseNotFound: return "database not found";
    case ErrorCode::kDatabaseExists: return "database exists";
    case ErrorCode::kDatabaseNotEmpty: return "database not empty";
    case ErrorCode::kTableNotFound: return "table not found";
    case ErrorCode::kTableExists: return "table exists";
    case ErrorCode::kInvalidTable: return "invalid table";
    case ErrorCode::kInvalidConfig: return "invalid config";
    case ErrorCode::kInvalidAlteration: return "invalid alteration";
    case ErrorCode::kInvalidReplication: return "invalid replication factor";
    case ErrorCode::kSchemaNotFound: return "schema not found";
    case ErrorCode::kTooManyBuckets: return "too many buckets";
    case ErrorCode::kTooManyPartitions: return "too many partitions";
    case ErrorCode::kNotPartitioned: return "table not partitioned";
    case ErrorCode::kPartitionNotFound: return "partition not found";
    case ErrorCode::kPartitionExists: return "partition exists";
    case ErrorCode::kInvalidPartition: return "invalid partition";
    case ErrorCode::kNotPrimaryKeyTable: return "not a primary-key table";
    case ErrorCode::kUnknownBucket: return "unknown table or bucket";
    case ErrorCode::kInvalidAcks: return "invalid acks";
    case ErrorCode::kRecordTooLarge: return "record too large";
    case ErrorCode::kOutOfOrderSequence: return "out of order sequence";
    case ErrorCode::kOffsetOutOfRange: return "offset out of range";
    case ErrorCode::kInvalidProjection: return "invalid projection";
    case ErrorCode::kInvalidTimestamp: return "invalid timestamp";
    case ErrorCode::kSnapshotNotFound: return "kv snapshot not found";
    case ErrorCode::kLakeSnapshotNotFound: return "lake snapshot not found";
    case ErrorCode::kLakeNotConfigured: return "lake not configured";
    case ErrorCode::kSecurityDisabled: return "security disabled";
    case ErrorCode::kAuthenticationFailed: return "authentication failed";
    case ErrorCode::kServerNotFound: return "server not found";
    case ErrorCode::kServerTagExists: return "server tag exists";
    case ErrorCode::kServerTagNotFound: return "server tag not found";
    case ErrorCode::kNoRebalance: return "no rebalance in progress";
    case ErrorCode::kInvalidProducer: return "invalid producer id";
    case ErrorCode::kInvalidServerConfig: return "invalid server config";
    case ErrorCode::kInvalidScan: return "invalid scan request";
    case ErrorCode::kUnknownScanner: return "unknown scanner";
    case ErrorCode::kExpiredScanner: return "expired scanner";
    case ErrorCode::kTooManyScanners: return "too many scanners";
    case ErrorCode::kInvalidTargetColumn: return "invalid target column";
    case ErrorCode::kDeletionDisabled: return "deletion disabled";
    case ErrorCode::kInvalidValue: return "invalid value";
  }
  WEIR_UNREACHABLE();
}

}  // namespace weir
