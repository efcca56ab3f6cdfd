// Sorts and merges sealed files: decides which (pure), and copies their live batches into segments
// (blocking).
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "weir/log/data_file.h"
#include "weir/runtime/file.h"

namespace weir {

/// What is known of a sealed file when the choice is made.
struct CompactionCandidate {
  std::shared_ptr<DataFile> file;
  /// Bytes that some bucket still needs.
  uint64_t live_bytes = 0;
  /// Buckets and pieces that the file has.
  size_t buckets = 0;
  size_t pieces = 0;
};

struct CompactionLimits {
  /// Files of the lowest level wait until they have so many bytes together.
  uint64_t sort_bytes_min = 32ull << 20;
  /// So many neighbours of one level are merged.
  size_t merge_files = 8;
};

/// Which files to rewrite next: neighbours in `candidates` (which are in order of age); empty if
/// nothing is worth it.
///
/// A journal file whose buckets all have long runs stays where it lies: reading it is as good as
/// reading a segment. All others are sorted, so that a bucket's batches lie together. Merging
/// neighbours keeps the number of places low in which a bucket's log lies; it ends at kLevelMax, so
/// that no byte is rewritten more often than that. A file that is mostly dead is rewritten alone.
std::vector<size_t> PlanCompaction(const std::vector<CompactionCandidate>& candidates,
                                   const CompactionLimits& limits);

inline constexpr int kLevelMax = 2;

/// A live range of a bucket in one of the inputs.
struct LiveRange {
  std::shared_ptr<DataFile> file;
  DirectoryEntry range;
};

struct CompactionOutput {
  std::string data_dir;
  GroupId group;
  Epoch epoch;
  int level = 0;
  /// Distinguishes the names of this run's segments.
  uint64_t nonce = 0;
  /// A segment is ended at this size.
  uint64_t segment_bytes = 256ull << 20;
  /// Ends the work when it becomes true; may be null.
  const std::atomic<bool>* is_cancelled = nullptr;
};

/// Copies `ranges` (sorted by bucket, then offset) into new segments, checking every batch. Durable
/// when it returns. Blocks. Errors: kIo, kNoSpace, kCorruptData, kCancelled: nothing is left
/// behind.
Result<std::vector<OpenedFile>> WriteSegments(FileSystem& files, const CompactionOutput& output,
                                              const std::vector<LiveRange>& ranges);

}  // namespace weir
