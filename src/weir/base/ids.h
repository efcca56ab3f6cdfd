// Numbers that cannot be taken for one another.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace weir {

/// A number of its own kind: explicit to make, ordered, printable, usable as a key.
template <typename Tag, typename Number>
struct StrongId {
  using number_type = Number;

  constexpr StrongId() = default;
  constexpr explicit StrongId(Number number) : value(number) {}
  constexpr auto operator<=>(const StrongId&) const = default;

  Number value = 0;
};

using TableId = StrongId<struct TableIdTag, int64_t>;
using PartitionId = StrongId<struct PartitionIdTag, int64_t>;
using SchemaId = StrongId<struct SchemaIdTag, int16_t>;
using WriterId = StrongId<struct WriterIdTag, int64_t>;
using BatchSequence = StrongId<struct BatchSequenceTag, int32_t>;

/// Units of ownership, and of the journal that they write (docs/formats/journal.md).
using GroupId = StrongId<struct GroupIdTag, uint32_t>;
using Slot = StrongId<struct SlotTag, uint64_t>;
using Epoch = StrongId<struct EpochTag, uint64_t>;

/// Counts the records of a bucket's log from 0.
using LogOffset = StrongId<struct LogOffsetTag, int64_t>;

constexpr LogOffset operator+(LogOffset offset, int64_t records) {
  return LogOffset(offset.value + records);
}
constexpr int64_t operator-(LogOffset a, LogOffset b) {
  return a.value - b.value;
}

/// Milliseconds since 1970-01-01 UTC.
using Timestamp = StrongId<struct TimestampTag, int64_t>;

inline constexpr WriterId kNoWriterId{-1};
inline constexpr BatchSequence kNoBatchSequence{-1};
inline constexpr Timestamp kNoTimestamp{-1};

/// The unit of order and ownership. `partition_id` is absent for a table that is not partitioned.
struct TableBucket {
  TableId table_id;
  std::optional<PartitionId> partition_id;
  int32_t bucket_id = 0;

  auto operator<=>(const TableBucket&) const = default;
};

std::string ToString(const TableBucket& bucket);

/// 64 well-mixed bits; the same in every run, so that it may decide about what is stored.
uint64_t StableHash(const TableBucket& bucket);

}  // namespace weir

template <typename Tag, typename Number>
struct std::hash<weir::StrongId<Tag, Number>> {
  size_t operator()(weir::StrongId<Tag, Number> id) const { return std::hash<Number>()(id.value); }
};

template <>
struct std::hash<weir::TableBucket> {
  size_t operator()(const weir::TableBucket& bucket) const { return weir::StableHash(bucket); }
};

template <typename Tag, typename Number>
struct fmt::formatter<weir::StrongId<Tag, Number>> : fmt::formatter<Number> {
  template <typename Context>
  auto format(weir::StrongId<Tag, Number> id, Context& context) const {
    return fmt::formatter<Number>::format(id.value, context);
  }
};

template <>
struct fmt::formatter<weir::TableBucket> : fmt::formatter<std::string_view> {
  template <typename Context>
  auto format(const weir::TableBucket& bucket, Context& context) const {
    return fmt::formatter<std::string_view>::format(weir::ToString(bucket), context);
  }
};
