#include "weir/server/scan_sessions.h"

#include <algorithm>

#include "weir/base/bytes.h"
#include "weir/record/kv_batch.h"
#include "weir/server/log_damage.h"

namespace weir {
namespace {

constexpr size_t kIdBytes = 12;
constexpr size_t kExpiredMax = 1024;

Error Unknown() {
  return Fail(ErrorCode::kUnknownScanner, "there is no such scan; open it anew");
}

}  // namespace

ScanSessions::~ScanSessions() {
  Clear();
}

std::optional<GroupId> ScanSessions::GroupOf(const std::string& scanner_id) {
  if (scanner_id.size() != kIdBytes) return std::nullopt;
  return GroupId(LoadLittle<uint32_t>(AsBytes(scanner_id).data()));
}

std::string ScanSessions::NewId() {
  std::string id(kIdBytes, '\0');
  auto* const at = reinterpret_cast<std::byte*>(id.data());
  StoreLittle<uint32_t>(at, group_.value);
  StoreLittle<uint64_t>(at + 4, random_.Next());
  return id;
}

Status ScanSessions::CheckRoom(const TableBucket& bucket) const {
  const auto of_bucket = std::ranges::count_if(
      sessions_, [&](const auto& item) { return item.second->bucket == bucket; });
  if (static_cast<size_t>(of_bucket) >= kScansOfBucketMax || running_.load() >= kScansMax) {
    return Fail(ErrorCode::kTooManyScanners,
                "too many scans are open; close one or try again later: of_bucket={} max={} "
                "of_server={} max={}",
                of_bucket, kScansOfBucketMax, running_.load(), kScansMax);
  }
  return Ok();
}

Task<Result<ScanPage>> ScanSessions::Open(TableBucket bucket, std::unique_ptr<KvScan> scan,
                                          int64_t rows_max, size_t bytes_max, Duration now) {
  // Others may have come while this one was made.
  WEIR_CO_TRY(CheckRoom(bucket));
  const LogOffset log_offset = scan->log_offset();
  auto session = std::make_shared<Session>();
  session->bucket = bucket;
  session->scan = std::move(scan);
  session->rows_left = rows_max;
  session->used = now;
  std::string id = NewId();
  sessions_.emplace(id, session);
  running_.fetch_add(1);
  WEIR_CO_ASSIGN(ScanPage page, co_await ReadPage(std::move(id), std::move(session), bytes_max));
  page.log_offset = log_offset;
  co_return page;
}

Task<Result<ScanPage>> ScanSessions::Continue(std::string scanner_id, int32_t call,
                                              size_t bytes_max, Duration now) {
  const auto found = sessions_.find(scanner_id);
  if (found == sessions_.end()) {
    if (std::ranges::find(expired_, scanner_id) == expired_.end()) co_return Unknown();
    co_return Fail(ErrorCode::kExpiredScanner,
                   "the scan was closed because nobody asked for more; open it anew");
  }
  const std::shared_ptr<Session> session = found->second;
  if (session->is_reading)
    co_return Fail(ErrorCode::kInvalidScan, "another call of this scan is under way");
  if (call != session->next_call) {
    co_return Fail(ErrorCode::kInvalidScan, "calls of a scan are counted: expected={} got={}",
                   session->next_call, call);
  }
  ++session->next_call;
  session->used = now;
  co_return co_await ReadPage(std::move(scanner_id), session, bytes_max);
}

Task<Result<ScanPage>> ScanSessions::ReadPage(std::string scanner_id,
                                              std::shared_ptr<Session> session, size_t bytes_max) {
  std::vector<std::string> values;
  session->is_reading = true;
  Result<bool> has_more = co_await session->scan->Read(std::min(bytes_max, kScanPageBytesMax),
                                                       session->rows_left, &values);
  has_more = LogDamage(std::move(has_more), session->bucket, "scan");
  session->is_reading = false;
  if (session->is_closed) co_return Unknown();
  const auto found = sessions_.find(scanner_id);
  WEIR_CHECK(found != sessions_.end());
  if (!has_more.ok()) {
    Erase(found);
    co_return std::move(has_more).error();
  }
  ScanPage page;
  session->rows_left -= static_cast<int64_t>(values.size());
  if (!values.empty()) {
    ValueBatchWriter batch;
    for (const std::string& value : values) batch.Add(AsBytes(value));
    page.rows = batch.Finish();
  }
  if (*has_more && session->rows_left > 0) {
    page.scanner_id = std::move(scanner_id);
  } else {
    Erase(found);
  }
  co_return page;
}

ScanSessions::Sessions::iterator ScanSessions::Erase(Sessions::iterator session) {
  session->second->is_closed = true;
  running_.fetch_sub(1);
  return sessions_.erase(session);
}

void ScanSessions::Close(const std::string& scanner_id) {
  const auto found = sessions_.find(scanner_id);
  if (found != sessions_.end()) Erase(found);
}

void ScanSessions::CloseAll(const TableBucket& bucket) {
  for (auto session = sessions_.begin(); session != sessions_.end();)
    session = session->second->bucket == bucket ? Erase(session) : std::next(session);
}

void ScanSessions::CloseIdle(Duration now, Duration idle_max) {
  for (auto session = sessions_.begin(); session != sessions_.end();) {
    if (session->second->is_reading || now - session->second->used <= idle_max) {
      ++session;
      continue;
    }
    expired_.push_back(session->first);
    if (expired_.size() > kExpiredMax) expired_.pop_front();
    session = Erase(session);
  }
}

void ScanSessions::Clear() {
  for (auto session = sessions_.begin(); session != sessions_.end();) session = Erase(session);
}

}  // namespace weir
