// Random lives of a log with many buckets, beside a plain model. Each seed is one life; the seed of
// a failure is printed. WEIR_LOG_SEEDS=first:count runs others.
#include <cstdlib>

#include <gtest/gtest.h>

#include "weir/log/log_model.h"
#include "weir/log/log_testing.h"

namespace weir {
namespace {

using Call = FaultFileSystem::Call;
using Fault = FaultFileSystem::Fault;

class RandomLife {
 public:
  explicit RandomLife(uint64_t seed) : world_(seed), random_(seed) {
    world_.config().journal_file_bytes = 1000 + Below(20'000);
    world_.config().journal_file_pieces = 5 + Below(100);
    world_.config().sort_bytes_min = 1000 + Below(30'000);
    world_.Start();
  }

  void Run(size_t steps) {
    for (size_t i = 0; i < steps && !::testing::Test::HasFailure(); ++i) Step();
    if (::testing::Test::HasFailure()) return;
    Restart(0);
  }

 private:
  struct Known {
    BucketModel model;
    std::map<WriterId, int32_t> next_sequence;
  };

  size_t Below(size_t end) { return random_() % end; }

  void Step() {
    switch (const size_t dice = Below(100); dice) {
      case 0:
      case 1: return Restart(0);
      case 2:
      case 3: return Restart(1);
      case 4: return Restart(2);
      case 5: return Restart(3);
      case 6:
      case 7: return DropSome();
      case 8:
      case 9:
      case 10: return AppendToAFullDisk();
      case 11:
      case 12:
      case 13:
      case 14: return Retain();
      case 15:
      case 16: return Trim();
      case 17:
      case 18:
      case 19:
      case 20: return world_.Await(world_.log().Maintain());
      default: return dice < 45 ? ReadSome() : AppendSome();
    }
  }

  TableBucket SomeBucket() {
    // Small numbers come often. Ids of dropped buckets are not used again.
    const auto index = static_cast<int32_t>(Below(1 + Below(8)));
    return BucketId(generation_[index] * 100 + index, index);
  }

  Buffer SomeBatches(Known& known) {
    std::string bytes;
    const size_t count = 1 + Below(3);
    const WriterId writer(static_cast<int64_t>(Below(BucketModel::kWriters)));
    for (size_t i = 0; i < count; ++i) {
      const size_t size = Below(20) == 0 ? Below(100'000) : Below(1500);
      bytes += AsText(MakeBatch(static_cast<int32_t>(1 + Below(4)), size, random_(), writer,
                                BatchSequence(known.next_sequence[writer]++))
                          .bytes());
    }
    return Buffer::CopyOf(AsBytes(bytes));
  }

  /// Some appends to some buckets at once; they may overtake each other's commits.
  void AppendSome() {
    now_ = Timestamp(now_.value + static_cast<int64_t>(Below(5)));
    struct Appended {
      TableBucket id;
      LogOffset end;
      bool needs_sync;
    };
    std::vector<Appended> appended;
    const size_t count = 1 + Below(6);
    for (size_t i = 0; i < count; ++i) {
      const TableBucket id = SomeBucket();
      Known& known = known_[id];
      const bool needs_sync = Below(2) == 0;
      Buffer batches = SomeBatches(known);
      auto& bucket = world_.Bucket(id);
      world_.OnLoop([&] {
        const auto base = world_.AppendOnLoop(bucket, batches, needs_sync, now_);
        ASSERT_TRUE(base.ok()) << base.error().message;
        known.model.Tried(*base, AsText(batches.bytes()));
      });
      appended.push_back({id, bucket.appended_end, needs_sync});
    }
    for (const Appended& append : appended) {
      ASSERT_TRUE(world_.AwaitCommit(append.id));
      known_[append.id].model.Promised(append.end, append.needs_sync);
    }
  }

  void AppendToAFullDisk() {
    const size_t bytes_written = Below(500);
    world_.files().SetJudge([=](Call call, const std::string& path) -> std::optional<Fault> {
      if (call != Call::kWrite || !path.ends_with(".journal")) return std::nullopt;
      return Fault{ErrorCode::kNoSpace, bytes_written};
    });
    const TableBucket id = SomeBucket();
    Known& known = known_[id];
    const auto sequences_before = known.next_sequence;
    auto& bucket = world_.Bucket(id);
    const LogOffset end = world_.OnLoop([&] { return bucket.log->end; });
    ASSERT_TRUE(world_.Append(id, SomeBatches(known), true, now_).ok());
    ASSERT_FALSE(world_.AwaitCommit(id));
    ASSERT_EQ(world_.OnLoop([&] { return bucket.log->end; }), end);
    known.next_sequence = sequences_before;
    world_.files().SetJudge(nullptr);
  }

  void ReadSome() {
    if (known_.empty()) return;
    const auto known = std::next(known_.begin(), static_cast<ptrdiff_t>(Below(known_.size())));
    const TableBucket id = known->first;
    auto& bucket = world_.Bucket(id);
    const auto [start, end] =
        world_.OnLoop([&] { return std::pair(bucket.log->start, bucket.log->committed_end); });
    known->second.model.Check(world_, id, end);
    if (start == end || ::testing::Test::HasFailure()) return;
    const LogOffset from = start + static_cast<int64_t>(Below(static_cast<size_t>(end - start)));
    const size_t bytes_max = Below(10'000);
    const auto read = world_.Read(id, from, end, bytes_max);
    ASSERT_TRUE(read.ok()) << read.error().message;
    const std::string text = TextOf(*read);
    EXPECT_EQ(text.size(), read->bytes);
    const auto headers = HeadersOf(AsBytes(text));
    ASSERT_FALSE(headers.empty());
    EXPECT_LE(headers.front().base_offset, from);
    EXPECT_GT(headers.front().end_offset(), from);
    EXPECT_EQ(headers.back().end_offset(), read->next);
    EXPECT_TRUE(text.size() <= bytes_max || headers.size() == 1);
    EXPECT_NE(known->second.model.text().find(text), std::string::npos);
    FindSomeTime(id, known->second.model, start, end);
  }

  void FindSomeTime(const TableBucket& id, const BucketModel& model, LogOffset start,
                    LogOffset end) {
    const Timestamp time(static_cast<int64_t>(Below(static_cast<size_t>(now_.value) + 10)));
    LogOffset expected = end;
    const auto headers = HeadersOf(AsBytes(model.text()));
    for (auto header = headers.rbegin(); header != headers.rend(); ++header) {
      if (header->commit_timestamp >= time) expected = std::max(start, header->base_offset);
    }
    const auto found = world_.Await(FindOffset(world_.Bucket(id).log, time, end, world_.pool()));
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_EQ(*found, expected);
  }

  void Retain() {
    auto& bucket = world_.Bucket(SomeBucket());
    RetentionLimits limits;
    if (Below(2) == 0) limits.bytes_max = 1 + Below(20'000);
    if (Below(2) == 0) limits.oldest = Timestamp(now_.value - static_cast<int64_t>(Below(200)));
    world_.OnLoop([&] {
      const LogOffset before = bucket.log->start;
      const auto records = static_cast<size_t>(bucket.log->end - before);
      const LogOffset keep_from = before + static_cast<int64_t>(Below(records + 1));
      world_.log().Retain(*bucket.log, limits, keep_from);
      EXPECT_GE(bucket.log->start, before);
      EXPECT_LE(bucket.log->start, keep_from);
    });
  }

  void Trim() {
    auto& bucket = world_.Bucket(SomeBucket());
    world_.OnLoop([&] {
      const auto records = static_cast<size_t>(bucket.log->end - bucket.log->start);
      world_.log().Trim(*bucket.log, bucket.log->start + static_cast<int64_t>(Below(records + 1)));
    });
  }

  void DropSome() {
    const TableBucket id = SomeBucket();
    world_.Drop(id);
    known_.erase(id);
    ++generation_[id.bucket_id];
  }

  /// 0: stops; 1: is killed; 2, 3: loses power, and with it all that was not synced, or some.
  void Restart(int how) {
    if (how == 0) {
      world_.Stop();
    } else {
      if (Below(2) == 0) {
        // Not at a quiet moment.
        world_.files().DieAt(Below(8), random_());
        for (int i = 0; i < 3; ++i) TryToAppend();
      }
      world_.Kill();
    }
    if (how >= 2) world_.files().PowerLoss(random_(), how == 3);
    const Status started = world_.TryStart();
    ASSERT_TRUE(started.ok()) << started.error().message;
    for (const TableBucket& id : world_.OnLoop([&] { return world_.log().buckets(); })) {
      if (!known_.contains(id)) world_.Drop(id);  // one that was dropped before is found again
    }
    for (auto& [id, known] : known_) {
      const BucketModel& model = known.model;
      known.model.Check(world_, id, how < 2 ? model.committed_end() : model.synced_end());
      if (::testing::Test::HasFailure()) return;
      known.model.Restarted(world_.Bucket(id).log->end);
      LearnSequences(id, known);
    }
  }

  void TryToAppend() {
    const TableBucket id = SomeBucket();
    Known& known = known_[id];
    Buffer batches = SomeBatches(known);
    auto& bucket = world_.Bucket(id);
    const bool is_tried = world_.OnLoop([&] {
      const auto base = world_.AppendOnLoop(bucket, batches, true, now_);
      if (base.ok()) known.model.Tried(*base, AsText(batches.bytes()));
      return base.ok();
    });
    if (is_tried && world_.AwaitCommit(id)) known.model.Promised(bucket.appended_end, true);
  }

  void LearnSequences(const TableBucket& id, Known& known) {
    auto& bucket = world_.Bucket(id);
    world_.OnLoop([&] {
      for (int i = 0; i < BucketModel::kWriters; ++i) {
        const WriterState* const state = bucket.log->writers.Find(WriterId(i));
        known.next_sequence[WriterId(i)] =
            state == nullptr ? 0 : state->recent.back().sequence.value + 1;
      }
    });
  }

  LogWorld world_;
  std::mt19937_64 random_;
  std::map<TableBucket, Known> known_;
  std::map<int32_t, int64_t> generation_;
  Timestamp now_{1000};
};

TEST(LogModel, HoldsInRandomLives) {
  uint64_t first = 1;
  uint64_t count = 25;
  if (const char* const seeds = std::getenv("WEIR_LOG_SEEDS")) {
    ASSERT_EQ(std::sscanf(seeds, "%lu:%lu", &first, &count), 2) << "WEIR_LOG_SEEDS=first:count";
  }
  for (uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE(fmt::format("seed={}", seed));
    RandomLife(seed).Run(200);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace weir
