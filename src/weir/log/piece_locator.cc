#include "weir/log/piece_locator.h"

#include <algorithm>

#include "weir/base/buffer.h"

namespace weir {
namespace {

// How many index entries are read at once.
constexpr uint32_t kEntriesAtOnce = 256;

bool EndsBehindOffset(const Piece& piece, LogOffset offset) {
  return piece.end > offset;
}
bool IsAtOrAfter(const Piece& piece, Timestamp time) {
  return piece.max_timestamp >= time;
}

uint32_t EndOf(const DirectoryEntry& range) {
  return range.first_entry + range.entry_count;
}

Error DamagedIndex(const Extent& extent, uint32_t entry) {
  return Fail(ErrorCode::kCorruptData, "file index is damaged: file={} entry={} bucket={}",
              extent.file->name, entry, extent.range.bucket);
}

/// Some entries of an extent. Errors: kIo, kCorruptData.
Task<Result<std::vector<IndexEntry>>> ReadEntriesOf(Extent extent, uint32_t first, uint32_t count,
                                                    BlockingPool& pool) {
  Buffer bytes = Buffer::Allocate(size_t{count} * kIndexEntryBytes);
  const uint64_t position = extent.file->entries_position + uint64_t{first} * kIndexEntryBytes;
  WEIR_CO_TRY(co_await ReadStored(*extent.file, position, bytes.mutable_bytes(), pool));
  WEIR_CO_ASSIGN(std::vector<IndexEntry> entries, DecodeEntries(*extent.file, bytes.bytes()));
  for (const IndexEntry& entry : entries) {
    const bool is_inside = entry.bucket == extent.range.bucket &&
                           entry.piece.base >= extent.range.base &&
                           entry.piece.end <= extent.range.end;
    if (!is_inside) co_return DamagedIndex(extent, first);
  }
  co_return entries;
}

/// The first entry of `extent` for which `test` holds; the end of its entries if there is none.
/// `test` is false for some first entries and true for the rest.
template <typename Value>
Task<Result<uint32_t>> FirstEntry(Extent extent, bool (*test)(const Piece&, Value), Value value,
                                  BlockingPool& pool) {
  uint32_t low = extent.range.first_entry;
  uint32_t high = EndOf(extent.range);
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    WEIR_CO_ASSIGN(const std::vector<IndexEntry> entry,
                   co_await ReadEntriesOf(extent, middle, 1, pool));
    if (test(entry[0].piece, value)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  co_return low;
}

Task<Result<std::vector<LocatedPiece>>> LocateInExtent(Extent extent, LogOffset from,
                                                       LogOffset limit, size_t bytes_max,
                                                       BlockingPool& pool) {
  std::vector<LocatedPiece> found;
  size_t bytes = 0;
  WEIR_CO_ASSIGN(uint32_t next, co_await FirstEntry(extent, EndsBehindOffset, from, pool));
  const uint32_t end = EndOf(extent.range);
  LogOffset expected = from;
  bool is_full = false;
  while (next < end && !is_full) {
    const uint32_t count = std::min(end - next, kEntriesAtOnce);
    WEIR_CO_ASSIGN(const std::vector<IndexEntry> entries,
                   co_await ReadEntriesOf(extent, next, count, pool));
    for (const IndexEntry& entry : entries) {
      const Piece& piece = entry.piece;
      is_full = !found.empty() && (expected >= limit || !HasRoomFor(piece, bytes, bytes_max));
      if (is_full) break;
      // Only the first may begin earlier: it has what is wanted in its middle.
      const bool is_next =
          found.empty() ? piece.base <= from && from < piece.end : piece.base == expected;
      if (!is_next) co_return DamagedIndex(extent, next);
      found.push_back({extent.file, piece});
      bytes += piece.bytes;
      expected = piece.end;
    }
    next += count;
  }
  if (found.empty()) co_return DamagedIndex(extent, next);
  co_return found;
}

}  // namespace

Task<Status> ReadStored(const DataFile& file, uint64_t position, MutableBytes into,
                        BlockingPool& pool) {
  const std::optional<size_t> cached = file.file->TryReadAt(position, into);
  if (cached == into.size()) co_return Ok();
  auto read = [&] { return ReadExactly(file, position, into); };
  co_return co_await pool.Run(read);
}

Task<Result<std::vector<LocatedPiece>>> LocateOffset(std::shared_ptr<const BucketLog> log,
                                                     LogOffset from, LogOffset limit,
                                                     size_t bytes_max, BlockingPool& pool) {
  if (log->tail.empty() || from < log->tail.front().piece.base) {
    const auto place =
        std::partition_point(log->extents.begin(), log->extents.end(),
                             [from](const Extent& extent) { return extent.range.end <= from; });
    if (place == log->extents.end() || place->range.base > from) {
      co_return Fail(ErrorCode::kOffsetOutOfRange, "offset is gone: bucket={} offset={}", log->id,
                     from);
    }
    // The log may change while entries are read; a copy keeps the file.
    const Extent extent = *place;
    co_return co_await LocateInExtent(extent, from, limit, bytes_max, pool);
  }
  std::vector<LocatedPiece> found;
  size_t bytes = 0;
  const auto place =
      std::partition_point(log->tail.begin(), log->tail.end(),
                           [from](const TailPiece& tail) { return tail.piece.end <= from; });
  for (auto it = place; it != log->tail.end() && it->piece.base < limit; ++it) {
    if (!found.empty() && !HasRoomFor(it->piece, bytes, bytes_max)) break;
    found.push_back({it->file, it->piece});
    bytes += it->piece.bytes;
  }
  WEIR_CHECK(!found.empty());  // from < limit <= written end
  co_return found;
}

Task<Result<std::optional<LocatedPiece>>> LocateTime(std::shared_ptr<const BucketLog> log,
                                                     Timestamp time, BlockingPool& pool) {
  const auto place = std::partition_point(
      log->extents.begin(), log->extents.end(),
      [time](const Extent& extent) { return extent.range.max_timestamp < time; });
  if (place != log->extents.end()) {
    const Extent extent = *place;
    WEIR_CO_ASSIGN(const uint32_t entry, co_await FirstEntry(extent, IsAtOrAfter, time, pool));
    if (entry == EndOf(extent.range)) co_return DamagedIndex(extent, entry);
    WEIR_CO_ASSIGN(const std::vector<IndexEntry> entries,
                   co_await ReadEntriesOf(extent, entry, 1, pool));
    std::optional<LocatedPiece> found = LocatedPiece{extent.file, entries[0].piece};
    co_return found;
  }
  std::optional<LocatedPiece> found;
  const auto tail = std::partition_point(
      log->tail.begin(), log->tail.end(),
      [time](const TailPiece& piece) { return piece.piece.max_timestamp < time; });
  if (tail != log->tail.end()) found = LocatedPiece{tail->file, tail->piece};
  co_return found;
}

}  // namespace weir
