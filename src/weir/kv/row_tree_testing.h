// A RowTree beside an ordered map, for tests.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "weir/base/check.h"
#include "weir/kv/row_tree.h"

namespace weir {

/// Does the same with both, and stops the program where they differ.
class TreeModel {
 public:
  ~TreeModel() { tree_.Clear(); }

  const RowTree& tree() const { return tree_; }
  const std::map<std::string, HotRowRef>& keys() const { return keys_; }

  void Put(const std::string& key) {
    const HotRowRef row(HotRow::MakeTombstone(AsBytes(key)));
    const HotRow* const before = tree_.Put(row.get());
    HotRowRef& known = keys_[key];
    WEIR_CHECK(before == known.get());
    known = row;
    WEIR_CHECK(tree_.size() == keys_.size());
  }

  void Erase(const std::string& key) {
    const HotRow* const erased = tree_.Erase(AsBytes(key));
    const auto known = keys_.find(key);
    WEIR_CHECK(erased == (known == keys_.end() ? nullptr : known->second.get()));
    if (known != keys_.end()) keys_.erase(known);
    WEIR_CHECK(tree_.size() == keys_.size());
  }

  bool Has(const std::string& key) const {
    const HotRow* const found = tree_.Find(AsBytes(key));
    const auto known = keys_.find(key);
    WEIR_CHECK(found == (known == keys_.end() ? nullptr : known->second.get()));
    return found != nullptr;
  }

  void CheckOrderFrom(const std::string& from) const {
    for (const bool is_behind : {false, true}) {
      RowTree::Cursor cursor(tree_, AsBytes(from), is_behind);
      auto known = is_behind ? keys_.upper_bound(from) : keys_.lower_bound(from);
      for (; known != keys_.end(); ++known) WEIR_CHECK(cursor.Next() == known->second.get());
      WEIR_CHECK(cursor.Next() == nullptr);
      WEIR_CHECK(cursor.Next() == nullptr);
    }
  }

  void CheckOrder() const { CheckOrderFrom(""); }
  void CheckAll() const {
    CheckOrder();
    std::vector<Bytes> all;
    for (const auto& [key, row] : keys_) {
      WEIR_CHECK(tree_.Find(AsBytes(key)) == row.get());
      // Also keys that are not there, and end or go on elsewhere.
      all.push_back(AsBytes(key));
      if (!key.empty()) all.push_back(AsBytes(key).first(key.size() - 1));
      if (!key.empty()) all.push_back(AsBytes(key).subspan(1));
    }
    tree_.Prefetch(all, true);
    tree_.Prefetch(all, false);
  }

 private:
  RowTree tree_;
  std::map<std::string, HotRowRef> keys_;
};

}  // namespace weir
