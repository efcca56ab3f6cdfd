#include "weir/log/log_reader.h"

#include <gtest/gtest.h>

#include "weir/log/log_testing.h"
#include "weir/log/piece_builder.h"
#include "weir/record/arrow_writer.h"

namespace weir {
namespace {

const TableBucket kA = BucketId(1);
const TableBucket kB = BucketId(2);

struct Stored {
  std::vector<std::string> batches;
  std::string Text(size_t first, size_t end) const {
    std::string text;
    for (size_t i = first; i < end; ++i) text += batches.at(i);
    return text;
  }
};

/// Thirty batches of two records and 248 bytes in sealed files and an open one, among others'.
Stored Fill(LogWorld& world) {
  world.config().journal_file_bytes = 4000;
  world.config().sort_bytes_min = 1 << 30;
  world.Start();
  Stored stored;
  for (int i = 0; i < 30; ++i) {
    stored.batches.push_back(
        world.Put(kA, MakeBatch(2, 200, i), i % 10 == 0, Timestamp(1000 + 10 * i)));
    if (i % 3 == 0) world.Put(kB, MakeBatch(1, 100, i), false);
  }
  return stored;
}

TEST(ReadLog, GivesAsManyWholeBatchesAsFit) {
  LogWorld world;
  const Stored stored = Fill(world);
  for (size_t first = 0; first < 30; ++first) {
    for (const size_t count : {1, 2, 3, 9, 40}) {
      const size_t end = std::min<size_t>(30, first + count);
      const LogOffset from(2 * static_cast<int64_t>(first));
      const auto read = world.Read(kA, from, LogOffset(60), 248 * count + 247).value();
      ASSERT_EQ(TextOf(read), stored.Text(first, end)) << first << " " << count;
      EXPECT_EQ(read.next, LogOffset(2 * static_cast<int64_t>(end)));
      EXPECT_EQ(read.bytes, 248 * (end - first));
    }
  }
}

TEST(ReadLog, GivesTheFirstBatchThoughItIsLargerThanTheLimit) {
  LogWorld world;
  const Stored stored = Fill(world);
  for (const size_t bytes_max : {size_t{0}, size_t{1}, size_t{247}, size_t{248}, size_t{495}}) {
    const auto read = world.Read(kA, LogOffset(8), LogOffset(60), bytes_max).value();
    EXPECT_EQ(TextOf(read), stored.batches[4]);
  }
  const std::string large = world.Put(kA, MakeBatch(1, 1 << 20, 99));
  const auto read = world.Read(kA, LogOffset(60), LogOffset(61), 1000).value();
  EXPECT_TRUE(TextOf(read) == large);
  // But not behind another one.
  const auto both = world.Read(kA, LogOffset(58), LogOffset(61), 1000).value();
  EXPECT_EQ(TextOf(both), stored.batches[29]);
  EXPECT_EQ(both.next, LogOffset(60));
}

TEST(ReadLog, BeginsWithTheBatchThatHasTheOffset) {
  LogWorld world;
  const Stored stored = Fill(world);
  for (int64_t from = 1; from < 60; from += 2) {
    const auto read = world.Read(kA, LogOffset(from), LogOffset(60), 300).value();
    EXPECT_EQ(TextOf(read), stored.batches[static_cast<size_t>(from / 2)]);
  }
}

TEST(ReadLog, GivesNothingAtOrBehindTheLimit) {
  LogWorld world;
  const Stored stored = Fill(world);
  for (int64_t limit = 1; limit <= 60; ++limit) {
    const auto read = world.Read(kA, LogOffset(0), LogOffset(limit), 1 << 20).value();
    const auto whole = static_cast<size_t>(limit / 2);  // not the batch in which the limit lies
    EXPECT_EQ(TextOf(read), stored.Text(0, whole));
    EXPECT_EQ(read.next, LogOffset(2 * (limit / 2)));
  }
}

TEST(ReadLog, GivesWhatLiesTogetherInOnePiece) {
  LogWorld world;
  world.Start();
  auto& a = world.Bucket(kA);
  std::string expected;
  world.OnLoop([&] {
    for (int i = 0; i < 200; ++i) {
      Buffer batch = MakeBatch(1, 1000, i);
      ASSERT_TRUE(world.AppendOnLoop(a, batch).ok());
      expected += AsText(batch.bytes());
    }
  });
  ASSERT_TRUE(world.AwaitCommit(kA));
  const auto read = world.Read(kA, LogOffset(1), LogOffset(200), 1 << 20).value();
  EXPECT_EQ(TextOf(read), expected.substr(1048));
  EXPECT_EQ(read.pieces.size(), 1u);
}

TEST(ReadLog, KeepsAFileOnlyAsLongAsItReads) {
  LogWorld world;
  const Stored stored = Fill(world);
  const auto count = [&] {
    return world.OnLoop([&a = world.Bucket(kA)] { return a.log->extents.at(0).file.use_count(); });
  };
  const auto before = count();
  for (int i = 0; i < 10; ++i) {
    (void)world.Read(kA, LogOffset(i), LogOffset(60), 10'000);
    (void)world.Await(
        FindOffset(world.Bucket(kA).log, Timestamp(1050), LogOffset(60), world.pool()));
  }
  EXPECT_EQ(count(), before);
}

// --- Damage ------------------------------------------------------------------------------------

TEST(ReadLog, NeverServesDamageWhereverItIs) {
  LogWorld original;
  const Stored stored = Fill(original);
  original.Stop();
  const std::string name = original.JournalFiles().at(1);
  const std::string text = original.FileText(name);
  const auto sealed = OpenSealedFile(original.files(), original.data_dir(), name).value();
  size_t noticed = 0;
  LogWorld world;
  world.CopyFrom(original);
  world.config().sort_bytes_min = 1 << 30;
  world.Start();
  // Not the directory, which is read with the start.
  const uint64_t end =
      text.size() - kFileFooterBytes - sealed.directory.size() * kDirectoryEntryBytes;
  for (size_t position = kFileHeaderBytes; position < end; position += 7) {
    world.FlipBit(name, position);
    std::string found;
    bool is_noticed = false;
    for (LogOffset from(0); from < LogOffset(60);) {
      const auto read = world.Read(kA, from, LogOffset(60), 700);
      if (!read.ok()) {
        EXPECT_EQ(read.error().code, ErrorCode::kCorruptData);
        EXPECT_NE(read.error().message.find(name), std::string::npos) << read.error().message;
        is_noticed = true;
        break;
      }
      ASSERT_GT(read->next, from);
      from = read->next;
      found += TextOf(*read);
    }
    ASSERT_TRUE(stored.Text(0, 30).starts_with(found)) << position;
    EXPECT_TRUE(is_noticed || found == stored.Text(0, 30)) << position;
    noticed += is_noticed;
    for (const int64_t time : {1000, 1055, 1123, 1290}) {
      const auto offset = world.Await(
          FindOffset(world.Bucket(kA).log, Timestamp(time), LogOffset(60), world.pool()));
      if (offset.ok()) {
        EXPECT_EQ(*offset, LogOffset((time - 1000 + 9) / 10 * 2)) << position;
      } else {
        EXPECT_EQ(offset.error().code, ErrorCode::kCorruptData);
      }
    }
    world.FlipBit(name, position);
  }
  EXPECT_GT(noticed, 200u);
}

TEST(ReadLog, ServesWhatIsBeforeDamage) {
  LogWorld world;
  const Stored stored = Fill(world);
  const auto where = world.OnLoop([&a = world.Bucket(kA)] { return a.log->tail.back(); });
  world.FlipBit(where.file->name, where.piece.position + 100);
  const auto read = world.Read(kA, LogOffset(40), LogOffset(60), 1 << 20);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(TextOf(*read), stored.Text(20, 29));
  EXPECT_EQ(world.Read(kA, LogOffset(58), LogOffset(60), 1 << 20).error().code,
            ErrorCode::kCorruptData);
}

TEST(ReadLog, AFileThatIsCutShortIsDamage) {
  LogWorld world;
  const Stored stored = Fill(world);
  const auto where = world.OnLoop([&a = world.Bucket(kA)] { return a.log->tail.back(); });
  const std::string text = world.FileText(where.file->name);
  world.SetFileText(where.file->name, text.substr(0, where.piece.position + 100));
  EXPECT_EQ(world.Read(kA, LogOffset(58), LogOffset(60), 1 << 20).error().code,
            ErrorCode::kCorruptData);
}

// --- Times -------------------------------------------------------------------------------------

TEST(FindOffset, GivesTheFirstOffsetAtOrAfterATime) {
  LogWorld world;
  Fill(world);
  const auto find = [&](int64_t time, int64_t limit) {
    return world
        .Await(FindOffset(world.Bucket(kA).log, Timestamp(time), LogOffset(limit), world.pool()))
        .value();
  };
  EXPECT_EQ(find(0, 60), LogOffset(0));
  for (int64_t i = 0; i < 30; ++i) {
    EXPECT_EQ(find(1000 + 10 * i, 60), LogOffset(2 * i));
    EXPECT_EQ(find(1000 + 10 * i - 5, 60), LogOffset(2 * i));
  }
  EXPECT_EQ(find(1291, 60), LogOffset(60));
  EXPECT_EQ(find(1200, 30), LogOffset(30));  // behind the limit there is nothing
  world.OnLoop([&, &a = world.Bucket(kA)] { world.log().Trim(*a.log, LogOffset(11)); });
  EXPECT_EQ(find(0, 60), LogOffset(11));
  EXPECT_EQ(find(1055, 60), LogOffset(12));
}

TEST(FindOffset, GivesTheLimitInAnEmptyLog) {
  LogWorld world;
  world.Start();
  EXPECT_EQ(world.Await(FindOffset(world.Bucket(kA).log, Timestamp(0), LogOffset(0), world.pool()))
                .value(),
            LogOffset(0));
}

TEST(FindOffset, FindsALargeBatchWithoutReadingIt) {
  LogWorld world;
  world.Start();
  world.Put(kA, MakeBatch(3, 1 << 20, 1), true, Timestamp(5000));
  EXPECT_EQ(world.Await(FindOffset(world.Bucket(kA).log, Timestamp(10), LogOffset(3), world.pool()))
                .value(),
            LogOffset(0));
}

// --- Projections -------------------------------------------------------------------------------

/// Schema 1: a BIGINT, b STRING, c INT; schema 2 has d DOUBLE as well. Projections: b and c, and d.
class TestProjections final : public ProjectionSource {
 public:
  explicit TestProjections(std::vector<int32_t> columns) {
    std::vector<ColumnLayout> layouts;
    for (const TypeKind kind :
         {TypeKind::kBigInt, TypeKind::kString, TypeKind::kInt, TypeKind::kDouble}) {
      layouts.push_back(LayoutOf(DataType::Of(kind)));
    }
    for (const size_t of_batch : {3, 4}) {
      made_.push_back(Projection::Make(columns, layouts, of_batch).value());
    }
  }
  Result<const Projection*> ForSchema(SchemaId schema) override {
    if (schema.value < 1 || schema.value > 2) {
      return Fail(ErrorCode::kSchemaNotFound, "no such schema");
    }
    return &made_[static_cast<size_t>(schema.value) - 1];
  }

 private:
  std::vector<Projection> made_;
};

Buffer ArrowBatch(size_t rows, int schema, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int64_t> a(rows);
  std::vector<std::string> texts(rows);
  std::vector<std::string_view> b(rows);
  std::vector<int32_t> c(rows);
  std::vector<double> d(rows);
  for (size_t i = 0; i < rows; ++i) {
    a[i] = static_cast<int64_t>(random());
    texts[i] = std::string(random() % 20, 'x');
    b[i] = texts[i];
    c[i] = static_cast<int32_t>(random());
    d[i] = static_cast<double>(random());
  }
  ArrowBatchWriter writer({ArrowCodec::kNone, 0});
  writer.AddNumbers(a);
  writer.AddStrings(b);
  writer.AddNumbers(c);
  if (schema == 2) writer.AddNumbers(d);
  return writer.Finish(SchemaId(static_cast<int16_t>(schema)));
}

/// What a projection of a whole batch in memory gives.
std::string Projected(const std::string& batch, TestProjections& projections) {
  const LogBatchHeader header = DecodeLogBatchHeader(AsBytes(batch)).value();
  const Projection* const projection = projections.ForSchema(header.schema_id).value();
  const ProjectedBatch plan = projection->Plan(header, AsBytes(batch)).value();
  std::string text(AsText(plan.head.bytes()));
  for (const ByteRange& range : plan.ranges) text += batch.substr(range.position, range.bytes);
  return text + std::string(AsText(plan.tail.bytes()));
}

class ReadProjectedLogTest : public ::testing::Test {
 protected:
  Result<LogBytes> Read(LogOffset from, LogOffset limit, size_t bytes_max) {
    return world_.Await(ReadProjectedLog(world_.Bucket(kA).log, from, limit, bytes_max,
                                         projections_, world_.pool()));
  }
  /// Appends a batch with so many rows and remembers what its projection gives.
  void Add(size_t rows, int schema = 1) {
    const std::string batch = world_.Put(kA, ArrowBatch(rows, schema, expected_.size()), false);
    ASSERT_NE(batch, "");
    expected_.push_back(Projected(batch, projections_));
    ends_.push_back(world_.Bucket(kA).log->end);
  }

  LogWorld world_;
  TestProjections projections_{{1, 2, 3}};
  std::vector<std::string> expected_;
  std::vector<LogOffset> ends_;
};

TEST_F(ReadProjectedLogTest, CutsColumnsOutOfSmallAndLargeBatches) {
  world_.config().journal_file_bytes = 100'000;
  world_.config().sort_bytes_min = 1 << 30;
  world_.Start();
  for (const size_t rows : {10, 1, 2000, 3000, 5000, 10'000, 0, 20, 100'000, 7}) Add(rows);
  Add(50, 2);
  Add(20'000, 2);
  std::string all;
  for (const std::string& text : expected_) all += text;
  for (const size_t bytes_max : {size_t{1}, size_t{100}, size_t{100'000}, size_t{100} << 20}) {
    std::string found;
    for (LogOffset from(0); from < ends_.back();) {
      const auto read = Read(from, ends_.back(), bytes_max);
      ASSERT_TRUE(read.ok()) << read.error().message;
      ASSERT_GT(read->next, from);
      EXPECT_TRUE(read->bytes <= bytes_max || read->pieces.size() == 1);
      EXPECT_EQ(TextOf(*read).size(), read->bytes);
      found += TextOf(*read);
      from = read->next;
    }
    EXPECT_TRUE(found == all) << bytes_max;
  }
}

TEST_F(ReadProjectedLogTest, BeginsInTheMiddleOfABatchAndEndsAtTheLimit) {
  world_.Start();
  for (const size_t rows : {10, 20'000, 10}) Add(rows);
  const auto read = Read(LogOffset(5), LogOffset(20'010), 100 << 20).value();
  EXPECT_TRUE(TextOf(read) == expected_[0] + expected_[1]);
  EXPECT_EQ(read.next, LogOffset(20'010));
  EXPECT_TRUE(TextOf(Read(LogOffset(11), LogOffset(20'020), 1).value()) == expected_[1]);
  EXPECT_EQ(TextOf(Read(LogOffset(0), LogOffset(9), 1).value()), "");
}

TEST_F(ReadProjectedLogTest, TellsOfASchemaThatNobodyKnows) {
  world_.Start();
  Add(10);
  world_.Put(kA, MakeBatch(1, 50, 1));  // of schema 1, but no ARROW batch
  Buffer batch = ArrowBatch(10, 1, 1);
  LogBatchHeader header = DecodeLogBatchHeader(batch.bytes()).value();
  header.schema_id = SchemaId(9);
  SealLogBatch(header, batch.mutable_bytes());
  world_.Put(kA, batch);
  // What is before it is served.
  EXPECT_EQ(TextOf(Read(LogOffset(0), LogOffset(21), 1 << 20).value()), expected_[0]);
  EXPECT_EQ(Read(LogOffset(10), LogOffset(21), 1 << 20).error().code, ErrorCode::kCorruptData);
  EXPECT_EQ(Read(LogOffset(11), LogOffset(21), 1 << 20).error().code, ErrorCode::kSchemaNotFound);
}

TEST_F(ReadProjectedLogTest, NoticesDamageOfSmallBatchesAndOfTheHeadsOfLargeOnes) {
  world_.Start();
  for (const size_t rows : {50, 20'000}) Add(rows);
  const auto tail = world_.OnLoop([&a = world_.Bucket(kA)] { return a.log->tail; });
  ASSERT_EQ(tail.size(), 2u);
  for (size_t position = 0; position < tail[0].piece.bytes; position += 3) {
    world_.FlipBit(tail[0].file->name, tail[0].piece.position + position);
    EXPECT_EQ(Read(LogOffset(0), LogOffset(50), 1 << 20).error().code, ErrorCode::kCorruptData);
    world_.FlipBit(tail[0].file->name, tail[0].piece.position + position);
  }
  // Offset, length, magic and time; the checksum does not fit a projection.
  for (size_t position = 0; position < 21; ++position) {
    world_.FlipBit(tail[1].file->name, tail[1].piece.position + position);
    EXPECT_EQ(Read(LogOffset(50), LogOffset(20'050), 1 << 20).error().code,
              ErrorCode::kCorruptData);
    world_.FlipBit(tail[1].file->name, tail[1].piece.position + position);
  }
  EXPECT_TRUE(TextOf(Read(LogOffset(50), LogOffset(20'050), 1 << 20).value()) == expected_[1]);
}

}  // namespace
}  // namespace weir
