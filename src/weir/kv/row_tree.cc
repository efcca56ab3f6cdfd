#include "weir/kv/row_tree.h"

#include "weir/kv/row_tree_node.h"

namespace weir {

using Parts = RowTreeParts;

template <typename SomeNode>
SomeNode* Parts::Make(RowTree& tree) {
  tree.bytes_ += AllocatedBytes(sizeof(SomeNode));
  return new SomeNode();
}

void Parts::Free(RowTree& tree, Node* node) {
  const auto free = [&tree](auto* whole) {
    tree.bytes_ -= AllocatedBytes(sizeof *whole);
    delete whole;
  };
  switch (node->kind) {
    case Kind::k4: return free(static_cast<Node4*>(node));
    case Kind::k16: return free(static_cast<Node16*>(node));
    case Kind::k48: return free(static_cast<Node48*>(node));
    case Kind::k256: return free(static_cast<Node256*>(node));
  }
}

void Parts::SetPrefix(Node* node, Bytes prefix) {
  node->prefix_bytes = static_cast<uint32_t>(prefix.size());
  if (!prefix.empty()) std::memcpy(node->prefix.data(), prefix.data(), node->prefix_inline());
}

namespace {

/// Puts a child into a node that has room for it.
template <typename SortedNode>
void Insert(SortedNode& node, uint8_t byte, uintptr_t child) {
  size_t at = node.children;
  for (; at > 0 && node.keys[at - 1] > byte; --at) {
    node.keys[at] = node.keys[at - 1];
    node.child[at] = node.child[at - 1];
  }
  node.keys[at] = byte;
  node.child[at] = child;
  ++node.children;
}

void Insert(Parts::Node48& node, uint8_t byte, uintptr_t child) {
  // Mostly nothing was removed, and the first free place is behind all others.
  size_t slot = node.children;
  if (node.child[slot] != 0) {
    slot = static_cast<size_t>(std::find(node.child.begin(), node.child.end(), 0) -
                               node.child.begin());
  }
  node.child[slot] = child;
  node.slot_of[byte] = static_cast<uint8_t>(slot + 1);
  ++node.children;
}

void Insert(Parts::Node256& node, uint8_t byte, uintptr_t child) {
  node.child[byte] = child;
  ++node.children;
}

template <typename SortedNode>
void Remove(SortedNode& node, uint8_t byte) {
  size_t at = 0;
  while (node.keys[at] != byte) ++at;
  --node.children;
  for (; at < node.children; ++at) {
    node.keys[at] = node.keys[at + 1];
    node.child[at] = node.child[at + 1];
  }
}

void Remove(Parts::Node48& node, uint8_t byte) {
  node.child[node.slot_of[byte] - size_t{1}] = 0;
  node.slot_of[byte] = 0;
  --node.children;
}

void Remove(Parts::Node256& node, uint8_t byte) {
  node.child[byte] = 0;
  --node.children;
}

/// Calls `act` with the node as what it is.
template <typename Act>
void Visit(RowTree::Node* node, Act act) {
  switch (node->kind) {
    case Parts::Kind::k4: return act(*static_cast<Parts::Node4*>(node));
    case Parts::Kind::k16: return act(*static_cast<Parts::Node16*>(node));
    case Parts::Kind::k48: return act(*static_cast<Parts::Node48*>(node));
    case Parts::Kind::k256: return act(*static_cast<Parts::Node256*>(node));
  }
}

}  // namespace

template <typename To>
RowTree::Node* Parts::Rebuild(RowTree& tree, Node* from) {
  To* const to = Make<To>(tree);
  to->own = from->own;
  to->prefix_bytes = from->prefix_bytes;
  to->prefix = from->prefix;
  for (Edge edge = FirstChild(from, 0); edge.byte >= 0; edge = FirstChild(from, edge.byte + 1)) {
    Insert(*to, static_cast<uint8_t>(edge.byte), edge.child);
  }
  Free(tree, from);
  return to;
}

void Parts::AddChild(RowTree& tree, Child* slot, uint8_t byte, Child child) {
  Node* node = AsNode(*slot);
  if (node->kind == Kind::k4 && node->children == Node4::kMax) {
    node = Rebuild<Node16>(tree, node);
  } else if (node->kind == Kind::k16 && node->children == Node16::kMax) {
    node = Rebuild<Node48>(tree, node);
  } else if (node->kind == Kind::k48 && node->children == Node48::kMax) {
    node = Rebuild<Node256>(tree, node);
  }
  *slot = Of(node);
  Visit(node, [&](auto& whole) { Insert(whole, byte, child); });
}

void Parts::RemoveChild(RowTree& tree, Child* slot, uint8_t byte) {
  // Smaller sizes are taken later than they fit, so that a node at a border is not rebuilt again
  // and again.
  constexpr size_t k16Min = 4, k48Min = 13, k256Min = 37;
  Node* node = AsNode(*slot);
  Visit(node, [&](auto& whole) { Remove(whole, byte); });
  if (node->kind == Kind::k16 && node->children < k16Min) {
    node = Rebuild<Node4>(tree, node);
  } else if (node->kind == Kind::k48 && node->children < k48Min) {
    node = Rebuild<Node16>(tree, node);
  } else if (node->kind == Kind::k256 && node->children < k256Min) {
    node = Rebuild<Node48>(tree, node);
  }
  *slot = Of(node);
  Tidy(tree, slot);
}

/// A node has two things below it, its own row counted, or it is not needed.
void Parts::Tidy(RowTree& tree, Child* slot) {
  Node* const node = AsNode(*slot);
  if (node->own != nullptr && node->children == 0) {
    *slot = Of(node->own);
    Free(tree, node);
  } else if (node->own == nullptr && node->children == 1) {
    JoinWithChild(tree, slot);
  }
}

void Parts::JoinWithChild(RowTree& tree, Child* slot) {
  Node* const node = AsNode(*slot);
  const Edge edge = FirstChild(node, 0);
  if (!IsRow(edge.child)) {
    Node* const below = AsNode(edge.child);
    std::array<uint8_t, Node::kPrefixInline> joined;
    size_t bytes = node->prefix_inline();
    std::copy_n(node->prefix.begin(), bytes, joined.begin());
    if (bytes < joined.size()) joined[bytes++] = static_cast<uint8_t>(edge.byte);
    const size_t more = std::min(joined.size() - bytes, below->prefix_inline());
    std::copy_n(below->prefix.begin(), more, joined.begin() + static_cast<ptrdiff_t>(bytes));
    below->prefix = joined;
    below->prefix_bytes += node->prefix_bytes + 1;
  }
  *slot = edge.child;
  Free(tree, node);
}

/// A new node with this prefix in the place of what stands in `slot`, which is to be hung below it.
RowTree::Node* Parts::Split(RowTree& tree, Bytes prefix, Child* slot) {
  Node* const node = Make<Node4>(tree);
  SetPrefix(node, prefix);
  *slot = Of(node);
  return node;
}

/// Hangs a row into a node that has room, and whose prefix ends at `depth` of the row's key.
void Parts::Hang(Node* node, Bytes key, size_t depth, HotRow* row) {
  if (key.size() == depth) {
    node->own = row;
  } else {
    Insert(*static_cast<Node4*>(node), ByteAt(key, depth), Of(row));
  }
}

HotRow* RowTree::Find(Bytes key) const {
  Child at = root_;
  size_t depth = 0;
  while (at != 0) {
    HotRow* row = nullptr;
    if (Parts::IsRow(at)) {
      row = Parts::AsRow(at);
    } else {
      Node* const node = Parts::AsNode(at);
      const size_t prefix_bytes = node->prefix_bytes;
      if (prefix_bytes != 0) {
        // Only its beginning is compared: at the end the whole key is.
        if (key.size() - depth < prefix_bytes) return nullptr;
        if (std::memcmp(node->prefix.data(), key.data() + depth, node->prefix_inline()) != 0) {
          return nullptr;
        }
        depth += prefix_bytes;
      }
      if (depth < key.size()) {
        const Child* const child = Parts::FindChild(node, Parts::ByteAt(key, depth++));
        if (child == nullptr) return nullptr;
        at = *child;
        continue;
      }
      row = node->own;
    }
    return row != nullptr && Parts::IsSame(row->key(), key) ? row : nullptr;
  }
  return nullptr;
}

namespace {

// As many as the processor has under way at once, about.
constexpr size_t kWalks = 16;
constexpr size_t kCacheLine = 64;

void FetchLines(const void* at, size_t lines) {
  for (size_t i = 0; i < lines; ++i)
    __builtin_prefetch(static_cast<const char*>(at) + i * kCacheLine);
}

/// A search that does one step at a time, and fetches what the next one needs.
struct Walk {
  const Bytes* key = nullptr;
  uintptr_t at = 0;
  size_t depth = 0;

  /// Returns whether there is a next step.
  bool Step(bool with_neighbours) {
    // The beginning of a small node or of a row, which are most of what is not in the cache.
    constexpr size_t kLines = 3;
    HotRow* row = nullptr;
    if (Parts::IsRow(at)) {
      row = Parts::AsRow(at);
    } else {
      RowTree::Node* const node = Parts::AsNode(at);
      depth += node->prefix_bytes;
      if (depth > key->size()) return false;
      if (depth < key->size()) {
        const uintptr_t* const child = Parts::FindChild(node, Parts::ByteAt(*key, depth++));
        if (child == nullptr) return false;
        at = *child;
        FetchLines(reinterpret_cast<const void*>(at & ~uintptr_t{1}), kLines);
        return !Parts::IsRow(at) || with_neighbours;
      }
      row = node->own;
    }
    if (row == nullptr || !with_neighbours) return false;
    if (row->previous != nullptr) FetchLines(row->previous, 1);
    if (row->next != nullptr) FetchLines(row->next, 1);
    return false;
  }
};

}  // namespace

void RowTree::Prefetch(std::span<const Bytes> keys, bool with_neighbours) const {
  if (root_ == 0) return;
  Walk walks[kWalks];
  size_t running = 0;
  const Bytes* next = keys.data();
  const Bytes* const end = next + keys.size();
  while (running < kWalks && next != end) walks[running++] = {next++, root_, 0};
  while (running > 0) {
    for (size_t i = 0; i < running;) {
      if (walks[i].Step(with_neighbours)) {
        ++i;
      } else if (next != end) {
        walks[i++] = {next++, root_, 0};
      } else {
        walks[i] = walks[--running];
      }
    }
  }
}

HotRow* RowTree::Put(HotRow* row) {
  const Bytes key = row->key();
  Child* slot = &root_;
  size_t depth = 0;
  while (*slot != 0 && !Parts::IsRow(*slot)) {
    Node* const node = Parts::AsNode(*slot);
    const size_t same = node->prefix_bytes == 0 ? 0 : Parts::MatchPrefix(node, key, depth);
    if (same < node->prefix_bytes) {
      const Bytes prefix = Parts::AnyRow(node)->key().subspan(depth, node->prefix_bytes);
      Node* const above = Parts::Split(*this, prefix.first(same), slot);
      Parts::SetPrefix(node, prefix.subspan(same + 1));
      Insert(*static_cast<Parts::Node4*>(above), Parts::ByteAt(prefix, same), Parts::Of(node));
      Parts::Hang(above, key, depth + same, row);
      ++size_;
      return nullptr;
    }
    depth += same;
    if (depth == key.size()) {
      HotRow* const replaced = std::exchange(node->own, row);
      if (replaced == nullptr) ++size_;
      return replaced;
    }
    Child* const child = Parts::FindChild(node, Parts::ByteAt(key, depth));
    if (child == nullptr) {
      Parts::AddChild(*this, slot, Parts::ByteAt(key, depth), Parts::Of(row));
      ++size_;
      return nullptr;
    }
    slot = child;
    ++depth;
  }
  if (*slot == 0) {
    *slot = Parts::Of(row);
    ++size_;
    return nullptr;
  }
  HotRow* const other = Parts::AsRow(*slot);
  if (Parts::IsSame(other->key(), key)) {
    *slot = Parts::Of(row);
    return other;
  }
  const Bytes a = key.subspan(depth), b = other->key().subspan(depth);
  const auto same =
      static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  Node* const above = Parts::Split(*this, a.first(same), slot);
  Parts::Hang(above, other->key(), depth + same, other);
  Parts::Hang(above, key, depth + same, row);
  ++size_;
  return nullptr;
}

HotRow* RowTree::Erase(Bytes key, const HotRow* only) {
  const auto is_it = [&](const HotRow* row) {
    return row != nullptr && (only != nullptr ? row == only : Parts::IsSame(row->key(), key));
  };
  Child* slot = &root_;
  Child* above = nullptr;  // where the node stands that has `slot`
  size_t depth = 0;
  while (*slot != 0 && !Parts::IsRow(*slot)) {
    Node* const node = Parts::AsNode(*slot);
    if (key.size() - depth < node->prefix_bytes) return nullptr;
    if (node->prefix_bytes != 0 &&
        std::memcmp(node->prefix.data(), key.data() + depth, node->prefix_inline()) != 0) {
      return nullptr;
    }
    depth += node->prefix_bytes;
    if (depth == key.size()) {
      if (!is_it(node->own)) return nullptr;
      HotRow* const erased = std::exchange(node->own, nullptr);
      Parts::Tidy(*this, slot);
      --size_;
      return erased;
    }
    Child* const child = Parts::FindChild(node, Parts::ByteAt(key, depth));
    if (child == nullptr) return nullptr;
    above = slot;
    slot = child;
    ++depth;
  }
  if (*slot == 0) return nullptr;
  HotRow* const erased = Parts::AsRow(*slot);
  if (!is_it(erased)) return nullptr;
  if (above == nullptr) {
    root_ = 0;
  } else {
    Parts::RemoveChild(*this, above, Parts::ByteAt(key, depth - 1));
  }
  --size_;
  return erased;
}

void RowTree::Clear() {
  std::vector<Child> left;
  if (root_ != 0 && !Parts::IsRow(root_)) left.push_back(root_);
  while (!left.empty()) {
    Node* const node = Parts::AsNode(left.back());
    left.pop_back();
    for (auto edge = Parts::FirstChild(node, 0); edge.byte >= 0;
         edge = Parts::FirstChild(node, edge.byte + 1)) {
      if (!Parts::IsRow(edge.child)) left.push_back(edge.child);
    }
    Parts::Free(*this, node);
  }
  root_ = 0;
  size_ = 0;
}

RowTree::Cursor::Cursor(const RowTree& tree, Bytes from, bool is_behind) {
  Child at = Parts::Root(tree);
  size_t depth = 0;
  while (at != 0) {
    if (Parts::IsRow(at)) {
      HotRow* const row = Parts::AsRow(at);
      const auto order = AsText(row->key()).compare(AsText(from));
      if (is_behind ? order > 0 : order >= 0) first_ = row;
      return;
    }
    const Node* const node = Parts::AsNode(at);
    const size_t same = Parts::MatchPrefix(node, from, depth);
    if (same < node->prefix_bytes) {
      const bool is_prefix = depth + same == from.size();
      if (is_prefix || Parts::ByteAt(Parts::AnyRow(node)->key(), depth + same) >
                           Parts::ByteAt(from, depth + same)) {
        levels_.push_back({node, -1});
      }
      return;
    }
    depth += same;
    if (depth == from.size()) {
      levels_.push_back({node, is_behind ? 0 : -1});
      return;
    }
    const uint8_t byte = Parts::ByteAt(from, depth++);
    levels_.push_back({node, byte + 1});
    const Child* const child = Parts::FindChild(const_cast<Node*>(node), byte);
    at = child == nullptr ? 0 : *child;
  }
}

HotRow* RowTree::Cursor::Next() {
  if (first_ != nullptr) return std::exchange(first_, nullptr);
  while (!levels_.empty()) {
    Level& level = levels_.back();
    if (level.next < 0) {
      level.next = 0;
      if (level.node->own != nullptr) return level.node->own;
    }
    const Parts::Edge edge = Parts::FirstChild(level.node, level.next);
    if (edge.byte < 0) {
      levels_.pop_back();
      continue;
    }
    level.next = edge.byte + 1;
    if (Parts::IsRow(edge.child)) return Parts::AsRow(edge.child);
    levels_.push_back({Parts::AsNode(edge.child), -1});
  }
  return nullptr;
}

}  // namespace weir
