#include "weir/server/data_directory.h"

#include <gtest/gtest.h>

#include "weir/runtime/real_world.h"

namespace weir {
namespace {

class DataDirectoryTest : public testing::Test {
 protected:
  DataDirectoryTest()
      : path_(testing::TempDir() + "weir_data_" + std::to_string(random_->Next())) {}
  ~DataDirectoryTest() override { EXPECT_TRUE(files_->RemoveTree(path_).ok()); }

  Result<DataDirectory> Open(uint32_t groups = 2) {
    return DataDirectory::Open(*files_, *random_, path_, groups);
  }

  std::unique_ptr<FileSystem> files_ = MakeRealFileSystem();
  std::unique_ptr<Random> random_ = MakeRealRandom();
  std::string path_;
};

TEST_F(DataDirectoryTest, KeepsTheNumberOfGroupsThatItWasMadeWith) {
  EXPECT_EQ(Open(3)->groups(), 3u);
  EXPECT_EQ(Open(8)->groups(), 3u);
}

TEST_F(DataDirectoryTest, IsHeldByOneServerAtATime) {
  const auto first = Open();
  ASSERT_TRUE(first.ok());
  const auto second = Open();
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kOverloaded);
  EXPECT_NE(second.error().message.find(path_), std::string::npos);
}

TEST_F(DataDirectoryTest, IsRefusedIfANewerVersionWroteItOrItMakesNoSense) {
  ASSERT_TRUE(Open().ok());
  ASSERT_TRUE(ReplaceFile(*files_, path_ + "/root", R"({"format": 2, "groups": 2})").ok());
  EXPECT_EQ(Open().error().code, ErrorCode::kUnsupported);
  ASSERT_TRUE(ReplaceFile(*files_, path_ + "/root", R"({"format": 1, "groups": 0})").ok());
  EXPECT_EQ(Open().error().code, ErrorCode::kCorruptData);
  ASSERT_TRUE(ReplaceFile(*files_, path_ + "/root", "").ok());
  EXPECT_EQ(Open().error().code, ErrorCode::kCorruptData);
}

}  // namespace
}  // namespace weir
