// Tells who runs the server of rows that cannot be read or written.
#pragma once

#include <string_view>
#include <utility>

#include "weir/base/ids.h"
#include "weir/base/log.h"
#include "weir/base/result.h"

namespace weir {

/// The client hears of a damaged or failing disk, and so does who runs the server.
template <typename T>
Result<T> LogDamage(Result<T> result, const TableBucket& bucket, std::string_view operation) {
  if (!result.ok() &&
      (result.error().code == ErrorCode::kCorruptData || result.error().code == ErrorCode::kIo)) {
    LogError("server", "rows cannot be read or written: operation={} bucket={} reason={}",
             operation, bucket, result.error().message);
  }
  return result;
}

}  // namespace weir
