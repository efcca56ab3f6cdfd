#include <atomic>
#include <filesystem>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "weir/runtime/real_world.h"

namespace weir {
namespace {

using std::chrono::milliseconds;

Task<int> AddLater(EventLoop& loop, int a, int b) {
  co_await loop.Sleep(milliseconds(1));
  co_return a + b;
}

Task<bool> IsOn(EventLoop& loop) {
  co_return loop.IsCurrent();
}

TEST(TaskTest, CarriesAValueThatMovesOnly) {
  RealLoops loops(1);
  std::unique_ptr<int> got;
  struct Make {
    static Task<std::unique_ptr<int>> Run() { co_return std::make_unique<int>(7); }
    static Task<void> Store(std::unique_ptr<int>* into) { *into = co_await Run(); }
  };
  RunBlocking(loops[0], Make::Store(&got));
  EXPECT_EQ(*got, 7);
}

TEST(TaskTest, OnRunsOnTheOtherLoopAndComesBack) {
  RealLoops loops(2);
  bool was_there = false, is_home = false;
  struct Go {
    static Task<void> Run(RealLoops* loops, bool* was_there, bool* is_home) {
      *was_there = co_await On((*loops)[1], IsOn((*loops)[1]));
      *is_home = (*loops)[0].IsCurrent();
    }
  };
  RunBlocking(loops[0], Go::Run(&loops, &was_there, &is_home));
  EXPECT_TRUE(was_there);
  EXPECT_TRUE(is_home);
}

TEST(TaskTest, WhenAllGivesResultsInTheOrderOfTheTasks) {
  RealLoops loops(1);
  std::vector<int> sums;
  struct Go {
    static Task<void> Run(EventLoop* loop, std::vector<int>* sums) {
      std::vector<Task<int>> tasks;
      for (int i = 0; i < 5; ++i) tasks.push_back(AddLater(*loop, i, 100));
      *sums = co_await WhenAll(std::move(tasks));
    }
  };
  RunBlocking(loops[0], Go::Run(&loops[0], &sums));
  EXPECT_EQ(sums, (std::vector<int>{100, 101, 102, 103, 104}));
}

TEST(EventTest, WaitForEndsByTheEventOrByTheTime) {
  RealLoops loops(1);
  std::vector<bool> was_set;
  struct Go {
    static Task<void> SetSoon(EventLoop* loop, Event* event) {
      co_await loop->Sleep(milliseconds(2));
      event->Set();
    }
    static Task<void> Run(EventLoop* loop, std::vector<bool>* was_set) {
      Event never(*loop), soon(*loop);
      was_set->push_back(co_await never.WaitFor(milliseconds(5)));
      Spawn(SetSoon(loop, &soon));
      was_set->push_back(co_await soon.WaitFor(std::chrono::hours(1)));
      was_set->push_back(co_await soon.WaitFor(std::chrono::hours(1)));
    }
  };
  RunBlocking(loops[0], Go::Run(&loops[0], &was_set));
  EXPECT_EQ(was_set, (std::vector<bool>{false, true, true}));
}

TEST(EventLoopTest, TimersFireInOrderOfTheirTimeAndNotAfterTheyAreCancelled) {
  RealLoops loops(1);
  std::vector<int> fired;
  struct Go {
    static Task<void> Run(EventLoop* loop, std::vector<int>* fired) {
      loop->StartTimer(milliseconds(8), [fired] { fired->push_back(8); });
      loop->StartTimer(milliseconds(2), [fired] { fired->push_back(2); });
      loop->CancelTimer(loop->StartTimer(milliseconds(4), [fired] { fired->push_back(4); }));
      loop->StartTimer(milliseconds(6), [fired] { fired->push_back(6); });
      co_await loop->Sleep(milliseconds(12));
    }
  };
  RunBlocking(loops[0], Go::Run(&loops[0], &fired));
  EXPECT_EQ(fired, (std::vector<int>{2, 6, 8}));
}

TEST(EventLoopTest, PostsOfOneThreadKeepTheirOrder) {
  RealLoops loops(2);
  std::vector<int> seen;
  struct Go {
    static Task<void> Nothing() { co_return; }
    static Task<void> Run(RealLoops* loops, std::vector<int>* seen) {
      for (int i = 0; i < 10'000; ++i) (*loops)[1].Post([seen, i] { seen->push_back(i); });
      co_await On((*loops)[1], Nothing());
    }
  };
  RunBlocking(loops[0], Go::Run(&loops, &seen));
  std::vector<int> expected(10'000);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(seen, expected);
}

TEST(BlockingPoolTest, GivesItsResultBackOnTheLoopThatAsked) {
  const auto pool = MakeRealBlockingPool(2);
  RealLoops loops(1);
  std::string text;
  bool is_home = false;
  struct Go {
    static Task<void> Run(BlockingPool* pool, EventLoop* loop, std::string* text, bool* is_home) {
      std::string long_enough_for_the_heap(100, 'x');
      auto work = [captured = std::move(long_enough_for_the_heap)] { return captured + "y"; };
      *text = co_await pool->Run(work);
      *is_home = loop->IsCurrent();
    }
  };
  RunBlocking(loops[0], Go::Run(pool.get(), &loops[0], &text, &is_home));
  EXPECT_EQ(text, std::string(100, 'x') + "y");
  EXPECT_TRUE(is_home);
}

class FileTest : public testing::Test {
 protected:
  FileTest() {
    directory_ = testing::TempDir() + "weir_file_test_" + std::to_string(MakeRealRandom()->Next());
    EXPECT_TRUE(files_->MakeDirectories(directory_).ok());
  }
  ~FileTest() override { EXPECT_TRUE(files_->RemoveTree(directory_).ok()); }

  std::unique_ptr<FileSystem> files_ = MakeRealFileSystem();
  std::string directory_;
};

TEST_F(FileTest, WritesMorePiecesThanTheKernelTakesAtOnce) {
  auto file = files_->OpenFile(directory_ + "/f", FileSystem::Open::kCreate);
  ASSERT_TRUE(file.ok());
  std::vector<std::string> texts;
  std::string expected;
  for (int i = 0; i < 3000; ++i)
    texts.push_back(std::string(static_cast<size_t>(i % 7), static_cast<char>('a' + i % 26)));
  std::vector<Bytes> pieces;
  for (const std::string& text : texts) {
    pieces.push_back(AsBytes(text));
    expected += text;
  }
  ASSERT_TRUE((*file)->WriteAt(5, pieces).ok());
  std::vector<std::byte> read(expected.size() + 10);
  const auto n = (*file)->ReadAt(5, read);
  ASSERT_TRUE(n.ok());
  EXPECT_EQ(AsText(Bytes(read).first(*n)), expected);
}

TEST_F(FileTest, ReplaceLeavesTheNewContentAndNothingElse) {
  ASSERT_TRUE(ReplaceFile(*files_, directory_ + "/f", "old").ok());
  ASSERT_TRUE(ReplaceFile(*files_, directory_ + "/f", "new").ok());
  EXPECT_EQ(*ReadWholeFile(*files_, directory_ + "/f", 100), "new");
  EXPECT_EQ(files_->List(directory_)->size(), 1u);
}

TEST_F(FileTest, ALockIsHeldOnce) {
  auto first = files_->Lock(directory_ + "/LOCK");
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(files_->Lock(directory_ + "/LOCK").error().code, ErrorCode::kOverloaded);
  first->reset();
  EXPECT_TRUE(files_->Lock(directory_ + "/LOCK").ok());
}

TEST(NetworkTest, CarriesBytesBothWaysAcrossLoops) {
  RealLoops loops(2);
  const auto network = MakeRealNetwork();
  std::string echoed;
  struct Go {
    static Task<void> Echo(std::unique_ptr<Connection> connection) {
      std::vector<std::byte> space(100'000);
      while (true) {
        const Result<size_t> n = co_await connection->Read(space);
        if (!n.ok() || *n == 0) co_return;
        const Bytes piece = Bytes(space).first(*n);
        (void)co_await connection->Write({&piece, 1});
      }
    }
    static Task<void> Run(RealLoops* loops, Network* network, std::string* echoed) {
      auto listener = network->Listen((*loops)[0], "127.0.0.1", 0);
      EXPECT_TRUE(listener.ok());
      auto accepted = (*listener)->Accept((*loops)[1]);
      // The other end is a plain socket of this test.
      const int client = ::socket(AF_INET, SOCK_STREAM, 0);
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons((*listener)->port());
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      EXPECT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
      auto connection = co_await std::move(accepted);
      EXPECT_TRUE(connection.ok());
      const std::string sent(50'000, 'w');
      EXPECT_EQ(::send(client, sent.data(), sent.size(), 0), static_cast<ssize_t>(sent.size()));
      ::shutdown(client, SHUT_WR);
      co_await On((*loops)[1], Echo(*std::move(connection)));
      std::string part(sent.size(), '\0');
      while (echoed->size() < sent.size()) {
        const ssize_t n = ::recv(client, part.data(), part.size(), 0);
        EXPECT_GT(n, 0);
        if (n <= 0) break;
        echoed->append(part, 0, static_cast<size_t>(n));
      }
      ::close(client);
    }
  };
  RunBlocking(loops[0], Go::Run(&loops, network.get(), &echoed));
  EXPECT_EQ(echoed, std::string(50'000, 'w'));
}

}  // namespace
}  // namespace weir
