// Operations on logs.
#include <algorithm>

#include "weir/base/log.h"
#include "weir/server/real_node.h"

namespace weir {
namespace {

// A limit scan gathers its answer in memory.
constexpr size_t kLimitScanBytesMax = 128 << 20;

/// What a read is taken to hold while it waits for the disk: many of one client may do so at once.
constexpr size_t kReadBytesExpected = 1 << 20;

/// What wakes a fetch that waits. Buckets of any loop hold it weakly.
struct FetchWait {
  explicit FetchWait(EventLoop& loop) : event(loop) {}
  Event event;
};

}  // namespace

Task<Result<LogOffset>> RealNode::AppendThere(GroupShard* shard, TableBucket id, Buffer records,
                                              Acks acks, Duration timeout) {
  const std::shared_ptr<Bucket> bucket = shard->Find(id);
  if (bucket == nullptr) co_return UnknownBucket(id);
  co_return co_await bucket->Append(std::move(records), acks, world_.clock.Now(), timeout);
}

Task<Result<LogOffset>> RealNode::ListOffsetThere(GroupShard* shard, TableBucket id,
                                                  OffsetSpec spec) {
  const std::shared_ptr<Bucket> bucket = shard->Find(id);
  if (bucket == nullptr) co_return UnknownBucket(id);
  switch (spec.kind) {
    case OffsetSpec::Kind::kEarliest: co_return bucket->log_start();
    case OffsetSpec::Kind::kLatest: co_return bucket->high_watermark();
    case OffsetSpec::Kind::kTimestamp: break;
  }
  co_return co_await bucket->OffsetAt(spec.timestamp, world_.clock.Now());
}

Task<Result<LogPieces>> RealNode::LimitScanThere(GroupShard* shard, TableBucket id, int64_t limit) {
  const std::shared_ptr<Bucket> bucket = shard->Find(id);
  if (bucket == nullptr) co_return UnknownBucket(id);
  const LogOffset end = bucket->high_watermark();
  const LogOffset from = std::max(bucket->log_start(),
                                  LogOffset(end.value - std::clamp<int64_t>(limit, 0, end.value)));
  WEIR_CO_ASSIGN(BucketRead read, co_await bucket->Read(from, kLimitScanBytesMax, std::nullopt));
  if (read.records.next < end) {
    co_return Fail(ErrorCode::kRecordTooLarge,
                   "the last {} records take more than {} bytes; read them with a log scanner",
                   limit, kLimitScanBytesMax);
  }
  co_return LogPieces{std::move(read.records.pieces), read.records.bytes};
}

Task<Result<int64_t>> RealNode::CountThere(GroupShard* shard, TableBucket id) {
  const std::shared_ptr<Bucket> bucket = shard->Find(id);
  if (bucket == nullptr) co_return UnknownBucket(id);
  co_return bucket->Count();
}

Task<FetchResponse> RealNode::Fetch(FetchRequest request) {
  EventLoop& home = *EventLoop::Current();
  std::vector<std::vector<PlacedFetch>> by_shard(shards_.size());
  FetchResponse response(request.tables.size());
  for (size_t t = 0; t < request.tables.size(); ++t) {
    const TableFetch& table = request.tables[t];
    for (size_t b = 0; b < table.buckets.size(); ++b) {
      const BucketFetch& fetch = table.buckets[b];
      const TableBucket id{table.table_id, fetch.partition_id, fetch.bucket_id};
      by_shard[StableHash(id) % shards_.size()].push_back({t, b, id, &table, &fetch});
      response[t].push_back(UnknownBucket(id));
    }
  }
  const Duration deadline = home.Elapsed() + request.wait_max;
  FetchAllowance* const allowance = request.allowance;
  size_t bytes = 0;
  while (true) {
    // What was read is read again, with what came since.
    if (allowance != nullptr) allowance->Release(bytes);
    bytes = co_await ReadAll(&by_shard, request.bytes_max, allowance, &response);
    // What a client has to act on is told at once; a bucket that is not here may just be on its
    // way.
    bool is_urgent = false;
    for (const auto& table : response) {
      for (const auto& bucket : table) {
        is_urgent = is_urgent || (!bucket.ok() && bucket.error().code != ErrorCode::kUnknownBucket);
      }
    }
    const Duration left = deadline - home.Elapsed();
    const bool is_cancelled = request.canceller != nullptr && request.canceller->is_cancelled();
    const bool is_full = allowance != nullptr && !allowance->has_room();
    if (is_urgent || is_cancelled || is_full || bytes >= request.bytes_min || left <= Duration(0))
      co_return response;

    const auto wait = std::make_shared<FetchWait>(home);
    // Runs on the buckets' loops, and finds the wait there no more when the fetch has gone on.
    const auto wake =
        std::make_shared<std::function<void()>>([&home, weak = std::weak_ptr<FetchWait>(wait)] {
          home.Post([weak] {
            if (const auto waiting = weak.lock()) waiting->event.Set();
          });
        });
    for (size_t i = 0; i < shards_.size(); ++i) {
      if (by_shard[i].empty()) continue;
      co_await On(shards_[i]->loop(), WatchThere(shards_[i].get(), &by_shard[i], &response, wake));
    }
    if (request.canceller != nullptr) request.canceller->Add(wait->event);
    co_await wait->event.WaitFor(std::max(Duration(0), deadline - home.Elapsed()));
    if (request.canceller != nullptr) request.canceller->Remove(wait->event);
  }
}

Task<size_t> RealNode::ReadAll(const std::vector<std::vector<PlacedFetch>>* by_shard,
                               size_t bytes_max, FetchAllowance* allowance, FetchResponse* into) {
  size_t bytes = 0;
  for (size_t i = 0; i < shards_.size(); ++i) {
    if ((*by_shard)[i].empty()) continue;
    GroupShard* const shard = shards_[i].get();
    const size_t left = bytes_max > bytes ? bytes_max - bytes : 0;
    bytes += co_await On(shard->loop(), ReadThere(shard, &(*by_shard)[i], left, allowance, into));
  }
  co_return bytes;
}

Task<size_t> RealNode::ReadThere(GroupShard* shard, const std::vector<PlacedFetch>* fetches,
                                 size_t bytes_max, FetchAllowance* allowance, FetchResponse* into) {
  size_t bytes = 0;
  for (const PlacedFetch& placed : *fetches) {
    Result<FetchedBucket>& result = (*into)[placed.table][placed.bucket];
    const std::shared_ptr<Bucket> bucket = shard->Find(placed.id);
    if (bucket == nullptr) {
      result = UnknownBucket(placed.id);
      continue;
    }
    const bool has_room = allowance == nullptr || allowance->has_room();
    const size_t left = has_room && bytes_max > bytes ? bytes_max - bytes : 0;
    const size_t expected = std::min(left, kReadBytesExpected);
    if (allowance != nullptr) allowance->Hold(expected);
    Result<BucketRead> read =
        co_await bucket->Read(placed.fetch->from, std::min(placed.fetch->bytes_max, left),
                              placed.table_fetch->projection);
    if (allowance != nullptr) allowance->Release(expected);
    if (!read.ok()) {
      result = std::move(read).error();
      if (result.error().code == ErrorCode::kCorruptData || result.error().code == ErrorCode::kIo) {
        LogError("server", "a fetch failed: bucket={} reason={}", placed.id,
                 result.error().message);
      }
      continue;
    }
    bytes += read->records.bytes;
    if (allowance != nullptr) allowance->Hold(read->records.bytes);
    result = FetchedBucket{read->high_watermark,
                           read->log_start,
                           {std::move(read->records.pieces), read->records.bytes}};
  }
  co_return bytes;
}

Task<void> RealNode::WatchThere(GroupShard* shard, const std::vector<PlacedFetch>* fetches,
                                const FetchResponse* seen,
                                std::weak_ptr<std::function<void()>> wake) {
  for (const PlacedFetch& placed : *fetches) {
    const Result<FetchedBucket>& told = (*seen)[placed.table][placed.bucket];
    const std::shared_ptr<Bucket> bucket = shard->Find(placed.id);
    if (bucket != nullptr && told.ok()) bucket->NotifyAbove(told->high_watermark, wake);
  }
  co_return;
}

}  // namespace weir
