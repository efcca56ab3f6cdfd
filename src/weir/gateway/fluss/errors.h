// The error codes of the Fluss protocol, and the one map from ours to them. Specified by "Fluss
// protocol, error codes".
#pragma once

#include <cstdint>

#include "weir/base/error.h"

namespace weir::fluss {

/// Clients decide by the code alone: R = they try again, M = they also ask for metadata anew,
/// others are final. Codes from 64 on are unknown to clients of version 0.9, which take them for
/// kUnknownServerError.
enum class FlussCode : int32_t {
  kUnknownServerError = -1,
  kUnsupportedVersion = 2,
  kCorruptMessage = 3,  // R
  kDatabaseNotExist = 4,
  kDatabaseNotEmpty = 5,
  kDatabaseAlreadyExist = 6,
  kTableNotExist = 7,
  kTableAlreadyExist = 8,
  kSchemaNotExist = 9,        // R
  kLogStorage = 10,           // R
  kNotLeaderOrFollower = 12,  // M
  kRecordTooLarge = 13,
  kCorruptRecord = 14,  // R by writers; scanners fail
  kInvalidTable = 15,
  kInvalidDatabase = 16,
  kInvalidReplicationFactor = 17,
  kInvalidRequiredAcks = 18,
  kLogOffsetOutOfRange = 19,
  kNonPrimaryKeyTable = 20,
  kUnknownTableOrBucket = 21,  // M
  kRequestTimeOut = 25,        // R
  kStorage = 26,               // R
  kOutOfOrderSequence = 31,
  kInvalidColumnProjection = 34,
  kInvalidTargetColumn = 35,
  kPartitionNotExists = 36,
  kTableNotPartitioned = 37,
  kInvalidTimestamp = 38,
  kInvalidConfig = 39,
  kLakeStorageNotConfigured = 40,
  kKvSnapshotNotExist = 41,
  kPartitionAlreadyExists = 42,
  kPartitionSpecInvalid = 43,
  kPartitionMaxNum = 45,
  kAuthenticate = 46,
  kSecurityDisabled = 47,
  kBucketMaxNum = 49,
  kLakeSnapshotNotExist = 53,
  kInvalidAlterTable = 56,
  kDeletionDisabled = 57,
  kServerNotExist = 58,
  kServerTagAlreadyExist = 59,
  kServerTagNotExist = 60,
  kNoRebalanceInProgress = 62,
  kInvalidProducerId = 63,
  kConfig = 64,
  kScannerExpired = 66,
  kUnknownScannerId = 67,
  kInvalidScanRequest = 68,
  kTooManyScanners = 69,
};

FlussCode ToFlussCode(ErrorCode code);

}  // namespace weir::fluss
