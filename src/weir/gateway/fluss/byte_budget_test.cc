#include "weir/gateway/fluss/byte_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/gateway/fluss/gateway_testing.h"

namespace weir::fluss {
namespace {

class ByteBudgetTest : public testing::Test {
 protected:
  void Take(size_t bytes) {
    Spawn(Note(bytes));
    loop_.Run();
  }
  void Give(size_t bytes) {
    budget_.Give(bytes);
    loop_.Run();
  }

  ManualLoop loop_;
  ByteBudget budget_{loop_, 100};
  std::vector<size_t> served_;

 private:
  Task<void> Note(size_t bytes) {
    co_await budget_.Take(bytes);
    served_.push_back(bytes);
  }
};

TEST_F(ByteBudgetTest, GivesAllThereIs) {
  Take(60);
  Take(40);
  EXPECT_THAT(served_, testing::ElementsAre(60, 40));
  EXPECT_EQ(budget_.taken(), 100u);
  Give(100);
}

TEST_F(ByteBudgetTest, LetsNobodyOvertakeWhoWaits) {
  Take(60);
  Take(70);
  Take(10);
  EXPECT_THAT(served_, testing::ElementsAre(60));
  Give(60);
  EXPECT_THAT(served_, testing::ElementsAre(60, 70, 10));
  EXPECT_EQ(budget_.taken(), 80u);
  Give(80);
}

TEST_F(ByteBudgetTest, NothingIsAlwaysThere) {
  Take(100);
  Take(0);
  EXPECT_THAT(served_, testing::ElementsAre(100, 0));
  Give(100);
}

}  // namespace
}  // namespace weir::fluss
