// Files. All calls block and belong on the BlockingPool, but for TryReadAt.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/base/bytes.h"
#include "weir/base/result.h"

namespace weir {

/// An open file. Reads may run beside each other and beside one writer.
class File {
 public:
  virtual ~File() = default;

  /// Fills `into` from `position`. Fewer bytes only at the end of the file. Errors: kIo.
  virtual Result<size_t> ReadAt(uint64_t position, MutableBytes into) const = 0;

  /// The same without blocking: as many bytes as are in the page cache, perhaps none; nothing if it
  /// cannot tell.
  virtual std::optional<size_t> TryReadAt(uint64_t position, MutableBytes into) const = 0;

  /// Writes all `pieces` one behind the other from `position`.
  /// Errors: kNoSpace, kIo: any part may have been written.
  virtual Status WriteAt(uint64_t position, std::span<const Bytes> pieces) = 0;

  /// Makes what was written durable. Errors: kIo: what was written since the last success may be
  /// lost, whatever a later call says, because the kernel drops the pages that it could not write.
  virtual Status Sync() = 0;

  virtual Status Truncate(uint64_t size) = 0;
  virtual Result<uint64_t> Size() const = 0;
};

/// Held until destroyed, also against other processes; the kernel releases it when the process
/// dies.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

class FileSystem {
 public:
  enum class Open { kRead, kReadWrite, kCreate /* read and write; must not exist */ };

  virtual ~FileSystem() = default;

  /// Errors: kIo, kNoSpace. A missing file is kIo as well; ask Exists first where it may be
  /// missing.
  virtual Result<std::unique_ptr<File>> OpenFile(const std::string& path, Open how) = 0;
  virtual bool Exists(const std::string& path) = 0;
  /// Names in a directory, without "." and "..", in no order.
  virtual Result<std::vector<std::string>> List(const std::string& directory) = 0;
  /// Makes a directory and its parents; it may exist.
  virtual Status MakeDirectories(const std::string& path) = 0;
  virtual Status Rename(const std::string& from, const std::string& to) = 0;
  virtual Status Remove(const std::string& path) = 0;
  virtual Status RemoveTree(const std::string& path) = 0;
  /// Makes names made, renamed or removed in a directory durable.
  virtual Status SyncDirectory(const std::string& path) = 0;
  /// Errors: kOverloaded if another process holds it.
  virtual Result<std::unique_ptr<FileLock>> Lock(const std::string& path) = 0;
  virtual Result<uint64_t> FreeBytes(const std::string& path) = 0;
};

/// The whole content of a file. Errors: kIo, kCorruptData if it is larger than `bytes_max`.
Result<std::string> ReadWholeFile(FileSystem& files, const std::string& path, size_t bytes_max);

/// Puts `content` in place of the file in one step: after a crash it is the old or the new one.
/// Durable when it returns.
Status ReplaceFile(FileSystem& files, const std::string& path, std::string_view content);

}  // namespace weir
