// The data directory: who holds it, and what was decided when it was made. Layout:
// docs/formats/journal.md.
#pragma once

#include <memory>
#include <string>

#include "weir/base/result.h"
#include "weir/runtime/clock.h"
#include "weir/runtime/file.h"

namespace weir {

class DataDirectory {
 public:
  /// Makes the directory if it is missing, and takes it for this process. `groups` counts for a new
  /// one only. Blocks. Errors: kOverloaded (another server has it), kUnsupported (written by a
  /// newer version), kCorruptData, kIo.
  static Result<DataDirectory> Open(FileSystem& files, Random& random, const std::string& path,
                                    uint32_t groups);

  /// Buckets are spread over so many groups, for good.
  uint32_t groups() const { return groups_; }

 private:
  std::unique_ptr<FileLock> lock_;
  uint32_t groups_ = 0;
};

}  // namespace weir
