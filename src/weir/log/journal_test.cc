#include "weir/log/journal.h"

#include <gtest/gtest.h>

#include "weir/log/log_testing.h"

namespace weir {
namespace {

const TableBucket kA = BucketId(1);
const TableBucket kB = BucketId(2);

TEST(Journal, CommitsWhatIsAppendedAndReadsItBack) {
  LogWorld world;
  world.Start();
  std::string expected;
  for (int i = 0; i < 20; ++i) expected += world.Put(kA, MakeBatch(3, 100, i));
  EXPECT_EQ(world.Bucket(kA).log->end, LogOffset(60));
  EXPECT_EQ(world.ReadAll(kA).value(), expected);
}

}  // namespace
}  // namespace weir
