// Scans over all rows of a bucket that are read page by page. A client that goes away without
// closing its scan loses it after a while.
//
// Those of one group; lives on the group's loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "weir/base/buffer.h"
#include "weir/base/ids.h"
#include "weir/kv/kv_state.h"
#include "weir/runtime/clock.h"
#include "weir/runtime/task.h"

namespace weir {

/// What one answer of a scan holds.
struct ScanPage {
  /// Names the scan to whoever wants more; empty if there is no more.
  std::string scanner_id;
  /// A value batch; empty if there are no rows.
  Buffer rows;
  /// Of the first page: the rows are those at this offset of the changelog.
  std::optional<LogOffset> log_offset;

  bool has_more() const { return !scanner_id.empty(); }
};

/// How many scans there may be. Source: Fluss protocol, SCAN_KV.
inline constexpr size_t kScansOfBucketMax = 8;
inline constexpr size_t kScansMax = 200;
/// No page holds more, whatever the client asks for.
inline constexpr size_t kScanPageBytesMax = 10 << 20;

class ScanSessions {
 public:
  /// `running` counts the scans of all groups, `group` stands in the names of this one's.
  ScanSessions(GroupId group, Random& random, std::atomic<size_t>& running)
      : group_(group), random_(random), running_(running) {}
  ~ScanSessions();

  /// The group of a scan. Nothing if the name is none.
  static std::optional<GroupId> GroupOf(const std::string& scanner_id);

  /// Errors: kTooManyScanners.
  Status CheckRoom(const TableBucket& bucket) const;

  /// Takes `scan` and reads its first page. `rows_max` bounds all pages together. Errors:
  /// kTooManyScanners, kIo, kCorruptData: the scan is closed.
  Task<Result<ScanPage>> Open(TableBucket bucket, std::unique_ptr<KvScan> scan, int64_t rows_max,
                              size_t bytes_max, Duration now);

  /// The next page. `call` counts the calls of a scan from 0. Errors: kUnknownScanner,
  /// kExpiredScanner, kInvalidScan (not the next call, or one is under way); kIo, kCorruptData: the
  /// scan is closed.
  Task<Result<ScanPage>> Continue(std::string scanner_id, int32_t call, size_t bytes_max,
                                  Duration now);

  /// A scan that there is not is closed already.
  void Close(const std::string& scanner_id);
  void CloseAll(const TableBucket& bucket);
  /// Closes scans that nobody asked for since before `now` - `idle_max`.
  void CloseIdle(Duration now, Duration idle_max);
  void Clear();

 private:
  struct Session {
    TableBucket bucket;
    std::unique_ptr<KvScan> scan;
    int64_t rows_left = 0;
    int32_t next_call = 1;
    Duration used{};
    bool is_reading = false;
    bool is_closed = false;
  };
  using Sessions = std::map<std::string, std::shared_ptr<Session>>;

  Task<Result<ScanPage>> ReadPage(std::string scanner_id, std::shared_ptr<Session> session,
                                  size_t bytes_max);
  Sessions::iterator Erase(Sessions::iterator session);
  std::string NewId();

  const GroupId group_;
  Random& random_;
  std::atomic<size_t>& running_;
  Sessions sessions_;
  /// Names of scans that were idle for too long, the newest last; the oldest are forgotten.
  std::deque<std::string> expired_;
};

}  // namespace weir
