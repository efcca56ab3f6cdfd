#include "weir/load/measure.h"

#include <numeric>

#include <gtest/gtest.h>
#include <unistd.h>

namespace weir::load {
namespace {

TEST(Percentiles, AreOrderedTimes) {
  std::vector<int64_t> times(1000);
  std::iota(times.rbegin(), times.rend(), 0);
  for (int64_t& time : times) time *= 1'000'000;
  const Percentiles percentiles = PercentilesOf(times);
  EXPECT_EQ(percentiles.count, 1000u);
  EXPECT_EQ(percentiles.p50_ms, 500);
  EXPECT_EQ(percentiles.p99_ms, 990);
  EXPECT_EQ(percentiles.max_ms, 999);
  EXPECT_EQ(PercentilesOf({}).count, 0u);
}

TEST(CpuTime, OfThisProcessAgreesWithWhatTheKernelTellsIt) {
  const CpuTime before = OwnCpuTime();
  const CpuTime read = CpuTimeOf({getpid()});
  // Clock ticks are 10 ms.
  EXPECT_NEAR(read.total(), before.total(), 0.05);
  EXPECT_EQ(CpuTimeOf({}).total(), 0);
}

TEST(Report, TellsValuesInTheirOrder) {
  Report report;
  report.Add("name", std::string("x"));
  report.Add("count", int64_t{12});
  report.Add("share", 0.25);
  EXPECT_EQ(report.JsonLine(), R"({"name":"x","count":12,"share":0.25})");
  EXPECT_EQ(report.Table().substr(0, 4), "name");
}

}  // namespace
}  // namespace weir::load
