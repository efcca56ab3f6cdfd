#include "weir/log/compaction.h"

#include <gtest/gtest.h>

#include "weir/log/log_testing.h"

namespace weir {
namespace {

using Call = FaultFileSystem::Call;
using Fault = FaultFileSystem::Fault;

// --- Plans -------------------------------------------------------------------------------------

CompactionCandidate Candidate(FileKind kind, int level, uint64_t live_bytes, size_t pieces,
                              uint64_t data_bytes = 0) {
  CompactionCandidate candidate;
  candidate.file = std::make_shared<DataFile>();
  candidate.file->header.kind = kind;
  candidate.file->level = level;
  candidate.file->data_bytes = data_bytes == 0 ? live_bytes : data_bytes;
  candidate.live_bytes = live_bytes;
  candidate.buckets = 10;
  candidate.pieces = pieces;
  return candidate;
}

CompactionCandidate Journal(uint64_t live_bytes) {
  return Candidate(FileKind::kJournal, 0, live_bytes, 1000);
}

/// A journal file in which each bucket has a long run.
CompactionCandidate LongRuns() {
  return Candidate(FileKind::kJournal, 0, 100 << 20, 1000);
}

CompactionCandidate Segment(int level, uint64_t live_bytes = 1 << 20, uint64_t data_bytes = 0) {
  return Candidate(FileKind::kSegment, level, live_bytes, 10, data_bytes);
}

std::vector<size_t> Plan(const std::vector<CompactionCandidate>& candidates) {
  return PlanCompaction(candidates, CompactionLimits{32 << 20, 8});
}

using Indexes = std::vector<size_t>;

TEST(PlanCompaction, SmallJournalFilesWaitUntilTheyHaveEnoughBytesTogether) {
  EXPECT_EQ(Plan({}), Indexes());
  EXPECT_EQ(Plan({Journal(20 << 20)}), Indexes());
  EXPECT_EQ(Plan({Journal(20 << 20), Journal(20 << 20)}), (Indexes{0, 1}));
  EXPECT_EQ(Plan({Segment(0), Journal(40 << 20)}), Indexes{1});
}

TEST(PlanCompaction, SmallJournalFilesWaitUntilTheyAreMany) {
  std::vector<CompactionCandidate> files(7, Journal(1000));
  EXPECT_EQ(Plan(files), Indexes());
  files.push_back(Journal(1000));
  EXPECT_EQ(Plan(files), (Indexes{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(PlanCompaction, AJournalFileOfLongRunsStaysAndSeparatesItsNeighbours) {
  EXPECT_EQ(Plan({LongRuns()}), Indexes());
  EXPECT_EQ(Plan({Journal(20 << 20), LongRuns(), Journal(20 << 20)}), Indexes());
  EXPECT_EQ(Plan({LongRuns(), Journal(40 << 20)}), Indexes{1});
}

TEST(PlanCompaction, EightNeighboursOfALevelAreMergedButNotForEver) {
  std::vector<CompactionCandidate> files(8, Segment(0));
  EXPECT_EQ(Plan(files).size(), 8u);
  files[3] = Segment(1);
  EXPECT_EQ(Plan(files), Indexes());
  EXPECT_EQ(Plan(std::vector(8, Segment(1))).size(), 8u);
  EXPECT_EQ(Plan(std::vector(20, Segment(kLevelMax))), Indexes());
}

TEST(PlanCompaction, AFileThatIsMostlyDeadIsRewrittenAlone) {
  EXPECT_EQ(Plan({Segment(2), Segment(2, 10 << 20, 64 << 20), Segment(2)}), Indexes{1});
  EXPECT_EQ(Plan({Segment(2, 40 << 20, 64 << 20)}), Indexes());
  EXPECT_EQ(Plan({Segment(2, 1 << 20, 8 << 20)}), Indexes());  // a small one is not worth it
}

TEST(PlanCompaction, ADamagedFileStaysAsItIs) {
  std::vector<CompactionCandidate> files{Journal(40 << 20), Segment(2, 10 << 20, 64 << 20)};
  for (const auto& file : files) file.file->is_damaged = true;
  EXPECT_EQ(Plan(files), Indexes());
  std::vector<CompactionCandidate> level(8, Segment(0));
  level[4] = Segment(0);
  level[4].file->is_damaged = true;
  EXPECT_EQ(Plan(level), Indexes());
}

// --- Copies ------------------------------------------------------------------------------------

/// Many small batches of many buckets in several journal files, which are not sorted yet.
std::map<TableBucket, std::string> Fill(LogWorld& world) {
  std::map<TableBucket, std::string> texts;
  for (int i = 0; i < 60; ++i) {
    const TableBucket id = BucketId(1, i % 5);
    texts[id] += world.Put(id, MakeBatch(1 + i % 3, 100 + i, i), i % 7 == 0);
  }
  return texts;
}

void ExpectTexts(LogWorld& world, const std::map<TableBucket, std::string>& texts) {
  for (const auto& [id, text] : texts) {
    EXPECT_EQ(world.ReadAll(id).value(), text);
    EXPECT_EQ(world.ReadAll(id, 1).value(), text);
  }
}

size_t CountSegments(LogWorld& world) {
  size_t count = 0;
  for (const std::string& name : world.FilesIn("groups/0")) count += name.ends_with(".seg");
  return count;
}

TEST(Compaction, SortsJournalFilesAndChangesNothingThatIsRead) {
  LogWorld world;
  world.config().journal_file_bytes = 3000;
  world.config().sort_bytes_min = 1 << 30;
  world.Start();
  const auto texts = Fill(world);
  world.Stop();
  ASSERT_GE(world.JournalFiles().size(), 5u);

  world.config().sort_bytes_min = 1000;
  world.Start();
  world.Await(world.log().Maintain());
  EXPECT_EQ(world.JournalFiles().size(), 0u);
  EXPECT_EQ(CountSegments(world), 1u);
  ExpectTexts(world, texts);
  for (const auto& [id, text] : texts) {
    const std::vector<Extent> extents = world.ExtentsOf(id);
    ASSERT_EQ(extents.size(), 1u);
    EXPECT_EQ(extents[0].range.entry_count, 1u);  // what lay apart is one piece
  }
  world.Kill();
  world.Start();
  ExpectTexts(world, texts);
}

TEST(Compaction, EndsASegmentThatIsLargeEnough) {
  LogWorld world;
  world.config().journal_file_bytes = 3000;
  world.config().sort_bytes_min = 1 << 30;
  world.Start();
  const auto texts = Fill(world);
  for (const auto& [id, text] : texts) world.AwaitWrite(id);
  std::vector<LiveRange> ranges;
  for (const auto& [id, text] : texts) {
    for (const Extent& extent : world.ExtentsOf(id)) {
      ranges.push_back({extent.file, extent.range});
    }
  }
  CompactionOutput output;
  output.data_dir = world.data_dir();
  output.segment_bytes = 2000;
  const auto written = WriteSegments(world.files(), output, ranges);
  ASSERT_TRUE(written.ok()) << written.error().message;
  EXPECT_GE(written->size(), 3u);
  uint64_t bytes = 0;
  for (const OpenedFile& opened : *written) {
    for (const DirectoryEntry& range : opened.directory) bytes += range.bytes;
  }
  uint64_t expected = 0;
  for (const LiveRange& live : ranges) expected += live.range.bytes;
  EXPECT_EQ(bytes, expected);
}

TEST(Compaction, MergesSegmentsOfALevel) {
  LogWorld world;
  world.config().journal_file_bytes = 1000;
  world.config().sort_bytes_min = 1000;
  world.Start();
  std::string text;
  for (int i = 0; i < 80; ++i) {
    text += world.Put(BucketId(1), MakeBatch(1, 900, i));
    world.AwaitSealed(BucketId(1));
  }
  EXPECT_EQ(world.ReadAll(BucketId(1)).value(), text);
  EXPECT_LE(CountSegments(world), 16u);
  world.Stop();
  world.Start();
  EXPECT_EQ(world.ReadAll(BucketId(1)).value(), text);
}

TEST(Compaction, LeavesADamagedFileAsItIsAndSortsTheOthers) {
  LogWorld original;
  original.config().journal_file_bytes = 3000;
  original.config().sort_bytes_min = 1 << 30;
  original.Start();
  const auto texts = Fill(original);
  original.Stop();
  const std::string name = original.JournalFiles().at(0);
  const std::string bytes = original.FileText(name);
  const FileFooter footer = DecodeFileFooter(AsBytes(bytes).last(kFileFooterBytes)).value();
  const uint64_t end = footer.entries_position;
  for (size_t position = kFileHeaderBytes + 1; position < end; position += 41) {
    LogWorld world;
    world.CopyFrom(original);
    world.FlipBit(name, position);
    world.config().sort_bytes_min = 2000;
    world.Start();
    world.Await(world.log().Maintain());
    bool is_damaged = false;
    for (const auto& [id, text] : texts) {
      const auto found = world.ReadAll(id, 1);
      is_damaged = is_damaged || !found.ok();
      if (found.ok()) {
        EXPECT_EQ(*found, text);
      } else {
        EXPECT_EQ(found.error().code, ErrorCode::kCorruptData);
      }
    }
    // Between the batches are the frames of slots, which nobody reads any more.
    const std::vector<std::string> journals = world.JournalFiles();
    const bool is_kept = std::find(journals.begin(), journals.end(), name) != journals.end();
    EXPECT_EQ(is_kept, is_damaged) << position;
    world.Kill();
    world.Start();
    for (const auto& [id, text] : texts) {
      const auto found = world.ReadAll(id, 1);
      EXPECT_EQ(found.ok() ? *found : text, text);
    }
  }
}

TEST(Compaction, LeavesNothingBehindWhenTheDiskIsFullAndTriesAgain) {
  LogWorld world;
  world.config().journal_file_bytes = 3000;
  world.config().sort_bytes_min = 1 << 30;
  world.Start();
  const auto texts = Fill(world);
  world.Stop();
  world.config().sort_bytes_min = 1000;
  world.Start();
  world.files().SetJudge([](Call call, const std::string& path) -> std::optional<Fault> {
    if (call == Call::kWrite && path.ends_with(".seg")) return Fault{ErrorCode::kNoSpace, 1000};
    return std::nullopt;
  });
  world.Await(world.log().Maintain());
  EXPECT_EQ(CountSegments(world), 0u);
  ExpectTexts(world, texts);
  world.files().SetJudge(nullptr);
  world.files().SetFreeBytes(world.config().free_bytes_min + 2000);
  world.Await(world.log().Maintain());
  EXPECT_EQ(CountSegments(world), 0u);  // a copy would take what checkpoints need
  world.files().SetFreeBytes(std::nullopt);
  world.Await(world.log().Maintain());
  EXPECT_EQ(CountSegments(world), 1u);
  ExpectTexts(world, texts);
}

TEST(Compaction, RemovesItsInputsLaterIfNoCheckpointCanBeWritten) {
  LogWorld world;
  world.config().journal_file_bytes = 3000;
  world.config().sort_bytes_min = 1 << 30;
  world.Start();
  const auto texts = Fill(world);
  world.Stop();
  world.config().sort_bytes_min = 1000;
  world.Start();
  world.files().SetJudge([](Call call, const std::string& path) -> std::optional<Fault> {
    if (call == Call::kWrite && path.find("states") != path.npos) {
      return Fault{ErrorCode::kNoSpace};
    }
    return std::nullopt;
  });
  world.Await(world.log().Maintain());
  EXPECT_EQ(CountSegments(world), 1u);
  EXPECT_GE(world.JournalFiles().size(), 5u);
  ExpectTexts(world, texts);
  world.files().SetJudge(nullptr);
  world.Await(world.log().Maintain());
  EXPECT_EQ(world.JournalFiles().size(), 0u);
  ExpectTexts(world, texts);
}

TEST(Compaction, TakesWhatHappensMeanwhileForTrue) {
  LogWorld world;
  world.config().journal_file_bytes = 3000;
  world.config().sort_bytes_min = 1 << 30;
  world.Start();
  auto texts = Fill(world);
  world.Stop();
  world.config().sort_bytes_min = 1000;
  world.Start();
  for (const auto& [id, text] : texts) world.Bucket(id);
  world.files().HoldWrites(".seg");
  world.OnLoop([&] { Spawn(world.log().Maintain()); });
  while (!world.files().IsHolding()) std::this_thread::yield();
  // While the copies are made, buckets are dropped, trimmed and written.
  const TableBucket dropped = BucketId(1, 0), trimmed = BucketId(1, 1), gone = BucketId(1, 2),
                    written = BucketId(1, 3);
  world.Drop(dropped);
  texts.erase(dropped);
  world.OnLoop([&] { world.log().Trim(*world.Bucket(trimmed).log, LogOffset(13)); });
  world.OnLoop([&] {
    BucketLog& log = *world.Bucket(gone).log;
    RetentionLimits limits;
    limits.oldest = Timestamp(2000);
    world.log().Retain(log, limits, log.end);
    EXPECT_EQ(log.start, log.end);
  });
  texts.erase(gone);
  Buffer batch = MakeBatch(1, 100, 77);
  world.files().Release();
  texts[written] += world.Put(written, batch);
  world.Await(world.log().Maintain());
  const auto check = [&] {
    EXPECT_EQ(CountSegments(world), 1u);
    const std::string rest = world.ReadAll(trimmed).value();
    EXPECT_TRUE(texts[trimmed].ends_with(rest));
    EXPECT_LE(HeadersOf(AsBytes(rest)).at(0).base_offset, LogOffset(13));
    EXPECT_GT(HeadersOf(AsBytes(rest)).at(0).end_offset(), LogOffset(13));
    EXPECT_EQ(world.ReadAll(gone).value(), "");
    EXPECT_EQ(world.ReadAll(written).value(), texts[written]);
  };
  check();
  EXPECT_EQ(world.OnLoop([&] { return world.log().buckets().size(); }), 4u);
  world.Stop();
  world.Start();
  check();
}

TEST(Compaction, EndsWhenTheServerStopsAndLeavesNothingBehind) {
  LogWorld world;
  world.config().journal_file_bytes = 3000;
  world.config().sort_bytes_min = 1 << 30;
  world.Start();
  const auto texts = Fill(world);
  world.Stop();
  world.config().sort_bytes_min = 1000;
  world.Start();
  for (const auto& [id, text] : texts) world.Bucket(id);
  std::vector<LiveRange> ranges;
  for (const auto& [id, text] : texts) {
    for (const Extent& extent : world.ExtentsOf(id)) {
      ranges.push_back({extent.file, extent.range});
    }
  }
  CompactionOutput output;
  output.data_dir = world.data_dir();
  const std::atomic<bool> is_cancelled = true;
  output.is_cancelled = &is_cancelled;
  const auto written = WriteSegments(world.files(), output, ranges);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(CountSegments(world), 0u);
}

}  // namespace
}  // namespace weir
