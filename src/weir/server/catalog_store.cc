#include "weir/server/catalog_store.h"

#include "weir/base/log.h"
#include "weir/base/varint.h"
#include "weir/record/log_batch.h"

namespace weir {
namespace {

constexpr char kSnapshot = 'S';
constexpr char kChange = 'C';

// A snapshot is worth it when reading the changes costs more than reading a new one.
constexpr uint64_t kChangeBytesMin = 1 << 20;
constexpr size_t kReadBytes = 8 << 20;
// A change that may or may not become true later would leave memory and disk apart: it is waited
// for.
constexpr Duration kNever = std::chrono::hours(24 * 365);
// A snapshot is one record, and a record is no larger than a batch.
constexpr size_t kSnapshotBytesMax = kLogBatchBytesMax - 1024;

std::shared_ptr<const BucketTable> CatalogTable() {
  auto table = std::make_shared<BucketTable>();
  table->is_arrow_log = false;
  table->columns_of_version = {2};
  return table;
}

/// A batch of one record of the table (kind CHAR(1), text STRING) in the log format COMPACTED.
Buffer EncodeRecord(char kind, std::string_view text) {
  std::string row(1, '\0');  // no nulls
  AppendVarint(row, 1);
  row.push_back(kind);
  AppendVarint(row, text.size());
  row += text;
  Buffer batch = Buffer::Allocate(kLogBatchHeaderBytes + 5 + row.size());
  std::byte* const record = batch.mutable_data() + kLogBatchHeaderBytes;
  StoreLittle<uint32_t>(record, static_cast<uint32_t>(1 + row.size()));
  record[4] = std::byte{0};  // an addition
  std::memcpy(record + 5, row.data(), row.size());
  LogBatchHeader header;
  header.schema_id = SchemaId(1);
  header.is_append_only = true;
  header.record_count = 1;
  SealLogBatch(header, batch.mutable_bytes());
  return batch;
}

struct CatalogRecord {
  char kind;
  std::string_view text;
};

Result<CatalogRecord> DecodeRecord(const LogBatchView& batch) {
  const auto corrupt = [&] {
    return Fail(ErrorCode::kCorruptData, "the catalog's log makes no sense: offset={}",
                batch.header.base_offset);
  };
  Bytes bytes = batch.bytes.subspan(batch.header.records_position());
  if (batch.header.record_count != 1 || bytes.size() < 8) return corrupt();
  bytes = bytes.subspan(6);
  if (TakeVarint(bytes) != 1 || bytes.empty()) return corrupt();
  const char kind = static_cast<char>(bytes[0]);
  bytes = bytes.subspan(1);
  const auto size = TakeVarint(bytes);
  if (!size || *size != bytes.size()) return corrupt();
  return CatalogRecord{kind, AsText(bytes)};
}

}  // namespace

CatalogStore::CatalogStore(GroupLog& log, EventLoop& loop, Clock& clock)
    : group_(log),
      clock_(clock),
      log_(log.OpenBucket(kCatalogBucket)),
      bucket_(kCatalogBucket, CatalogTable(), log, loop) {}

Task<Result<std::unique_ptr<CatalogStore>>> CatalogStore::Open(GroupLog& log, EventLoop& loop,
                                                               Clock& clock) {
  std::unique_ptr<CatalogStore> store(new CatalogStore(log, loop, clock));
  WEIR_CO_TRY(co_await store->Load());
  co_return store;
}

Task<Status> CatalogStore::Load() {
  LogOffset next = log_->start;
  while (next < log_->written_end) {
    WEIR_CO_ASSIGN(const LogBytes read,
                   co_await ReadLog(log_, next, log_->written_end, kReadBytes, group_.pool()));
    if (read.next == next)
      co_return Fail(ErrorCode::kCorruptData, "the catalog's log ends early: offset={}", next);
    next = read.next;
    for (const Buffer& piece : read.pieces) {
      for (LogBatchReader reader(piece.bytes()); !reader.at_end();) {
        WEIR_CO_ASSIGN(const LogBatchView batch, reader.Next());
        WEIR_CO_ASSIGN(const CatalogRecord record, DecodeRecord(batch));
        if (record.kind == kSnapshot) {
          WEIR_CO_ASSIGN(catalog_, Catalog::DecodeSnapshot(record.text));
          snapshot_bytes_ = record.text.size();
          bytes_since_snapshot_ = 0;
        } else {
          WEIR_CO_ASSIGN(const CatalogChange change, DecodeCatalogChange(record.text));
          WEIR_CO_TRY(catalog_.Apply(change));
          bytes_since_snapshot_ += record.text.size();
        }
      }
    }
  }
  co_return Ok();
}

Task<Result<LogOffset>> CatalogStore::Write(char kind, std::string text) {
  co_return co_await bucket_.Append(EncodeRecord(kind, text), Acks::kAll, clock_.Now(), kNever);
}

Task<Status> CatalogStore::Change(CatalogChange change) {
  std::string text = EncodeCatalogChange(change);
  const size_t bytes = text.size();
  const Result<LogOffset> written = co_await Write(kChange, std::move(text));
  if (!written.ok()) co_return written.error();
  const Status applied = catalog_.Apply(change);
  WEIR_CHECK(applied.ok());  // it was planned on this very state
  bytes_since_snapshot_ += bytes;
  if (bytes_since_snapshot_ > std::max(kChangeBytesMin, 2 * snapshot_bytes_))
    co_await WriteSnapshot();
  co_return Ok();
}

Task<void> CatalogStore::WriteSnapshot() {
  std::string text = catalog_.EncodeSnapshot();
  bytes_since_snapshot_ = 0;  // also if it fails: not with every change anew
  snapshot_bytes_ = text.size();
  if (text.size() > kSnapshotBytesMax) {
    LogWarn("server",
            "the catalog is too large for a snapshot, so starts read all changes: bytes={}",
            text.size());
    co_return;
  }
  const Result<LogOffset> written = co_await Write(kSnapshot, std::move(text));
  if (!written.ok()) {
    LogWarn("server", "cannot write a snapshot of the catalog: reason={}", written.error().message);
    co_return;
  }
  group_.Trim(*log_, *written);
}

}  // namespace weir
