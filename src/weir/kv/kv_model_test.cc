// Random lives of a state beside a plain model of it: writes, commits and losses go on while
// flushes, loads and scans run. Each seed is one life; the seed of a failure is printed.
// WEIR_KV_SEEDS=first:count runs others, WEIR_KV_TESTS_TALK=1 shows the log lines.
#include <cstdlib>
#include <deque>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include "weir/base/log.h"
#include "weir/kv/kv_state_parts.h"
#include "weir/kv/kv_testing.h"

namespace weir {
namespace {

using Value = std::optional<std::string>;
using Rows = std::map<std::string, std::string>;

struct Change {
  std::string key;
  Value row;
};

struct Write {
  int64_t end = 0;
  std::vector<Change> changes;
  int64_t row_count_change = 0;
};

std::string Stored(const std::string& row) {
  return std::string("\x01\x00", 2) + row;
}

/// All that was ever committed, and what waits for it.
class Model {
 public:
  int64_t high_watermark() const { return high_watermark_; }
  int64_t end() const { return log_.empty() ? 0 : log_.back().end; }
  const std::deque<Write>& log() const { return log_; }

  Value Newest(const std::string& key) const { return At(key, INT64_MAX); }
  Value Committed(const std::string& key) const { return At(key, high_watermark_); }
  Value At(const std::string& key, int64_t offset) const {
    const auto known = versions_.find(key);
    if (known == versions_.end()) return std::nullopt;
    Value value;
    for (const auto& [end, row] : known->second) {
      if (end <= offset) value = row;
    }
    return value;
  }
  /// Whether a read that began when `from` was the high watermark may see this now.
  bool MaySee(const std::string& key, int64_t from, const Value& seen) const {
    if (At(key, from) == seen) return true;
    const auto known = versions_.find(key);
    if (known == versions_.end()) return false;
    for (const auto& [end, row] : known->second) {
      if (end > from && end <= high_watermark_ && row == seen) return true;
    }
    return false;
  }
  Rows StateAt(int64_t offset) const {
    Rows rows;
    for (const auto& [key, versions] : versions_) {
      if (const Value value = At(key, offset)) rows[key] = *value;
    }
    return rows;
  }
  /// The keys that had a row all the time since `from` was the high watermark.
  std::set<std::string> KeptSince(int64_t from) const {
    std::set<std::string> kept;
    for (const auto& [key, versions] : versions_) {
      if (!MaySee(key, from, std::nullopt)) kept.insert(key);
    }
    return kept;
  }

  void Sealed(Write write) {
    for (const Change& change : write.changes) versions_[change.key][write.end] = change.row;
    log_.push_back(std::move(write));
  }
  void Committed(int64_t high_watermark) { high_watermark_ = high_watermark; }
  void Lost(int64_t from) {
    while (end() > from) {
      for (const Change& change : log_.back().changes) versions_[change.key].erase(end());
      log_.pop_back();
    }
  }

 private:
  std::deque<Write> log_;
  std::map<std::string, std::map<int64_t, Value>> versions_;
  int64_t high_watermark_ = 0;
};

class RandomLife {
 public:
  explicit RandomLife(uint64_t seed) : random_(seed), world_(ConfigFor(random_)) {
    keys_ = Below(3) == 0 ? 20 : 50 + Below(1000);
    state_ = world_.Open();
  }
  ~RandomLife() {
    if (state_ != nullptr) world_.Close(std::move(state_));
  }

  void Run(size_t steps) { world_.Await(RunOnLoop(steps)); }

 private:
  static KvMemoryConfig ConfigFor(std::mt19937_64& random) {
    KvMemoryConfig config;
    config.bytes_max = size_t{20'000} << random() % 5;
    config.flush_step_bytes = size_t{2'000} << random() % 6;
    config.rows_per_turn = 1 + random() % 40;
    return config;
  }

  size_t Below(size_t end) { return random_() % end; }
  static bool HasFailed() { return testing::Test::HasFailure(); }

  std::string SomeKey() {
    const size_t number = Below(4) == 0 ? Below(10) : Below(keys_);
    std::string key = std::to_string(number * 7919 % keys_);
    if (number % 5 == 0) key = "a-long-common-beginning-" + key;
    if (number % 97 == 0) key.clear();
    return key;
  }

  Task<void> RunOnLoop(size_t steps) {
    for (size_t i = 0; i < steps && !HasFailed(); ++i) {
      co_await Step();
      if (Below(3) == 0) co_await world_.loop().NextTurn();
    }
    co_await Reopen();
    co_await CheckAll();
  }

  Task<void> Step() {
    switch (const size_t dice = Below(1000); dice) {
      case 0:
      case 1:
      case 2: co_return co_await Reopen();
      case 3:
      case 4:
      case 5: co_return Fail(ErrorCode::kIo);
      case 6:
      case 7: co_return Fail(ErrorCode::kNoSpace);
      case 8:
      case 9: world_.faults().Heal(); break;
      case 10: co_return co_await CheckAll();
      default:
        if (dice < 16) {
          background_.Spawn(Snapshot());
        } else if (dice < 22) {
          background_.Spawn(Scan());
        } else if (dice < 50) {
          background_.Spawn(Flush(Below(2) == 0 ? 0 : Below(20'000)));
        } else if (dice < 150) {
          background_.Spawn(ReadPrefix());
        } else if (dice < 300) {
          background_.Spawn(Load());
        } else if (dice < 500) {
          CheckNewest();
        } else if (dice < 520) {
          Lose();
        } else if (dice < 700) {
          Commit();
        } else {
          WriteSome();
        }
    }
  }

  void Fail(ErrorCode code) {
    world_.faults().FailFrom(Below(30), code);
    had_faults_ = true;
  }

  void WriteSome() {
    Write write;
    write.end = model_.end() + 1 + static_cast<int64_t>(Below(5));
    std::map<std::string, Value> now;
    for (size_t i = Below(20); i > 0; --i) {
      Change change{SomeKey(), std::nullopt};
      const Value old = now.contains(change.key) ? now[change.key] : model_.Newest(change.key);
      if (Below(4) > 0) {
        change.row = std::to_string(random_()) + std::string(Below(100), 'x');
        state_->StagePut(AsBytes(change.key), SchemaId(1), AsBytes(*change.row));
      } else {
        state_->StageDelete(AsBytes(change.key));
      }
      write.row_count_change += (change.row ? 1 : 0) - (old ? 1 : 0);
      now[change.key] = change.row;
      HotRowRef seen;
      const HotLookup lookup = state_->FindNewest(AsBytes(change.key), &seen);
      ASSERT_EQ(lookup, change.row ? HotLookup::kRow : HotLookup::kAbsent);
      write.changes.push_back(std::move(change));
    }
    if (Below(10) == 0) return state_->Unstage();
    // Only the last change of a key counts.
    write.changes.clear();
    for (const auto& [key, row] : now) write.changes.push_back({key, row});
    state_->Seal(LogOffset(write.end), write.row_count_change);
    model_.Sealed(std::move(write));
  }

  int64_t SomePendingEnd() {
    std::vector<int64_t> ends = {model_.high_watermark()};
    for (auto at = model_.log().rbegin(); at != model_.log().rend(); ++at) {
      if (at->end <= model_.high_watermark()) break;
      ends.push_back(at->end);
    }
    return ends[Below(ends.size())];
  }

  void Commit() { CommitUpTo(SomePendingEnd()); }
  void CommitUpTo(int64_t end) {
    state_->OnCommitted(LogOffset(end));
    model_.Committed(end);
    ASSERT_EQ(state_->row_count(),
              static_cast<int64_t>(model_.StateAt(model_.high_watermark()).size()));
  }

  void Lose() {
    const int64_t from = SomePendingEnd();
    state_->OnLost(LogOffset(from));
    model_.Lost(from);
  }

  void CheckNewest() {
    const std::string key = SomeKey();
    for (const bool newest : {true, false}) {
      HotRowRef row;
      const HotLookup found = newest ? state_->FindNewest(AsBytes(key), &row)
                                     : state_->FindCommitted(AsBytes(key), &row);
      const Value known = newest ? model_.Newest(key) : model_.Committed(key);
      if (found == HotLookup::kAbsent) {
        ASSERT_FALSE(known.has_value()) << key;
      } else if (found == HotLookup::kRow) {
        ASSERT_TRUE(known.has_value()) << key;
        ASSERT_EQ(AsText(row.value()), Stored(*known));
        ASSERT_EQ(AsText(row.key()), key);
      }
    }
  }

  Task<void> Load() {
    std::vector<std::string> keys(1 + Below(30));
    for (std::string& key : keys) key = SomeKey();
    co_await LoadKeys(std::move(keys));
  }

  Task<void> LoadKeys(std::vector<std::string> keys) {
    std::vector<Bytes> asked;
    for (const std::string& key : keys) asked.push_back(AsBytes(key));
    const int64_t from = model_.high_watermark();
    const auto rows = co_await state_->Load(asked);
    if (!rows.ok()) co_return ExpectFault(rows.error());
    EXPECT_EQ(rows->size(), keys.size());
    for (size_t i = 0; i < keys.size() && !HasFailed(); ++i) {
      const HotRowRef& row = (*rows)[i];
      EXPECT_EQ(AsText(row.key()), keys[i]);
      Value seen;
      if (!row.is_tombstone()) seen = std::string(AsText(row.row()));
      EXPECT_TRUE(model_.MaySee(keys[i], from, seen)) << keys[i];
      // What was loaded stays while it is held.
      HotRowRef again;
      EXPECT_NE(state_->FindCommitted(AsBytes(keys[i]), &again), HotLookup::kCold);
    }
  }

  Task<void> ReadPrefix() {
    const std::string prefix = Below(3) == 0 ? "" : SomeKey().substr(0, 1 + Below(3));
    std::optional<std::string> after;
    if (Below(2) == 0) after = SomeKey();
    const size_t rows_max = Below(4) == 0 ? 10'000 : 1 + Below(50);
    const size_t bytes_max = Below(4) == 0 ? Below(1000) : 1 << 20;
    co_await CheckPrefix(prefix, after, rows_max, bytes_max);
  }

  Task<void> CheckPrefix(std::string prefix, std::optional<std::string> after, size_t rows_max,
                         size_t bytes_max) {
    const int64_t from = model_.high_watermark();
    const auto rows = co_await state_->ScanPrefix(prefix, after, rows_max, bytes_max);
    if (!rows.ok()) co_return ExpectFault(rows.error());
    const std::set<std::string> kept = model_.KeptSince(from);
    std::set<std::string> got;
    size_t bytes = 0;
    std::optional<std::string> last;
    for (const HotRowRef& row : *rows) {
      const std::string key(AsText(row.key()));
      EXPECT_TRUE(bytes < bytes_max || got.empty());
      EXPECT_TRUE(key.starts_with(prefix));
      EXPECT_TRUE(!after || key > *after);
      EXPECT_TRUE(!last || key > *last);
      EXPECT_FALSE(row.is_tombstone());
      EXPECT_TRUE(model_.MaySee(key, from, std::string(AsText(row.row())))) << key;
      last = key;
      got.insert(key);
      bytes += row.key().size() + row.value().size();
    }
    EXPECT_LE(rows->size(), rows_max);
    const bool is_all = rows->size() < rows_max && bytes < bytes_max;
    for (const std::string& key : kept) {
      const bool is_asked = key.starts_with(prefix) && (!after || key > *after);
      const bool is_due = is_asked && (is_all || (last && key <= *last));
      EXPECT_TRUE(!is_due || got.contains(key)) << key;
    }
  }

  Task<void> Flush(size_t dirty_bytes_max) {
    const int64_t until = model_.high_watermark();
    const Status flushed = co_await state_->Flush(dirty_bytes_max);
    if (!flushed.ok()) co_return ExpectFault(flushed.error());
    EXPECT_TRUE(dirty_bytes_max > 0 || state_->flushed_offset().value >= until);
  }

  Task<void> Scan() {
    const int64_t from = model_.high_watermark();
    auto scan = co_await state_->OpenScan();
    if (!scan.ok()) co_return ExpectFault(scan.error());
    EXPECT_GE((*scan)->log_offset().value, from);
    const Rows known = model_.StateAt((*scan)->log_offset().value);
    std::vector<std::string> values;
    while (true) {
      const auto more =
          co_await (*scan)->Read(Below(1000), 1 + static_cast<int64_t>(Below(30)), &values);
      if (!more.ok()) co_return ExpectFault(more.error());
      if (!*more || HasFailed()) break;
      if (Below(2) == 0) co_await world_.loop().NextTurn();
    }
    EXPECT_EQ(values.size(), known.size());
    auto value = values.begin();
    for (const auto& [key, row] : known) {
      if (value == values.end() || HasFailed()) break;
      EXPECT_EQ(*value++, Stored(row)) << key << " offset " << (*scan)->log_offset().value;
    }
  }

  Task<void> Snapshot() {
    const std::string directory = world_.root() + "/snapshot-" + std::to_string(next_snapshot_++);
    const auto made = co_await state_->Snapshot(directory);
    if (!made.ok()) co_return ExpectFault(made.error());
    const Rows known = model_.StateAt(made->log_offset.value);
    EXPECT_EQ(made->row_count, static_cast<int64_t>(known.size()));
    rocksdb::DB* opened = nullptr;
    const auto status = rocksdb::DB::OpenForReadOnly(rocksdb::Options(), directory, &opened);
    EXPECT_TRUE(status.ok()) << status.ToString();
    if (!status.ok()) co_return;
    const std::unique_ptr<rocksdb::DB> db(opened);
    const std::unique_ptr<rocksdb::Iterator> at(db->NewIterator(rocksdb::ReadOptions()));
    Rows rows;
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      rows[at->key().ToString()] = at->value().ToString().substr(2);
    }
    EXPECT_EQ(rows, known);
  }

  void ExpectFault(const Error& error) {
    EXPECT_NE(error.code, ErrorCode::kCorruptData) << error.message;
    EXPECT_TRUE(had_faults_) << error.message;
  }

  Task<void> CheckAll() {
    co_await background_.Join();
    world_.faults().Heal();
    Status flushed = co_await state_->Flush(Below(10'000));
    // The failure of a compaction may come to light only now.
    for (int tries = 0; !flushed.ok() && tries < 3; ++tries) {
      flushed = co_await state_->Flush(Below(10'000));
    }
    EXPECT_TRUE(flushed.ok()) << flushed.error().message;
    had_faults_ = false;
    for (size_t i = 0; i < 20; ++i) co_await Load();
    co_await CheckPrefix("", std::nullopt, 1 << 20, 1 << 30);
    EXPECT_EQ(state_->row_count(),
              static_cast<int64_t>(model_.StateAt(model_.high_watermark()).size()));
  }

  /// A stop, or the death of the process if faults are on: then nothing more reached the disk.
  Task<void> Reopen() {
    co_await background_.Join();
    co_await state_->Stop();
    const int64_t flushed = state_->flushed_offset().value;
    state_.reset();
    world_.faults().Heal();
    had_faults_ = false;
    auto opened = world_.TryOpen();
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    if (!opened.ok()) std::abort();
    state_ = *std::move(opened);
    const int64_t from = state_->checkpoint().log_offset.value;
    EXPECT_GE(from, flushed);
    EXPECT_EQ(state_->checkpoint().row_count, static_cast<int64_t>(model_.StateAt(from).size()));
    model_.Lost(model_.high_watermark());
    for (const Write& write : model_.log()) {
      if (write.end <= from) continue;
      for (const Change& change : write.changes) {
        if (change.row) {
          state_->StagePut(AsBytes(change.key), SchemaId(1), AsBytes(*change.row));
        } else {
          state_->StageDelete(AsBytes(change.key));
        }
      }
      state_->Seal(LogOffset(write.end), write.row_count_change);
      state_->OnCommitted(LogOffset(write.end));
      if (Below(20) == 0) co_await world_.loop().NextTurn();
      if (Below(50) == 0) background_.Spawn(Flush(Below(20'000)));
    }
    state_->OnCommitted(LogOffset(model_.high_watermark()));
    if (!HasFailed()) co_await CheckAll();
  }

  std::mt19937_64 random_;
  KvWorld world_;
  size_t keys_;
  std::unique_ptr<KvState> state_;
  Model model_;
  TaskScope background_;
  /// Since RocksDB was seen to be well.
  bool had_faults_ = false;
  int next_snapshot_ = 0;
};

TEST(KvModel, RandomLivesAreThoseOfThePlainModel) {
  uint64_t first = 1, count = 4;
  if (const char* seeds = std::getenv("WEIR_KV_SEEDS")) {
    char* rest = nullptr;
    first = std::strtoull(seeds, &rest, 10);
    count = std::strtoull(rest + 1, nullptr, 10);
  }
  for (uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SetLogLevel(std::getenv("WEIR_KV_TESTS_TALK") != nullptr ? LogLevel::kDebug : LogLevel::kOff);
    RandomLife life(seed);
    life.Run(3000);
    if (HasFailure()) ADD_FAILURE() << "seed " << seed;
  }
}

}  // namespace
}  // namespace weir
