// Reads of KvState that may need the disk: keys that are cold, and rows in key order from the map
// and the tables together.
#include <algorithm>
#include <numeric>

#include "weir/kv/kv_db.h"
#include "weir/kv/kv_state.h"
#include "weir/kv/kv_state_parts.h"

namespace weir {
namespace {

// How many keys of a load are looked for in the cache; if most of them are not there, the others
// are not looked for, since the pool must read anyway.
constexpr size_t kFirstTry = 32;
constexpr size_t kUncachedMax = 16;
// What one read of a range takes from the disk.
constexpr size_t kRangeRowsMax = 4096;
constexpr size_t kRangeBytesMax = size_t{4} << 20;

/// The places of keys in key order. Keys that are near each other lie in the same tables, so that
/// their filters and indexes are looked up, and perhaps read, once for many of them.
std::vector<size_t> OrderOf(std::span<const Bytes> keys) {
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return AsText(keys[a]) < AsText(keys[b]); });
  return order;
}

}  // namespace

Task<Result<std::vector<HotRowRef>>> KvState::Load(std::vector<Bytes> keys) {
  std::vector<HotRowRef> rows(keys.size());
  const auto loaded = co_await LoadFromDisk(&keys, &rows);
  if (!loaded.ok()) co_return loaded.error();
  co_return rows;
}

Task<Status> KvState::LoadFromDisk(const std::vector<Bytes>* keys, std::vector<HotRowRef>* rows) {
  if (is_stopped_) co_return Stopped();
  // Also holds for what is evicted from here on.
  const ReadMark mark(*this);
  if (map_.is_complete()) {
    for (size_t i = 0; i < keys->size(); ++i) {
      HotRow* const row = map_.Committed((*keys)[i]);
      (*rows)[i] = HotRowRef(row != nullptr ? row : HotRow::MakeTombstone((*keys)[i]));
    }
    co_return Ok();
  }
  WEIR_CO_ASSIGN(const std::shared_ptr<KvDb> db, co_await OpenDb());
  const std::vector<size_t> order = OrderOf(*keys);
  const auto add = [&](size_t at, const KvDb::Found& found) {
    const size_t i = order[at];
    std::optional<Bytes> value;
    if (found.kind == KvDb::Found::Kind::kRow) value = found.bytes();
    (*rows)[i] = map_.AddClean((*keys)[i], value);
  };

  // First the loop reads what is in the cache, if that has a point. Places are those in `order`.
  std::vector<size_t> uncached;
  std::vector<Bytes> asked;
  // Reading a row takes about ten times of what else is done with it.
  const size_t keys_per_turn = std::max<size_t>(1, rows_per_turn_ / 10);
  for (size_t begin = 0; begin < keys->size();) {
    if (begin > 0) co_await loop_.NextTurn();
    const size_t left = keys->size() - begin;
    if (uncached.size() >= kUncachedMax && uncached.size() > begin / 2) {
      for (size_t i = begin; i < keys->size(); ++i) uncached.push_back(i);
      break;
    }
    const size_t count = std::min({keys_per_turn, left, begin == 0 ? kFirstTry : left});
    asked.clear();
    for (size_t i = 0; i < count; ++i) asked.push_back((*keys)[order[begin + i]]);
    std::vector<KvDb::Found> found(count);
    WEIR_CO_TRY(db->Get(asked, KvDb::Reach::kCacheOnly, found));
    for (size_t i = 0; i < count; ++i) {
      if (found[i].kind == KvDb::Found::Kind::kNotCached) {
        uncached.push_back(begin + i);
      } else {
        add(begin + i, found[i]);
      }
    }
    begin += count;
  }
  if (uncached.empty()) {
    AccountAndBalance();
    co_return Ok();
  }

  asked.clear();
  for (const size_t at : uncached) asked.push_back((*keys)[order[at]]);
  std::vector<KvDb::Found> found(asked.size());
  auto get = [&] { return db->Get(asked, KvDb::Reach::kDisk, found); };
  WEIR_CO_TRY(co_await pool_.Run(get));
  for (size_t i = 0; i < asked.size(); ++i) add(uncached[i], found[i]);
  AccountAndBalance();
  co_return Ok();
}

namespace {

/// Takes rows until one of the bounds is reached.
class RowsTaken {
 public:
  RowsTaken(size_t rows_max, size_t bytes_max) : rows_max_(rows_max), bytes_max_(bytes_max) {}

  bool is_full() const {
    return !rows.empty() && (rows.size() >= rows_max_ || bytes_ >= bytes_max_);
  }
  void Take(HotRowRef row) {
    bytes_ += row.key().size() + row.value().size();
    rows.push_back(std::move(row));
  }
  size_t rows_left() const { return rows_max_ - std::min(rows_max_, rows.size()); }
  size_t bytes_left() const { return bytes_max_ - std::min(bytes_max_, bytes_); }

  std::vector<HotRowRef> rows;

 private:
  const size_t rows_max_;
  const size_t bytes_max_;
  size_t bytes_ = 0;
};

/// The next rows of the map and of a piece of the tables, in key order.
class RangeMerge {
 public:
  RangeMerge(const HotMap& map, const std::string& prefix, const KvDb::Rows& disk)
      : map_(map), prefix_(prefix), disk_(disk) {}

  /// Goes on from `from` (or from behind it) in the map, over at most `steps` rows, and moves
  /// `from` to where it is. Returns whether there is more for it to do.
  bool Run(std::string* from, bool* is_behind, size_t steps, RowsTaken* taken) {
    RowTree::Cursor cursor(map_.tree(), AsBytes(*from), *is_behind);
    HotRow* hot = Below(cursor.Next());
    while (!taken->is_full()) {
      const bool has_cold = next_cold_ < disk_.rows.size();
      // Behind the last of the disk's rows the map alone says nothing, unless there are no more.
      if (!has_cold && (!disk_.is_end || hot == nullptr)) return false;
      if (steps-- == 0) return true;
      const auto order = !has_cold ? -1
                         : hot == nullptr
                             ? 1
                             : AsText(hot->key()).compare(disk_.rows[next_cold_].first);
      const std::string_view key = order <= 0 ? AsText(hot->key()) : disk_.rows[next_cold_].first;
      *from = key;
      *is_behind = true;
      HotRow* const committed = order <= 0 ? map_.Committed(hot) : nullptr;
      if (committed != nullptr) {
        if (!committed->is_tombstone) taken->Take(HotRowRef(committed));
      } else if (order >= 0) {
        const auto& [cold_key, value] = disk_.rows[next_cold_];
        taken->Take(
            HotRowRef(HotRow::MakeStored(AsBytes(cold_key), AsBytes(value), map_.keeps_times())));
      }
      if (order >= 0) ++next_cold_;
      if (order <= 0) hot = Below(cursor.Next());
    }
    return false;
  }

 private:
  HotRow* Below(HotRow* row) const {
    return row != nullptr && AsText(row->key()).starts_with(prefix_) ? row : nullptr;
  }

  const HotMap& map_;
  const std::string& prefix_;
  const KvDb::Rows& disk_;
  size_t next_cold_ = 0;
};

}  // namespace

Task<Result<std::vector<HotRowRef>>> KvState::ScanPrefix(std::string prefix,
                                                         std::optional<std::string> after,
                                                         size_t rows_max, size_t bytes_max) {
  std::string from = prefix;
  bool is_behind = false;
  if (after && *after >= prefix) {
    from = *std::move(after);
    is_behind = true;
    // Behind all that begins with the prefix.
    if (!from.starts_with(prefix)) co_return std::vector<HotRowRef>();
  }
  auto scan = ScanWithDisk(std::move(prefix), std::move(from), is_behind, rows_max, bytes_max);
  co_return co_await std::move(scan);
}

Task<Result<std::vector<HotRowRef>>> KvState::ScanWithDisk(std::string prefix, std::string from,
                                                           bool is_behind, size_t rows_max,
                                                           size_t bytes_max) {
  if (is_stopped_) co_return Stopped();
  RowsTaken taken(rows_max, bytes_max);
  if (rows_max == 0) co_return std::move(taken.rows);
  // What is flushed from here on stays in the map, so it does not matter when the tables are read.
  const ReadMark mark(*this);
  KvDb::Rows disk;
  do {
    disk = KvDb::Rows();
    if (map_.is_complete()) {
      disk.is_end = true;
    } else {
      WEIR_CO_ASSIGN(const std::shared_ptr<KvDb> db, co_await OpenDb());
      const size_t rows = std::min(taken.rows_left(), kRangeRowsMax);
      const size_t bytes = std::min(taken.bytes_left(), kRangeBytesMax);
      WEIR_CO_ASSIGN(disk,
                     db->Range(prefix, from, is_behind, rows, bytes, KvDb::Reach::kCacheOnly));
      if (disk.is_not_cached) {
        auto read = [&] {
          return db->Range(prefix, from, is_behind, rows, bytes, KvDb::Reach::kDisk);
        };
        WEIR_CO_ASSIGN(disk, co_await pool_.Run(read));
      }
    }
    RangeMerge merge(map_, prefix, disk);
    const bool was_complete = map_.is_complete();
    while (merge.Run(&from, &is_behind, rows_per_turn_, &taken)) {
      co_await loop_.NextTurn();
      if (map_.is_complete() == was_complete) continue;
      // Rows went out of the map, and the tables were not read.
      disk.is_end = false;
      break;
    }
  } while (!taken.is_full() && !disk.is_end);
  co_return std::move(taken.rows);
}

}  // namespace weir
