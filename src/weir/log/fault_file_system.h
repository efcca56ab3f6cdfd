// A file system for tests: the real one, with faults. Calls fail, writes stop in their middle, the
// process "dies" at a given call, and the power goes away with what was not synced.
//
// What is durable is modelled strictly: bytes of a file with its Sync, names with the SyncDirectory
// of their directory. PowerLoss then keeps any part of the rest, since a system may write earlier
// than it must, and in any order; only names keep their order, as journaling file systems do.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "weir/base/check.h"
#include "weir/runtime/file.h"
#include "weir/runtime/real_world.h"

namespace weir {

class FaultFileSystem final : public FileSystem {
 public:
  enum class Call { kCreate, kWrite, kSync, kTruncate, kRename, kRemove, kSyncDirectory, kMake };
  struct Fault {
    ErrorCode code = ErrorCode::kIo;
    /// How much of a failing write is done nevertheless.
    size_t bytes_written = 0;
  };
  /// Is asked before each call that changes something, on the thread that calls.
  using Judge = std::function<std::optional<Fault>(Call, const std::string& path)>;

  /// Everything of interest lies below `root`, which exists and is empty.
  explicit FaultFileSystem(std::string root)
      : real_(MakeRealFileSystem()), root_(std::move(root)), random_(1) {
    durable_directories_.insert(root_);
    directories_.insert(root_);
  }

  // --- Faults ---

  void SetJudge(Judge judge) {
    const std::lock_guard lock(mutex_);
    judge_ = std::move(judge);
  }

  /// From the `call`-th changing call from now on (0: the next) the process is dead: that one call
  /// is done in part, by chance, and nothing after it is done at all.
  void DieAt(size_t call, uint64_t seed) {
    const std::lock_guard lock(mutex_);
    dies_at_ = calls_ + call;
    random_.seed(seed);
  }
  /// The process is dead at once.
  void Die() {
    const std::lock_guard lock(mutex_);
    is_dead_ = true;
  }
  bool is_dead() const {
    const std::lock_guard lock(mutex_);
    return is_dead_;
  }
  /// A new process: no faults, and calls are counted anew. All files of the old one are closed.
  void Revive() {
    const std::lock_guard lock(mutex_);
    is_dead_ = false;
    dies_at_.reset();
    judge_ = nullptr;
    calls_ = 0;
  }
  size_t calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

  /// Puts the directory into a state in which it may be found after the power went away. All files
  /// are closed. `keeps_some`: whether unsynced bytes and names may be found, or none.
  void PowerLoss(uint64_t seed, bool keeps_some);

  /// Syncs of files, or writes to files with such names, wait until they are let through.
  void HoldSyncs() {
    const std::lock_guard lock(mutex_);
    holds_syncs_ = true;
  }
  void HoldWrites(std::string suffix) {
    const std::lock_guard lock(mutex_);
    held_suffix_ = std::move(suffix);
  }
  /// Whether a write waits.
  bool IsHolding() const {
    const std::lock_guard lock(mutex_);
    return held_writes_ > 0;
  }
  void Release() {
    const std::lock_guard lock(mutex_);
    holds_syncs_ = false;
    held_suffix_.reset();
    released_.notify_all();
  }

  /// Takes files that came below the root in another way; they are durable.
  void Adopt() {
    const std::lock_guard lock(mutex_);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_)) {
      const std::string path = entry.path().string();
      if (entry.is_directory()) {
        directories_.insert(path);
        durable_directories_.insert(path);
      } else if (!names_.contains(path)) {
        auto node = std::make_shared<Node>();
        node->durable = ContentOf(path);
        names_[path] = durable_names_[path] = std::move(node);
      }
    }
  }

  void SetFreeBytes(std::optional<uint64_t> bytes) {
    const std::lock_guard lock(mutex_);
    free_bytes_ = bytes;
  }

  // --- FileSystem ---

  Result<std::unique_ptr<File>> OpenFile(const std::string& path, Open how) override {
    const std::lock_guard lock(mutex_);
    if (how == Open::kCreate) {
      bool happens = true;
      const Status judged = JudgeName(Call::kCreate, path, &happens);
      if (happens && !judged.ok()) {
        if (real_->OpenFile(path, how).ok()) AddName(path, std::make_shared<Node>());
      }
      WEIR_TRY(judged);
    } else if (is_dead_) {
      return Dead();
    }
    WEIR_ASSIGN(std::unique_ptr<File> real, real_->OpenFile(path, how));
    if (how == Open::kCreate) AddName(path, std::make_shared<Node>());
    return std::unique_ptr<File>(
        std::make_unique<FaultFile>(*this, path, names_.at(path), std::move(real)));
  }

  bool Exists(const std::string& path) override { return real_->Exists(path); }

  Result<std::vector<std::string>> List(const std::string& directory) override {
    if (is_dead()) return Dead();
    return real_->List(directory);
  }

  Status MakeDirectories(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    bool happens = true;
    const Status judged = JudgeName(Call::kMake, path, &happens);
    if (happens) {
      WEIR_TRY(real_->MakeDirectories(path));
      for (std::string up = path; up.size() > root_.size(); up = ParentOf(up)) {
        directories_.insert(up);
      }
    }
    return judged;
  }

  Status Rename(const std::string& from, const std::string& to) override {
    const std::lock_guard lock(mutex_);
    bool happens = true;
    const Status judged = JudgeName(Call::kRename, from, &happens);
    if (happens) {
      WEIR_TRY(real_->Rename(from, to));
      if (const auto replaced = names_.find(to); replaced != names_.end()) {
        replaced->second->last_content = std::nullopt;
      }
      names_[to] = names_.at(from);
      names_.erase(from);
      changes_.push_back({from, to, names_[to]});
    }
    return judged;
  }

  Status Remove(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    bool happens = true;
    const Status judged = JudgeName(Call::kRemove, path, &happens);
    if (happens) RemoveName(path);
    return judged;
  }

  Status RemoveTree(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    bool happens = true;
    const Status judged = JudgeName(Call::kRemove, path, &happens);
    if (!happens) return judged;
    std::vector<std::string> inside;
    for (const auto& [name, node] : names_) {
      if (name.starts_with(path + "/")) inside.push_back(name);
    }
    for (const std::string& name : inside) RemoveName(name);
    WEIR_TRY(real_->RemoveTree(path));
    directories_.erase(path);
    return judged;
  }

  Status SyncDirectory(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    WEIR_TRY(JudgeCall(Call::kSyncDirectory, path));
    std::deque<Change> left;
    for (Change& change : changes_) {
      if (ParentOf(change.from.empty() ? change.to : change.from) == path) {
        Apply(change, durable_names_);
      } else {
        left.push_back(std::move(change));
      }
    }
    changes_ = std::move(left);
    for (const std::string& directory : directories_) {
      if (ParentOf(directory) == path) durable_directories_.insert(directory);
    }
    return Ok();
  }

  Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override {
    return real_->Lock(path);
  }

  Result<uint64_t> FreeBytes(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    if (free_bytes_) return *free_bytes_;
    return real_->FreeBytes(path);
  }

 private:
  struct Node {
    std::string durable;
    /// What it had when its name was removed.
    std::optional<std::string> last_content;
  };
  using Names = std::map<std::string, std::shared_ptr<Node>>;
  /// Of a name: made (`from` is empty), removed (`to` is empty) or renamed.
  struct Change {
    std::string from;
    std::string to;
    std::shared_ptr<Node> node;
  };

  class FaultFile final : public File {
   public:
    FaultFile(FaultFileSystem& files, std::string path, std::shared_ptr<Node> node,
              std::unique_ptr<File> real)
        : files_(files), path_(std::move(path)), node_(std::move(node)), real_(std::move(real)) {}

    Result<size_t> ReadAt(uint64_t position, MutableBytes into) const override {
      if (files_.is_dead()) return Dead();
      return real_->ReadAt(position, into);
    }
    std::optional<size_t> TryReadAt(uint64_t position, MutableBytes into) const override {
      if (files_.is_dead()) return std::nullopt;
      return real_->TryReadAt(position, into);
    }
    Status WriteAt(uint64_t position, std::span<const Bytes> pieces) override {
      std::string all;
      for (const Bytes piece : pieces) all += AsText(piece);
      std::unique_lock lock(files_.mutex_);
      ++files_.held_writes_;
      files_.released_.wait(
          lock, [this] { return !files_.held_suffix_ || !path_.ends_with(*files_.held_suffix_); });
      --files_.held_writes_;
      const std::optional<Fault> fault = files_.JudgeWrite(path_, all.size());
      if (fault) all.resize(std::min(all.size(), fault->bytes_written));
      const Bytes bytes = AsBytes(all);
      if (!all.empty()) WEIR_TRY(real_->WriteAt(position, {&bytes, 1}));
      if (fault) return Fail(fault->code, "a write that fails: path={}", path_);
      return Ok();
    }
    Status Sync() override {
      std::unique_lock lock(files_.mutex_);
      files_.released_.wait(lock, [this] { return !files_.holds_syncs_; });
      WEIR_TRY(files_.JudgeCall(Call::kSync, path_));
      WEIR_ASSIGN(node_->durable, ContentOf(*real_));
      return Ok();
    }
    Status Truncate(uint64_t size) override {
      const std::lock_guard lock(files_.mutex_);
      WEIR_TRY(files_.JudgeCall(Call::kTruncate, path_));
      return real_->Truncate(size);
    }
    Result<uint64_t> Size() const override { return real_->Size(); }

   private:
    FaultFileSystem& files_;
    const std::string path_;
    const std::shared_ptr<Node> node_;
    const std::unique_ptr<File> real_;
  };

  static Error Dead() { return Fail(ErrorCode::kIo, "the process is dead"); }

  static std::string ParentOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

  static Result<std::string> ContentOf(const File& file) {
    WEIR_ASSIGN(const uint64_t size, file.Size());
    std::string content(size, '\0');
    WEIR_TRY(file.ReadAt(0, {reinterpret_cast<std::byte*>(content.data()), content.size()}));
    return content;
  }

  std::string ContentOf(const std::string& path) {
    const auto file = real_->OpenFile(path, Open::kRead);
    WEIR_CHECK(file.ok());
    return ContentOf(**file).value();
  }

  /// Whether this is where the process dies, or died before.
  bool CountCall(bool* dies_now) {
    *dies_now = !is_dead_ && dies_at_ && calls_ == *dies_at_;
    ++calls_;
    is_dead_ = is_dead_ || *dies_now;
    return is_dead_;
  }

  Status JudgeCall(Call call, const std::string& path) {
    bool dies_now = false;
    if (CountCall(&dies_now)) return Dead();
    const std::optional<Fault> fault = judge_ ? judge_(call, path) : std::nullopt;
    if (fault) return Fail(fault->code, "a call that fails: path={}", path);
    return Ok();
  }

  /// A change of names is done or not; who dies in it does not hear which.
  Status JudgeName(Call call, const std::string& path, bool* happens) {
    bool dies_now = false;
    if (CountCall(&dies_now)) {
      *happens = dies_now && random_() % 2 == 0;
      return Dead();
    }
    const std::optional<Fault> fault = judge_ ? judge_(call, path) : std::nullopt;
    *happens = !fault;
    if (fault) return Fail(fault->code, "a call that fails: path={}", path);
    return Ok();
  }

  std::optional<Fault> JudgeWrite(const std::string& path, size_t bytes) {
    bool dies_now = false;
    if (CountCall(&dies_now)) {
      return Fault{ErrorCode::kIo, dies_now ? random_() % (bytes + 1) : 0};
    }
    return judge_ ? judge_(Call::kWrite, path) : std::nullopt;
  }

  void AddName(const std::string& path, std::shared_ptr<Node> node) {
    names_[path] = node;
    changes_.push_back({"", path, std::move(node)});
  }

  void RemoveName(const std::string& path) {
    const auto found = names_.find(path);
    if (found == names_.end()) return;
    found->second->last_content = ContentOf(path);
    (void)real_->Remove(path);
    changes_.push_back({path, "", found->second});
    names_.erase(found);
  }

  static void Apply(const Change& change, Names& names) {
    if (!change.from.empty()) names.erase(change.from);
    if (!change.to.empty()) names[change.to] = change.node;
  }

  std::string Mix(const std::string& durable, const std::string& current);

  const std::unique_ptr<FileSystem> real_;
  const std::string root_;
  mutable std::mutex mutex_;
  std::condition_variable released_;
  std::mt19937_64 random_;
  Judge judge_;
  size_t calls_ = 0;
  std::optional<size_t> dies_at_;
  bool is_dead_ = false;
  bool holds_syncs_ = false;
  std::optional<std::string> held_suffix_;
  size_t held_writes_ = 0;
  std::optional<uint64_t> free_bytes_;
  Names names_;
  Names durable_names_;
  std::deque<Change> changes_;  // of names, not durable yet
  std::set<std::string> directories_;
  std::set<std::string> durable_directories_;
};

/// `current` with some of its sectors as they were in `durable`, and a size between theirs.
inline std::string FaultFileSystem::Mix(const std::string& durable, const std::string& current) {
  constexpr size_t kSector = 512;
  std::string mixed = current;
  const size_t small = std::min(durable.size(), current.size());
  const size_t large = std::max(durable.size(), current.size());
  const size_t between = small + random_() % (large - small + 1);
  mixed.resize(random_() % 3 == 0   ? durable.size()
               : random_() % 2 == 0 ? current.size()
                                    : between,
               '\0');
  // Mostly all or nothing of a run, as write-back works on runs.
  bool is_old = random_() % 2 == 0;
  for (size_t begin = 0; begin < mixed.size(); begin += kSector) {
    if (random_() % 8 == 0) is_old = !is_old;
    if (!is_old) continue;
    for (size_t i = begin; i < std::min(begin + kSector, mixed.size()); ++i) {
      mixed[i] = i < durable.size() ? durable[i] : '\0';
    }
  }
  return mixed;
}

inline void FaultFileSystem::PowerLoss(uint64_t seed, bool keeps_some) {
  const std::lock_guard lock(mutex_);
  random_.seed(seed);
  Names found = durable_names_;
  const size_t kept = keeps_some ? random_() % (changes_.size() + 1) : 0;
  for (size_t i = 0; i < kept; ++i) Apply(changes_[i], found);
  if (keeps_some && kept == changes_.size()) durable_directories_ = directories_;
  std::map<std::string, std::string> contents;
  for (const auto& [path, node] : found) {
    bool has_directory = true;
    for (std::string up = ParentOf(path); up.size() >= root_.size(); up = ParentOf(up)) {
      has_directory = has_directory && durable_directories_.contains(up);
    }
    if (!has_directory) continue;
    std::string content = node->durable;
    if (keeps_some) {
      const auto named = std::find_if(names_.begin(), names_.end(), [&](const auto& name) {
        return name.second.get() == node.get();
      });
      const std::string current = named != names_.end()
                                      ? ContentOf(named->first)
                                      : node->last_content.value_or(node->durable);
      content = Mix(node->durable, current);
    }
    contents.emplace(path, std::move(content));
  }
  WEIR_CHECK(real_->RemoveTree(root_).ok());
  WEIR_CHECK(real_->MakeDirectories(root_).ok());
  for (const std::string& directory : durable_directories_) {
    WEIR_CHECK(real_->MakeDirectories(directory).ok());
  }
  names_.clear();
  for (const auto& [path, content] : contents) {
    auto file = real_->OpenFile(path, Open::kCreate);
    WEIR_CHECK(file.ok());
    const Bytes bytes = AsBytes(content);
    WEIR_CHECK((*file)->WriteAt(0, {&bytes, 1}).ok());
    auto node = std::make_shared<Node>();
    node->durable = content;
    names_[path] = std::move(node);
  }
  durable_names_ = names_;
  directories_ = durable_directories_;
  changes_.clear();
}

}  // namespace weir
