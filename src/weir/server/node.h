// The node: one function an operation, whatever the protocol. Gateways decode a request, call one
// of these, and encode what it gives.
//
// Operations may be called on any event loop of the node and return on the same loop. Catalog
// operations run on the catalog's loop; what touches a bucket runs on the loop of that bucket's
// group.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/buffer.h"
#include "weir/base/ids.h"
#include "weir/base/result.h"
#include "weir/bucket/bucket.h"
#include "weir/catalog/catalog.h"
#include "weir/runtime/event_loop.h"
#include "weir/server/kv_snapshots.h"
#include "weir/server/scan_sessions.h"

namespace weir {

class BlockingPool;
class Clock;
class FileSystem;
class Random;

/// Settings of a node; app fills it from flags and file.
struct MaintenanceLimits {
  /// A writer that is silent for so long is forgotten, with its batch sequence.
  Duration writer_idle_max = std::chrono::hours(7 * 24);
  /// A scan that nobody asks for more of is closed.
  Duration scan_idle_max = std::chrono::minutes(10);
};

struct NodeConfig {
  std::string data_dir;
  /// What acks=all waits for where a table does not say (table.durability).
  bool sync_by_default = true;
  /// Journal files are sealed at this size.
  uint64_t journal_file_bytes = 64ull << 20;
  /// Where kv snapshots go; empty: `remote` in data_dir.
  std::string remote_dir;
  Duration kv_snapshot_interval = std::chrono::minutes(10);
  /// Of each bucket, besides those that are leased.
  size_t kv_snapshots_kept = 2;
  /// What rows of primary-key tables take in memory.
  size_t kv_memory_max = size_t{1} << 30;
  /// How often retention and auto-partitions are looked at.
  Duration maintenance_interval = std::chrono::seconds(30);
  MaintenanceLimits maintenance;
};

/// The outside world, which outlives the node.
struct NodeWorld {
  std::vector<EventLoop*> loops;  // at least one; groups are spread over them
  BlockingPool& pool;
  FileSystem& files;
  Clock& clock;
  Random& random;
};

struct BucketFetch {
  std::optional<PartitionId> partition_id;
  int32_t bucket_id = 0;
  LogOffset from;  // kEarliestOffset: the first one there is
  size_t bytes_max = 0;
};

struct TableFetch {
  TableId table_id;
  /// Positions of the wanted columns, ascending; absent: whole batches.
  std::optional<std::vector<int32_t>> projection;
  std::vector<BucketFetch> buckets;
};

/// Ends the waits of fetches early: their client has gone, or the server stops. Lives on the loop
/// where they were called, and longer than they.
class FetchCanceller {
 public:
  bool is_cancelled() const { return is_cancelled_; }

  /// For who fetches: those that wait answer with what there is, and later ones do not wait.
  void Cancel() {
    is_cancelled_ = true;
    for (Event* wait : std::exchange(waits_, {})) wait->Set();
  }

  /// For the node: `wait` is set by Cancel, until Remove.
  void Add(Event& wait) {
    if (is_cancelled_) return wait.Set();
    waits_.push_back(&wait);
  }
  void Remove(Event& wait) { std::erase(waits_, &wait); }

 private:
  bool is_cancelled_ = false;
  std::vector<Event*> waits_;
};

/// What fetches of one client have read and the client has not taken yet. Used on several loops at
/// once, so it may be passed by as much as they are about to read.
class FetchAllowance {
 public:
  explicit FetchAllowance(size_t bytes_max) : bytes_max_(bytes_max) {}

  bool has_room() const { return held_.load() < bytes_max_; }
  void Hold(size_t bytes) { held_.fetch_add(bytes); }
  void Release(size_t bytes) { held_.fetch_sub(bytes); }

 private:
  const size_t bytes_max_;
  std::atomic<size_t> held_ = 0;
};

struct FetchRequest {
  std::vector<TableFetch> tables;
  size_t bytes_max = 0;
  /// Wait until so many bytes can be read, but not longer than wait_max, and not after `canceller`
  /// (if given) says so.
  size_t bytes_min = 0;
  Duration wait_max{0};
  FetchCanceller* canceller = nullptr;
  /// While it (if given) has no room, a fetch reads nothing and returns at once. The records that
  /// are returned are held in it until the caller releases them.
  FetchAllowance* allowance = nullptr;
};

/// Log batches that lie in several pieces of memory; sent one behind the other.
struct LogPieces {
  std::vector<Buffer> pieces;
  size_t bytes = 0;
};

struct FetchedBucket {
  LogOffset high_watermark;
  LogOffset log_start;
  LogPieces records;
};

/// In the order of the request: one list a table, one entry a bucket.
using FetchResponse = std::vector<std::vector<Result<FetchedBucket>>>;

struct OffsetSpec {
  enum class Kind { kEarliest, kLatest, kTimestamp } kind;
  Timestamp timestamp;
};

class Node {
 public:
  /// Opens the data directory, which is made if it is missing, and recovers. Call it on loops[0].
  /// Errors: kOverloaded (another server has the directory), kUnsupported (written by a newer
  /// version), kIo, kCorruptData, each with what to do.
  static Task<Result<std::unique_ptr<Node>>> Open(NodeConfig config, NodeWorld world);
  virtual ~Node() = default;

  /// Ends what runs, checkpoints and closes. Call it on loops[0], once, when no gateway calls any
  /// more.
  virtual Task<void> Stop() = 0;

  // --- Databases
  // -------------------------------------------------------------------------------------------------
  virtual Task<Status> CreateDatabase(std::string name, std::string descriptor_json,
                                      bool ignore_if_exists) = 0;
  virtual Task<Status> DropDatabase(std::string name, bool ignore_if_missing, bool cascade) = 0;
  virtual Task<Status> AlterDatabase(DatabaseAlteration alteration) = 0;

  // --- Tables
  // ----------------------------------------------------------------------------------------------------
  virtual Task<Status> CreateTable(TablePath path, std::string descriptor_json,
                                   bool ignore_if_exists) = 0;
  virtual Task<Status> DropTable(TablePath path, bool ignore_if_missing) = 0;
  virtual Task<Status> AlterTable(TableAlteration alteration) = 0;

  // --- Partitions
  // ------------------------------------------------------------------------------------------------
  virtual Task<Status> CreatePartition(TablePath path, PartitionSpec spec,
                                       bool ignore_if_exists) = 0;
  virtual Task<Status> DropPartition(TablePath path, PartitionSpec spec,
                                     bool ignore_if_missing) = 0;

  // --- Producer offsets (of exactly-once sinks)
  // ------------------------------------------------------------------
  /// Whether they were registered; false: the producer has offsets already, and they stay.
  virtual Task<Result<bool>> RegisterProducerOffsets(ProducerOffsets offsets) = 0;
  virtual Task<Status> DeleteProducerOffsets(std::string producer_id) = 0;

  /// A writer id that nobody had before.
  virtual Task<Result<WriterId>> InitWriter() = 0;

  /// Reads of the catalog: runs `read` on the catalog's loop. `read` must stay until it is awaited;
  /// it is a variable, or a closure over references and numbers (see BlockingPool::Run).
  template <typename F>
  auto ReadCatalog(F&& read) {
    static_assert(std::is_lvalue_reference_v<F> || std::is_trivially_destructible_v<F>,
                  "name it first");
    return On(catalog_loop(), Reading<std::remove_reference_t<F>>::Run(this, &read));
  }

  // --- Logs
  // ------------------------------------------------------------------------------------------------------
  /// Appends one or more encoded log batches. `records` is changed in place (offsets and times are
  /// stamped) and must be shared with nobody who reads it. The append is put in order before this
  /// suspends for the first time. Returns the offset of the first record once `acks` is reached.
  /// Errors: kUnknownBucket, kCorruptBatch, kSchemaNotFound, kOutOfOrderSequence, kRecordTooLarge,
  /// kNoSpace, kIo: nothing was appended. kTimedOut: the batches are appended and may become
  /// durable.
  virtual Task<Result<LogOffset>> Append(TableBucket bucket, Buffer records, Acks acks,
                                         Duration timeout) = 0;

  /// What is below the high watermark, from the wanted offsets on; waits as the request says.
  virtual Task<FetchResponse> Fetch(FetchRequest request) = 0;

  /// Errors: kUnknownBucket, kInvalidTimestamp (in the future), kIo, kCorruptData.
  virtual Task<Result<LogOffset>> ListOffset(TableBucket bucket, OffsetSpec spec) = 0;

  /// The batches with the last `limit` records below the high watermark.
  virtual Task<Result<LogPieces>> LimitScan(TableBucket bucket, int64_t limit) = 0;

  /// Rows of a primary-key table; of a log table the records between the log's start and the high
  /// watermark. Errors: kUnknownBucket; kInvalidTable: the table does not count its rows.
  virtual Task<Result<int64_t>> Count(TableBucket bucket) = 0;

  // --- Rows of primary-key tables
  // -----------------------------------------------------------------------------------------------
  /// Writes the rows of an encoded kv batch; puts of one caller take effect in the order of the
  /// calls. Returns the log's end behind the changes once `acks` is reached. Errors: see
  /// Bucket::Put.
  virtual Task<Result<LogOffset>> Put(TableBucket bucket, Buffer batch, PutMode mode, Acks acks,
                                      Duration timeout) = 0;

  /// Stored values of encoded keys, which stay until this returns. Errors: kUnknownBucket, and
  /// those of Bucket::Lookup and its like.
  virtual Task<Result<RowValues>> Lookup(TableBucket bucket, std::vector<Bytes> keys) = 0;
  virtual Task<Result<RowValues>> LookupOrInsert(TableBucket bucket, std::vector<Bytes> keys,
                                                 Acks acks, Duration timeout) = 0;
  virtual Task<Result<std::vector<RowValues>>> LookupPrefixes(TableBucket bucket,
                                                              std::vector<Bytes> prefixes) = 0;
  virtual Task<Result<Buffer>> FirstRows(TableBucket bucket, int64_t limit) = 0;

  /// Scans all rows of a bucket as they are at its high watermark, page by page. `rows_max` bounds
  /// all pages together. Errors: kUnknownBucket, and those of ScanSessions.
  virtual Task<Result<ScanPage>> OpenScan(TableBucket bucket, int64_t rows_max,
                                          size_t bytes_max) = 0;
  virtual Task<Result<ScanPage>> ContinueScan(std::string scanner_id, int32_t call,
                                              size_t bytes_max) = 0;
  virtual Task<void> CloseScan(std::string scanner_id) = 0;

  /// The kv snapshots of a bucket, oldest first. Errors: kUnknownBucket.
  virtual Task<Result<std::vector<KvSnapshot>>> KvSnapshotsOf(TableBucket bucket) = 0;

  /// Keeps snapshots until the lease ends. Returns those that there are not, or not any more.
  /// Errors: see Catalog::PlanAcquireLease.
  virtual Task<Result<std::vector<KvSnapshotName>>> AcquireLease(
      std::string lease_id, std::chrono::milliseconds duration,
      std::vector<KvSnapshotName> snapshots) = 0;
  virtual Task<Status> ReleaseLease(std::string lease_id, std::vector<TableBucket> buckets) = 0;
  virtual Task<Status> DropLease(std::string lease_id) = 0;

  virtual EventLoop& catalog_loop() = 0;

 protected:
  /// Only on the catalog's loop.
  virtual const Catalog& catalog() const = 0;

 private:
  template <typename F>
  struct Reading {
    static Task<std::invoke_result_t<F&, const Catalog&>> Run(Node* node, F* read) {
      co_return (*read)(node->catalog());
    }
  };
};

}  // namespace weir
