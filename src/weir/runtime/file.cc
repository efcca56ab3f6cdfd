#include "weir/runtime/file.h"

namespace weir {

Result<std::string> ReadWholeFile(FileSystem& files, const std::string& path, size_t bytes_max) {
  WEIR_ASSIGN(const std::unique_ptr<File> file, files.OpenFile(path, FileSystem::Open::kRead));
  WEIR_ASSIGN(const uint64_t size, file->Size());
  if (size > bytes_max) {
    return Fail(ErrorCode::kCorruptData,
                "file is larger than it can be: path={} bytes={} bytes_max={}", path, size,
                bytes_max);
  }
  std::string content(size, '\0');
  WEIR_ASSIGN(const size_t read,
              file->ReadAt(0, {reinterpret_cast<std::byte*>(content.data()), content.size()}));
  content.resize(read);
  return content;
}

Status ReplaceFile(FileSystem& files, const std::string& path, std::string_view content) {
  const std::string next = path + ".next";
  if (files.Exists(next)) WEIR_TRY(files.Remove(next));  // of a process that died here
  {
    WEIR_ASSIGN(const std::unique_ptr<File> file, files.OpenFile(next, FileSystem::Open::kCreate));
    const Bytes all = AsBytes(content);
    WEIR_TRY(file->WriteAt(0, {&all, 1}));
    WEIR_TRY(file->Sync());
  }
  WEIR_TRY(files.Rename(next, path));
  const size_t slash = path.rfind('/');
  return files.SyncDirectory(slash == std::string::npos ? "." : path.substr(0, slash));
}

}  // namespace weir
