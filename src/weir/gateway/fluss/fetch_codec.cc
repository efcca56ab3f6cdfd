#include "weir/gateway/fluss/fetch_codec.h"

#include "weir/gateway/fluss/produce_codec.h"
#include "weir/gateway/fluss/wire.h"

namespace weir::fluss {
namespace {

// Field numbers of a bucket in a response.
enum : uint32_t {
  kPartitionId = 1,
  kBucketId = 2,
  kErrorCode = 3,
  kErrorMessage = 4,
  kHighWatermark = 5,
  kLogStart = 6,
  kRecords = 8
};

Error Malformed(const char* what) {
  return Fail(ErrorCode::kMalformedRequest, "{} of a fetch cannot be decoded", what);
}

size_t NotNegative(int64_t number) {
  return number < 0 ? 0 : static_cast<size_t>(number);
}

Result<BucketFetch> DecodeBucketFetch(Bytes message) {
  BucketFetch bucket;
  enum : uint32_t { kBucket = 1, kOffset = 2, kBytes = 4, kAll = 7 };
  uint32_t seen = 0;
  FieldReader fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case 1: bucket.partition_id = PartitionId(fields.Int64()); break;
      case 2:
        bucket.bucket_id = fields.Int32();
        seen |= kBucket;
        break;
      case 3:
        bucket.from = LogOffset(fields.Int64());
        seen |= kOffset;
        break;
      case 4:
        bucket.bytes_max = NotNegative(fields.Int32());
        seen |= kBytes;
        break;
      default: break;
    }
  }
  if (!fields.ok() || seen != kAll) return Malformed("bucket");
  return bucket;
}

/// `buckets_left` counts down over all tables of a request.
Result<TableFetch> DecodeTableFetch(Bytes message, size_t& buckets_left) {
  TableFetch table;
  std::optional<bool> is_projected;
  std::vector<int32_t> projected;
  bool has_table = false;
  FieldReader fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case 1:
        table.table_id = TableId(fields.Int64());
        has_table = true;
        break;
      case 2: is_projected = fields.Bool(); break;
      case 3:
        fields.Int32s(projected);
        if (projected.size() > kProjectedFieldsMax) return Malformed("projection");
        break;
      case 4: {
        const Bytes bucket_message = fields.Content();
        if (!fields.ok()) break;
        if (buckets_left-- == 0) {
          return Fail(ErrorCode::kMalformedRequest, "too many buckets in one request: max={}",
                      kRequestBucketsMax);
        }
        WEIR_ASSIGN(BucketFetch bucket, DecodeBucketFetch(bucket_message));
        table.buckets.push_back(bucket);
        break;
      }
      default: break;
    }
  }
  if (!fields.ok() || !has_table || !is_projected) return Malformed("table");
  if (*is_projected) table.projection = std::move(projected);
  return table;
}

struct BucketAnswer {
  size_t bytes = 0;
  int32_t code = 0;
  std::string message;
};

BucketAnswer MeasureBucket(const BucketFetch& bucket, const Result<FetchedBucket>& fetched) {
  BucketAnswer answer;
  answer.bytes = Int64FieldBytes(bucket.bucket_id);
  if (bucket.partition_id) answer.bytes += Int64FieldBytes(bucket.partition_id->value);
  if (fetched.ok()) {
    answer.bytes += Int64FieldBytes(fetched->high_watermark.value) +
                    Int64FieldBytes(fetched->log_start.value) +
                    BytesFieldBytes(fetched->records.bytes);
  } else {
    answer.code = static_cast<int32_t>(ToFlussCode(fetched.error().code));
    answer.message = SentMessage(fetched.error().message);
    answer.bytes += Int64FieldBytes(answer.code) + BytesFieldBytes(answer.message.size());
  }
  return answer;
}

/// Everything up to the records, which are sent behind it.
void WriteBucketHead(FieldWriter& fields, const BucketFetch& bucket,
                     const Result<FetchedBucket>& fetched, const BucketAnswer& answer) {
  fields.BytesHead(2, answer.bytes);
  if (bucket.partition_id) fields.Int64(kPartitionId, bucket.partition_id->value);
  fields.Int64(kBucketId, bucket.bucket_id);
  if (!fetched.ok()) {
    fields.Int64(kErrorCode, answer.code);
    fields.Text(kErrorMessage, answer.message);
    return;
  }
  fields.Int64(kHighWatermark, fetched->high_watermark.value);
  fields.Int64(kLogStart, fetched->log_start.value);
  fields.BytesHead(
      kRecords, fetched->records.bytes);  // also when there are none: clients ask for its presence
}

}  // namespace

Result<FetchLogRequest> DecodeFetchLogRequest(Bytes body) {
  FetchLogRequest request;
  bool has_follower = false;
  bool has_bytes_max = false;
  size_t buckets_left = kRequestBucketsMax;
  FieldReader fields(body);
  while (fields.Next()) {
    switch (fields.number()) {
      case 1:
        fields.Int32();  // clients send -1; nobody follows this server
        has_follower = true;
        break;
      case 2:
        request.bytes_max = fields.Int32();
        has_bytes_max = true;
        break;
      case 3: {
        const Bytes message = fields.Content();
        if (!fields.ok()) break;
        // A table without buckets is as large as a bucket, so it counts as one.
        if (request.tables.size() == kRequestBucketsMax) return Malformed("table");
        WEIR_ASSIGN(TableFetch table, DecodeTableFetch(message, buckets_left));
        request.tables.push_back(std::move(table));
        break;
      }
      case 4: request.wait_max_ms = fields.Int32(); break;
      case 5: request.bytes_min = fields.Int32(); break;
      default: break;
    }
  }
  if (!fields.ok() || !has_follower || !has_bytes_max) return Malformed("request");
  return request;
}

Frame EncodeFetchLogResponse(int32_t request_id, const std::vector<TableFetch>& tables,
                             FetchResponse response) {
  WEIR_CHECK(tables.size() == response.size());
  std::vector<std::vector<BucketAnswer>> answers(tables.size());
  std::vector<size_t> table_bytes(tables.size());
  size_t body_bytes = 0;
  size_t records_bytes = 0;
  size_t piece_count = 1;
  for (size_t t = 0; t < tables.size(); ++t) {
    WEIR_CHECK(tables[t].buckets.size() == response[t].size());
    table_bytes[t] = Int64FieldBytes(tables[t].table_id.value);
    answers[t].reserve(response[t].size());
    for (size_t b = 0; b < response[t].size(); ++b) {
      const Result<FetchedBucket>& fetched = response[t][b];
      answers[t].push_back(MeasureBucket(tables[t].buckets[b], fetched));
      table_bytes[t] += BytesFieldBytes(answers[t].back().bytes);
      if (fetched.ok()) {
        records_bytes += fetched->records.bytes;
        piece_count += fetched->records.pieces.size() + 1;
      }
    }
    body_bytes += BytesFieldBytes(table_bytes[t]);
  }

  // All that is not records lies in one piece of memory, of which each head is a slice.
  Buffer heads = Buffer::Allocate(kResponseHeadBytes + body_bytes - records_bytes);
  EncodeResponseHead(heads.mutable_bytes(), request_id, body_bytes);
  FieldWriter fields(heads.mutable_bytes().subspan(kResponseHeadBytes));
  Frame frame;
  frame.pieces.reserve(piece_count);
  const std::byte* head_begin = heads.data();
  const auto end_head = [&] {
    const auto position = static_cast<size_t>(head_begin - heads.data());
    frame.Add(heads.Slice(position, static_cast<size_t>(fields.at() - head_begin)));
    head_begin = fields.at();
  };
  for (size_t t = 0; t < tables.size(); ++t) {
    fields.BytesHead(1, table_bytes[t]);
    fields.Int64(1, tables[t].table_id.value);
    for (size_t b = 0; b < response[t].size(); ++b) {
      Result<FetchedBucket>& fetched = response[t][b];
      WriteBucketHead(fields, tables[t].buckets[b], fetched, answers[t][b]);
      if (!fetched.ok() || fetched->records.bytes == 0) continue;
      end_head();
      for (Buffer& piece : fetched->records.pieces) frame.Add(std::move(piece));
    }
  }
  if (head_begin != fields.at()) end_head();
  WEIR_CHECK(fields.is_full() && frame.bytes == kResponseHeadBytes + body_bytes);
  return frame;
}

}  // namespace weir::fluss
