#include "weir/kv/row_tree.h"

#include <map>
#include <memory>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "weir/kv/row_tree_testing.h"

namespace weir {
namespace {

using Random = std::mt19937_64;

TEST(RowTree, ARowIsFoundByItsWholeKeyOnly) {
  TreeModel model;
  model.Put("customer-123");
  model.Put("customer-1234");
  model.Put("customer-99");
  EXPECT_TRUE(model.Has("customer-123"));
  EXPECT_FALSE(model.Has("customer-12"));
  EXPECT_FALSE(model.Has("customer-"));
  EXPECT_FALSE(model.Has(""));
  EXPECT_FALSE(model.Has("customer-12345"));
  model.CheckAll();
}

TEST(RowTree, AKeyMayBeTheBeginningOfAnother) {
  TreeModel model;
  for (const std::string key : {"abc", "", "a", "ab", "abcd", "abd"}) {
    model.Put(key);
    model.CheckAll();
  }
  for (const std::string key : {"ab", "", "abc", "abcd", "abd", "a"}) {
    model.Erase(key);
    model.CheckAll();
  }
}

TEST(RowTree, NodesGrowAndShrinkWithTheirChildren) {
  TreeModel model;
  for (int round = 0; round < 2; ++round) {
    for (int byte = 0; byte < 256; ++byte) {
      model.Put(std::string("prefix") + static_cast<char>(byte * 7) + "x");
      if (byte % 11 == 0) model.CheckAll();
    }
    for (int byte = 0; byte < 256; ++byte) {
      model.Erase(std::string("prefix") + static_cast<char>(byte * 3) + "x");
      if (byte % 11 == 0) model.CheckAll();
    }
    EXPECT_EQ(model.tree().size(), 0u);
    EXPECT_EQ(model.tree().bytes(), 0u);
  }
}

TEST(RowTree, PrefixesLongerThanWhatANodeHoldsAreComparedAsAWhole) {
  TreeModel model;
  const std::string common(100, 'c');
  model.Put(common + "a");
  model.Put(common + "b");
  for (const size_t at : {0, 10, 16, 17, 18, 50, 99}) {
    std::string other = common;
    other[at] = 'd';
    EXPECT_FALSE(model.Has(other + "a"));
    model.Put(other + "a");
    model.CheckAll();
  }
  for (const size_t bytes : {0, 16, 17, 18, 99, 100}) {
    model.Put(common.substr(0, bytes));
    model.CheckAll();
  }
  while (!model.keys().empty()) {
    model.Erase(std::prev(model.keys().end())->first);
    model.CheckAll();
  }
}

TEST(RowTree, DeepTreesOfLongKeysDoNotRecurse) {
  TreeModel model;
  const std::string longest(20'000, 'k');
  for (size_t bytes = 0; bytes <= longest.size(); bytes += 10) model.Put(longest.substr(0, bytes));
  EXPECT_EQ(model.tree().size(), 2001u);
  model.CheckOrder();
  for (size_t bytes = 0; bytes <= longest.size(); bytes += 20) {
    model.Erase(longest.substr(0, bytes));
  }
  model.CheckOrder();
}

TEST(RowTree, ACursorGoesOnFromAnyKey) {
  TreeModel model;
  for (const std::string key : {"b", "ba", "bb", "d", "da\x01", "da\xff", "e"}) model.Put(key);
  for (const std::string from : {"", "a", "b", "b\x01", "ba", "baa", "bc", "c", "d", "da", "da\x02",
                                 "da\xff", "da\xff\xff", "e", "f"}) {
    model.CheckOrderFrom(from);
  }
}

/// Keys that share and end in each other, or not.
std::string SomeKey(Random& random, int kind) {
  const auto below = [&](size_t end) { return random() % end; };
  std::string key;
  switch (kind) {
    case 0:  // numbers
      for (size_t i = 0; i < 4; ++i) key += static_cast<char>(below(i < 2 ? 2 : 256));
      break;
    case 1:  // few bytes, all lengths
      for (size_t i = below(12); i > 0; --i) key += "\x00\xff\x7f"[below(3)];
      break;
    case 2:  // long common parts
      key = std::string(below(3) * 15 + below(4), 'p');
      key += static_cast<char>('a' + below(3));
      key += std::string(below(3) * 20, 'q');
      key += static_cast<char>('a' + below(3));
      break;
    default: key = std::to_string(below(5000));
  }
  return key;
}

TEST(RowTree, IsTheSameAsAnOrderedMap) {
  for (int kind = 0; kind < 4; ++kind) {
    Random random(static_cast<uint64_t>(kind));
    TreeModel model;
    for (int step = 0; step < 20'000; ++step) {
      // Grows, shrinks, and grows again.
      const bool grows = step / 4000 % 2 == 0;
      const std::string key = SomeKey(random, kind);
      if (random() % 10 < (grows ? 7 : 3)) {
        model.Put(key);
      } else {
        model.Erase(key);
      }
      model.Has(SomeKey(random, kind));
      if (step % 500 == 0) model.CheckAll();
      if (step % 50 == 0) model.CheckOrderFrom(SomeKey(random, kind));
    }
    model.CheckAll();
    while (!model.keys().empty()) model.Erase(model.keys().begin()->first);
    EXPECT_EQ(model.tree().bytes(), 0u);
  }
}

}  // namespace
}  // namespace weir
