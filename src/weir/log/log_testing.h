// Help for tests of the log: a world of one loop, a pool, and a directory with faults, in which a
// group's log is started, stopped, killed and started again, and its buckets are written and read.
#pragma once

#include <unistd.h>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weir/base/log.h"
#include "weir/log/fault_file_system.h"
#include "weir/log/group_log.h"
#include "weir/log/log_reader.h"
#include "weir/runtime/real_world.h"

namespace weir {

class SeededRandom final : public Random {
 public:
  explicit SeededRandom(uint64_t seed) : bits_(seed) {}
  uint64_t Next() override { return bits_(); }
  size_t Below(size_t end) { return bits_() % end; }

 private:
  std::mt19937_64 bits_;
};

/// A batch of `records` records and about `bytes` bytes, which are noise and so differ from all
/// others'.
inline Buffer MakeBatch(int32_t records, size_t bytes, uint64_t seed, WriterId writer = kNoWriterId,
                        BatchSequence sequence = kNoBatchSequence) {
  std::mt19937_64 noise(seed);
  Buffer batch = Buffer::Allocate(kLogBatchHeaderBytes + std::max<size_t>(bytes, 1));
  for (std::byte& byte : batch.mutable_bytes()) byte = static_cast<std::byte>(noise());
  LogBatchHeader header;
  header.schema_id = SchemaId(1);
  header.is_append_only = true;
  header.record_count = records;
  header.last_offset_delta = records - 1;
  header.writer_id = writer;
  header.batch_sequence = sequence;
  SealLogBatch(header, batch.mutable_bytes());
  return batch;
}

inline std::vector<LogBatchHeader> HeadersOf(Bytes batches) {
  std::vector<LogBatchHeader> headers;
  for (LogBatchReader reader(batches); !reader.at_end();) headers.push_back(reader.Next()->header);
  return headers;
}

inline std::string TextOf(const LogBytes& read) {
  std::string text;
  for (const Buffer& piece : read.pieces) text += AsText(piece.bytes());
  return text;
}

inline TableBucket BucketId(int64_t table, int32_t bucket = 0) {
  return TableBucket{TableId(table), std::nullopt, bucket};
}

/// Remembers what the log says. Lives on the loop.
class RecordingListener final : public BucketLogListener {
 public:
  explicit RecordingListener(EventLoop& loop) : loop_(loop) {}

  void OnWritten(LogOffset end) override {
    EXPECT_GT(end, written);
    written = end;
    if (on_written) on_written();
    Wake();
  }
  void OnCommitted(LogOffset end) override {
    EXPECT_GT(end, committed);
    EXPECT_LE(end, written);
    committed = end;
    Wake();
  }
  void OnLost(LogOffset from, const Error& why) override {
    lost_from.push_back(from);
    lost_why.push_back(why.code);
    if (on_lost) on_lost();
    Wake();
  }

  /// Waits for `end` to be written or committed; false if more is lost than `lost_before`.
  Task<bool> Reached(const LogOffset* which, LogOffset end, size_t lost_before) {
    while (*which < end && lost_from.size() == lost_before) {
      Event next(loop_);
      waiting_.push_back(&next);
      co_await next.Wait();
    }
    co_return *which >= end;
  }

  LogOffset written;
  LogOffset committed;
  std::vector<LogOffset> lost_from;
  std::vector<ErrorCode> lost_why;
  std::function<void()> on_written;
  std::function<void()> on_lost;

 private:
  void Wake() {
    for (Event* event : std::exchange(waiting_, {})) event->Set();
  }

  EventLoop& loop_;
  std::vector<Event*> waiting_;
};

class LogWorld {
 public:
  /// Worlds have different chance, since journals are told apart by it.
  explicit LogWorld(uint64_t seed = 0)
      : random_(seed * 1'000'003 + NextWorld()), data_dir_(MakeDirectoryName()), files_(data_dir_) {
    config_.data_dir = data_dir_;
    config_.group = GroupId(0);
  }
  ~LogWorld() {
    if (log_) Stop();
    std::filesystem::remove_all(data_dir_);
  }

  /// Makes this directory, where nothing was started yet, a copy of another's.
  void CopyFrom(const LogWorld& other) {
    std::filesystem::remove_all(data_dir_);
    std::filesystem::copy(other.data_dir_, data_dir_, std::filesystem::copy_options::recursive);
    files_.Adopt();
  }

  GroupLog::Config& config() { return config_; }
  FaultFileSystem& files() { return files_; }
  EventLoop& loop() { return loops_[0]; }
  BlockingPool& pool() { return *pool_; }
  Random& random() { return random_; }
  GroupLog& log() { return *log_; }
  const std::string& data_dir() const { return data_dir_; }
  const RecoveredGroup& recovered() const { return recovered_; }

  /// Runs `task` on the loop and waits for its result.
  template <typename T>
  T Await(Task<T> task) {
    std::optional<T> result;
    RunBlocking(loop(), Keep(std::move(task), &result));
    return *std::move(result);
  }
  void Await(Task<void> task) { RunBlocking(loop(), std::move(task)); }

  /// Runs `work`, which does not suspend, on the loop.
  template <typename F>
  auto OnLoop(F work) {
    if (loop().IsCurrent()) return work();
    if constexpr (std::is_void_v<std::invoke_result_t<F&>>) {
      Await(Call(&work));
    } else {
      return Await(CallFor(&work));
    }
  }

  Status TryStart() {
    auto recovered = RecoverGroup(files_, data_dir_, config_.group);
    if (!recovered.ok()) return std::move(recovered).error();
    RemoveUnnamedJournals(files_, data_dir_, NamesOf(*recovered));
    recovered_.manifest = recovered->manifest;
    recovered_.replayed_bytes = recovered->replayed_bytes;
    recovered_.cut_bytes = recovered->cut_bytes;
    auto log =
        Await(GroupLog::Start(config_, *std::move(recovered), loop(), *pool_, files_, log_random_));
    if (!log.ok()) return std::move(log).error();
    log_ = *std::move(log);
    return Ok();
  }
  void Start() {
    const Status started = TryStart();
    ASSERT_TRUE(started.ok()) << started.error().message;
  }
  void Stop() {
    Await(log_->Stop());
    buckets_.clear();
    log_.reset();
  }
  /// kill -9: what is in the page cache stays.
  void Kill() {
    files_.Die();
    Stop();
    files_.Revive();
  }

  struct TestBucket {
    std::shared_ptr<BucketLog> log;
    std::unique_ptr<RecordingListener> listener;
    /// Of the last append: its end, and what was lost before it.
    LogOffset appended_end;
    size_t lost_before = 0;
  };
  TestBucket& Bucket(const TableBucket& id) {
    TestBucket& bucket = buckets_[id];
    if (!bucket.log) {
      OnLoop([&] {
        bucket.log = log_->OpenBucket(id);
        bucket.listener = std::make_unique<RecordingListener>(loop());
        bucket.listener->written = bucket.listener->committed = bucket.log->written_end;
        bucket.log->listener = bucket.listener.get();
      });
    }
    return bucket;
  }
  /// As they are on the loop, which may be sealing a file.
  std::vector<Extent> ExtentsOf(const TableBucket& id) {
    return OnLoop([&bucket = Bucket(id)] { return bucket.log->extents; });
  }
  void Drop(const TableBucket& id) {
    OnLoop([&] { log_->DropBucket(id); });
    buckets_.erase(id);
  }

  /// Puts batches in line; they are stamped then.
  Result<LogOffset> Append(const TableBucket& id, Buffer batches, bool needs_sync = true,
                           Timestamp now = Timestamp(1000)) {
    TestBucket& bucket = Bucket(id);
    return OnLoop([&] { return AppendOnLoop(bucket, batches, needs_sync, now); });
  }
  /// The same on the loop.
  Result<LogOffset> AppendOnLoop(TestBucket& bucket, Buffer batches, bool needs_sync = true,
                                 Timestamp now = Timestamp(1000)) {
    const size_t lost_before = bucket.listener->lost_from.size();
    auto base = log_->Append(bucket.log, batches, HeadersOf(batches.bytes()), now, needs_sync);
    if (base.ok()) {
      bucket.appended_end = bucket.log->end;
      bucket.lost_before = lost_before;
    }
    return base;
  }
  /// Whether the last append is committed; false if it is lost.
  bool AwaitCommit(const TableBucket& id) {
    TestBucket& bucket = Bucket(id);
    return Await(bucket.listener->Reached(&bucket.listener->committed, bucket.appended_end,
                                          bucket.lost_before));
  }
  bool AwaitWrite(const TableBucket& id) {
    TestBucket& bucket = Bucket(id);
    return Await(bucket.listener->Reached(&bucket.listener->written, bucket.appended_end,
                                          bucket.lost_before));
  }
  /// Appends and waits for the commit. Returns the stamped bytes, or nothing if it failed.
  std::string Put(const TableBucket& id, Buffer batches, bool needs_sync = true,
                  Timestamp now = Timestamp(1000)) {
    const auto base = Append(id, batches, needs_sync, now);
    if (!base.ok() || !AwaitCommit(id)) return "";
    return std::string(AsText(batches.bytes()));
  }

  /// Waits until all of a bucket is in sealed files, as a full one will be soon, and the
  /// maintenance that follows is done.
  void AwaitSealed(const TableBucket& id) {
    TestBucket& bucket = Bucket(id);
    while (OnLoop([&] { return !bucket.log->tail.empty(); })) std::this_thread::yield();
    Await(log_->Maintain());
  }

  Result<LogBytes> Read(const TableBucket& id, LogOffset from, LogOffset limit, size_t bytes_max) {
    return Await(ReadLog(Bucket(id).log, from, limit, bytes_max, *pool_));
  }
  /// Everything from the start, read in parts of `bytes_max`.
  Result<std::string> ReadAll(const TableBucket& id, size_t bytes_max = 1 << 20) {
    const auto [next, limit] = OnLoop([&] {
      const BucketLog& log = *Bucket(id).log;
      return std::pair(log.start, log.written_end);
    });
    std::string all;
    for (LogOffset from = next; from < limit;) {
      auto part = Read(id, from, limit, bytes_max);
      if (!part.ok()) return std::move(part).error();
      EXPECT_GT(part->next, from);
      if (part->next <= from) break;
      from = part->next;
      all += TextOf(*part);
    }
    return all;
  }

  std::vector<std::string> FilesIn(const std::string& directory) {
    auto names = files_.List(data_dir_ + "/" + directory);
    if (!names.ok()) return {};
    std::sort(names->begin(), names->end());
    return *std::move(names);
  }
  /// Names of journal files, below the data directory.
  std::vector<std::string> JournalFiles() {
    std::vector<std::string> all;
    for (const std::string& journal : FilesIn("journals")) {
      for (const std::string& name : FilesIn("journals/" + journal)) {
        all.push_back("journals/" + journal + "/" + name);
      }
    }
    return all;
  }
  std::string FileText(const std::string& name) {
    return ReadWholeFile(files_, data_dir_ + "/" + name, size_t{1} << 30).value();
  }
  void SetFileText(const std::string& name, std::string_view text) {
    auto file = files_.OpenFile(data_dir_ + "/" + name, FileSystem::Open::kReadWrite).value();
    const Bytes bytes = AsBytes(text);
    ASSERT_TRUE(file->WriteAt(0, {&bytes, 1}).ok());
    ASSERT_TRUE(file->Truncate(text.size()).ok());
    ASSERT_TRUE(file->Sync().ok());
  }
  /// Every file's name and content.
  std::map<std::string, std::string> AllFiles() {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(data_dir_)) {
      if (!entry.is_regular_file()) continue;
      const std::string name = entry.path().string().substr(data_dir_.size() + 1);
      all[name] = FileText(name);
    }
    return all;
  }
  void FlipBit(const std::string& name, size_t position) {
    std::string text = FileText(name);
    text.at(position) = static_cast<char>(text[position] ^ 0x10);
    SetFileText(name, text);
  }

 private:
  static uint64_t NextWorld() {
    static std::atomic<uint64_t> count = 0;
    return count++;
  }
  static std::string MakeDirectoryName() {
    SetLogLevel(std::getenv("WEIR_LOG_TESTS_TALK") ? LogLevel::kDebug : LogLevel::kOff);
    static std::atomic<int> count = 0;
    const std::string name = (std::filesystem::temp_directory_path() /
                              fmt::format("weir-log-{}-{}", ::getpid(), count++))
                                 .string();
    std::filesystem::remove_all(name);
    std::filesystem::create_directories(name);
    return name;
  }

  static std::set<std::string> NamesOf(const RecoveredGroup& group) {
    std::set<std::string> names;
    for (const auto& file : group.files) names.insert(file->name);
    return names;
  }

  template <typename T>
  static Task<void> Keep(Task<T> task, std::optional<T>* result) {
    result->emplace(co_await std::move(task));
  }
  template <typename F>
  static Task<void> Call(F* work) {
    (*work)();
    co_return;
  }
  template <typename F>
  static Task<std::invoke_result_t<F&>> CallFor(F* work) {
    co_return (*work)();
  }

  SeededRandom random_;
  /// The log's own, which draws on its loop while the test draws on its thread.
  SeededRandom log_random_{random_.Next()};
  const std::string data_dir_;
  FaultFileSystem files_;
  std::unique_ptr<BlockingPool> pool_ = MakeRealBlockingPool(2);
  RealLoops loops_{1};
  GroupLog::Config config_;
  RecoveredGroup recovered_;
  std::unique_ptr<GroupLog> log_;
  std::map<TableBucket, TestBucket> buckets_;
};

}  // namespace weir
