// Reads a journal after a stop of any kind: which slots it has, where it ends, and whether what is
// behind its end was only torn off or is damage. Changes nothing. Format: docs/formats/journal.md.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weir/base/ids.h"
#include "weir/log/data_file.h"
#include "weir/runtime/file.h"

namespace weir {

/// A batch of a writer that the scan met.
struct ScannedBatch {
  WriterId writer;
  BatchSequence sequence;
  LogOffset base;
  LogOffset end;
  Timestamp time;
};

/// A piece in a journal file; its position counts from the beginning of the file.
struct ScannedPiece {
  IndexEntry entry;
  std::vector<ScannedBatch> batches;
};

struct ScannedFile {
  /// Path below the data directory.
  std::string name;
  FileHeader header;
  /// Bytes with whole slots, the header included; what follows is an index or torn.
  uint64_t slots_end = 0;
  uint64_t size = 0;
  /// Pieces of the wanted group and epoch, in the order in which they were written.
  std::vector<ScannedPiece> pieces;
};

struct JournalScan {
  /// Files with whole slots, in order.
  std::vector<ScannedFile> files;
  /// Names of files without: they were begun, or lie behind the torn end.
  std::vector<std::string> torn_files;
  /// Bytes behind the last whole slot that are no index.
  uint64_t torn_bytes = 0;
  uint64_t slot_bytes = 0;
};

/// Walks `journal` from slot `floor` on and checks every batch.
///
/// A slot that cannot be read ends the journal. If anything behind it says that it was durable, it
/// is damaged instead: kCorruptData, with file and position. Other errors: kIo, kUnsupported.
/// Blocks. Takes memory for the pieces, and for one slot.
Result<JournalScan> ScanJournal(FileSystem& files, const std::string& data_dir, JournalId journal,
                                Slot floor, GroupId group, Epoch epoch);

}  // namespace weir
