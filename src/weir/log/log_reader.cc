#include "weir/log/log_reader.h"

#include <algorithm>

#include "weir/log/piece_builder.h"
#include "weir/log/piece_locator.h"

namespace weir {
namespace {

// A projection reads the beginning of a large batch in one go; wide tables have heads of some
// kilobytes.
constexpr size_t kHeadBytes = 8 << 10;

// A projection sends little of what it goes over, so places are looked up for more than it sends.
constexpr size_t kSourceBytes = 16 << 20;

Error InFile(Error error, const DataFile& file) {
  error.message += fmt::format(": file={}", file.name);
  return error;
}

Error Damaged(const LocatedPiece& where, std::string_view what) {
  return Fail(ErrorCode::kCorruptData, "{}: position={} offset={}: file={}", what,
              where.piece.position, where.piece.base, where.file->name);
}

/// The part of a piece with the whole batches of [from, limit), no more than `bytes_max` of them
/// unless `is_first`, when one is taken anyway. Moves `next` to its end. Errors: kCorruptData.
Result<Buffer> TakeWanted(const LocatedPiece& where, const Buffer& bytes, LogOffset limit,
                          size_t bytes_max, bool is_first, LogOffset* next) {
  auto batches = SplitPiece(where.piece, bytes.bytes());
  if (!batches.ok()) return InFile(std::move(batches).error(), *where.file);
  const LogOffset from = *next;
  size_t begin = 0;
  size_t end = 0;
  for (const LogBatchView& batch : *batches) {
    const size_t bytes_now = batch.bytes.size();
    if (batch.header.end_offset() <= from) {
      begin = end = end + bytes_now;
      continue;
    }
    const bool fits = end + bytes_now - begin <= bytes_max || (is_first && end == begin);
    if (batch.header.end_offset() > limit || !fits) break;
    if (Status checked = CheckStoredBatch(batch, where.piece.position + end); !checked.ok()) {
      // What is before the damage is good.
      if (end > begin) break;
      return InFile(std::move(checked).error(), *where.file);
    }
    end += bytes_now;
    *next = batch.header.end_offset();
  }
  return bytes.Slice(begin, end - begin);
}

/// Reads `pieces`, those that are neighbours in their file in one go, and adds what is wanted to
/// `out`. Errors: kIo, kCorruptData: `out` has what was read before.
Task<Status> ReadPieces(std::vector<LocatedPiece> pieces, LogOffset limit, size_t bytes_max,
                        BlockingPool& pool, LogBytes& out) {
  for (size_t i = 0; i < pieces.size();) {
    size_t end = i + 1;
    uint64_t bytes = pieces[i].piece.bytes;
    while (end < pieces.size() && pieces[end].file == pieces[i].file &&
           pieces[end].piece.position == pieces[i].piece.position + bytes) {
      bytes += pieces[end++].piece.bytes;
    }
    Buffer chunk = Buffer::Allocate(bytes);
    WEIR_CO_TRY(co_await ReadStored(*pieces[i].file, pieces[i].piece.position,
                                    chunk.mutable_bytes(), pool));
    // What is wanted of the chunk lies together, and is one buffer.
    size_t position = 0;
    size_t begin = 0;
    size_t taken = 0;
    bool is_full = false;
    Status status;
    for (; i < end && !is_full && status.ok(); ++i) {
      const Buffer part = chunk.Slice(position, pieces[i].piece.bytes);
      const size_t left = bytes_max > out.bytes ? bytes_max - out.bytes : 0;
      Result<Buffer> wanted = TakeWanted(pieces[i], part, limit, left, out.bytes == 0, &out.next);
      if (!wanted.ok()) {
        status = std::move(wanted).error();
        break;
      }
      if (taken == 0) begin = static_cast<size_t>(wanted->data() - chunk.data());
      taken += wanted->size();
      out.bytes += wanted->size();
      is_full = out.next < pieces[i].piece.end;
      position += pieces[i].piece.bytes;
    }
    if (taken > 0) out.pieces.push_back(chunk.Slice(begin, taken));
    if (is_full || !status.ok()) co_return status;
  }
  co_return Ok();
}

/// Bytes of `plan` in one buffer; `parts` are its ranges.
Buffer Join(const ProjectedBatch& plan, const std::vector<Bytes>& parts) {
  Buffer out = Buffer::Allocate(plan.bytes());
  std::byte* to = out.mutable_data();
  const auto put = [&to](Bytes bytes) {
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
    to += bytes.size();
  };
  put(plan.head.bytes());
  for (const Bytes part : parts) put(part);
  put(plan.tail.bytes());
  return out;
}

/// Names the place if the batch, and not what was asked, is to blame.
Error PlanError(Error error, const LocatedPiece& where) {
  if (error.code != ErrorCode::kCorruptBatch) return error;
  return Damaged(where, error.message);
}

/// Projects batches of a piece that is read whole, and adds them to `out`. Returns whether there
/// was room for all that are wanted. Errors: kIo, kCorruptData, and those of the projection.
Task<Result<bool>> ProjectSmallPiece(LocatedPiece where, LogOffset limit, size_t bytes_max,
                                     ProjectionSource& projection, BlockingPool& pool,
                                     LogBytes& out) {
  Buffer bytes = Buffer::Allocate(where.piece.bytes);
  WEIR_CO_TRY(co_await ReadStored(*where.file, where.piece.position, bytes.mutable_bytes(), pool));
  auto batches = SplitPiece(where.piece, bytes.bytes());
  if (!batches.ok()) co_return InFile(std::move(batches).error(), *where.file);
  uint64_t position = where.piece.position;
  for (const LogBatchView& batch : *batches) {
    const uint64_t here = position;
    position += batch.bytes.size();
    if (batch.header.end_offset() <= out.next) continue;
    if (batch.header.end_offset() > limit) co_return false;
    if (Status checked = CheckStoredBatch(batch, here); !checked.ok()) {
      co_return InFile(std::move(checked).error(), *where.file);
    }
    WEIR_CO_ASSIGN(const Projection* columns, projection.ForSchema(batch.header.schema_id));
    auto plan = columns->Plan(batch.header, batch.bytes);
    if (!plan.ok()) co_return PlanError(std::move(plan).error(), where);
    if (!out.pieces.empty() && out.bytes + plan->bytes() > bytes_max) co_return false;
    std::vector<Bytes> parts;
    for (const ByteRange& range : plan->ranges) {
      parts.push_back(batch.bytes.subspan(range.position, range.bytes));
    }
    out.pieces.push_back(Join(*plan, parts));
    out.bytes += plan->bytes();
    out.next = batch.header.end_offset();
  }
  co_return true;
}

/// The head of a large batch, as long as its projection needs it. Errors: kIo, kCorruptData.
Task<Result<Buffer>> ReadBatchHead(LocatedPiece where, BlockingPool& pool) {
  size_t wanted = std::min<size_t>(kHeadBytes, where.piece.bytes);
  while (true) {
    Buffer head = Buffer::Allocate(wanted);
    WEIR_CO_TRY(co_await ReadStored(*where.file, where.piece.position, head.mutable_bytes(), pool));
    const auto header = DecodeLogBatchHeader(head.bytes());
    if (!header.ok()) co_return Damaged(where, header.error().message);
    PieceBuilder found;
    found.Add(*header, head.bytes(), where.piece.position);
    if (found.pieces()[0] != where.piece) {
      co_return Damaged(where, "stored batch differs from its index");
    }
    const auto needed = ProjectionHeadBytes(*header, head.bytes());
    if (!needed.ok()) co_return PlanError(needed.error(), where);
    if (*needed > header->batch_bytes) co_return Damaged(where, "batch has no whole head");
    if (*needed <= wanted) co_return head;
    wanted = *needed;
  }
}

/// The same for a piece that is one large batch: reads only its head and what is wanted of it.
Task<Result<bool>> ProjectLargePiece(LocatedPiece where, LogOffset limit, size_t bytes_max,
                                     ProjectionSource& projection, BlockingPool& pool,
                                     LogBytes& out) {
  if (where.piece.end > limit) co_return false;
  WEIR_CO_ASSIGN(const Buffer head, co_await ReadBatchHead(where, pool));
  WEIR_CO_ASSIGN(const LogBatchHeader header, DecodeLogBatchHeader(head.bytes()));
  WEIR_CO_ASSIGN(const Projection* columns, projection.ForSchema(header.schema_id));
  auto plan = columns->Plan(header, head.bytes());
  if (!plan.ok()) co_return PlanError(std::move(plan).error(), where);
  if (!out.pieces.empty() && out.bytes + plan->bytes() > bytes_max) co_return false;
  std::vector<Buffer> buffers;
  std::vector<Bytes> parts;
  for (const ByteRange& range : plan->ranges) {
    if (range.position + range.bytes <= head.size()) {
      parts.push_back(head.bytes().subspan(range.position, range.bytes));
      continue;
    }
    buffers.push_back(Buffer::Allocate(range.bytes));
    parts.push_back(buffers.back().bytes());
    WEIR_CO_TRY(co_await ReadStored(*where.file, where.piece.position + range.position,
                                    buffers.back().mutable_bytes(), pool));
  }
  out.pieces.push_back(Join(*plan, parts));
  out.bytes += plan->bytes();
  out.next = header.end_offset();
  co_return true;
}

}  // namespace

Task<Result<LogBytes>> ReadLog(std::shared_ptr<const BucketLog> log, LogOffset from,
                               LogOffset limit, size_t bytes_max, BlockingPool& pool) {
  LogBytes out;
  out.next = from;
  while (out.next < limit && (out.bytes == 0 || out.bytes < bytes_max)) {
    const size_t left = bytes_max > out.bytes ? bytes_max - out.bytes : 0;
    auto pieces = co_await LocateOffset(log, out.next, limit, left, pool);
    Status status = pieces.ok() ? Ok() : Status(std::move(pieces).error());
    LogOffset end = out.next;
    if (status.ok() && out.bytes > 0 && !HasRoomFor(pieces->front().piece, out.bytes, bytes_max))
      break;
    if (status.ok()) {
      end = pieces->back().piece.end;
      status = co_await ReadPieces(*std::move(pieces), limit, bytes_max, pool, out);
    }
    // What was read before the trouble is good; whoever goes on behind it hears of it.
    if (!status.ok() && out.bytes == 0) co_return std::move(status).error();
    if (!status.ok() || out.next < end) break;
  }
  co_return out;
}

Task<Result<LogBytes>> ReadProjectedLog(std::shared_ptr<const BucketLog> log, LogOffset from,
                                        LogOffset limit, size_t bytes_max,
                                        ProjectionSource& projection, BlockingPool& pool) {
  LogBytes out;
  out.next = from;
  bool has_room = true;
  while (has_room && out.next < limit && (out.pieces.empty() || out.bytes < bytes_max)) {
    auto pieces =
        co_await LocateOffset(log, out.next, limit, std::max(bytes_max, kSourceBytes), pool);
    Status status = pieces.ok() ? Ok() : Status(std::move(pieces).error());
    for (size_t i = 0; status.ok() && has_room && i < pieces->size(); ++i) {
      const LocatedPiece where = (*pieces)[i];
      // Pieces with several batches are small.
      const bool is_large = where.piece.bytes > kPieceBytes;
      Result<bool> projected = true;
      if (is_large) {
        projected = co_await ProjectLargePiece(where, limit, bytes_max, projection, pool, out);
      } else {
        projected = co_await ProjectSmallPiece(where, limit, bytes_max, projection, pool, out);
      }
      if (projected.ok()) {
        has_room = *projected;
      } else {
        status = std::move(projected).error();
      }
    }
    if (!status.ok() && out.pieces.empty()) co_return std::move(status).error();
    if (!status.ok()) break;
  }
  co_return out;
}

Task<Result<LogOffset>> FindOffset(std::shared_ptr<const BucketLog> log, Timestamp time,
                                   LogOffset limit, BlockingPool& pool) {
  WEIR_CO_ASSIGN(const std::optional<LocatedPiece> where, co_await LocateTime(log, time, pool));
  if (!where) co_return limit;
  LogOffset found = where->piece.base;
  // A larger one is a single batch.
  if (where->piece.bytes <= kPieceBytes) {
    Buffer bytes = Buffer::Allocate(where->piece.bytes);
    WEIR_CO_TRY(
        co_await ReadStored(*where->file, where->piece.position, bytes.mutable_bytes(), pool));
    auto batches = SplitPiece(where->piece, bytes.bytes());
    if (!batches.ok()) co_return InFile(std::move(batches).error(), *where->file);
    const auto batch = std::find_if(
        batches->begin(), batches->end(),
        [time](const LogBatchView& view) { return view.header.commit_timestamp >= time; });
    if (batch == batches->end()) co_return Damaged(*where, "commit times differ from the index");
    found = batch->header.base_offset;
  }
  // The log may begin within the batch, or may have been trimmed meanwhile.
  co_return std::min(std::max(found, log->start), limit);
}

}  // namespace weir
