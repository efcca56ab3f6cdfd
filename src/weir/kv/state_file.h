// The file STATE of a state's directory: up to where the changelog is in the tables beside it.
// Format: docs/formats/kv_state.md.
#pragma once

#include <string>

#include "weir/base/bytes.h"
#include "weir/base/result.h"
#include "weir/kv/hot_map.h"

namespace weir {

struct StateFile {
  KvCheckpoint checkpoint;
  /// Whether there is a database.
  bool has_tables = false;
};

inline constexpr size_t kStateFileBytes = 40;

std::string EncodeStateFile(const StateFile& state);
/// Errors: kCorruptData.
Result<StateFile> DecodeStateFile(Bytes bytes);

}  // namespace weir
