#include "weir/log/log_reader.h"

#include <algorithm>

#include "weir/base/crc32c.h"

namespace weir {
namespace {

/// A piece and the file in which it lies.
struct LocatedPiece {
  std::shared_ptr<DataFile> file;
  Piece piece;
};

// A projection reads the beginning of a batch in one go; wide tables have heads of some kilobytes.
constexpr size_t kHeadBytes = 8 << 10;
// Batches up to this size are read whole, because one read of so much is cheaper than several small
// ones.
constexpr size_t kWholeBatchBytes = 32 << 10;
// How many index entries are read at once.
constexpr uint32_t kEntriesAtOnce = 256;

Error Damaged(const LocatedPiece& where, uint64_t position, LogOffset offset,
              std::string_view what) {
  return Fail(ErrorCode::kCorruptData,
              "stored log is damaged: file={} position={} offset={} reason={}", where.file->name,
              position, offset, what);
}

/// Reads bytes of a data file: from the page cache at once, else on the pool.
Task<Status> ReadExactly(const DataFile& file, uint64_t position, MutableBytes into,
                         BlockingPool& pool) {
  const std::optional<size_t> cached = file.file->TryReadAt(position, into);
  if (cached == into.size()) co_return Ok();
  auto read = [&] { return file.file->ReadAt(position, into); };
  const Result<size_t> bytes = co_await pool.Run(read);
  if (!bytes.ok()) co_return bytes.error();
  if (*bytes != into.size()) {
    co_return Fail(ErrorCode::kCorruptData, "stored log is cut short: file={} position={}",
                   file.name, position);
  }
  co_return Ok();
}

Task<Result<std::vector<IndexEntry>>> ReadEntriesNow(std::shared_ptr<DataFile> file, uint32_t first,
                                                     uint32_t count, BlockingPool& pool) {
  Buffer bytes = Buffer::Allocate(size_t{count} * kIndexEntryBytes);
  const uint64_t position = file->entries_position + uint64_t{first} * kIndexEntryBytes;
  WEIR_CO_TRY(co_await ReadExactly(*file, position, bytes.mutable_bytes(), pool));
  std::vector<IndexEntry> entries;
  entries.reserve(count);
  for (uint32_t i = 0; i < count; ++i)
    entries.push_back(DecodeIndexEntry(bytes.data() + i * kIndexEntryBytes));
  co_return entries;
}

bool EndsBehindOffset(const Piece& piece, LogOffset offset) {
  return piece.end > offset;
}
bool IsAtOrAfter(const Piece& piece, Timestamp time) {
  return piece.max_timestamp >= time;
}

/// Position of the first entry of `extent` for which `test` holds; the end of its entries if there
/// is none. `test` is false for some first entries and true for the rest.
template <typename Value>
Task<Result<uint32_t>> FirstEntry(Extent extent, bool (*test)(const Piece&, Value), Value value,
                                  BlockingPool& pool) {
  uint32_t low = extent.range.first_entry;
  uint32_t high = low + extent.range.entry_count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    WEIR_CO_ASSIGN(const std::vector<IndexEntry> entry,
                   co_await ReadEntriesNow(extent.file, middle, 1, pool));
    if (test(entry[0].piece, value)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  co_return low;
}

/// The pieces from the one that contains `from` on, until they have `bytes_max` or reach `limit`.
/// They may be fewer; at least one if from < limit.
Task<Result<std::vector<LocatedPiece>>> Locate(std::shared_ptr<const BucketLog> log, LogOffset from,
                                               LogOffset limit, size_t bytes_max,
                                               BlockingPool& pool) {
  std::vector<LocatedPiece> found;
  size_t bytes = 0;
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
    WEIR_CO_ASSIGN(uint32_t next, co_await FirstEntry(extent, EndsBehindOffset, from, pool));
    const uint32_t end = extent.range.first_entry + extent.range.entry_count;
    while (next < end && (found.empty() || bytes < bytes_max)) {
      const uint32_t count = std::min(end - next, kEntriesAtOnce);
      WEIR_CO_ASSIGN(const std::vector<IndexEntry> entries,
                     co_await ReadEntriesNow(extent.file, next, count, pool));
      for (const IndexEntry& entry : entries) {
        if (!found.empty() && (bytes >= bytes_max || entry.piece.base >= limit)) break;
        if (entry.bucket != log->id || entry.piece.end <= entry.piece.base) {
          co_return Fail(ErrorCode::kCorruptData, "file index is damaged: file={} entry={}",
                         extent.file->name, next);
        }
        found.push_back({extent.file, entry.piece});
        bytes += entry.piece.bytes;
      }
      next += count;
    }
    co_return found;
  }
  const auto place =
      std::partition_point(log->tail.begin(), log->tail.end(),
                           [from](const TailPiece& tail) { return tail.piece.end <= from; });
  for (auto it = place; it != log->tail.end() && it->piece.base < limit; ++it) {
    if (!found.empty() && bytes >= bytes_max) break;
    found.push_back({it->file, it->piece});
    bytes += it->piece.bytes;
  }
  co_return found;
}

/// Checks the batches of a piece and gives the part of it that is wanted: from the batch that
/// contains `from`, below `limit`, and no more than `bytes_max` unless nothing was taken yet.
Result<Buffer> TakeWanted(const LocatedPiece& where, const Buffer& bytes, LogOffset from,
                          LogOffset limit, size_t bytes_max, bool is_first, LogOffset* next) {
  size_t begin = 0;
  size_t end = 0;
  LogOffset expected = where.piece.base;
  uint32_t heads_crc = 0;
  bool is_whole = true;
  for (LogBatchReader reader(bytes.bytes()); !reader.at_end();) {
    const size_t position = reader.position();
    const uint64_t file_position = where.piece.position + position;
    const Result<LogBatchView> batch = reader.Next();
    if (!batch.ok()) return Damaged(where, file_position, expected, batch.error().message);
    const LogBatchHeader& header = batch->header;
    if (header.base_offset != expected)
      return Damaged(where, file_position, expected, "another offset is found");
    expected = header.end_offset();
    heads_crc = Crc32c(batch->bytes.first(header.crc_start() - sizeof header.crc), heads_crc);
    if (header.end_offset() <= from) {
      begin = end = reader.position();
      continue;
    }
    const bool fits = reader.position() - begin <= bytes_max || (is_first && end == begin);
    if (header.end_offset() > limit || !fits) {
      is_whole = false;
      break;
    }
    if (const Status checked = CheckLogBatchCrc(batch->bytes, header); !checked.ok()) {
      return Damaged(where, file_position, header.base_offset, checked.error().message);
    }
    end = reader.position();
    *next = header.end_offset();
  }
  if (is_whole && (expected != where.piece.end || heads_crc != where.piece.heads_crc)) {
    return Damaged(where, where.piece.position, where.piece.base,
                   "batch headers differ from their index");
  }
  return bytes.Slice(begin, end - begin);
}

}  // namespace

Task<Result<LogBytes>> ReadLog(std::shared_ptr<const BucketLog> log, LogOffset from,
                               LogOffset limit, size_t bytes_max, BlockingPool& pool) {
  LogBytes out;
  out.next = from;
  while (out.next < limit && (out.pieces.empty() || out.bytes < bytes_max)) {
    const size_t budget = bytes_max > out.bytes ? bytes_max - out.bytes : 0;
    WEIR_CO_ASSIGN(const std::vector<LocatedPiece> pieces,
                   co_await Locate(log, out.next, limit, budget, pool));
    bool is_full = pieces.empty();
    for (size_t i = 0; i < pieces.size() && !is_full;) {
      // Neighbours in the file are read in one go.
      size_t end = i + 1;
      uint64_t bytes = pieces[i].piece.bytes;
      while (end < pieces.size() && pieces[end].file == pieces[i].file &&
             pieces[end].piece.position == pieces[i].piece.position + bytes) {
        bytes += pieces[end++].piece.bytes;
      }
      Buffer chunk = Buffer::Allocate(bytes);
      WEIR_CO_TRY(co_await ReadExactly(*pieces[i].file, pieces[i].piece.position,
                                       chunk.mutable_bytes(), pool));
      size_t position = 0;
      for (; i < end && !is_full; ++i) {
        const Buffer part = chunk.Slice(position, pieces[i].piece.bytes);
        position += pieces[i].piece.bytes;
        const size_t left = bytes_max > out.bytes ? bytes_max - out.bytes : 0;
        const LogOffset before = out.next;
        WEIR_CO_ASSIGN(Buffer wanted, TakeWanted(pieces[i], part, from, limit, left,
                                                 out.pieces.empty(), &out.next));
        is_full = out.next < pieces[i].piece.end;
        if (out.next == before) break;
        out.bytes += wanted.size();
        if (!out.pieces.empty() &&
            out.pieces.back().data() + out.pieces.back().size() == wanted.data()) {
          // They were read in one go: keep them as one.
          const Buffer& last = out.pieces.back();
          const size_t start = static_cast<size_t>(last.data() - chunk.data());
          out.pieces.back() = chunk.Slice(start, last.size() + wanted.size());
        } else {
          out.pieces.push_back(std::move(wanted));
        }
      }
      i = end;
    }
    if (is_full) break;
  }
  co_return out;
}

namespace {

/// Reads and projects one batch that begins at `position` of a file and has at most `room` bytes
/// before its piece ends.
class BatchProjector {
 public:
  BatchProjector(const LocatedPiece& where, BlockingPool& pool) : where_(where), pool_(pool) {}

  const LogBatchHeader& header() const { return header_; }

  /// Reads the beginning of the batch. Errors: kIo, kCorruptData.
  Task<Status> ReadHead(uint64_t position, size_t room) {
    position_ = position;
    head_ = Buffer::Allocate(std::min(room, kHeadBytes));
    WEIR_CO_TRY(co_await ReadExactly(*where_.file, position, head_.mutable_bytes(), pool_));
    const Result<LogBatchHeader> header = DecodeLogBatchHeader(head_.bytes());
    if (!header.ok())
      co_return Damaged(where_, position, where_.piece.base, header.error().message);
    if (header->batch_bytes > room)
      co_return Damaged(where_, position, where_.piece.base, "batch is cut short");
    header_ = *header;
    co_return Ok();
  }

  /// Plans the projection and reads what it wants, as one buffer.
  Task<Result<Buffer>> Project(const Projection& projection) {
    if (header_.batch_bytes <= kWholeBatchBytes) WEIR_CO_TRY(co_await Extend(header_.batch_bytes));
    for (int i = 0; i < 2; ++i) {
      const Result<size_t> needed = ProjectionHeadBytes(header_, head_.bytes());
      if (!needed.ok())
        co_return Damaged(where_, position_, header_.base_offset, needed.error().message);
      if (*needed > header_.batch_bytes)
        co_return Damaged(where_, position_, header_.base_offset, "batch is cut short");
      if (*needed <= head_.size()) break;
      WEIR_CO_TRY(co_await Extend(*needed));
    }
    Result<ProjectedBatch> plan =
        projection.Plan(header_, head_.bytes().first(std::min(head_.size(), header_.batch_bytes)));
    if (!plan.ok()) {
      if (plan.error().code == ErrorCode::kCorruptBatch) {
        co_return Damaged(where_, position_, header_.base_offset, plan.error().message);
      }
      co_return std::move(plan).error();
    }
    Buffer out = Buffer::Allocate(plan->bytes());
    std::byte* to = out.mutable_data();
    const auto put = [&to](Bytes bytes) {
      if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
      to += bytes.size();
    };
    put(plan->head.bytes());
    for (const ByteRange& range : plan->ranges) {
      if (range.position + range.bytes <= head_.size()) {
        put(head_.bytes().subspan(range.position, range.bytes));
      } else {
        WEIR_CO_TRY(co_await ReadExactly(*where_.file, position_ + range.position,
                                         {to, range.bytes}, pool_));
        to += range.bytes;
      }
    }
    put(plan->tail.bytes());
    co_return out;
  }

 private:
  // Reads more of the batch, so that the head has `bytes`.
  Task<Status> Extend(size_t bytes) {
    if (bytes <= head_.size()) co_return Ok();
    Buffer longer = Buffer::Allocate(bytes);
    std::memcpy(longer.mutable_data(), head_.data(), head_.size());
    WEIR_CO_TRY(co_await ReadExactly(*where_.file, position_ + head_.size(),
                                     longer.mutable_bytes().subspan(head_.size()), pool_));
    head_ = std::move(longer);
    co_return Ok();
  }

  const LocatedPiece& where_;
  BlockingPool& pool_;
  uint64_t position_ = 0;
  Buffer head_;
  LogBatchHeader header_;
};

}  // namespace

Task<Result<LogBytes>> ReadProjectedLog(std::shared_ptr<const BucketLog> log, LogOffset from,
                                        LogOffset limit, size_t bytes_max,
                                        ProjectionSource& projection, BlockingPool& pool) {
  LogBytes out;
  out.next = from;
  while (out.next < limit && (out.pieces.empty() || out.bytes < bytes_max)) {
    WEIR_CO_ASSIGN(const std::vector<LocatedPiece> pieces,
                   co_await Locate(log, out.next, limit, bytes_max, pool));
    for (const LocatedPiece& where : pieces) {
      uint64_t position = where.piece.position;
      const uint64_t end = position + where.piece.bytes;
      LogOffset expected = where.piece.base;
      while (position < end) {
        BatchProjector batch(where, pool);
        WEIR_CO_TRY(co_await batch.ReadHead(position, end - position));
        const LogBatchHeader& header = batch.header();
        if (header.base_offset != expected)
          co_return Damaged(where, position, expected, "another offset is found");
        expected = header.end_offset();
        position += header.batch_bytes;
        if (header.end_offset() <= from) continue;
        if (header.end_offset() > limit) co_return out;
        WEIR_CO_ASSIGN(const Projection* columns, projection.ForSchema(header.schema_id));
        WEIR_CO_ASSIGN(Buffer projected, co_await batch.Project(*columns));
        if (!out.pieces.empty() && out.bytes + projected.size() > bytes_max) co_return out;
        out.bytes += projected.size();
        out.next = header.end_offset();
        out.pieces.push_back(std::move(projected));
      }
    }
  }
  co_return out;
}

Task<Result<LogOffset>> FindOffset(std::shared_ptr<const BucketLog> log, Timestamp time,
                                   LogOffset limit, BlockingPool& pool) {
  std::optional<LocatedPiece> found;
  const auto place = std::partition_point(
      log->extents.begin(), log->extents.end(),
      [time](const Extent& extent) { return extent.range.max_timestamp < time; });
  if (place != log->extents.end()) {
    const Extent extent = *place;
    WEIR_CO_ASSIGN(const uint32_t entry, co_await FirstEntry(extent, IsAtOrAfter, time, pool));
    WEIR_CO_ASSIGN(const std::vector<IndexEntry> entries,
                   co_await ReadEntriesNow(extent.file, entry, 1, pool));
    found = LocatedPiece{extent.file, entries[0].piece};
  } else {
    const auto tail = std::partition_point(
        log->tail.begin(), log->tail.end(),
        [time](const TailPiece& piece) { return piece.piece.max_timestamp < time; });
    if (tail != log->tail.end()) found = LocatedPiece{tail->file, tail->piece};
  }
  if (!found) co_return limit;
  Buffer bytes = Buffer::Allocate(found->piece.bytes);
  WEIR_CO_TRY(
      co_await ReadExactly(*found->file, found->piece.position, bytes.mutable_bytes(), pool));
  for (LogBatchReader reader(bytes.bytes()); !reader.at_end();) {
    const Result<LogBatchView> batch = reader.Next();
    if (!batch.ok())
      co_return Damaged(*found, found->piece.position, found->piece.base, batch.error().message);
    if (batch->header.commit_timestamp >= time)
      co_return std::min(std::max(batch->header.base_offset, log->start), limit);
  }
  co_return Damaged(*found, found->piece.position, found->piece.base,
                    "commit times differ from the index");
}

}  // namespace weir
