// Finds out what a group's log consists of after a stop of any kind. Format:
// docs/formats/journal.md.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "weir/log/bucket_log.h"
#include "weir/log/manifest.h"
#include "weir/runtime/file.h"

namespace weir {

struct RecoveredGroup {
  /// As it was found; of epoch 0 and without files if there was none.
  Manifest manifest;
  std::map<TableBucket, std::shared_ptr<BucketLog>> buckets;
  /// Sealed files, oldest first, those just recovered at the end.
  std::vector<std::shared_ptr<DataFile>> files;
  uint64_t replayed_bytes = 0;
  /// Bytes behind the last whole slot; they were never acknowledged.
  uint64_t cut_bytes = 0;
};

/// Reads the manifest and the files that it names (their directories only), then walks the owner's
/// journal from the floor to its end: checks every batch, cuts a torn tail, seals the files that
/// are not in the manifest and makes them durable. Files that nothing names any more are removed.
/// Interrupted anywhere, it finds the same when it runs again. Blocks.
///
/// A bucket that was dropped shortly before the stop may be found again, whole.
///
/// Errors: kCorruptData: a file is missing, or damaged where it was known to be durable; nothing
/// was changed. kIo, kNoSpace. kUnsupported: a newer version wrote it.
Result<RecoveredGroup> RecoverGroup(FileSystem& files, const std::string& data_dir, GroupId group);

/// Removes journal files that no group names any more, and empty journal directories: a process
/// died between giving a file up and removing it. `named` has the names of all groups' recovered
/// files. To be called before anything is appended. Blocks. Failures are only logged.
void RemoveUnnamedJournals(FileSystem& files, const std::string& data_dir,
                           const std::set<std::string>& named);

}  // namespace weir
