// What a bucket knows of its table. Shared by the buckets of a table, and replaced when the table
// is altered.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "weir/kv/row_merger.h"
#include "weir/record/changelog.h"
#include "weir/record/key_codec.h"
#include "weir/record/projection.h"
#include "weir/record/row.h"
#include "weir/record/table_choices.h"

namespace weir {

/// Of a primary-key table: how its rows are encoded, and what becomes of them. Positions are those
/// of the latest schema, versions are counted from 1.
struct RowTable {
  RowTable(KvFormat kv_format, KeyCodec key_codec) : kv_format(kv_format), key(key_codec) {}

  /// Null if there is no such version.
  const RowCodec* CodecOf(SchemaId schema) const {
    if (schema.value < 1 || static_cast<size_t>(schema.value) > codecs.size()) return nullptr;
    return &codecs[static_cast<size_t>(schema.value) - 1];
  }
  SchemaId latest() const { return SchemaId(static_cast<int16_t>(codecs.size())); }
  const RowCodec& latest_codec() const { return codecs.back(); }

  KvFormat kv_format;
  ChangelogFormat changelog;
  ChangelogImage image = ChangelogImage::kFull;
  std::shared_ptr<const MergeRules> merge;
  /// Of each version.
  std::vector<RowCodec> codecs;
  /// Of the stored keys, over these columns.
  KeyCodec key;
  std::vector<int32_t> key_columns;
  /// Numbers for the auto-increment column are taken so many at once.
  int64_t auto_increment_block = 0;
  /// Rows that were written so long ago are deleted; zero: never. If it is not, the state keeps
  /// times.
  int64_t row_ttl_ms = 0;
};

struct BucketTable {
  /// Null for a log table, to whose log clients append.
  std::shared_ptr<const RowTable> rows;
  bool is_arrow_log = true;
  /// Columns of the latest schema, and how many of them each version has; version 1 first.
  std::vector<ColumnLayout> columns;
  std::vector<size_t> columns_of_version;
  /// Of an ARROW log: the projection on all columns of each version, by which a batch is known to
  /// be one.
  std::vector<Projection> whole_batches;
  /// Whether an append is committed only when it is on the disk.
  bool needs_sync = true;
  /// Retention; zero: no limit.
  int64_t ttl_ms = 0;
  uint64_t bytes_max = 0;
};

}  // namespace weir
