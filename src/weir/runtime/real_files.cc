#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "weir/runtime/file.h"
#include "weir/runtime/real_world.h"

namespace weir {
namespace {

Error FileError(int error, const char* what, const std::string& path) {
  const ErrorCode code =
      error == ENOSPC || error == EDQUOT || error == EFBIG ? ErrorCode::kNoSpace : ErrorCode::kIo;
  return Fail(code, "cannot {}: path={} reason={}", what, path, std::strerror(error));
}

class RealFile final : public File {
 public:
  RealFile(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  ~RealFile() override { ::close(descriptor_); }

  Result<size_t> ReadAt(uint64_t position, MutableBytes into) const override {
    size_t done = 0;
    while (done < into.size()) {
      const ssize_t n = ::pread(descriptor_, into.data() + done, into.size() - done,
                                static_cast<off_t>(position + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return FileError(errno, "read", path_);
      if (n == 0) break;
      done += static_cast<size_t>(n);
    }
    return done;
  }

  std::optional<size_t> TryReadAt(uint64_t position, MutableBytes into) const override {
    const iovec piece{into.data(), into.size()};
    const ssize_t n = ::preadv2(descriptor_, &piece, 1, static_cast<off_t>(position), RWF_NOWAIT);
    if (n < 0) return std::nullopt;  // EAGAIN, or a file system that cannot do it
    return static_cast<size_t>(n);
  }

  Status WriteAt(uint64_t position, std::span<const Bytes> pieces) override {
    iovec batch[256];
    size_t next = 0;       // first piece that is not written whole
    size_t into_next = 0;  // bytes of it that are
    while (next < pieces.size()) {
      int count = 0;
      for (size_t i = next; i < pieces.size() && count < 256; ++i) {
        const Bytes rest = i == next ? pieces[i].subspan(into_next) : pieces[i];
        if (rest.empty()) continue;
        batch[count++] = {const_cast<std::byte*>(rest.data()), rest.size()};
      }
      if (count == 0) break;
      const ssize_t n = ::pwritev(descriptor_, batch, count, static_cast<off_t>(position));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return FileError(errno, "write", path_);
      position += static_cast<uint64_t>(n);
      for (auto left = static_cast<size_t>(n); left > 0;) {
        const size_t rest = pieces[next].size() - into_next;
        if (left < rest) {
          into_next += left;
          break;
        }
        left -= rest;
        ++next;
        into_next = 0;
      }
      while (next < pieces.size() && pieces[next].size() == into_next) {
        ++next;
        into_next = 0;
      }
    }
    return Ok();
  }

  Status Sync() override {
    if (::fdatasync(descriptor_) != 0) return FileError(errno, "sync", path_);
    return Ok();
  }

  Status Truncate(uint64_t size) override {
    if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0)
      return FileError(errno, "truncate", path_);
    return Ok();
  }

  Result<uint64_t> Size() const override {
    struct stat status{};
    if (::fstat(descriptor_, &status) != 0) return FileError(errno, "stat", path_);
    return static_cast<uint64_t>(status.st_size);
  }

 private:
  const int descriptor_;
  const std::string path_;
};

class RealFileLock final : public FileLock {
 public:
  explicit RealFileLock(int descriptor) : descriptor_(descriptor) {}
  ~RealFileLock() override { ::close(descriptor_); }

 private:
  const int descriptor_;
};

class RealFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<File>> OpenFile(const std::string& path, Open how) override {
    const int flags = how == Open::kRead        ? O_RDONLY
                      : how == Open::kReadWrite ? O_RDWR
                                                : O_RDWR | O_CREAT | O_EXCL;
    const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
    if (descriptor < 0) return FileError(errno, "open", path);
    return std::unique_ptr<File>(std::make_unique<RealFile>(descriptor, path));
  }

  bool Exists(const std::string& path) override {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored);
  }

  Result<std::vector<std::string>> List(const std::string& directory) override {
    std::vector<std::string> names;
    std::error_code error;
    for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end;
         it.increment(error)) {
      names.push_back(it->path().filename().string());
    }
    if (error) return FileError(error.value(), "list", directory);
    return names;
  }

  Status MakeDirectories(const std::string& path) override {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) return FileError(error.value(), "make directory", path);
    return Ok();
  }

  Status Rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) return FileError(errno, "rename", from);
    return Ok();
  }

  Status Remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0) return FileError(errno, "remove", path);
    return Ok();
  }

  Status RemoveTree(const std::string& path) override {
    std::error_code error;
    std::filesystem::remove_all(path, error);
    if (error) return FileError(error.value(), "remove", path);
    return Ok();
  }

  Status SyncDirectory(const std::string& path) override {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return FileError(errno, "open", path);
    const int failed = ::fsync(descriptor) != 0 ? errno : 0;
    ::close(descriptor);
    if (failed != 0) return FileError(failed, "sync directory", path);
    return Ok();
  }

  Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor < 0) return FileError(errno, "open", path);
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      ::close(descriptor);
      if (error == EWOULDBLOCK)
        return Fail(ErrorCode::kOverloaded, "another process holds the lock: path={}", path);
      return FileError(error, "lock", path);
    }
    return std::unique_ptr<FileLock>(std::make_unique<RealFileLock>(descriptor));
  }

  Result<uint64_t> FreeBytes(const std::string& path) override {
    struct statvfs status{};
    if (::statvfs(path.c_str(), &status) != 0) return FileError(errno, "stat file system", path);
    return static_cast<uint64_t>(status.f_bavail) * status.f_frsize;
  }
};

}  // namespace

std::unique_ptr<FileSystem> MakeRealFileSystem() {
  return std::make_unique<RealFileSystem>();
}

}  // namespace weir
