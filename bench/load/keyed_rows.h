// The rows of the benches of primary-key tables: 10 columns of 100 bytes of numbers and hexadecimal
// texts, the last of which is longer in larger rows. Key, bucket and all values of a row follow
// from its number and its version, so that what a lookup gives can be checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weir/base/bytes.h"
#include "weir/base/result.h"
#include "weir/load/ready_batch.h"
#include "weir/record/key_codec.h"
#include "weir/record/row.h"

namespace weir::load {

inline constexpr int kKeyedRowBytesMin = 100;
inline constexpr int kRowsPerPrefix = 10;

/// The key is the number of the row; or the group of ten to which it belongs, and then its number.
enum class KeyShape { kNumber, kGroupAndNumber };

class KeyedRows {
 public:
  /// `row_bytes` are those of a row as the user counts them: the widths of its values.
  KeyedRows(KeyShape shape, int row_bytes);

  /// The descriptor of a table of such rows (Fluss protocol, TableDescriptor JSON). `durability`
  /// may be empty.
  std::string TableJson(int buckets, const std::string& compression,
                        const std::string& durability) const;

  /// Append to `out`.
  void AddKey(int64_t number, std::string& out);
  /// The first column of a key of two.
  void AddPrefix(int64_t group, std::string& out);
  void AddRow(int64_t number, int64_t version, std::string& out);

  int32_t BucketOf(int64_t number, int32_t buckets);
  int32_t BucketOfGroup(int64_t group, int32_t buckets);

  /// The number of the row in a stored value. Errors: kInternal: no version of any row is so.
  Result<int64_t> NumberOf(Bytes value);

 private:
  void SetKey(int64_t number);

  const KeyShape shape_;
  const size_t last_text_bytes_;
  const RowCodec rows_;
  const KeyCodec keys_;
  const KeyCodec prefixes_;
  std::vector<FieldValue> key_;
  std::string texts_;
  std::string scratch_;
};

/// One row to be written.
struct RowVersion {
  int64_t number = 0;
  int64_t version = 0;
};

/// Kv batches of `versions`, in their order, for each of `writer_count` writers: writer i writes to
/// the bucket i % buckets. A batch has `batch_rows`; 0: as many as fit into 2 MiB.
std::vector<std::vector<ReadyBatch>> MakeKvBatches(KeyedRows& rows,
                                                   const std::vector<RowVersion>& versions,
                                                   int buckets, size_t writer_count,
                                                   int batch_rows);

}  // namespace weir::load
