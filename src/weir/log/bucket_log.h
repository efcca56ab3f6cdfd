// The log of one bucket as the group's log knows it: its offsets, its writers, and where its
// batches lie.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "weir/log/data_file.h"
#include "weir/log/writer_table.h"

namespace weir {

/// Is told what becomes of a bucket's appends, on the group's loop and in the order of offsets. It
/// may call the group's log, and also drop the bucket.
class BucketLogListener {
 public:
  virtual ~BucketLogListener() = default;
  /// Everything below `end` is in the page cache: it survives this process.
  virtual void OnWritten(LogOffset end) = 0;
  /// Everything below `end` is as durable as its appends asked.
  virtual void OnCommitted(LogOffset end) = 0;
  /// Appends that end behind `from` may not be acknowledged. kNoSpace: they are undone, and the
  /// same batches may be appended again. kIo: what a restart finds of them is unknown.
  virtual void OnLost(LogOffset from, const Error& why) = 0;
};

/// What a sealed file has of this bucket.
struct Extent {
  std::shared_ptr<DataFile> file;
  DirectoryEntry range;
};

/// A piece in a file that is not sealed yet.
struct TailPiece {
  std::shared_ptr<DataFile> file;
  Piece piece;
};

/// Lives on the group's loop. Extents and tail together cover [start, written_end) without a hole;
/// the first of them may begin below `start`.
struct BucketLog {
  TableBucket id;
  LogOffset start;
  LogOffset written_end;
  /// What the listener was told last: all below is as durable as its appends asked.
  LogOffset committed_end;
  /// End of the last written append that asks for a sync.
  LogOffset sync_end;
  /// Next to be given to an append; above written_end while appends are under way.
  LogOffset end;
  /// Commit times never go back, since offsets are looked up by time.
  Timestamp max_timestamp;
  WriterTable writers;
  std::vector<Extent> extents;
  std::deque<TailPiece> tail;
  BucketLogListener* listener = nullptr;
  /// Dropped with its table or partition; whatever is left of it is dead.
  bool is_dropped = false;
};

}  // namespace weir
