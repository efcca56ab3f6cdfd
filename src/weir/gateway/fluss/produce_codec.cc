#include "weir/gateway/fluss/produce_codec.h"

#include "weir/gateway/fluss/frame.h"
#include "weir/gateway/fluss/wire.h"

namespace weir::fluss {
namespace {

// Field numbers of a bucket in a response.
enum : uint32_t { kPartitionId = 1, kBucketId = 2, kErrorCode = 3, kErrorMessage = 4, kOffset = 5 };

Result<BucketWrite> DecodeBucketWrite(const Buffer& body, Bytes message) {
  BucketWrite bucket;
  bool has_bucket = false;
  bool has_records = false;
  FieldReader fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case 1: bucket.partition_id = PartitionId(fields.Int64()); break;
      case 2:
        bucket.bucket_id = fields.Int32();
        has_bucket = true;
        break;
      case 3: {
        const Bytes records = fields.Content();
        if (!fields.ok()) break;
        bucket.records =
            body.Slice(static_cast<size_t>(records.data() - body.data()), records.size());
        has_records = true;
        break;
      }
      default: break;
    }
  }
  if (!fields.ok() || !has_bucket || !has_records) {
    return Fail(ErrorCode::kMalformedRequest, "bucket of a write cannot be decoded");
  }
  return bucket;
}

/// `other` takes the fields that the two kinds of writes do not share, and says whether they are
/// sound.
template <typename Other>
Status DecodeWriteRequest(const Buffer& body, uint32_t buckets_number, WriteRequest& request,
                          Other other) {
  bool has_acks = false;
  bool has_table = false;
  bool has_timeout = false;
  FieldReader fields(body.bytes());
  while (fields.Next()) {
    switch (fields.number()) {
      case 1:
        request.acks = fields.Int32();
        has_acks = true;
        continue;
      case 2:
        request.table_id = TableId(fields.Int64());
        has_table = true;
        continue;
      case 3:
        request.timeout_ms = fields.Int32();
        has_timeout = true;
        continue;
      default: break;
    }
    if (fields.number() != buckets_number) {
      WEIR_TRY(other(fields));
      continue;
    }
    const Bytes message = fields.Content();
    if (!fields.ok()) break;
    if (request.buckets.size() == kRequestBucketsMax) {
      return Fail(ErrorCode::kMalformedRequest, "too many buckets in one request: max={}",
                  kRequestBucketsMax);
    }
    WEIR_ASSIGN(BucketWrite bucket, DecodeBucketWrite(body, message));
    request.buckets.push_back(std::move(bucket));
  }
  if (!fields.ok() || !has_acks || !has_table || !has_timeout) {
    return Fail(ErrorCode::kMalformedRequest, "write request cannot be decoded");
  }
  return Ok();
}

struct BucketAnswer {
  size_t bytes = 0;
  int32_t code = 0;
  std::string message;
};

}  // namespace

Result<WriteRequest> DecodeProduceLogRequest(const Buffer& body) {
  WriteRequest request;
  WEIR_TRY(DecodeWriteRequest(body, 4, request, [](FieldReader&) { return Ok(); }));
  return request;
}

Result<PutKvRequest> DecodePutKvRequest(const Buffer& body) {
  PutKvRequest request;
  const auto other = [&](FieldReader& fields) -> Status {
    switch (fields.number()) {
      case 4: fields.Int32s(request.target_columns); break;
      case 6: request.agg_mode = fields.Int32(); break;
      default: break;
    }
    if (request.target_columns.size() > kTargetColumnsMax) {
      return Fail(ErrorCode::kMalformedRequest, "too many target columns in one request: max={}",
                  kTargetColumnsMax);
    }
    return Ok();
  };
  WEIR_TRY(DecodeWriteRequest(body, 5, request, other));
  return request;
}

Buffer EncodeWriteResponse(int32_t request_id, const std::vector<BucketWrite>& buckets,
                           const std::vector<Result<LogOffset>>& results) {
  WEIR_CHECK(buckets.size() == results.size());
  std::vector<BucketAnswer> answers(buckets.size());
  size_t body_bytes = 0;
  for (size_t i = 0; i < buckets.size(); ++i) {
    const BucketWrite& bucket = buckets[i];
    BucketAnswer& answer = answers[i];
    answer.bytes = Int64FieldBytes(bucket.bucket_id);
    if (bucket.partition_id) answer.bytes += Int64FieldBytes(bucket.partition_id->value);
    if (results[i].ok()) {
      answer.bytes += Int64FieldBytes(results[i]->value);
    } else {
      answer.code = static_cast<int32_t>(ToFlussCode(results[i].error().code));
      answer.message = SentMessage(results[i].error().message);
      answer.bytes += Int64FieldBytes(answer.code) + BytesFieldBytes(answer.message.size());
    }
    body_bytes += BytesFieldBytes(answer.bytes);
  }

  Buffer frame = Buffer::Allocate(kResponseHeadBytes + body_bytes);
  EncodeResponseHead(frame.mutable_bytes(), request_id, body_bytes);
  FieldWriter fields(frame.mutable_bytes().subspan(kResponseHeadBytes));
  for (size_t i = 0; i < buckets.size(); ++i) {
    fields.BytesHead(1, answers[i].bytes);
    if (buckets[i].partition_id) fields.Int64(kPartitionId, buckets[i].partition_id->value);
    fields.Int64(kBucketId, buckets[i].bucket_id);
    if (results[i].ok()) {
      fields.Int64(kOffset, results[i]->value);
    } else {
      fields.Int64(kErrorCode, answers[i].code);
      fields.Text(kErrorMessage, answers[i].message);
    }
  }
  WEIR_CHECK(fields.is_full());
  return frame;
}

}  // namespace weir::fluss
