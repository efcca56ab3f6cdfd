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
  /// Bytes between the header and the index: log data, dead or alive, and the frames of slots.
  uint64_t data_bytes = 0;
  /// How often its data was merged with others': 0 as written, then one more with each merge.
  int level = 0;
  /// Of a sealed file: where its entries begin.
  uint64_t entries_position = 0;
  /// Damage was found when it was to be rewritten. It stays as it is, and so do its good parts.
  bool is_damaged = false;
};

/// A sealed file and what is in it.
struct OpenedFile {
  std::shared_ptr<DataFile> file;
  std::vector<DirectoryEntry> directory;
};

/// Opens a sealed file. Blocks. Errors: kIo, kCorruptData (not sealed, damaged), kUnsupported.
/// Allocates no more than the file has bytes.
Result<OpenedFile> OpenSealedFile(FileSystem& files, const std::string& data_dir,
                                  const std::string& name);

/// Makes `directory`, a path below the data directory, such that it survives a power loss. Blocks.
/// Errors: kIo, kNoSpace.
Status MakeDirectory(FileSystem& files, const std::string& data_dir, const std::string& directory);

/// Fills `into`. Blocks. Errors: kIo; kCorruptData if the file ends before.
Status ReadExactly(const DataFile& file, uint64_t position, MutableBytes into);

/// The footer of a file of `size` bytes; it fits the file. Blocks. Errors: kIo, kCorruptData.
Result<FileFooter> ReadFooter(const DataFile& file, uint64_t size);

/// Entries of a sealed file, of which `bytes` are some. Errors: kCorruptData.
Result<std::vector<IndexEntry>> DecodeEntries(const DataFile& file, Bytes bytes);

/// Entries [first, first + count) of a sealed file. Blocks. Errors: kIo, kCorruptData.
Result<std::vector<IndexEntry>> ReadEntries(const DataFile& file, uint32_t first, uint32_t count);

}  // namespace weir
