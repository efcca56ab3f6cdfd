#include "weir/server/catalog_store.h"

#include <gtest/gtest.h>

#include "weir/log/log_testing.h"

namespace weir {
namespace {

std::string Descriptor(const std::string& comment) {
  return R"({"version":1,"schema":{"version":1,"columns":[{"name":"a","data_type":{"type":"INTEGER"},"id":0}],)"
         R"("highest_field_id":0},"comment":")" +
         comment +
         R"(","partition_key":[],"bucket_key":[],"bucket_count":1,"properties":{},"custom_properties":{}})";
}

class CatalogStoreTest : public testing::Test {
 protected:
  CatalogStoreTest() { Open(); }
  ~CatalogStoreTest() override { Close(); }

  void Open() {
    world_.Start();
    auto store = world_.Await(CatalogStore::Open(world_.log(), world_.loop(), *clock_));
    ASSERT_TRUE(store.ok()) << store.error().message;
    store_ = *std::move(store);
  }
  void Close() {
    world_.OnLoop([&] { store_.reset(); });
    world_.Stop();
  }

  Status Create(const std::string& name, const std::string& comment = "") {
    Catalog::Plan plan = store_->catalog().PlanCreateTable({"fluss", name}, Descriptor(comment),
                                                           false, Timestamp(7));
    if (!plan.ok()) return std::move(plan).error();
    return world_.Await(store_->Change(**std::move(plan)));
  }
  Status CreateDefaultDatabase() {
    return world_.Await(store_->Change(*store_->catalog().PlanDefaultDatabase(Timestamp(1))));
  }

  LogWorld world_;
  std::unique_ptr<Clock> clock_ = MakeRealClock();
  std::unique_ptr<CatalogStore> store_;
};

TEST_F(CatalogStoreTest, WhatWasChangedIsThereAfterAStopAndAfterAKill) {
  ASSERT_TRUE(CreateDefaultDatabase().ok());
  ASSERT_TRUE(Create("one").ok());
  const std::string before = store_->catalog().EncodeSnapshot();
  Close();
  Open();
  EXPECT_EQ(store_->catalog().EncodeSnapshot(), before);
  ASSERT_TRUE(Create("two").ok());
  const std::string after = store_->catalog().EncodeSnapshot();
  world_.OnLoop([&] { store_.reset(); });
  world_.Kill();
  Open();
  EXPECT_EQ(store_->catalog().EncodeSnapshot(), after);
}

TEST_F(CatalogStoreTest, ManyChangesBecomeASnapshotFromWhichALaterStartGoesOn) {
  ASSERT_TRUE(CreateDefaultDatabase().ok());
  const std::string long_comment(64 << 10, 'c');
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(Create("t" + std::to_string(i), long_comment).ok());
  const LogOffset start =
      world_.OnLoop([&] { return world_.log().OpenBucket(kCatalogBucket)->start; });
  EXPECT_GT(start, LogOffset(0));
  const std::string before = store_->catalog().EncodeSnapshot();
  Close();
  Open();
  EXPECT_EQ(store_->catalog().EncodeSnapshot(), before);
  EXPECT_EQ(world_.OnLoop([&] { return world_.log().OpenBucket(kCatalogBucket)->start; }), start);
}

TEST_F(CatalogStoreTest, AChangeThatIsNotDurableDidNotHappen) {
  ASSERT_TRUE(CreateDefaultDatabase().ok());
  world_.files().SetJudge([](FaultFileSystem::Call call,
                             const std::string& path) -> std::optional<FaultFileSystem::Fault> {
    if (call == FaultFileSystem::Call::kSync && path.ends_with(".journal"))
      return FaultFileSystem::Fault{};
    return std::nullopt;
  });
  EXPECT_EQ(Create("lost").error().code, ErrorCode::kIo);
  EXPECT_EQ(store_->catalog().FindTable(TablePath{"fluss", "lost"}), nullptr);
}

}  // namespace
}  // namespace weir
