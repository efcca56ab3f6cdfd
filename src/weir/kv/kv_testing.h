// Help for tests of the kv layer: a world of one loop, a pool and a directory, whose files fail or
// "die" at a given call: those of RocksDB and our own.
#pragma once

#include <unistd.h>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "weir/kv/kv_state.h"
#include "weir/runtime/real_world.h"

namespace weir {

/// Decides which calls that change files fail. Any thread.
class Faults {
 public:
  /// All calls from the `call`-th on fail, counted from now.
  void FailFrom(size_t call, ErrorCode code) {
    code_ = code;
    fails_from_ = calls_ + call;
  }
  void Heal() { fails_from_ = kNever; }
  size_t calls() const { return calls_; }
  bool is_failing() const { return calls_ >= fails_from_; }

  std::optional<ErrorCode> Judge() {
    return calls_++ >= fails_from_ ? std::optional(code_.load()) : std::nullopt;
  }

 private:
  static constexpr size_t kNever = ~size_t{0};

  std::atomic<size_t> calls_ = 0;
  std::atomic<size_t> fails_from_ = kNever;
  std::atomic<ErrorCode> code_ = ErrorCode::kIo;
};

/// RocksDB's files with faults.
class FaultRocksFiles final : public rocksdb::FileSystemWrapper {
 public:
  using IOStatus = rocksdb::IOStatus;
  using Options = rocksdb::IOOptions;
  using Debug = rocksdb::IODebugContext;

  explicit FaultRocksFiles(Faults& faults)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), faults_(faults) {}

  static const char* kClassName() { return "FaultRocksFiles"; }
  const char* Name() const override { return kClassName(); }

  IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file, Debug* debug) override {
    if (IOStatus status = Judge(); !status.ok()) return status;
    std::unique_ptr<rocksdb::FSWritableFile> made;
    IOStatus status = target()->NewWritableFile(path, options, &made, debug);
    if (status.ok()) *file = std::make_unique<FaultFile>(std::move(made), *this);
    return status;
  }
  IOStatus NewDirectory(const std::string& path, const Options& options,
                        std::unique_ptr<rocksdb::FSDirectory>* directory, Debug* debug) override {
    if (IOStatus status = Judge(); !status.ok()) return status;
    return target()->NewDirectory(path, options, directory, debug);
  }
  IOStatus CreateDirIfMissing(const std::string& path, const Options& options,
                              Debug* debug) override {
    if (IOStatus status = Judge(); !status.ok()) return status;
    return target()->CreateDirIfMissing(path, options, debug);
  }
  IOStatus DeleteFile(const std::string& path, const Options& options, Debug* debug) override {
    if (IOStatus status = Judge(); !status.ok()) return status;
    return target()->DeleteFile(path, options, debug);
  }
  IOStatus RenameFile(const std::string& from, const std::string& to, const Options& options,
                      Debug* debug) override {
    if (IOStatus status = Judge(); !status.ok()) return status;
    return target()->RenameFile(from, to, options, debug);
  }
  IOStatus LinkFile(const std::string& from, const std::string& to, const Options& options,
                    Debug* debug) override {
    if (IOStatus status = Judge(); !status.ok()) return status;
    return target()->LinkFile(from, to, options, debug);
  }

 private:
  class FaultFile final : public rocksdb::FSWritableFileOwnerWrapper {
   public:
    FaultFile(std::unique_ptr<rocksdb::FSWritableFile> file, FaultRocksFiles& files)
        : FSWritableFileOwnerWrapper(std::move(file)), files_(files) {}

    IOStatus Append(const rocksdb::Slice& bytes, const Options& options, Debug* debug) override {
      if (IOStatus status = files_.Judge(); !status.ok()) return status;
      return FSWritableFileOwnerWrapper::Append(bytes, options, debug);
    }
    IOStatus Append(const rocksdb::Slice& bytes, const Options& options,
                    const rocksdb::DataVerificationInfo& info, Debug* debug) override {
      if (IOStatus status = files_.Judge(); !status.ok()) return status;
      return FSWritableFileOwnerWrapper::Append(bytes, options, info, debug);
    }
    IOStatus Sync(const Options& options, Debug* debug) override {
      if (IOStatus status = files_.Judge(); !status.ok()) return status;
      return FSWritableFileOwnerWrapper::Sync(options, debug);
    }
    IOStatus Fsync(const Options& options, Debug* debug) override {
      if (IOStatus status = files_.Judge(); !status.ok()) return status;
      return FSWritableFileOwnerWrapper::Fsync(options, debug);
    }

   private:
    FaultRocksFiles& files_;
  };

  IOStatus Judge() {
    const std::optional<ErrorCode> fault = faults_.Judge();
    if (!fault) return IOStatus::OK();
    return *fault == ErrorCode::kNoSpace ? IOStatus::NoSpace("a call that fails")
                                         : IOStatus::IOError("a call that fails");
  }

  Faults& faults_;
};

/// Our own files with faults.
class FaultFiles final : public FileSystem {
 public:
  explicit FaultFiles(Faults& faults) : faults_(faults), real_(MakeRealFileSystem()) {}

  Result<std::unique_ptr<File>> OpenFile(const std::string& path, Open how) override {
    if (how == Open::kCreate) WEIR_TRY(Judge());
    return real_->OpenFile(path, how);
  }
  bool Exists(const std::string& path) override { return real_->Exists(path); }
  Result<std::vector<std::string>> List(const std::string& directory) override {
    return real_->List(directory);
  }
  Status MakeDirectories(const std::string& path) override {
    WEIR_TRY(Judge());
    return real_->MakeDirectories(path);
  }
  Status Rename(const std::string& from, const std::string& to) override {
    WEIR_TRY(Judge());
    return real_->Rename(from, to);
  }
  Status Remove(const std::string& path) override {
    WEIR_TRY(Judge());
    return real_->Remove(path);
  }
  Status RemoveTree(const std::string& path) override {
    WEIR_TRY(Judge());
    return real_->RemoveTree(path);
  }
  Status SyncDirectory(const std::string& path) override {
    WEIR_TRY(Judge());
    return real_->SyncDirectory(path);
  }
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override {
    return real_->Lock(path);
  }
  Result<uint64_t> FreeBytes(const std::string& path) override { return real_->FreeBytes(path); }

 private:
  Status Judge() {
    const std::optional<ErrorCode> fault = faults_.Judge();
    return fault ? Status(Fail(*fault, "a call that fails")) : Ok();
  }

  Faults& faults_;
  const std::unique_ptr<FileSystem> real_;
};

class KvWorld {
 public:
  explicit KvWorld(KvMemoryConfig config = {}, size_t loops = 1)
      : root_(MakeRoot()),
        rocks_env_(rocksdb::NewCompositeEnv(std::make_shared<FaultRocksFiles>(faults_))),
        loops_(loops),
        pool_(MakeRealBlockingPool(2)) {
    config.env = rocks_env_.get();
    std::vector<EventLoop*> all;
    for (size_t i = 0; i < loops; ++i) all.push_back(&loops_[i]);
    memory_ = std::make_unique<KvMemory>(config, all);
  }
  ~KvWorld() {
    pool_.reset();
    std::filesystem::remove_all(root_);
  }

  const std::string& root() const { return root_; }
  Faults& faults() { return faults_; }
  FileSystem& files() { return files_; }
  KvMemory& memory() { return *memory_; }
  EventLoop& loop(size_t index = 0) { return loops_[index]; }
  BlockingPool& pool() { return *pool_; }

  Result<std::unique_ptr<KvState>> TryOpen(const std::string& name = "state", size_t loop = 0,
                                           bool keeps_times = false) {
    return KvState::Open(root_ + "/" + name, files_, *memory_, loops_[loop], *pool_, keeps_times);
  }
  std::unique_ptr<KvState> Open(const std::string& name = "state", size_t loop = 0,
                                bool keeps_times = false) {
    auto opened = TryOpen(name, loop, keeps_times);
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    return *std::move(opened);
  }
  /// Stops it and lets it go on its loop.
  void Close(std::unique_ptr<KvState> state, size_t loop = 0) {
    RunBlocking(loops_[loop], StopState(std::move(state)));
  }

  /// Runs `task` on the loop and waits for its result.
  template <typename T>
  T Await(Task<T> task, size_t loop = 0) {
    std::optional<T> result;
    RunBlocking(loops_[loop], Keep(std::move(task), &result));
    return *std::move(result);
  }
  void Await(Task<void> task, size_t loop = 0) { RunBlocking(loops_[loop], std::move(task)); }

  /// Runs `work`, which does not suspend, on the loop.
  void OnLoop(const std::function<void()>& work, size_t loop = 0) {
    RunBlocking(loops_[loop], Call(&work));
  }

 private:
  static std::string MakeRoot() {
    static std::atomic<int> next = 0;
    const auto root = std::filesystem::temp_directory_path() /
                      ("weir-kv-" + std::to_string(::getpid()) + "-" + std::to_string(next++));
    std::filesystem::create_directories(root);
    return root.string();
  }

  template <typename T>
  static Task<void> Keep(Task<T> task, std::optional<T>* result) {
    result->emplace(co_await std::move(task));
  }
  static Task<void> Call(const std::function<void()>* work) {
    (*work)();
    co_return;
  }
  static Task<void> StopState(std::unique_ptr<KvState> state) {
    co_await state->Stop();
    state.reset();
  }

  const std::string root_;
  Faults faults_;
  FaultFiles files_{faults_};
  const std::unique_ptr<rocksdb::Env> rocks_env_;
  RealLoops loops_;
  std::unique_ptr<BlockingPool> pool_;
  std::unique_ptr<KvMemory> memory_;
};

}  // namespace weir
