// What the source files of KvState share.
#pragma once

#include <string>

#include "weir/base/error.h"
#include "weir/base/result.h"
#include "weir/kv/kv_state.h"
#include "weir/runtime/file.h"

namespace weir {

// A directory of a state; see docs/formats/kv_state.md.
inline std::string StatePath(const std::string& directory) {
  return directory + "/STATE";
}
inline std::string DbPath(const std::string& directory) {
  return directory + "/db";
}
inline std::string NextTablePath(const std::string& directory) {
  return directory + "/next.sst";
}

inline Error Stopped() {
  return Fail(ErrorCode::kCancelled, "the state is stopped");
}

/// Makes a directory and its parents, so that they are there after a loss of power.
Status MakeDurableDirectories(FileSystem& files, const std::string& path);

/// A read of the disk that is under way; see KvState::reads_.
struct KvState::ReadMark {
  explicit ReadMark(KvState& state) : state(state), from(state.flushed_offset()) {
    ++state.reads_[from];
  }
  ReadMark(const ReadMark&) = delete;
  ReadMark& operator=(const ReadMark&) = delete;
  ~ReadMark() {
    const auto at = state.reads_.find(from);
    if (--at->second == 0) state.reads_.erase(at);
  }

  KvState& state;
  const LogOffset from;
};

}  // namespace weir
