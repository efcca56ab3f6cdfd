// Runs one busy life of a log, which dies at each of its calls to the file system in turn, and
// looks at what a start finds: after kill -9, and after the power went away.
#include <gtest/gtest.h>

#include "weir/log/log_model.h"
#include "weir/log/log_testing.h"

namespace weir {
namespace {

enum class Death { kKill, kPowerLoss, kPowerLossThatKeepsSome };

class Life {
 public:
  explicit Life(uint64_t seed) : world_(seed), noise_(seed) {
    world_.config().journal_file_bytes = 2500;
    world_.config().sort_bytes_min = 4000;
  }

  LogWorld& world() { return world_; }

  /// Starts, works and stops. Goes on after the death without noticing; nothing happens any more.
  void Live() {
    if (!world_.TryStart().ok()) return;
    Work();
    world_.Stop();
  }

  /// What a new process finds is possible, and it can work, and stop, and start again.
  void Check(Death death) {
    for (const bool is_first : {true, false}) {
      const Status started = world_.TryStart();
      ASSERT_TRUE(started.ok()) << started.error().message;
      for (auto& [id, model] : models_) {
        const bool is_kill = death == Death::kKill || !is_first;
        model.Check(world_, id, is_kill ? model.committed_end() : model.synced_end());
        if (::testing::Test::HasFatalFailure()) return;
        model.Restarted(world_.Bucket(id).log->end);
        Put(id, true);
        EXPECT_EQ(model.committed_end(), world_.Bucket(id).log->end);
      }
      world_.Stop();
      EXPECT_LE(world_.FilesIn("groups/0").size(), 8u);
      for (const std::string& name : world_.FilesIn("groups/0")) {
        EXPECT_FALSE(name.ends_with(".next")) << name;
      }
    }
  }

 private:
  void Work() {
    const TableBucket a = BucketId(1), b = BucketId(2), dropped = BucketId(3);
    for (int i = 0; i < 4; ++i) {
      Put(a, i % 2 == 0);
      Put(b, true);
      Put(dropped, false);
    }
    Put(a, true, 3000);
    world_.Await(world_.log().Maintain());
    models_.erase(dropped);  // it may be found again, or not
    world_.Drop(dropped);
    world_.Await(world_.log().Maintain());
    for (int i = 0; i < 6; ++i) Put(b, i % 2 == 0, 700);
    world_.Await(world_.log().Maintain());
    auto& bucket = world_.Bucket(b);
    world_.OnLoop([&] {
      RetentionLimits limits;
      limits.bytes_max = 1500;
      world_.log().Retain(*bucket.log, limits, bucket.log->committed_end);
    });
    world_.Await(world_.log().Maintain());
    Put(a, false);
    Put(b, true);
  }

  void Put(const TableBucket& id, bool needs_sync, size_t bytes = 300) {
    BucketModel& model = models_[id];
    const WriterId writer(static_cast<int64_t>(noise_() % BucketModel::kWriters));
    Buffer batch = MakeBatch(1 + noise_() % 3, bytes, noise_(), writer,
                             BatchSequence(sequences_[{id, writer}]++));
    auto& bucket = world_.Bucket(id);
    // The bytes are copied where they are stamped, because who writes them may let them go.
    const auto base = world_.OnLoop([&] {
      auto result = world_.AppendOnLoop(bucket, batch, needs_sync);
      if (result.ok()) model.Tried(*result, AsText(batch.bytes()));
      return result;
    });
    if (!base.ok() || !world_.AwaitCommit(id)) return;
    model.Promised(bucket.appended_end, needs_sync);
  }

  LogWorld world_;
  std::mt19937_64 noise_;
  std::map<TableBucket, BucketModel> models_;
  std::map<std::pair<TableBucket, WriterId>, int32_t> sequences_;
};

void DieEverywhere(Death death) {
  size_t calls = 0;
  {
    Life life(1);
    life.Live();
    calls = life.world().files().calls();
    ASSERT_GT(calls, 60u);
    life.Check(Death::kKill);
  }
  for (size_t call = 0; call < calls; ++call) {
    SCOPED_TRACE(fmt::format("death={} call={}", static_cast<int>(death), call));
    Life life(1);
    life.world().files().DieAt(call, call);
    life.Live();
    life.world().files().Revive();
    const auto lose_power = [&] {
      if (death == Death::kKill) return;
      life.world().files().PowerLoss(call, death == Death::kPowerLossThatKeepsSome);
    };
    lose_power();
    // The next start may die as well.
    if (call % 2 == 0) {
      life.world().files().DieAt(call / 2 % 25, call);
      if (life.world().TryStart().ok()) life.world().Stop();
      life.world().files().Revive();
      lose_power();
    }
    life.Check(death);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Crash, LosesNothingThatWasWrittenWhenTheProcessIsKilledAtAnyCall) {
  DieEverywhere(Death::kKill);
}

TEST(Crash, LosesNothingThatWasSyncedWhenThePowerGoesAwayAtAnyCall) {
  DieEverywhere(Death::kPowerLoss);
}

TEST(Crash, LosesNothingThatWasSyncedWhenThePowerGoesAwayAndSomeOfTheRestIsFound) {
  DieEverywhere(Death::kPowerLossThatKeepsSome);
}

}  // namespace
}  // namespace weir
