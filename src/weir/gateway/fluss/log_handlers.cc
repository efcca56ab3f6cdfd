// Writing and reading logs.
#include <algorithm>

#include "weir/gateway/fluss/fetch_codec.h"
#include "weir/gateway/fluss/handlers.h"
#include "weir/gateway/fluss/lookups.h"
#include "weir/gateway/fluss/produce_codec.h"
#include "weir/gateway/fluss/responses.h"
#include "weir/gateway/fluss/wire.h"

namespace weir::fluss {
namespace {

// What a fetch waits at least for something to read if it says how much it wants, but not how long
// it waits.
constexpr int32_t kFetchWaitDefaultMs = 100;

// While responses pile up because clients do not take them, a fetch gives little: so nobody
// starves, and memory lasts.
constexpr size_t kFetchBytesWhenCrowded = 64 << 10;

// How many buckets of one request are asked at the same time.
constexpr size_t kBucketsAtOnce = 256;

size_t NotNegative(int32_t number) {
  return number < 0 ? 0 : static_cast<size_t>(number);
}

Duration Milliseconds(int32_t count, Duration max) {
  return std::clamp<Duration>(std::chrono::milliseconds(count), Duration::zero(), max);
}

/// What a fetch may give now.
size_t FetchBytesMax(const Service& service, int32_t asked) {
  const bool is_crowded = service.response_bytes.load() >= service.config.response_bytes_max;
  return std::min(NotNegative(asked),
                  is_crowded ? kFetchBytesWhenCrowded : service.config.fetch_bytes_max);
}

}  // namespace

Task<Frame> ProduceLog(const RequestContext& context, Buffer body) {
  const Result<WriteRequest> decoded = DecodeProduceLogRequest(body);
  if (!decoded.ok()) co_return ErrorFrame(context, decoded.error());
  const std::optional<Acks> acks = ToAcks(decoded->acks);
  if (!acks) {
    co_return ErrorFrame(
        context, Fail(ErrorCode::kInvalidAcks, "acks must be 0, 1 or -1: acks={}", decoded->acks));
  }
  const Duration timeout = WriteTimeout(decoded->timeout_ms);
  // All are put in order here, before anything suspends.
  std::vector<Task<Result<LogOffset>>> appends;
  appends.reserve(decoded->buckets.size());
  for (const BucketWrite& bucket : decoded->buckets) {
    appends.push_back(
        context.node().Append(TableBucket{decoded->table_id, bucket.partition_id, bucket.bucket_id},
                              bucket.records, *acks, timeout));
  }
  const std::vector<Result<LogOffset>> offsets = co_await WhenAll(std::move(appends));
  Frame frame;
  frame.Add(EncodeWriteResponse(context.head.request_id, decoded->buckets, offsets));
  co_return frame;
}

Task<Frame> FetchLog(const RequestContext& context, Buffer body) {
  Result<FetchLogRequest> decoded = DecodeFetchLogRequest(body.bytes());
  if (!decoded.ok()) co_return ErrorFrame(context, decoded.error());
  body = Buffer();
  FetchRequest request;
  request.tables = decoded->tables;
  request.bytes_max = FetchBytesMax(context.service, decoded->bytes_max);
  request.canceller = &context.fetches;
  request.allowance = context.allowance;
  if (decoded->bytes_min) {
    request.bytes_min = NotNegative(*decoded->bytes_min);
    request.wait_max = Milliseconds(decoded->wait_max_ms.value_or(kFetchWaitDefaultMs),
                                    context.service.config.fetch_wait_max);
  }
  FetchResponse response = co_await context.node().Fetch(std::move(request));
  size_t records_bytes = 0;
  for (const auto& table : response) {
    for (const auto& bucket : table) records_bytes += bucket.ok() ? bucket->records.bytes : 0;
  }
  Frame frame =
      EncodeFetchLogResponse(context.head.request_id, decoded->tables, std::move(response));
  frame.held_bytes = records_bytes;
  co_return frame;
}

Task<Frame> LimitScan(const RequestContext& context, Buffer body) {
  wire::LimitScanRequest request;
  if (!request.ParsePartialFromArray(body.data(), static_cast<int>(body.size())) ||
      !request.IsInitialized()) {
    co_return ErrorFrame(context,
                         Fail(ErrorCode::kMalformedRequest, "limit scan cannot be decoded"));
  }
  // Errors fail the whole request, because clients do not look for one inside of the message.
  const TableBucket bucket{TableId(request.table_id()), PartitionOf(request), request.bucket_id()};
  const Result<TablePtr> table =
      co_await FindTable(context.node(), bucket.table_id, bucket.partition_id);
  if (!table.ok())
    co_return ErrorFrame(context, Fail(ErrorCode::kUnknownBucket, "{}", table.error().message));
  const bool is_log_table = !(*table)->is_primary_key_table();
  const int64_t limit = std::max(request.limit(), 0);
  Result<LogPieces> records = LogPieces();
  if (is_log_table) {
    records = co_await context.node().LimitScan(bucket, limit);
  } else {
    Result<Buffer> rows = co_await context.node().FirstRows(bucket, limit);
    if (rows.ok()) {
      const size_t bytes = rows->size();
      records->pieces.push_back(*std::move(rows));
      records->bytes = bytes;
    } else {
      records = std::move(rows).error();
    }
  }
  if (!records.ok()) co_return ErrorFrame(context, records.error());

  const size_t head_bytes = Int64FieldBytes(1) + BytesFieldBytes(records->bytes) - records->bytes;
  Buffer head = Buffer::Allocate(kResponseHeadBytes + head_bytes);
  EncodeResponseHead(head.mutable_bytes(), context.head.request_id, head_bytes + records->bytes);
  FieldWriter fields(head.mutable_bytes().subspan(kResponseHeadBytes));
  fields.Int64(3, is_log_table ? 1 : 0);
  fields.BytesHead(4, records->bytes);
  Frame frame;
  frame.Add(std::move(head));
  for (Buffer& piece : records->pieces) frame.Add(std::move(piece));
  co_return frame;
}

Answer<wire::ListOffsetsResponse> ListOffsets(const RequestContext& context,
                                              wire::ListOffsetsRequest request) {
  OffsetSpec spec{};
  switch (request.offset_type()) {
    case 0: spec.kind = OffsetSpec::Kind::kEarliest; break;
    case 1: spec.kind = OffsetSpec::Kind::kLatest; break;
    case 2:
      if (!request.has_start_timestamp()) {
        co_return Fail(ErrorCode::kMalformedRequest,
                       "offsets by time are asked for without a time");
      }
      spec.kind = OffsetSpec::Kind::kTimestamp;
      spec.timestamp = Timestamp(request.start_timestamp());
      break;
    default:
      co_return Fail(ErrorCode::kMalformedRequest, "offset type is not known: type={}",
                     request.offset_type());
  }
  WEIR_CO_TRY(CheckBucketCount(request.bucket_id_size()));
  wire::ListOffsetsResponse response;
  for (int begin = 0; begin < request.bucket_id_size(); begin += kBucketsAtOnce) {
    const int end = std::min<int>(begin + kBucketsAtOnce, request.bucket_id_size());
    std::vector<Task<Result<LogOffset>>> asked;
    for (int i = begin; i < end; ++i) {
      const TableBucket bucket{TableId(request.table_id()), PartitionOf(request),
                               request.bucket_id(i)};
      asked.push_back(context.node().ListOffset(bucket, spec));
    }
    const std::vector<Result<LogOffset>> offsets = co_await WhenAll(std::move(asked));
    for (int i = begin; i < end; ++i) {
      const Result<LogOffset>& offset = offsets[i - begin];
      wire::PbListOffsetsRespForBucket& bucket = *response.add_buckets_resp();
      bucket.set_bucket_id(request.bucket_id(i));
      if (offset.ok()) {
        bucket.set_offset(offset->value);
      } else {
        SetError(bucket, offset.error());
      }
    }
  }
  co_return response;
}

Answer<wire::GetTableStatsResponse> GetTableStats(const RequestContext& context,
                                                  wire::GetTableStatsRequest request) {
  WEIR_CO_TRY(CheckBucketCount(request.buckets_req_size()));
  const TableId table_id(request.table_id());
  wire::GetTableStatsResponse response;
  for (int begin = 0; begin < request.buckets_req_size(); begin += kBucketsAtOnce) {
    const int end = std::min<int>(begin + kBucketsAtOnce, request.buckets_req_size());
    std::vector<Task<Result<int64_t>>> asked;
    for (int i = begin; i < end; ++i) {
      const wire::PbTableStatsReqForBucket& bucket = request.buckets_req(i);
      asked.push_back(
          context.node().Count(TableBucket{table_id, PartitionOf(bucket), bucket.bucket_id()}));
    }
    const std::vector<Result<int64_t>> counts = co_await WhenAll(std::move(asked));
    for (int i = begin; i < end; ++i) {
      const Result<int64_t>& count = counts[i - begin];
      const wire::PbTableStatsReqForBucket& asked_bucket = request.buckets_req(i);
      wire::PbTableStatsRespForBucket& bucket = *response.add_buckets_resp();
      if (asked_bucket.has_partition_id()) bucket.set_partition_id(asked_bucket.partition_id());
      bucket.set_bucket_id(asked_bucket.bucket_id());
      if (count.ok()) {
        bucket.set_row_count(*count);
      } else {
        SetError(bucket, count.error());
      }
    }
  }
  co_return response;
}

Answer<wire::InitWriterResponse> InitWriter(const RequestContext& context,
                                            wire::InitWriterRequest) {
  WEIR_CO_ASSIGN(const WriterId id, co_await context.node().InitWriter());
  wire::InitWriterResponse response;
  response.set_writer_id(id.value);
  co_return response;
}

}  // namespace weir::fluss
