// Names of partitions: the values of the partition key as text, joined by `$`. Specified in
// docs/tables.md (Fluss protocol, partition spec and partition values).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/bytes.h"
#include "weir/base/result.h"

namespace weir {

/// Columns of the partition key with their values, in any order.
using PartitionSpec = std::vector<std::pair<std::string, std::string>>;

inline constexpr char kPartitionValueSeparator = '$';
inline constexpr size_t kPartitionValueCharactersMax = 200;

/// Whether `value` may stand in the name of a partition: 1 to 200 letters, digits, `_` and `-` of
/// ASCII. Those that begin with `__` are kept for the server. Errors: kInvalidPartition.
Status CheckPartitionValue(std::string_view value);

/// The values of `spec` in the order of `keys`. Errors: kInvalidPartition if it does not name each
/// key exactly once.
Result<std::vector<std::string>> OrderPartitionValues(const PartitionSpec& spec,
                                                      const std::vector<std::string>& keys);

std::string JoinPartitionValues(const std::vector<std::string>& values);

/// The values that `name` was joined of. They stay in `name`.
std::vector<std::string_view> SplitPartitionName(std::string_view name);

/// A typed value as text, such as clients make it of a row. Of other types: CHAR and STRING are
/// text already, integers are decimal, a BOOLEAN is `true` or `false`.
std::string PartitionValueOfBytes(Bytes value);
std::string PartitionValueOfFloat(float value);
std::string PartitionValueOfDouble(double value);
/// Days since 1970-01-01.
std::string PartitionValueOfDate(int32_t days);
/// Milliseconds since midnight.
std::string PartitionValueOfTime(int32_t millis);
/// Milliseconds since 1970-01-01 and nanoseconds since that millisecond; both kinds of TIMESTAMP.
std::string PartitionValueOfTimestamp(int64_t millis, int32_t nanos_of_milli);

}  // namespace weir
