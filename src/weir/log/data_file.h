// An open file with log data: a journal file or a segment. Shared by the pieces of the log that lie
// in it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weir/log/file_format.h"
#include "weir/runtime/file.h"

namespace weir {

struct DataFile {
  /// Path below the data directory; names the file in manifests.
  std::string name;
  FileHeader header;
  std::unique_ptr<File> file;
  /// Bytes of log data in it, dead or alive.
  uint64_t data_bytes = 0;
  /// How often its data was merged with others': 0 as written, then one more with each merge.
  int level = 0;
  /// Of a sealed file: where its entries begin.
  uint64_t entries_position = 0;
  bool is_sealed = false;
};

/// A sealed file and what is in it.
struct OpenedFile {
  std::shared_ptr<DataFile> file;
  std::vector<DirectoryEntry> directory;
  uint32_t entry_count = 0;
};

/// Opens a sealed file. Blocks. Errors: kIo, kCorruptData (not sealed, damaged), kUnsupported.
Result<OpenedFile> OpenSealedFile(FileSystem& files, const std::string& data_dir,
                                  const std::string& name);

/// Entries [first, first + count) of a sealed file. Blocks. Errors: kIo, kCorruptData.
Result<std::vector<IndexEntry>> ReadEntries(const DataFile& file, uint32_t first, uint32_t count);

}  // namespace weir
