#include "weir/kv/kv_memory.h"

#include <gtest/gtest.h>

#include "weir/base/log.h"
#include "weir/kv/kv_testing.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

KvMemoryConfig Small() {
  KvMemoryConfig config;
  config.bytes_max = 4 << 20;
  config.flush_step_bytes = 256 << 10;
  return config;
}

/// States that flush when they are asked to.
class FlushingState {
 public:
  FlushingState(KvWorld& world, const std::string& name, size_t loop)
      : world_(world), loop_(loop), state_(world.Open(name, loop)) {
    KvHooks hooks;
    hooks.flush_wanted = [this] { flushes_.Spawn(Flush()); };
    world_.OnLoop([&] { state_->SetHooks(std::move(hooks)); }, loop_);
  }
  ~FlushingState() {
    world_.OnLoop([&] { state_->SetHooks({}); }, loop_);
    world_.Await(Join(), loop_);
    world_.Close(std::move(state_), loop_);
  }

  /// Writes `count` rows of about 1 KB, each in a write of its own.
  Task<bool> Write(size_t count) {
    for (size_t i = 0; i < count; ++i, ++end_) {
      const bool has_room = co_await state_->AwaitRoom(seconds(20));
      if (!has_room) co_return false;
      state_->StagePut(AsBytes(std::to_string(end_)), SchemaId(1), AsBytes(std::string(1000, 'r')));
      state_->Seal(LogOffset(end_ + 1), 1);
      state_->OnCommitted(LogOffset(end_ + 1));
      most_ = std::max(most_, world_.memory().hot_bytes());
      if (i % 50 == 0) co_await world_.loop(loop_).Sleep(Duration::zero());
    }
    co_return true;
  }

  KvState& state() { return *state_; }
  size_t most() const { return most_; }

 private:
  Task<void> Flush() {
    const Status flushed = co_await state_->Flush(0);
    EXPECT_TRUE(flushed.ok()) << flushed.error().message;
  }
  Task<void> Join() { co_await flushes_.Join(); }

  KvWorld& world_;
  const size_t loop_;
  std::unique_ptr<KvState> state_;
  TaskScope flushes_;
  int64_t end_ = 0;
  size_t most_ = 0;
};

TEST(KvMemory, HotRowsStayWithinTheBudgetWhateverIsWritten) {
  KvWorld world(Small(), 2);
  const size_t max = world.memory().hot_bytes_max();
  {
    FlushingState a(world, "a", 0), b(world, "b", 0), c(world, "c", 1);
    for (int round = 0; round < 3; ++round) {
      EXPECT_TRUE(world.Await(a.Write(3000), 0));
      EXPECT_TRUE(world.Await(b.Write(3000), 0));
      EXPECT_TRUE(world.Await(c.Write(3000), 1));
    }
    EXPECT_EQ(a.state().row_count(), 9000);
    EXPECT_LE(std::max({a.most(), b.most(), c.most()}), max + max / 8 + 10'000);
  }
  EXPECT_EQ(world.memory().hot_bytes(), 0u);
  EXPECT_EQ(world.memory().unflushed_bytes(), 0u);
}

TEST(KvMemory, ABusyLoopTakesFromIdleOnes) {
  KvWorld world(Small(), 2);
  const size_t max = world.memory().hot_bytes_max();
  FlushingState idle(world, "idle", 0), busy(world, "busy", 1);
  EXPECT_TRUE(world.Await(idle.Write(4000), 0));
  EXPECT_GT(idle.state().hot_bytes(), max / 4 * 3);
  EXPECT_TRUE(world.Await(busy.Write(4000), 1));
  world.OnLoop([] {}, 0);
  EXPECT_LT(idle.state().hot_bytes(), max / 4 * 3);
  EXPECT_GT(busy.state().hot_bytes(), max / 3);
}

TEST(KvMemory, AWriterWaitsForRoomAndIsToldWhenThereIsNone) {
  KvWorld world(Small());
  auto state = world.Open();
  const auto write = [&] {
    state->StagePut(AsBytes("key" + std::to_string(state->row_count())), SchemaId(1),
                    AsBytes(std::string(100'000, 'r')));
    const LogOffset end(state->row_count() + 1);
    state->Seal(end, 1);
    state->OnCommitted(end);
  };
  // Nobody flushes it.
  while (world.memory().unflushed_bytes() < world.memory().unflushed_bytes_max()) {
    world.OnLoop(write);
  }
  EXPECT_TRUE(state->needs_flush());
  EXPECT_FALSE(world.Await(state->AwaitRoom(milliseconds(10))));
  ASSERT_TRUE(world.Await(state->Flush(0)).ok());
  EXPECT_FALSE(state->needs_flush());
  EXPECT_TRUE(world.Await(state->AwaitRoom(milliseconds(10))));
  world.Close(std::move(state));
}

TEST(KvMemory, AFlushMakesRoomForAWriterThatWaits) {
  KvWorld world(Small(), 2);
  auto full = world.Open("full", 0), waits = world.Open("waits", 1);
  world.OnLoop([&] {
    full->StagePut(AsBytes("k"), SchemaId(1), AsBytes(std::string(3 << 20, 'r')));
    full->Seal(LogOffset(1), 1);
    full->OnCommitted(LogOffset(1));
  });
  std::atomic<bool> flushed = false;
  const auto flush = [](KvState* state, std::atomic<bool>* done) -> Task<void> {
    const Status status = co_await state->Flush(0);
    EXPECT_TRUE(status.ok());
    *done = true;
  };
  world.OnLoop([&] { Spawn(flush(full.get(), &flushed)); });
  EXPECT_TRUE(world.Await(waits->AwaitRoom(seconds(20)), 1));
  while (!flushed) world.OnLoop([] {});
  world.Close(std::move(full), 0);
  world.Close(std::move(waits), 1);
}

TEST(KvMemory, WhatIsHeldStaysWhateverTheBudgetSays) {
  KvWorld world(Small());
  FlushingState held(world, "held", 0), other(world, "other", 0);
  KvState& state = held.state();
  ASSERT_TRUE(world.Await(held.Write(1000)));
  ASSERT_TRUE(world.Await(state.Flush(0)).ok());
  std::optional<KvState::Hold> hold;
  world.OnLoop([&] { hold.emplace(state); });
  // That it is absent is then known by a row too.
  const std::string absent = "absent";
  ASSERT_TRUE(world.Await(state.Load({AsBytes(absent)})).ok());
  const auto cold_keys = [&] {
    size_t cold = 0;
    HotRowRef row;
    world.OnLoop([&] {
      for (int i = 0; i < 1000; ++i) {
        cold += state.FindNewest(AsBytes(std::to_string(i)), &row) == HotLookup::kCold;
      }
      cold += state.FindNewest(AsBytes(absent), &row) == HotLookup::kCold;
      row = HotRowRef();
    });
    return cold;
  };
  const size_t cold_before = cold_keys();
  ASSERT_TRUE(world.Await(other.Write(6000)));
  EXPECT_EQ(cold_keys(), cold_before);
  world.OnLoop([&] { hold.reset(); });
  ASSERT_TRUE(world.Await(other.Write(6000)));
  EXPECT_GT(cold_keys(), cold_before + 500);
}

TEST(KvMemory, WhatWasHeldIsGivenBackAtTheEndOfTheHold) {
  KvWorld world(Small());
  auto state = world.Open();
  std::optional<KvState::Hold> hold;
  world.OnLoop([&] {
    hold.emplace(*state);
    for (int i = 0; i < 5000; ++i) {
      state->StagePut(AsBytes(std::to_string(i)), SchemaId(1), AsBytes(std::string(1000, 'r')));
    }
    state->Seal(LogOffset(1), 5000);
    state->OnCommitted(LogOffset(1));
  });
  ASSERT_TRUE(world.Await(state->Flush(0)).ok());
  const size_t max = world.memory().hot_bytes_max();
  EXPECT_GT(world.memory().hot_bytes(), max);
  world.OnLoop([&] { hold.reset(); });
  // It goes in some turns of the loop.
  for (int i = 0; i < 100 && world.memory().hot_bytes() > max; ++i) world.OnLoop([] {});
  EXPECT_LE(world.memory().hot_bytes(), max);
  world.Close(std::move(state));
}

TEST(KvMemory, IdleStatesCostNothing) {
  KvWorld world(Small());
  std::vector<std::unique_ptr<KvState>> states;
  for (int i = 0; i < 1000; ++i) states.push_back(world.Open("state" + std::to_string(i)));
  EXPECT_EQ(world.memory().hot_bytes(), 0u);
  EXPECT_TRUE(std::filesystem::is_empty(world.root()));
  for (auto& state : states) world.Close(std::move(state));
}

}  // namespace
}  // namespace weir
