// What does the state cost a row, beside the work of decoding, merging and logging it? 1 M rows of
// 100 bytes, in batches of 1,000 as a put has them, read before they are written; all hot, and with
// memory for a tenth of them. More than 0.8 us an insert, 0.5 an update or 0.3 a lookup (hot) or
// 2.3, 5.2 and 3 (cold) would make us look for another structure.
//
// Time of the whole process is counted, so flushes and compactions are in it.
#include <sys/resource.h>
#include <unistd.h>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "weir/base/log.h"
#include "weir/kv/kv_state.h"
#include "weir/runtime/real_world.h"

namespace weir {
namespace {

constexpr size_t kRows = 1'000'000;
constexpr size_t kBatch = 1000;
constexpr size_t kRowBytes = 100;
constexpr size_t kPrefetch = 100;
// What a row takes in memory, with its part of the tree.
constexpr size_t kHotRowBytes = 190;

double ProcessSeconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// Keys as of a BIGINT, in an order that has nothing to do with theirs.
std::string KeyOf(uint64_t number) {
  uint64_t mixed = number * 0x9e3779b97f4a7c15u;
  mixed ^= mixed >> 29;
  std::string key(8, '\0');
  StoreBig(reinterpret_cast<std::byte*>(key.data()), static_cast<int64_t>(mixed));
  return key;
}

class World {
 public:
  explicit World(bool is_hot)
      : root_((std::filesystem::temp_directory_path() /
               ("weir-kv-bench-" + std::to_string(::getpid())))
                  .string()),
        files_(MakeRealFileSystem()),
        pool_(MakeRealBlockingPool(2)),
        loops_(1) {
    SetLogLevel(LogLevel::kWarn);
    std::filesystem::remove_all(root_);
    KvMemoryConfig config;
    // Rows have three quarters of it.
    config.bytes_max = is_hot ? size_t{4} << 30 : kRows * kHotRowBytes / 10 * 4 / 3;
    memory_ = std::make_unique<KvMemory>(config, std::vector<EventLoop*>{&loops_[0]});
    state_ = KvState::Open(root_, *files_, *memory_, loops_[0], *pool_).value();
    KvHooks hooks;
    hooks.flush_wanted = [this] { flushes_.Spawn(Flush()); };
    state_->SetHooks(std::move(hooks));
  }
  ~World() {
    RunBlocking(loops_[0], Stop());
    pool_.reset();
    std::filesystem::remove_all(root_);
  }

  /// Puts rows of the keys from `first` on, as a put does: reads the old ones, writes,
  /// commits.
  Task<void> Put(const std::vector<std::string>* keys, size_t first) {
    const bool has_room = co_await state_->AwaitRoom(std::chrono::seconds(60));
    if (!has_room) std::abort();
    int64_t inserted = 0;
    std::vector<HotRowRef> pins = co_await Read(keys, first, true, &inserted);
    for (size_t i = first; i < first + kBatch; ++i) {
      std::memcpy(row_.data(), &i, sizeof i);
      state_->StagePut(AsBytes((*keys)[i]), SchemaId(1), AsBytes(row_));
    }
    end_ += static_cast<int64_t>(kBatch);
    state_->Seal(LogOffset(end_), inserted);
    state_->OnCommitted(LogOffset(end_));
  }

  Task<void> Lookup(const std::vector<std::string>* keys, size_t first, size_t count) {
    int64_t absent = 0;
    const auto rows = co_await Read(keys, first, false, &absent, count);
    if (absent != 0) std::abort();
  }

  Task<void> PutAll(const std::vector<std::string>* keys) {
    for (size_t i = 0; i < keys->size(); i += kBatch) co_await Put(keys, i);
    co_await flushes_.Join();
  }
  Task<void> LookupAll(const std::vector<std::string>* keys, size_t batch) {
    for (size_t i = 0; i < keys->size(); i += batch) co_await Lookup(keys, i, batch);
  }
  Task<void> FlushAll() {
    co_await flushes_.Join();
    const Status flushed = co_await state_->Flush(0);
    if (!flushed.ok()) std::abort();
  }

  void Run(Task<void> task) { RunBlocking(loops_[0], std::move(task)); }
  size_t hot_bytes() const { return memory_->hot_bytes(); }

 private:
  Task<std::vector<HotRowRef>> Read(const std::vector<std::string>* keys, size_t first, bool newest,
                                    int64_t* absent, size_t count = kBatch) {
    std::vector<HotRowRef> rows(count);
    std::vector<Bytes> asked(count), cold;
    for (size_t i = 0; i < count; ++i) asked[i] = AsBytes((*keys)[first + i]);
    for (size_t i = 0; i < count; ++i) {
      if (i % kPrefetch == 0) {
        state_->Prefetch(std::span(asked).subspan(i, std::min(kPrefetch, count - i)), newest);
      }
      const Bytes key = asked[i];
      const HotLookup found =
          newest ? state_->FindNewest(key, &rows[i]) : state_->FindCommitted(key, &rows[i]);
      if (found == HotLookup::kCold) cold.push_back(key);
      if (found == HotLookup::kAbsent) ++*absent;
    }
    if (cold.empty()) co_return rows;
    auto loaded = co_await state_->Load(std::move(cold));
    if (!loaded.ok()) std::abort();
    for (HotRowRef& row : *loaded) {
      if (row.is_tombstone()) ++*absent;
      rows.push_back(std::move(row));
    }
    co_return rows;
  }

  Task<void> Flush() {
    const Status flushed = co_await state_->Flush(0);
    if (!flushed.ok()) std::abort();
  }
  Task<void> Stop() {
    co_await flushes_.Join();
    co_await state_->Stop();
    state_.reset();
  }

  const std::string root_;
  const std::unique_ptr<FileSystem> files_;
  std::unique_ptr<BlockingPool> pool_;
  RealLoops loops_;
  std::unique_ptr<KvMemory> memory_;
  std::unique_ptr<KvState> state_;
  TaskScope flushes_;
  std::string row_ = std::string(kRowBytes, 'r');
  int64_t end_ = 0;
};

/// All keys, in some order.
std::vector<std::string> Shuffled(uint64_t seed) {
  std::vector<std::string> keys(kRows);
  for (size_t i = 0; i < kRows; ++i) keys[i] = KeyOf(i);
  std::shuffle(keys.begin(), keys.end(), std::mt19937_64(seed));
  return keys;
}

/// Runs `work` once and counts its CPU time a row.
void Measure(benchmark::State& state, World& world, Task<void> work) {
  const double before = ProcessSeconds();
  world.Run(std::move(work));
  const double used = ProcessSeconds() - before;
  state.counters["cpu_us_per_row"] = used / static_cast<double>(kRows) * 1e6;
  state.counters["hot_bytes_per_row"] =
      static_cast<double>(world.hot_bytes()) / static_cast<double>(kRows);
}

void Insert(benchmark::State& state) {
  const auto order = Shuffled(1);
  for (auto _ : state) {
    state.PauseTiming();
    World world(state.range(0) == 1);
    state.ResumeTiming();
    Measure(state, world, world.PutAll(&order));
  }
}

void Update(benchmark::State& state) {
  const auto order = Shuffled(1), again = Shuffled(2);
  for (auto _ : state) {
    state.PauseTiming();
    World world(state.range(0) == 1);
    world.Run(world.PutAll(&order));
    if (state.range(0) == 0) world.Run(world.FlushAll());
    state.ResumeTiming();
    Measure(state, world, world.PutAll(&again));
  }
}

void Lookup(benchmark::State& state) {
  const auto order = Shuffled(1), again = Shuffled(2);
  for (auto _ : state) {
    state.PauseTiming();
    World world(state.range(0) == 1);
    world.Run(world.PutAll(&order));
    if (state.range(0) == 0) world.Run(world.FlushAll());
    state.ResumeTiming();
    Measure(state, world, world.LookupAll(&again, 100));
  }
}

BENCHMARK(Insert)->Arg(1)->Arg(0)->ArgName("hot")->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(Update)->Arg(1)->Arg(0)->ArgName("hot")->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK(Lookup)->Arg(1)->Arg(0)->ArgName("hot")->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace weir
