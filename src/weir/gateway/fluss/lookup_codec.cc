#include "weir/gateway/fluss/lookup_codec.h"

#include <string>

#include "weir/gateway/fluss/frame.h"
#include "weir/gateway/fluss/produce_codec.h"
#include "weir/gateway/fluss/wire.h"

namespace weir::fluss {
namespace {

// Field numbers of a bucket in a response.
enum : uint32_t { kPartitionId = 1, kBucketId = 2, kErrorCode = 3, kErrorMessage = 4, kValues = 5 };

Result<BucketLookup> DecodeBucketLookup(Bytes message) {
  BucketLookup bucket;
  bool has_bucket = false;
  FieldReader fields(message);
  while (fields.Next()) {
    switch (fields.number()) {
      case 1: bucket.partition_id = PartitionId(fields.Int64()); break;
      case 2:
        bucket.bucket_id = fields.Int32();
        has_bucket = true;
        break;
      case 3: bucket.keys.push_back(fields.Content()); break;
      case 4: bucket.is_historical = true; break;
      default: break;
    }
  }
  if (!fields.ok() || !has_bucket)
    return Fail(ErrorCode::kMalformedRequest, "bucket of a lookup cannot be decoded");
  return bucket;
}

/// What a bucket's answer takes, and its error if it is one.
struct BucketAnswer {
  size_t bytes = 0;
  int32_t code = 0;
  std::string message;
};

size_t ValueBytes(int32_t size) {
  return size == RowValues::kAbsent ? 0 : BytesFieldBytes(static_cast<size_t>(size));
}

size_t ListBytes(const RowValues& values) {
  size_t bytes = 0;
  for (const int32_t size : values.sizes) bytes += ValueBytes(size);
  return bytes;
}

/// What the results of a bucket take, each with its head.
size_t AnswerBytes(const RowValues& values) {
  size_t bytes = 0;
  for (const int32_t size : values.sizes) bytes += BytesFieldBytes(ValueBytes(size));
  return bytes;
}
size_t AnswerBytes(const std::vector<RowValues>& lists) {
  size_t bytes = 0;
  for (const RowValues& list : lists) bytes += BytesFieldBytes(ListBytes(list));
  return bytes;
}

void WriteAnswer(const RowValues& values, FieldWriter& fields) {
  std::string_view rest = AsText(values.bytes.bytes());
  for (const int32_t size : values.sizes) {
    fields.BytesHead(kValues, ValueBytes(size));
    if (size == RowValues::kAbsent) continue;
    fields.Text(1, rest.substr(0, static_cast<size_t>(size)));
    rest.remove_prefix(static_cast<size_t>(size));
  }
}
void WriteAnswer(const std::vector<RowValues>& lists, FieldWriter& fields) {
  for (const RowValues& list : lists) {
    fields.BytesHead(kValues, ListBytes(list));
    std::string_view rest = AsText(list.bytes.bytes());
    for (const int32_t size : list.sizes) {
      fields.Text(1, rest.substr(0, static_cast<size_t>(size)));
      rest.remove_prefix(static_cast<size_t>(size));
    }
  }
}

template <typename Values>
Buffer EncodeResponse(int32_t request_id, const std::vector<BucketLookup>& buckets,
                      const std::vector<Result<Values>>& results) {
  WEIR_CHECK(buckets.size() == results.size());
  std::vector<BucketAnswer> answers(buckets.size());
  size_t body_bytes = 0;
  for (size_t i = 0; i < buckets.size(); ++i) {
    BucketAnswer& answer = answers[i];
    answer.bytes = Int64FieldBytes(buckets[i].bucket_id);
    if (buckets[i].partition_id) answer.bytes += Int64FieldBytes(buckets[i].partition_id->value);
    if (results[i].ok()) {
      answer.bytes += AnswerBytes(*results[i]);
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
      WriteAnswer(*results[i], fields);
    } else {
      fields.Int64(kErrorCode, answers[i].code);
      fields.Text(kErrorMessage, answers[i].message);
    }
  }
  WEIR_CHECK(fields.is_full());
  return frame;
}

}  // namespace

Result<LookupRequest> DecodeLookupRequest(Bytes body) {
  LookupRequest request;
  bool has_table = false;
  FieldReader fields(body);
  while (fields.Next()) {
    switch (fields.number()) {
      case 1:
        request.table_id = TableId(fields.Int64());
        has_table = true;
        break;
      case 2: {
        const Bytes message = fields.Content();
        if (!fields.ok()) break;
        if (request.buckets.size() == kRequestBucketsMax) {
          return Fail(ErrorCode::kMalformedRequest, "too many buckets in one request: max={}",
                      kRequestBucketsMax);
        }
        WEIR_ASSIGN(BucketLookup bucket, DecodeBucketLookup(message));
        request.buckets.push_back(std::move(bucket));
        break;
      }
      case 3: request.is_insert = fields.Bool(); break;
      case 4: request.acks = fields.Int32(); break;
      case 5: request.timeout_ms = fields.Int32(); break;
      default: break;
    }
  }
  if (!fields.ok() || !has_table)
    return Fail(ErrorCode::kMalformedRequest, "lookup request cannot be decoded");
  return request;
}

Buffer EncodeLookupResponse(int32_t request_id, const std::vector<BucketLookup>& buckets,
                            const std::vector<Result<RowValues>>& results) {
  return EncodeResponse(request_id, buckets, results);
}

Buffer EncodePrefixLookupResponse(int32_t request_id, const std::vector<BucketLookup>& buckets,
                                  const std::vector<Result<std::vector<RowValues>>>& results) {
  return EncodeResponse(request_id, buckets, results);
}

}  // namespace weir::fluss
