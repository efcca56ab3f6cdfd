// The nodes of a RowTree: four sizes, by how many children there are. Only for row_tree.cc.
#pragma once

#include <algorithm>
#include <array>
#include <bit>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "weir/kv/row_tree.h"

namespace weir {

struct RowTree::Node {
  enum class Kind : uint8_t { k4, k16, k48, k256 };
  /// Makes a node of four exactly as large as what malloc would give for less.
  static constexpr size_t kPrefixInline = 17;

  /// The row whose key ends here.
  HotRow* own = nullptr;
  /// What all keys below have in common behind the byte that leads here; only its beginning stands
  /// here, the rest is to be read in any of the rows below.
  uint32_t prefix_bytes = 0;
  uint16_t children = 0;
  const Kind kind;
  std::array<uint8_t, kPrefixInline> prefix;

  explicit Node(Kind kind) : kind(kind) {}

  size_t prefix_inline() const { return std::min<size_t>(prefix_bytes, kPrefixInline); }
};

/// Names and helpers that the tree's source files share.
struct RowTreeParts {
  using Node = RowTree::Node;
  using Kind = Node::Kind;
  using Child = RowTree::Child;

  struct Node4 : Node {
    static constexpr size_t kMax = 4;
    Node4() : Node(Kind::k4) {}
    std::array<uint8_t, kMax> keys;  // ascending
    std::array<Child, kMax> child;
  };
  struct Node16 : Node {
    static constexpr size_t kMax = 16;
    Node16() : Node(Kind::k16) {}
    std::array<uint8_t, kMax> keys;  // ascending
    std::array<Child, kMax> child;
  };
  struct Node48 : Node {
    static constexpr size_t kMax = 48;
    Node48() : Node(Kind::k48) {}
    std::array<uint8_t, 256> slot_of{};  // counted from 1; 0: none
    std::array<Child, kMax> child{};
  };
  struct Node256 : Node {
    static constexpr size_t kMax = 256;
    Node256() : Node(Kind::k256) {}
    std::array<Child, kMax> child{};
  };

  static bool IsRow(Child child) { return (child & 1) != 0; }
  static HotRow* AsRow(Child child) { return reinterpret_cast<HotRow*>(child & ~Child{1}); }
  static Node* AsNode(Child child) { return reinterpret_cast<Node*>(child); }
  static Child Of(HotRow* row) { return reinterpret_cast<Child>(row) | 1; }
  static Child Of(Node* node) { return reinterpret_cast<Child>(node); }
  static Child Root(const RowTree& tree) { return tree.root_; }

  static uint8_t ByteAt(Bytes key, size_t at) { return std::to_integer<uint8_t>(key[at]); }

  /// Where the child behind `byte` stands, or null.
  static Child* FindChild(Node* node, uint8_t byte) {
    switch (node->kind) {
      case Kind::k4: {
        auto* const n = static_cast<Node4*>(node);
        for (size_t i = 0; i < n->children; ++i) {
          if (n->keys[i] == byte) return &n->child[i];
        }
        return nullptr;
      }
      case Kind::k16: return FindIn16(static_cast<Node16*>(node), byte);
      case Kind::k48: {
        auto* const n = static_cast<Node48*>(node);
        const uint8_t slot = n->slot_of[byte];
        return slot == 0 ? nullptr : &n->child[slot - 1];
      }
      case Kind::k256: {
        auto* const n = static_cast<Node256*>(node);
        return n->child[byte] == 0 ? nullptr : &n->child[byte];
      }
    }
    WEIR_UNREACHABLE();
  }

  static Child* FindIn16(Node16* n, uint8_t byte) {
#if defined(__SSE2__)
    const __m128i keys = _mm_loadu_si128(reinterpret_cast<const __m128i*>(n->keys.data()));
    const __m128i same = _mm_cmpeq_epi8(keys, _mm_set1_epi8(static_cast<char>(byte)));
    const auto bits =
        static_cast<uint32_t>(_mm_movemask_epi8(same)) & ((uint32_t{1} << n->children) - 1);
    return bits == 0 ? nullptr : &n->child[static_cast<size_t>(std::countr_zero(bits))];
#else
    for (size_t i = 0; i < n->children; ++i) {
      if (n->keys[i] == byte) return &n->child[i];
    }
    return nullptr;
#endif
  }

  struct Edge {
    int byte;  // -1: none
    Child child;
  };

  /// The first child whose byte is at least `from`.
  static Edge FirstChild(const Node* node, int from) {
    switch (node->kind) {
      case Kind::k4: return FirstOf(*static_cast<const Node4*>(node), from);
      case Kind::k16: return FirstOf(*static_cast<const Node16*>(node), from);
      case Kind::k48: {
        const auto* const n = static_cast<const Node48*>(node);
        for (int byte = from; byte < 256; ++byte) {
          const uint8_t slot = n->slot_of[static_cast<size_t>(byte)];
          if (slot != 0) return {byte, n->child[slot - 1]};
        }
        return {-1, 0};
      }
      case Kind::k256: {
        const auto* const n = static_cast<const Node256*>(node);
        for (int byte = from; byte < 256; ++byte) {
          const Child child = n->child[static_cast<size_t>(byte)];
          if (child != 0) return {byte, child};
        }
        return {-1, 0};
      }
    }
    WEIR_UNREACHABLE();
  }

  template <typename SortedNode>
  static Edge FirstOf(const SortedNode& n, int from) {
    for (size_t i = 0; i < n.children; ++i) {
      if (n.keys[i] >= from) return {n.keys[i], n.child[i]};
    }
    return {-1, 0};
  }

  /// Any row below: it has the whole prefix of the node.
  static HotRow* AnyRow(const Node* node) {
    while (node->own == nullptr) {
      const Child child = FirstChild(node, 0).child;
      if (IsRow(child)) return AsRow(child);
      node = AsNode(child);
    }
    return node->own;
  }

  /// How many bytes of the node's prefix are in `key` from `depth`.
  static size_t MatchPrefix(const Node* node, Bytes key, size_t depth) {
    const Bytes rest = key.subspan(depth);
    const size_t inlined = std::min(node->prefix_inline(), rest.size());
    size_t same = 0;
    while (same < inlined && node->prefix[same] == ByteAt(rest, same)) ++same;
    if (same < node->prefix_inline() || node->prefix_bytes == same) return same;
    const Bytes whole = AnyRow(node)->key().subspan(depth, node->prefix_bytes);
    const size_t both = std::min(whole.size(), rest.size());
    while (same < both && whole[same] == rest[same]) ++same;
    return same;
  }

  static bool IsSame(Bytes a, Bytes b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
  }

  // --- Changes; row_tree.cc.

  template <typename SomeNode>
  static SomeNode* Make(RowTree& tree);
  static void Free(RowTree& tree, Node* node);
  static void SetPrefix(Node* node, Bytes prefix);
  static Node* Split(RowTree& tree, Bytes prefix, Child* slot);
  static void Hang(Node* node, Bytes key, size_t depth, HotRow* row);
  static void AddChild(RowTree& tree, Child* slot, uint8_t byte, Child child);
  static void RemoveChild(RowTree& tree, Child* slot, uint8_t byte);
  static void Tidy(RowTree& tree, Child* slot);
  static void JoinWithChild(RowTree& tree, Child* slot);
  template <typename To>
  static Node* Rebuild(RowTree& tree, Node* from);
};

}  // namespace weir
