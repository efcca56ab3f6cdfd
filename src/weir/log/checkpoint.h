// Writes a group's manifest and the states of its buckets. Format: docs/formats/journal.md.
#pragma once

#include <string>
#include <vector>

#include "weir/log/manifest.h"
#include "weir/runtime/file.h"

namespace weir {

/// Knows which states files a manifest on the disk may name. One call at a time. Blocks.
class CheckpointWriter {
 public:
  /// `states_name`: of the states that the manifest on the disk names; empty if there is none.
  CheckpointWriter(FileSystem& files, std::string data_dir, std::string states_name);

  /// Puts `manifest` in place, with `states` in a new file that is called manifest.states. Durable
  /// when it returns; older states are removed.
  /// Errors: kIo, kNoSpace: the manifest is the old one, or perhaps the new one; what either of
  /// them names is still there, and nothing else is left.
  Status Write(const Manifest& manifest, const BucketStates& states);

 private:
  Status Put(const Manifest& manifest, const std::string& text, const BucketStates& states);
  /// Whether the file is not there now.
  bool RemoveIfThere(const std::string& path);

  FileSystem& files_;
  const std::string data_dir_;
  /// Which the manifest on the disk may name, and older ones that could not be removed.
  std::vector<std::string> states_names_;
};

}  // namespace weir
