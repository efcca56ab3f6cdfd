// An ordered map from keys to rows: an adaptive radix tree (Leis, Kemper, Neumann: The Adaptive
// Radix Tree, ICDE 2013). A node may carry a row itself, because a key may be the beginning of
// another.
//
// Nothing recurses, so keys may be as long as they like. The tree has no share in its rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weir/base/bytes.h"
#include "weir/kv/hot_row.h"

namespace weir {

class RowTree {
 public:
  RowTree() = default;
  RowTree(const RowTree&) = delete;
  RowTree& operator=(const RowTree&) = delete;
  ~RowTree() { Clear(); }

  /// The row with this key, or null.
  HotRow* Find(Bytes key) const;
  /// Fetches what looking for these keys will touch from memory, for many keys at once, so that the
  /// waits overlap; `with_neighbours`: also what taking the rows out of their lists will touch.
  void Prefetch(std::span<const Bytes> keys, bool with_neighbours) const;
  /// Puts `row` in the place of the one with the same key, and gives that one, or null.
  HotRow* Put(HotRow* row);
  /// Takes the row with this key out and gives it, or null.
  HotRow* Erase(Bytes key) { return Erase(key, nullptr); }
  /// Takes this very row out, if it is there. Returns whether it was.
  bool EraseRow(HotRow* row) { return Erase(row->key(), row) != nullptr; }
  void Clear();

  size_t size() const { return size_; }
  /// Memory of the nodes.
  size_t bytes() const { return bytes_; }

  struct Node;

  /// Walks over rows in the order of their keys, which is that of unsigned bytes. A change of the
  /// tree ends its life.
  class Cursor {
   public:
    /// At the first row whose key is not before `from`, or is behind it.
    Cursor(const RowTree& tree, Bytes from, bool is_behind);
    /// The row at the cursor, which then goes one further; null at the end.
    HotRow* Next();

   private:
    struct Level {
      const Node* node;
      int next;  // byte of the next child; -1: the node's own row
    };

    std::vector<Level> levels_;
    HotRow* first_ = nullptr;
  };

 private:
  /// Takes out what has the key; only `only`, if that is not null.
  HotRow* Erase(Bytes key, const HotRow* only);

  /// A node, or a row with its lowest bit set; 0 is none.
  using Child = uintptr_t;

  friend struct RowTreeParts;

  Child root_ = 0;
  size_t size_ = 0;
  size_t bytes_ = 0;
};

}  // namespace weir
