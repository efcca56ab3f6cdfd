#include "weir/kv/bitmap.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace weir {
namespace {

constexpr uint32_t kCookie = 12346;
constexpr uint32_t kCookieWithRuns = 12347;
constexpr size_t kContainersMax32 = 1 << 16;
/// With fewer containers, bitmaps that have runs tell no positions.
constexpr size_t kPositionsFrom = 4;
constexpr size_t kArrayMax = 4096;
constexpr size_t kWords = 1024;
constexpr size_t kBitsBytes = kWords * sizeof(uint64_t);
constexpr size_t kKeyBytes = 6;

/// Numbered as in the 64-bit format.
enum class Kind : uint8_t { kRuns, kBits, kArray };
enum class Node : uint8_t { k4, k16, k48, k256, kLeaf };

/// The numbers that have the same bits above their lowest 16.
struct Container {
  uint64_t key = 0;  // those bits
  Kind kind = Kind::kArray;
  uint32_t cardinality = 0;
  /// Sorted 16-bit numbers; 65,536 bits; or pairs of a number and how many follow it.
  Bytes body;
};

Error NoBitmap(std::string_view what) {
  return Fail(ErrorCode::kInvalidValue, "a value is no Roaring bitmap: {}", what);
}

/// Reads what is there. Once it is not, everything is zero and has_failed() true.
class Reader {
 public:
  explicit Reader(Bytes bytes) : bytes_(bytes) {}

  bool has_failed() const { return has_failed_; }

  Bytes Take(size_t size) {
    if (size > bytes_.size()) {
      has_failed_ = true;
      return {};
    }
    const Bytes taken = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return taken;
  }

  template <typename T>
  T Get() {
    const Bytes taken = Take(sizeof(T));
    return taken.empty() ? T{0} : LoadLittle<T>(taken.data());
  }

 private:
  Bytes bytes_;
  bool has_failed_ = false;
};

uint16_t ShortAt(Bytes body, size_t index) {
  return LoadLittle<uint16_t>(body.data() + 2 * index);
}

uint64_t WordAt(Bytes body, size_t index) {
  return LoadLittle<uint64_t>(body.data() + sizeof(uint64_t) * index);
}

/// Reads the body of a container of this kind, and checks that it can be what it says.
Result<Container> ReadBody(Reader& reader, uint64_t key, Kind kind, uint32_t cardinality) {
  Container container{.key = key, .kind = kind, .cardinality = cardinality, .body = {}};
  const size_t count =
      kind == Kind::kRuns ? size_t{2} * reader.Get<uint16_t>() : size_t{cardinality};
  container.body = reader.Take(kind == Kind::kBits ? kBitsBytes : 2 * count);
  if (reader.has_failed()) return NoBitmap("a container is cut off");
  switch (kind) {
    case Kind::kArray:
      for (size_t i = 1; i < count; ++i) {
        if (ShortAt(container.body, i - 1) >= ShortAt(container.body, i)) {
          return NoBitmap("numbers are not in order");
        }
      }
      return container;
    case Kind::kBits: {
      size_t bits = 0;
      for (size_t i = 0; i < kWords; ++i) {
        bits += static_cast<size_t>(std::popcount(WordAt(container.body, i)));
      }
      if (bits != cardinality) return NoBitmap("a container has another number of bits");
      return container;
    }
    case Kind::kRuns: {
      uint32_t next = 0;
      container.cardinality = 0;
      for (size_t i = 0; i < count; i += 2) {
        const uint32_t first = ShortAt(container.body, i);
        const uint32_t end = first + ShortAt(container.body, i + 1) + 1;
        if (first < next || end > 1 << 16) return NoBitmap("runs are not in order");
        container.cardinality += end - first;
        next = end;
      }
      if (count == 0) return NoBitmap("a container is empty");
      return container;
    }
  }
  return NoBitmap("unknown kind of container");
}

Result<std::vector<Container>> Read32(Bytes bytes) {
  Reader reader(bytes);
  const auto cookie = reader.Get<uint32_t>();
  const bool has_runs = (cookie & 0xffff) == kCookieWithRuns;
  if (!has_runs && cookie != kCookie) return NoBitmap("it begins otherwise");
  const size_t count = has_runs ? (cookie >> 16) + size_t{1} : reader.Get<uint32_t>();
  if (count > kContainersMax32) return NoBitmap("too many containers");
  const Bytes run_flags = reader.Take(has_runs ? (count + 7) / 8 : 0);
  const Bytes heads = reader.Take(4 * count);
  if (!has_runs || count >= kPositionsFrom) reader.Take(4 * count);
  if (reader.has_failed()) return NoBitmap("its head is cut off");
  std::vector<Container> containers;
  containers.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const uint16_t key = ShortAt(heads, 2 * i);
    if (i > 0 && key <= containers.back().key) return NoBitmap("containers are not in order");
    const uint32_t cardinality = ShortAt(heads, 2 * i + 1) + 1U;
    const bool is_runs = has_runs && (std::to_integer<int>(run_flags[i / 8]) >> (i % 8) & 1) != 0;
    const Kind many = cardinality > kArrayMax ? Kind::kBits : Kind::kArray;
    WEIR_ASSIGN(const Container container,
                ReadBody(reader, key, is_runs ? Kind::kRuns : many, cardinality));
    containers.push_back(container);
  }
  return containers;
}

struct Leaf {
  uint64_t key = 0;
  uint64_t container = 0;
};

/// The leaves tell their whole keys, so that the branches above them need not be understood.
Result<std::vector<Leaf>> ReadLeaves(Reader& reader) {
  std::vector<Leaf> leaves;
  for (size_t to_come = 1; to_come > 0; --to_come) {
    const auto node = static_cast<Node>(reader.Get<uint8_t>());
    const auto children = reader.Get<uint16_t>();
    reader.Take(reader.Get<uint8_t>());
    switch (node) {
      case Node::k4: reader.Take(4); break;
      case Node::k16: reader.Take(16); break;
      case Node::k48: reader.Take(256); break;
      case Node::k256: reader.Take(32); break;
      case Node::kLeaf: {
        const Bytes key = reader.Take(kKeyBytes);
        const auto container = reader.Get<uint64_t>();
        if (reader.has_failed()) return NoBitmap("a node is cut off");
        uint64_t value = 0;
        for (const std::byte b : key) value = value << 8 | std::to_integer<uint8_t>(b);
        if (!leaves.empty() && value <= leaves.back().key) return NoBitmap("keys are not in order");
        leaves.push_back(Leaf{.key = value, .container = container});
        break;
      }
      default: return NoBitmap("unknown kind of node");
    }
    if (reader.has_failed()) return NoBitmap("a node is cut off");
    if (node != Node::kLeaf) to_come += children;
  }
  return leaves;
}

Result<std::vector<Container>> Read64(Bytes bytes) {
  Reader reader(bytes);
  const auto is_filled = reader.Get<uint8_t>();
  if (reader.has_failed() || is_filled > 1) return NoBitmap("it begins otherwise");
  if (is_filled == 0) return std::vector<Container>();
  reader.Get<uint64_t>();  // how many keys there are
  WEIR_ASSIGN(const std::vector<Leaf> leaves, ReadLeaves(reader));
  // Java keeps containers in lists of 2^31; a bitmap that needs two is no value of a row.
  if (reader.Get<uint32_t>() != 1) return NoBitmap("it has no list of containers, or several");
  reader.Get<uint8_t>();  // whether empty places were left out; there is only one form yet
  const auto places = reader.Get<uint32_t>();
  struct Placed {
    uint64_t place;
    Container container;
  };
  std::vector<Placed> placed;
  for (uint32_t place = 0; place < places; ++place) {
    if (reader.Get<uint8_t>() != 0) {
      const auto kind = static_cast<Kind>(reader.Get<uint8_t>());
      const auto cardinality = reader.Get<uint32_t>();
      if (cardinality > 1 << 16) return NoBitmap("a container has too many numbers");
      WEIR_ASSIGN(const Container container, ReadBody(reader, 0, kind, cardinality));
      placed.push_back({place, container});
    }
    if (reader.has_failed()) return NoBitmap("a container is cut off");
  }
  std::vector<Container> sorted;
  sorted.reserve(leaves.size());
  for (const Leaf& leaf : leaves) {
    const auto found =
        std::lower_bound(placed.begin(), placed.end(), leaf.container,
                         [](const Placed& p, uint64_t place) { return p.place < place; });
    if (found == placed.end() || found->place != leaf.container) {
      return NoBitmap("a key has no container");
    }
    // Taken away, so that no two keys share one: the union might then be larger than both bitmaps.
    Container container = std::exchange(found->container, Container{});
    if (container.cardinality == 0) return NoBitmap("a key has no container of its own");
    container.key = leaf.key;
    sorted.push_back(container);
  }
  return sorted;
}

Result<std::vector<Container>> Read(BitmapFormat format, Bytes bitmap) {
  return format == BitmapFormat::k32 ? Read32(bitmap) : Read64(bitmap);
}

template <typename T>
void Append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

Kind SmallestKind(size_t cardinality, size_t runs) {
  const size_t bytes = cardinality <= kArrayMax ? 2 * cardinality : kBitsBytes;
  if (2 + 4 * runs < bytes) return Kind::kRuns;
  return cardinality <= kArrayMax ? Kind::kArray : Kind::kBits;
}

/// Makes containers of two that have the same key. Their bodies are one after the other in a text
/// that grows, so that `body` of what it gives is only a size until all are there.
class Uniter {
 public:
  Container Unite(const Container& a, const Container& b) {
    if (a.kind == Kind::kArray && b.kind == Kind::kArray &&
        a.cardinality + b.cardinality <= kArrayMax) {
      return UniteArrays(a, b);
    }
    words_.fill(0);
    Add(a);
    Add(b);
    return FromWords(a.key);
  }

  std::string_view bodies() const { return bodies_; }

 private:
  Container UniteArrays(const Container& a, const Container& b) {
    size_t count = 0;
    size_t runs = 0;
    const auto add = [&](uint16_t number) {
      if (count == 0 || number != numbers_[count - 1] + 1) ++runs;
      numbers_[count++] = number;
    };
    size_t i = 0;
    size_t j = 0;
    while (i < a.cardinality && j < b.cardinality) {
      const uint16_t x = ShortAt(a.body, i);
      const uint16_t y = ShortAt(b.body, j);
      add(std::min(x, y));
      i += x <= y ? 1 : 0;
      j += y <= x ? 1 : 0;
    }
    for (; i < a.cardinality; ++i) add(ShortAt(a.body, i));
    for (; j < b.cardinality; ++j) add(ShortAt(b.body, j));
    const Kind kind = SmallestKind(count, runs);
    const size_t before = bodies_.size();
    if (kind == Kind::kArray) {
      bodies_.append(reinterpret_cast<const char*>(numbers_.data()), 2 * count);
    } else {
      for (size_t first = 0; first < count;) {
        size_t end = first + 1;
        while (end < count && numbers_[end] == numbers_[end - 1] + 1) ++end;
        AppendRun(numbers_[first], end - first);
        first = end;
      }
    }
    return Made(a.key, kind, count, before);
  }

  void Add(const Container& container) {
    switch (container.kind) {
      case Kind::kArray:
        for (size_t i = 0; i < container.cardinality; ++i) {
          const size_t number = ShortAt(container.body, i);
          words_[number / 64] |= uint64_t{1} << number % 64;
        }
        return;
      case Kind::kBits:
        for (size_t i = 0; i < kWords; ++i) words_[i] |= WordAt(container.body, i);
        return;
      case Kind::kRuns:
        for (size_t i = 0; 2 * i < container.body.size(); i += 2) {
          const size_t first = ShortAt(container.body, i);
          const size_t last = first + ShortAt(container.body, i + 1);
          for (size_t word = first / 64; word <= last / 64; ++word) {
            const size_t low = word == first / 64 ? first % 64 : 0;
            const size_t high = word == last / 64 ? last % 64 : 63;
            words_[word] |= ~uint64_t{0} << low & ~uint64_t{0} >> (63 - high);
          }
        }
        return;
    }
  }

  Container FromWords(uint64_t key) {
    size_t cardinality = 0;
    size_t runs = 0;
    uint64_t before_word = 0;  // the highest bit of the word before, at the lowest place
    for (const uint64_t word : words_) {
      cardinality += static_cast<size_t>(std::popcount(word));
      runs += static_cast<size_t>(std::popcount(word & ~(word << 1 | before_word)));
      before_word = word >> 63;
    }
    const Kind kind = SmallestKind(cardinality, runs);
    const size_t before = bodies_.size();
    if (kind == Kind::kBits) {
      bodies_.append(reinterpret_cast<const char*>(words_.data()), kBitsBytes);
    } else {
      AppendNumbers(kind);
    }
    return Made(key, kind, cardinality, before);
  }

  void AppendNumbers(Kind kind) {
    size_t first = 0;
    size_t length = 0;
    for (size_t word = 0; word < kWords; ++word) {
      for (uint64_t rest = words_[word]; rest != 0; rest &= rest - 1) {
        const size_t number = 64 * word + static_cast<size_t>(std::countr_zero(rest));
        if (kind == Kind::kArray) {
          Append(bodies_, static_cast<uint16_t>(number));
        } else if (length > 0 && number == first + length) {
          ++length;
        } else {
          if (length > 0) AppendRun(first, length);
          first = number;
          length = 1;
        }
      }
    }
    if (length > 0) AppendRun(first, length);
  }

  void AppendRun(size_t first, size_t length) {
    Append(bodies_, static_cast<uint16_t>(first));
    Append(bodies_, static_cast<uint16_t>(length - 1));
  }

  Container Made(uint64_t key, Kind kind, size_t cardinality, size_t before) {
    return Container{
        .key = key,
        .kind = kind,
        .cardinality = static_cast<uint32_t>(cardinality),
        .body = Bytes(static_cast<const std::byte*>(nullptr), bodies_.size() - before)};
  }

  std::array<uint64_t, kWords> words_{};
  std::array<uint16_t, kArrayMax> numbers_{};
  std::string bodies_;
};

/// Of the bodies, in the order of the containers that were made.
void PointInto(std::string_view bodies, std::span<Container> containers,
               const std::vector<bool>& is_made) {
  for (size_t i = 0; i < containers.size(); ++i) {
    if (!is_made[i]) continue;
    const size_t size = containers[i].body.size();
    containers[i].body = AsBytes(bodies.substr(0, size));
    bodies.remove_prefix(size);
  }
}

void AppendBody(std::string& out, const Container& container) {
  if (container.kind == Kind::kRuns) {
    Append(out, static_cast<uint16_t>(container.body.size() / 4));
  }
  out += AsText(container.body);
}

void Write32(std::span<const Container> containers, std::string& out) {
  const size_t count = containers.size();
  const bool has_runs = std::any_of(containers.begin(), containers.end(),
                                    [](const Container& c) { return c.kind == Kind::kRuns; });
  if (has_runs) {
    Append(out, static_cast<uint32_t>(kCookieWithRuns | (count - 1) << 16));
    std::string flags((count + 7) / 8, '\0');
    for (size_t i = 0; i < count; ++i) {
      if (containers[i].kind == Kind::kRuns) flags[i / 8] |= static_cast<char>(1 << i % 8);
    }
    out += flags;
  } else {
    Append(out, kCookie);
    Append(out, static_cast<uint32_t>(count));
  }
  for (const Container& container : containers) {
    Append(out, static_cast<uint16_t>(container.key));
    Append(out, static_cast<uint16_t>(container.cardinality - 1));
  }
  if (!has_runs || count >= kPositionsFrom) {
    size_t position = out.size() + 4 * count;
    for (const Container& container : containers) {
      Append(out, static_cast<uint32_t>(position));
      position += container.body.size() + (container.kind == Kind::kRuns ? 2 : 0);
    }
  }
  for (const Container& container : containers) AppendBody(out, container);
}

uint8_t KeyByte(uint64_t key, size_t depth) {
  return static_cast<uint8_t>(key >> 8 * (kKeyBytes - 1 - depth));
}

void WriteHead(Node node, size_t children, std::string& out) {
  Append(out, static_cast<uint8_t>(node));
  Append(out, static_cast<uint16_t>(children));
}

/// The tree of `containers[first]` to the one before `end`, whose keys are equal before `depth`.
void WriteTree(std::span<const Container> containers, size_t first, size_t end, size_t depth,
               std::string& out) {
  const uint64_t low = containers[first].key;
  if (end - first == 1) {
    WriteHead(Node::kLeaf, 0, out);
    Append(out, uint8_t{0});
    for (size_t i = 0; i < kKeyBytes; ++i) Append(out, KeyByte(low, i));
    Append(out, static_cast<uint64_t>(first));
    return;
  }
  const uint64_t high = containers[end - 1].key;
  size_t fork = depth;
  while (KeyByte(low, fork) == KeyByte(high, fork)) ++fork;
  struct Child {
    uint8_t key;
    size_t first;
  };
  std::vector<Child> children;
  for (size_t i = first; i < end; ++i) {
    const uint8_t key = KeyByte(containers[i].key, fork);
    if (children.empty() || children.back().key != key) children.push_back({key, i});
  }
  const size_t count = children.size();
  const Node node = count <= 4    ? Node::k4
                    : count <= 16 ? Node::k16
                    : count <= 48 ? Node::k48
                                  : Node::k256;
  WriteHead(node, count, out);
  Append(out, static_cast<uint8_t>(fork - depth));
  for (size_t i = depth; i < fork; ++i) Append(out, KeyByte(low, i));
  // Keys of branches are numbers whose highest byte is the first key, or indexes by key.
  switch (node) {
    case Node::k4:
    case Node::k16: {
      std::string keys(node == Node::k4 ? 4 : 16, '\0');
      const size_t width = std::min<size_t>(keys.size(), 8);
      for (size_t i = 0; i < count; ++i) {
        keys[i / width * width + (width - 1 - i % width)] = static_cast<char>(children[i].key);
      }
      out += keys;
      break;
    }
    case Node::k48: {
      std::string index(256, '\xff');
      for (size_t i = 0; i < count; ++i) {
        const size_t key = children[i].key;
        index[key / 8 * 8 + (7 - key % 8)] = static_cast<char>(i);
      }
      out += index;
      break;
    }
    case Node::k256: {
      std::array<uint64_t, 4> present{};
      for (const Child& child : children) present[child.key / 64] |= uint64_t{1} << child.key % 64;
      for (const uint64_t word : present) Append(out, word);
      break;
    }
    case Node::kLeaf: break;
  }
  for (size_t i = 0; i < count; ++i) {
    WriteTree(containers, children[i].first, i + 1 < count ? children[i + 1].first : end, fork + 1,
              out);
  }
}

void Write64(std::span<const Container> containers, std::string& out) {
  constexpr int8_t kNothingLeftOut = -2;
  Append(out, static_cast<uint8_t>(containers.empty() ? 0 : 1));
  if (containers.empty()) return;
  const size_t count = containers.size();
  Append(out, static_cast<uint64_t>(count));
  WriteTree(containers, 0, count, 0, out);
  Append(out, uint32_t{1});
  Append(out, kNothingLeftOut);
  Append(out, static_cast<uint32_t>(count));
  for (const Container& container : containers) {
    Append(out, uint8_t{1});
    Append(out, static_cast<uint8_t>(container.kind));
    Append(out, container.cardinality);
    AppendBody(out, container);
  }
  Append(out, static_cast<uint64_t>(count));
  Append(out, uint32_t{0});
  Append(out, static_cast<uint32_t>(count - 1));
}

}  // namespace

Status CheckBitmap(BitmapFormat format, Bytes bitmap) {
  WEIR_TRY(Read(format, bitmap));
  return Ok();
}

Status UniteBitmaps(BitmapFormat format, Bytes a, Bytes b, std::string& out) {
  WEIR_ASSIGN(const std::vector<Container> left, Read(format, a));
  WEIR_ASSIGN(const std::vector<Container> right, Read(format, b));
  std::vector<Container> all;
  std::vector<bool> is_made;
  all.reserve(left.size() + right.size());
  Uniter uniter;
  const auto add = [&](const Container& container, bool made) {
    all.push_back(container);
    is_made.push_back(made);
  };
  size_t i = 0;
  size_t j = 0;
  while (i < left.size() && j < right.size()) {
    if (left[i].key < right[j].key) {
      add(left[i++], false);
    } else if (right[j].key < left[i].key) {
      add(right[j++], false);
    } else {
      add(uniter.Unite(left[i++], right[j++]), true);
    }
  }
  for (; i < left.size(); ++i) add(left[i], false);
  for (; j < right.size(); ++j) add(right[j], false);
  PointInto(uniter.bodies(), all, is_made);
  out.clear();
  if (format == BitmapFormat::k32) {
    Write32(all, out);
  } else {
    Write64(all, out);
  }
  return Ok();
}

}  // namespace weir
