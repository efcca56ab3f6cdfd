#include "weir/kv/kv_db.h"

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/checkpoint.h>

#include "weir/base/log.h"

namespace weir {
namespace {

// Descriptors of one database; the tables of smaller states stay open.
constexpr int kOpenFilesMax = 128;
// Reads look into each of these, so flushes wait for compactions when there are more.
constexpr uint64_t kTablesOfLevel0Max = 20;
constexpr size_t kMultiGetMax = 64;
// A schema id.
constexpr size_t kStoredBytesMin = 2;

/// What RocksDB finds worth telling, in our log; it writes none of its own. Most of what it warns
/// of is how it always is.
class RocksLog final : public rocksdb::Logger {
 public:
  RocksLog() : Logger(rocksdb::InfoLogLevel::WARN_LEVEL) {}

  void Logv(const char* format, va_list arguments) override {
    Write(LogLevel::kDebug, format, arguments);
  }
  void Logv(const rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
    if (level == rocksdb::InfoLogLevel::HEADER_LEVEL) return;
    const bool is_error =
        level == rocksdb::InfoLogLevel::ERROR_LEVEL || level == rocksdb::InfoLogLevel::FATAL_LEVEL;
    Write(is_error ? LogLevel::kWarn : LogLevel::kDebug, format, arguments);
  }

 private:
  static void Write(LogLevel level, const char* format, va_list arguments) {
    if (!IsLogged(level)) return;
    char text[512];
    std::vsnprintf(text, sizeof text, format, arguments);
    // Further lines have keys in them.
    const std::string_view lines = text;
    Log(level, "kv", "rocksdb says: {}", lines.substr(0, lines.find('\n')));
  }
};

rocksdb::Slice ToSlice(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// How tables are written, so that RocksDB 6.20 can read them; see docs/formats/kv_state.md.
rocksdb::BlockBasedTableOptions TableOptions(const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::BlockBasedTableOptions table;
  table.format_version = 5;
  // Debian's RocksDB computes CRC-32C without the instruction for it: ten times the time of this.
  table.checksum = rocksdb::kxxHash64;
  table.block_size = 4096;
  // A new key is looked for in twenty tables and more: at 10 bits a fifth of them read a block.
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(14));
  table.block_cache = cache;
  table.no_block_cache = cache == nullptr;
  table.cache_index_and_filter_blocks = cache != nullptr;
  table.pin_l0_filter_and_index_blocks_in_cache = cache != nullptr;
  return table;
}

rocksdb::Options DbOptions(const KvMemory& memory, bool must_exist) {
  rocksdb::Options options;
  options.env = memory.env();
  options.create_if_missing = !must_exist;
  options.info_log = std::make_shared<RocksLog>();
  options.table_factory.reset(
      rocksdb::NewBlockBasedTableFactory(TableOptions(memory.block_cache())));
  // Levels are counted from the last one up, so that a small state is two of them. Only what is
  // three below the newest is so large and so cold that zstd is worth its time.
  options.level_compaction_dynamic_level_bytes = true;
  options.compression_per_level = {rocksdb::kLZ4Compression,
                                   rocksdb::kLZ4Compression,
                                   rocksdb::kLZ4Compression,
                                   rocksdb::kLZ4Compression,
                                   rocksdb::kZSTD,
                                   rocksdb::kZSTD,
                                   rocksdb::kZSTD};
  options.level0_file_num_compaction_trigger = 8;
  // Each table has one filter and one index, which are read into the cache as a whole: tables of a
  // small state, whose memory may be small, are small. Those of a large one are larger, so that
  // all of them can be open.
  options.target_file_size_base = 8 << 20;
  options.target_file_size_multiplier = 4;
  options.max_open_files = kOpenFilesMax;
  options.max_background_jobs = 2;
  options.max_file_opening_threads = 1;
  // Nothing is ever written there; but only the filters of tables that are not much larger than
  // this stay in the cache while they are young and each read asks them.
  options.write_buffer_size = 64 << 20;
  options.arena_block_size = 8 << 10;
  options.max_write_buffer_number = 2;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.skip_stats_update_on_db_open = true;
  options.max_bgerror_resume_count = 0;  // see KvDb::has_failed
  return options;
}

/// A row to be written, with the beginning of its key beside it: most comparisons end there.
struct Sortable {
  uint64_t head;
  const HotRow* row;
};

uint64_t HeadOf(Bytes key) {
  uint64_t head = 0;
  std::memcpy(&head, key.data(), std::min(key.size(), sizeof head));
  return __builtin_bswap64(head);
}

bool IsBefore(const Sortable& a, const Sortable& b) {
  if (a.head != b.head) return a.head < b.head;
  const int order = AsText(a.row->key()).compare(AsText(b.row->key()));
  return order != 0 ? order < 0 : a.row->end > b.row->end;
}

}  // namespace

Status FromRocks(const rocksdb::Status& status, std::string_view what, const std::string& path) {
  if (status.ok()) return Ok();
  const ErrorCode code = status.IsNoSpace()      ? ErrorCode::kNoSpace
                         : status.IsCorruption() ? ErrorCode::kCorruptData
                                                 : ErrorCode::kIo;
  return Fail(code, "{}: path={} rocksdb={}", what, path, status.ToString());
}

/// Hears of failures, on threads of RocksDB.
class KvDb::FailureListener final : public rocksdb::EventListener {
 public:
  bool has_failed() const { return has_failed_; }

  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status*) override {
    has_failed_ = true;
  }
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status,
                            bool* auto_recovery) override {
    *auto_recovery = false;
  }

 private:
  std::atomic<bool> has_failed_ = false;
};

Result<std::shared_ptr<KvDb>> KvDb::Open(const std::string& path, const KvMemory& memory,
                                         bool must_exist) {
  rocksdb::DB* db = nullptr;
  rocksdb::Options options = DbOptions(memory, must_exist);
  auto failures = std::make_shared<FailureListener>();
  options.listeners.push_back(failures);
  const rocksdb::Status opened = rocksdb::DB::Open(options, path, &db);
  if (opened.IsInvalidArgument() && must_exist) {
    return Fail(ErrorCode::kCorruptData, "state has lost its database: path={} rocksdb={}", path,
                opened.ToString());
  }
  WEIR_TRY(FromRocks(opened, "cannot open a state", path));
  return std::shared_ptr<KvDb>(
      new KvDb(std::unique_ptr<rocksdb::DB>(db), memory.env(), std::move(failures)));
}

KvDb::~KvDb() = default;

bool KvDb::has_failed() const {
  return failures_->has_failed();
}

void KvDb::StopCompactions() {
  rocksdb::CancelAllBackgroundWork(db_.get(), true);
}

Status KvDb::Get(std::span<const Bytes> keys, Reach reach, std::span<Found> found) const {
  rocksdb::ReadOptions options;
  if (reach == Reach::kCacheOnly) options.read_tier = rocksdb::kBlockCacheTier;
  rocksdb::Slice slices[kMultiGetMax];
  rocksdb::PinnableSlice values[kMultiGetMax];
  rocksdb::Status statuses[kMultiGetMax];
  for (size_t begin = 0; begin < keys.size(); begin += kMultiGetMax) {
    const size_t count = std::min(kMultiGetMax, keys.size() - begin);
    for (size_t i = 0; i < count; ++i) slices[i] = ToSlice(keys[begin + i]);
    db_->MultiGet(options, db_->DefaultColumnFamily(), count, slices, values, statuses);
    for (size_t i = 0; i < count; ++i) {
      Found& one = found[begin + i];
      // A table that is not open is "found" without a value, if it may not be opened; ours have
      // a schema id at least.
      const bool has_value = values[i].size() >= kStoredBytesMin;
      if (statuses[i].ok() && !has_value && reach == Reach::kCacheOnly) {
        one.kind = Found::Kind::kNotCached;
      } else if (statuses[i].ok() && !has_value) {
        return Fail(ErrorCode::kCorruptData, "a stored row has no schema id: path={}",
                    db_->GetName());
      } else if (statuses[i].ok()) {
        one.kind = Found::Kind::kRow;
        one.value = std::move(values[i]);
      } else if (statuses[i].IsNotFound()) {
        one.kind = Found::Kind::kAbsent;
      } else if (statuses[i].IsIncomplete() && reach == Reach::kCacheOnly) {
        one.kind = Found::Kind::kNotCached;
      } else {
        return FromRocks(statuses[i], "cannot read a row", db_->GetName());
      }
      values[i].Reset();
    }
  }
  return Ok();
}

Result<KvDb::Rows> KvDb::Range(const std::string& prefix, const std::string& from, bool is_behind,
                               size_t rows_max, size_t bytes_max, Reach reach) const {
  rocksdb::ReadOptions options;
  if (reach == Reach::kCacheOnly) options.read_tier = rocksdb::kBlockCacheTier;
  Rows range;
  const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator(options));
  size_t bytes = 0;
  for (at->Seek(from); at->Valid() && at->key().starts_with(prefix); at->Next()) {
    if (is_behind && at->key() == rocksdb::Slice(from)) continue;
    if (range.rows.size() >= rows_max || (bytes >= bytes_max && !range.rows.empty())) return range;
    range.rows.emplace_back(at->key().ToString(), at->value().ToString());
    bytes += at->key().size() + at->value().size();
  }
  range.is_not_cached = at->status().IsIncomplete() && reach == Reach::kCacheOnly;
  if (range.is_not_cached) return range;
  WEIR_TRY(FromRocks(at->status(), "cannot read rows", db_->GetName()));
  range.is_end = true;
  return range;
}

Status KvDb::WriteTable(const std::string& path, std::vector<const HotRow*> rows) const {
  std::vector<Sortable> sorted(rows.size());
  std::transform(rows.begin(), rows.end(), sorted.begin(),
                 [](const HotRow* row) { return Sortable{HeadOf(row->key()), row}; });
  std::sort(sorted.begin(), sorted.end(), IsBefore);

  rocksdb::Options options;
  options.env = env_;
  options.compression = rocksdb::kLZ4Compression;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(TableOptions(nullptr)));
  rocksdb::SstFileWriter table(rocksdb::EnvOptions(), options);
  WEIR_TRY(FromRocks(table.Open(path), "cannot make a table", path));
  const HotRow* last = nullptr;
  for (const Sortable& at : sorted) {
    if (last != nullptr && AsText(last->key()) == AsText(at.row->key())) continue;
    last = at.row;
    const rocksdb::Slice key = ToSlice(at.row->key());
    const rocksdb::Status put =
        at.row->is_tombstone ? table.Delete(key) : table.Put(key, ToSlice(at.row->stored_value()));
    WEIR_TRY(FromRocks(put, "cannot write a table", path));
  }
  return FromRocks(table.Finish(), "cannot finish a table", path);
}

Status KvDb::Ingest(const std::string& path) {
  rocksdb::IngestExternalFileOptions options;
  options.move_files = true;
  options.write_global_seqno = false;  // a table never changes, so copies may share it
  // While there is a snapshot a table gets a sequence number of its own. Without one the first
  // tables would get 0, and so would a snapshot of them: compactions take that for none, and drop
  // the rows that it keeps.
  const rocksdb::Snapshot* const now = db_->GetSnapshot();
  const rocksdb::Status taken = db_->IngestExternalFile({path}, options);
  db_->ReleaseSnapshot(now);
  return FromRocks(taken, "cannot take a table in", db_->GetName());
}

bool KvDb::IsBehind() const {
  uint64_t tables = 0;
  return db_->GetIntProperty("rocksdb.num-files-at-level0", &tables) &&
         tables >= kTablesOfLevel0Max;
}

Status KvDb::Copy(const std::string& path) const {
  rocksdb::Checkpoint* made = nullptr;
  WEIR_TRY(FromRocks(rocksdb::Checkpoint::Create(db_.get(), &made), "cannot copy a state", path));
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  return FromRocks(checkpoint->CreateCheckpoint(path), "cannot copy a state", path);
}

}  // namespace weir
