#include "weir/gateway/fluss/errors.h"

#include "weir/base/check.h"

namespace weir::fluss {

FlussCode ToFlussCode(ErrorCode code) {
  switch (code) {  // no default: -Wswitch names the code that has no wire form yet
    case ErrorCode::kInternal: return FlussCode::kUnknownServerError;
    // Clients try both again without an end, and a writer loses nothing; the server's log says what
    // is wrong.
    case ErrorCode::kIo: return FlussCode::kLogStorage;
    case ErrorCode::kNoSpace: return FlussCode::kLogStorage;
    // A scanner must not spin over a damaged log in silence: this code makes its poll fail.
    case ErrorCode::kCorruptData: return FlussCode::kCorruptRecord;
    case ErrorCode::kCorruptBatch: return FlussCode::kCorruptRecord;
    case ErrorCode::kMalformedRequest: return FlussCode::kCorruptMessage;
    case ErrorCode::kUnsupported: return FlussCode::kUnsupportedVersion;
    // Tried again by writers and scanners alike, without asking for metadata.
    case ErrorCode::kOverloaded: return FlussCode::kStorage;
    case ErrorCode::kTimedOut: return FlussCode::kRequestTimeOut;
    // A server that stops leads nothing any more: clients look for the one that comes after it.
    case ErrorCode::kCancelled: return FlussCode::kNotLeaderOrFollower;
    case ErrorCode::kInvalidName: return FlussCode::kInvalidDatabase;
    case ErrorCode::kDatabaseNotFound: return FlussCode::kDatabaseNotExist;
    case ErrorCode::kDatabaseExists: return FlussCode::kDatabaseAlreadyExist;
    case ErrorCode::kDatabaseNotEmpty: return FlussCode::kDatabaseNotEmpty;
    case ErrorCode::kTableNotFound: return FlussCode::kTableNotExist;
    case ErrorCode::kTableExists: return FlussCode::kTableAlreadyExist;
    case ErrorCode::kInvalidTable: return FlussCode::kInvalidTable;
    case ErrorCode::kInvalidConfig: return FlussCode::kInvalidConfig;
    case ErrorCode::kInvalidAlteration: return FlussCode::kInvalidAlterTable;
    case ErrorCode::kInvalidReplication: return FlussCode::kInvalidReplicationFactor;
    case ErrorCode::kSchemaNotFound: return FlussCode::kSchemaNotExist;
    case ErrorCode::kTooManyBuckets: return FlussCode::kBucketMaxNum;
    case ErrorCode::kTooManyPartitions: return FlussCode::kPartitionMaxNum;
    case ErrorCode::kNotPartitioned: return FlussCode::kTableNotPartitioned;
    case ErrorCode::kPartitionNotFound: return FlussCode::kPartitionNotExists;
    case ErrorCode::kPartitionExists: return FlussCode::kPartitionAlreadyExists;
    case ErrorCode::kInvalidPartition: return FlussCode::kPartitionSpecInvalid;
    case ErrorCode::kNotPrimaryKeyTable: return FlussCode::kNonPrimaryKeyTable;
    case ErrorCode::kUnknownBucket: return FlussCode::kUnknownTableOrBucket;
    case ErrorCode::kInvalidAcks: return FlussCode::kInvalidRequiredAcks;
    case ErrorCode::kRecordTooLarge: return FlussCode::kRecordTooLarge;
    case ErrorCode::kOutOfOrderSequence: return FlussCode::kOutOfOrderSequence;
    case ErrorCode::kOffsetOutOfRange: return FlussCode::kLogOffsetOutOfRange;
    case ErrorCode::kInvalidProjection: return FlussCode::kInvalidColumnProjection;
    case ErrorCode::kInvalidTimestamp: return FlussCode::kInvalidTimestamp;
    case ErrorCode::kSnapshotNotFound: return FlussCode::kKvSnapshotNotExist;
    case ErrorCode::kLakeSnapshotNotFound: return FlussCode::kLakeSnapshotNotExist;
    case ErrorCode::kLakeNotConfigured: return FlussCode::kLakeStorageNotConfigured;
    case ErrorCode::kSecurityDisabled: return FlussCode::kSecurityDisabled;
    case ErrorCode::kAuthenticationFailed: return FlussCode::kAuthenticate;
    case ErrorCode::kServerNotFound: return FlussCode::kServerNotExist;
    case ErrorCode::kServerTagExists: return FlussCode::kServerTagAlreadyExist;
    case ErrorCode::kServerTagNotFound: return FlussCode::kServerTagNotExist;
    case ErrorCode::kNoRebalance: return FlussCode::kNoRebalanceInProgress;
    case ErrorCode::kInvalidProducer: return FlussCode::kInvalidProducerId;
    case ErrorCode::kInvalidTargetColumn: return FlussCode::kInvalidTargetColumn;
    case ErrorCode::kDeletionDisabled: return FlussCode::kDeletionDisabled;
    // No code says so, and this one is final: a writer that tried again would never end.
    case ErrorCode::kInvalidValue: return FlussCode::kUnknownServerError;
    // Those below answer requests that clients of version 0.9 do not make, or make only as tools.
    case ErrorCode::kInvalidServerConfig: return FlussCode::kConfig;
    case ErrorCode::kInvalidScan: return FlussCode::kInvalidScanRequest;
    case ErrorCode::kUnknownScanner: return FlussCode::kUnknownScannerId;
    case ErrorCode::kExpiredScanner: return FlussCode::kScannerExpired;
    case ErrorCode::kTooManyScanners: return FlussCode::kTooManyScanners;
  }
  WEIR_UNREACHABLE();
}

}  // namespace weir::fluss
