#include "weir/kv/kv_scan.h"

#include <rocksdb/db.h>

namespace weir {
namespace {

/// What a scan has in RocksDB; gone on the pool, since the last who has a database closes it.
class ScanOfDb {
 public:
  ScanOfDb(std::shared_ptr<KvDb> db, size_t time_bytes)
      : db_(std::move(db)), time_bytes_(time_bytes), at_(db_->db().GetSnapshot()) {}
  ScanOfDb(const ScanOfDb&) = delete;
  ScanOfDb& operator=(const ScanOfDb&) = delete;
  ~ScanOfDb() {
    rows_.reset();
    db_->db().ReleaseSnapshot(at_);
  }

  Result<bool> Read(size_t bytes_max, int64_t rows_max, std::vector<std::string>* values) {
    if (rows_ == nullptr) {
      rocksdb::ReadOptions options;
      options.snapshot = at_;
      // A scan of a large state would drive all else out of the cache.
      options.fill_cache = false;
      rows_.reset(db_->db().NewIterator(options));
      rows_->SeekToFirst();
    }
    size_t bytes = 0;
    for (int64_t rows = 0; rows_->Valid(); ++rows, rows_->Next()) {
      if (rows > 0 && (rows >= rows_max || bytes >= bytes_max)) return true;
      rocksdb::Slice value = rows_->value();
      WEIR_CHECK(value.size() >= time_bytes_);
      value.remove_suffix(time_bytes_);
      values->push_back(value.ToString());
      bytes += value.size();
    }
    WEIR_TRY(FromRocks(rows_->status(), "cannot scan a state", db_->db().GetName()));
    return false;
  }

 private:
  const std::shared_ptr<KvDb> db_;
  /// At the end of each value, and not of the row.
  const size_t time_bytes_;
  const rocksdb::Snapshot* const at_;
  std::unique_ptr<rocksdb::Iterator> rows_;
};

class RealKvScan final : public KvScan, private KvScans::Member {
 public:
  RealKvScan(std::shared_ptr<ScanOfDb> scan, LogOffset log_offset, BlockingPool& pool,
             std::shared_ptr<KvScans> scans)
      : scan_(std::move(scan)), log_offset_(log_offset), pool_(pool), scans_(std::move(scans)) {
    scans_->Add(this);
  }
  ~RealKvScan() override {
    scans_->Remove(this);
    LetGo();
  }

  LogOffset log_offset() const override { return log_offset_; }

  Task<Result<bool>> Read(size_t bytes_max, int64_t rows_max,
                          std::vector<std::string>* values) override {
    if (is_ended_) co_return Ended();
    if (scan_ == nullptr) co_return false;
    is_reading_ = true;
    auto read = [&] { return scan_->Read(bytes_max, rows_max, values); };
    Result<bool> more = co_await pool_.Run(read);
    is_reading_ = false;
    if (is_ended_) LetGo();
    co_return more;
  }

 private:
  static Error Ended() {
    return Fail(ErrorCode::kCancelled, "the scan was ended: its state stops, or is opened anew");
  }

  void End() override {
    is_ended_ = scan_ != nullptr;
    if (!is_reading_) LetGo();
  }

  void LetGo() {
    if (scan_ != nullptr) pool_.Submit([scan = std::move(scan_)]() mutable { scan.reset(); });
  }

  std::shared_ptr<ScanOfDb> scan_;
  const LogOffset log_offset_;
  BlockingPool& pool_;
  const std::shared_ptr<KvScans> scans_;
  bool is_reading_ = false;
  bool is_ended_ = false;
};

}  // namespace

std::unique_ptr<KvScan> MakeKvScan(std::shared_ptr<KvDb> db, bool has_times, LogOffset log_offset,
                                   BlockingPool& pool, std::shared_ptr<KvScans> scans) {
  std::shared_ptr<ScanOfDb> scan;
  if (db != nullptr)
    scan = std::make_shared<ScanOfDb>(std::move(db), has_times ? kRowTimeBytes : 0);
  return std::make_unique<RealKvScan>(std::move(scan), log_offset, pool, std::move(scans));
}

}  // namespace weir
