#include "weir/base/ids.h"

namespace weir {
namespace {

// The finalizer of SplitMix64: every input bit reaches every output bit.
uint64_t Mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9;
  x ^= x >> 27;
  x *= 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

std::string ToString(const TableBucket& bucket) {
  if (!bucket.partition_id) return fmt::format("{}/{}", bucket.table_id, bucket.bucket_id);
  return fmt::format("{}/p{}/{}", bucket.table_id, *bucket.partition_id, bucket.bucket_id);
}

uint64_t StableHash(const TableBucket& bucket) {
  const uint64_t partition =
      bucket.partition_id ? static_cast<uint64_t>(bucket.partition_id->value) + 1 : 0;
  uint64_t hash = Mix(static_cast<uint64_t>(bucket.table_id.value) + 0x9e3779b97f4a7c15);
  hash = Mix(hash ^ partition);
  return Mix(hash ^ static_cast<uint32_t>(bucket.bucket_id));
}

}  // namespace weir
