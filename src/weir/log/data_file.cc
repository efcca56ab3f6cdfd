#include "weir/log/data_file.h"

#include "weir/base/buffer.h"
#include "weir/base/crc32c.h"

namespace weir {
namespace {

Error Named(Error error, const std::string& name) {
  error.message += fmt::format(": file={}", name);
  return error;
}

}  // namespace

Result<OpenedFile> OpenSealedFile(FileSystem& files, const std::string& data_dir,
                                  const std::string& name) {
  OpenedFile opened;
  opened.file = std::make_shared<DataFile>();
  DataFile& file = *opened.file;
  file.name = name;
  WEIR_ASSIGN(file.file, files.OpenFile(data_dir + "/" + name, FileSystem::Open::kRead));
  WEIR_ASSIGN(const uint64_t size, file.file->Size());
  if (size < kFileHeaderBytes + kFileFooterBytes)
    return Fail(ErrorCode::kCorruptData, "file is cut short: file={}", name);

  std::byte head[kFileHeaderBytes];
  WEIR_TRY(file.file->ReadAt(0, head));
  auto header = DecodeFileHeader(head);
  if (!header.ok()) return Named(std::move(header).error(), name);
  file.header = *header;

  std::byte foot[kFileFooterBytes];
  WEIR_TRY(file.file->ReadAt(size - kFileFooterBytes, foot));
  auto footer = DecodeFileFooter(foot);
  if (!footer.ok()) return Named(std::move(footer).error(), name);
  const uint64_t entries_bytes = uint64_t{footer->entry_count} * kIndexEntryBytes;
  const uint64_t directory_bytes = uint64_t{footer->directory_count} * kDirectoryEntryBytes;
  if (footer->entries_position < kFileHeaderBytes ||
      footer->entries_position + entries_bytes + directory_bytes + kFileFooterBytes != size) {
    return Fail(ErrorCode::kCorruptData, "file footer does not fit its file: file={}", name);
  }
  Buffer bytes = Buffer::Allocate(directory_bytes);
  WEIR_TRY(file.file->ReadAt(footer->entries_position + entries_bytes, bytes.mutable_bytes()));
  auto directory = DecodeDirectory(bytes.bytes(), *footer);
  if (!directory.ok()) return Named(std::move(directory).error(), name);
  opened.directory = *std::move(directory);
  opened.entry_count = footer->entry_count;
  for (const DirectoryEntry& range : opened.directory) file.data_bytes += range.bytes;
  file.entries_position = footer->entries_position;
  file.is_sealed = true;
  return opened;
}

Result<std::vector<IndexEntry>> ReadEntries(const DataFile& file, uint32_t first, uint32_t count) {
  Buffer bytes = Buffer::Allocate(size_t{count} * kIndexEntryBytes);
  WEIR_ASSIGN(const size_t read,
              file.file->ReadAt(file.entries_position + uint64_t{first} * kIndexEntryBytes,
                                bytes.mutable_bytes()));
  if (read != bytes.size())
    return Fail(ErrorCode::kCorruptData, "file index is cut short: file={}", file.name);
  std::vector<IndexEntry> entries;
  entries.reserve(count);
  for (uint32_t i = 0; i < count; ++i)
    entries.push_back(DecodeIndexEntry(bytes.data() + i * kIndexEntryBytes));
  return entries;
}

}  // namespace weir
