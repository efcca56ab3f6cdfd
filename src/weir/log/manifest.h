// The manifest of a group: who owns it, which files its log consists of, and from which slot of the
// owner's journal on more may be found. It is a checkpoint of what the files say themselves.
// Format: docs/formats/journal.md.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "weir/log/file_format.h"
#include "weir/log/writer_table.h"
#include "weir/runtime/file.h"

namespace weir {

struct ManifestFile {
  std::string name;
  int level = 0;
};

struct Manifest {
  GroupId group;
  /// Raised whenever the group is taken, also by a restart.
  Epoch epoch{0};
  /// The journal that is written for this group under this epoch.
  JournalId owner;
  /// Slots of the owner's journal below this one are in `files`.
  Slot floor{0};
  /// Sealed files, oldest first.
  std::vector<ManifestFile> files;
  /// Name of the file with the buckets' states, below the data directory.
  std::string states;
};

/// What the files alone do not say about a bucket. A bucket without a state was dropped, or made
/// since; what sealed files have of it is dead.
struct BucketState {
  LogOffset start;
  /// Everything below was durable when the manifest was written: if it is not found, data is lost.
  LogOffset end;
  Timestamp max_timestamp;
  WriterTable writers;
};
using BucketStates = std::map<TableBucket, BucketState>;

std::string ManifestPath(const std::string& data_dir, GroupId group);

/// JSON, and a line with its checksum.
std::string EncodeManifest(const Manifest& manifest);
/// Errors: kCorruptData; kUnsupported if a newer version wrote it.
Result<Manifest> DecodeManifest(std::string_view text);

std::string EncodeBucketStates(const BucketStates& states);
/// Errors: kCorruptData.
Result<BucketStates> DecodeBucketStates(std::string_view bytes);

}  // namespace weir
