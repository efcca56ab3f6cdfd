// The cold rows of a state: a RocksDB database that is written only by tables which are made
// elsewhere and taken in whole. RocksDB's home: only kv's source files include this. All calls
// block and belong on the pool, but for those that read the cache only.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <rocksdb/db.h>

#include "weir/base/bytes.h"
#include "weir/base/result.h"
#include "weir/kv/hot_row.h"
#include "weir/kv/kv_memory.h"

namespace weir {

class KvDb {
 public:
  /// What is read may be in memory already.
  enum class Reach { kCacheOnly, kDisk };

  /// `must_exist`: whether there was a database; otherwise it is made.
  /// Errors: kIo, kNoSpace, kCorruptData (also if it must exist and does not).
  static Result<std::shared_ptr<KvDb>> Open(const std::string& path, const KvMemory& memory,
                                            bool must_exist);
  ~KvDb();

  /// Of one key.
  struct Found {
    enum class Kind : uint8_t { kRow, kAbsent, kNotCached };
    Kind kind = Kind::kAbsent;
    rocksdb::PinnableSlice value;

    Bytes bytes() const { return AsBytes({value.data(), value.size()}); }
  };
  /// `found` has a place for each key. Errors: kIo, kCorruptData.
  Status Get(std::span<const Bytes> keys, Reach reach, std::span<Found> found) const;

  /// Rows in key order.
  struct Rows {
    std::vector<std::pair<std::string, std::string>> rows;
    /// Whether there are no more.
    bool is_end = false;
    /// Whether it stopped at what is not cached; then nothing of this is to be used.
    bool is_not_cached = false;
  };
  /// Rows whose keys begin with `prefix`, from `from` on, which begins with it; or from behind it.
  /// At most `rows_max` of them, and about bytes_max, but at least one. Errors: kIo, kCorruptData.
  Result<Rows> Range(const std::string& prefix, const std::string& from, bool is_behind,
                     size_t rows_max, size_t bytes_max, Reach reach) const;

  /// Sorts the rows and writes them to a new table, outside of the database; of several versions of
  /// a key the last. Errors: kIo, kNoSpace.
  Status WriteTable(const std::string& path, std::vector<const HotRow*> rows) const;
  /// Takes a table in: it goes away from `path`. Errors: kIo, kNoSpace, kCorruptData.
  Status Ingest(const std::string& path);
  /// Whether more tables would make reads slow: compactions are behind.
  bool IsBehind() const;
  /// Whether a write or a compaction has failed: rows can be read, but before more tables are taken
  /// in it must be closed and opened again. (RocksDB's own way out of such a state is shut: after
  /// it, 7.8 takes tables in under the file number 0.)
  bool has_failed() const;

  /// Makes `path`, which must not exist, a copy, with hard links where that can be.
  /// Errors: kIo, kNoSpace.
  Status Copy(const std::string& path) const;

  /// Ends compactions, and waits for them.
  void StopCompactions();

  rocksdb::DB& db() const { return *db_; }

 private:
  class FailureListener;

  KvDb(std::unique_ptr<rocksdb::DB> db, rocksdb::Env* env,
       std::shared_ptr<FailureListener> failures)
      : failures_(std::move(failures)), db_(std::move(db)), env_(env) {}

  std::shared_ptr<FailureListener> failures_;
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::Env* env_;
};

/// RocksDB's statuses become ours here and nowhere else. `what` was tried, with what is at `path`.
Status FromRocks(const rocksdb::Status& status, std::string_view what, const std::string& path);

}  // namespace weir
