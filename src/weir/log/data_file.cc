#include "weir/log/data_file.h"

#include "weir/base/buffer.h"

namespace weir {
namespace {

Error Named(Error error, const std::string& name) {
  error.message += fmt::format(": file={}", name);
  return error;
}

}  // namespace

Status MakeDirectory(FileSystem& files, const std::string& data_dir, const std::string& directory) {
  WEIR_TRY(files.MakeDirectories(data_dir + "/" + directory));
  // Each name on the way is durable only with the directory in which it stands. They may have been
  // made long ago by a process that died before it synced them.
  WEIR_TRY(files.SyncDirectory(data_dir));
  for (size_t slash = directory.find('/'); slash != std::string::npos;
       slash = directory.find('/', slash + 1)) {
    WEIR_TRY(files.SyncDirectory(data_dir + "/" + directory.substr(0, slash)));
  }
  return Ok();
}

Status ReadExactly(const DataFile& file, uint64_t position, MutableBytes into) {
  WEIR_ASSIGN(const size_t read, file.file->ReadAt(position, into));
  if (read != into.size()) {
    return Fail(ErrorCode::kCorruptData, "file is cut short: file={} position={}", file.name,
                position);
  }
  return Ok();
}

Result<FileFooter> ReadFooter(const DataFile& file, uint64_t size) {
  if (size < kFileHeaderBytes + kFileFooterBytes) {
    return Fail(ErrorCode::kCorruptData, "file is cut short: file={}", file.name);
  }
  std::byte bytes[kFileFooterBytes];
  WEIR_TRY(ReadExactly(file, size - kFileFooterBytes, bytes));
  auto footer = DecodeFileFooter(bytes);
  if (!footer.ok()) return Named(std::move(footer).error(), file.name);
  // Each part alone is checked against the size first, so that no sum of them can wrap.
  const uint64_t index_bytes = uint64_t{footer->entry_count} * kIndexEntryBytes +
                               uint64_t{footer->directory_count} * kDirectoryEntryBytes;
  if (footer->entries_position < kFileHeaderBytes || footer->entries_position > size ||
      index_bytes != size - kFileFooterBytes - footer->entries_position) {
    return Fail(ErrorCode::kCorruptData, "file footer does not fit its file: file={}", file.name);
  }
  return footer;
}

Result<OpenedFile> OpenSealedFile(FileSystem& files, const std::string& data_dir,
                                  const std::string& name) {
  OpenedFile opened;
  opened.file = std::make_shared<DataFile>();
  DataFile& file = *opened.file;
  file.name = name;
  WEIR_ASSIGN(file.file, files.OpenFile(data_dir + "/" + name, FileSystem::Open::kRead));
  WEIR_ASSIGN(const uint64_t size, file.file->Size());
  WEIR_ASSIGN(const FileFooter footer, ReadFooter(file, size));

  std::byte head[kFileHeaderBytes];
  WEIR_TRY(ReadExactly(file, 0, head));
  auto header = DecodeFileHeader(head);
  if (!header.ok()) return Named(std::move(header).error(), name);
  file.header = *header;

  Buffer bytes = Buffer::Allocate(size_t{footer.directory_count} * kDirectoryEntryBytes);
  WEIR_TRY(ReadExactly(file, size - kFileFooterBytes - bytes.size(), bytes.mutable_bytes()));
  auto directory = DecodeDirectory(bytes.bytes(), footer);
  if (!directory.ok()) return Named(std::move(directory).error(), name);
  opened.directory = *std::move(directory);
  file.entries_position = footer.entries_position;
  file.data_bytes = footer.entries_position - kFileHeaderBytes;
  return opened;
}

Result<std::vector<IndexEntry>> DecodeEntries(const DataFile& file, Bytes bytes) {
  std::vector<IndexEntry> entries;
  entries.reserve(bytes.size() / kIndexEntryBytes);
  for (; !bytes.empty(); bytes = bytes.subspan(kIndexEntryBytes)) {
    auto entry = DecodeIndexEntry(bytes.first(kIndexEntryBytes));
    if (!entry.ok()) return Named(std::move(entry).error(), file.name);
    if (entry->piece.position < kFileHeaderBytes ||
        entry->piece.position + entry->piece.bytes > file.entries_position) {
      return Fail(ErrorCode::kCorruptData, "index entry points outside of the data: file={}",
                  file.name);
    }
    entries.push_back(*std::move(entry));
  }
  return entries;
}

Result<std::vector<IndexEntry>> ReadEntries(const DataFile& file, uint32_t first, uint32_t count) {
  Buffer bytes = Buffer::Allocate(size_t{count} * kIndexEntryBytes);
  WEIR_TRY(ReadExactly(file, file.entries_position + uint64_t{first} * kIndexEntryBytes,
                       bytes.mutable_bytes()));
  return DecodeEntries(file, bytes.bytes());
}

}  // namespace weir
