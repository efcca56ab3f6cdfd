#include "weir/bucket/row_reads.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "weir/record/kv_batch.h"

namespace weir {
namespace {

// What one step of a scan takes: the loop is not kept longer.
constexpr size_t kStepRows = 1024;
constexpr size_t kStepBytes = 1 << 20;

// Rows of memory that are fetched together: so few that they are still in the cache when they are
// read.
constexpr size_t kRowsAhead = 128;

Error TooLarge() {
  return Fail(ErrorCode::kRecordTooLarge,
              "the rows that are asked for take more than {} bytes; ask for fewer at once",
              kLookupBytesMax);
}

/// Values of `rows`; a tombstone, or no row, is absent.
Result<RowValues> ToValues(const std::vector<HotRowRef>& rows) {
  size_t bytes = 0;
  for (const HotRowRef& row : rows) {
    if (row && !row.is_tombstone()) bytes += row.value().size();
  }
  if (bytes > kLookupBytesMax) return TooLarge();
  RowValues values;
  values.bytes = Buffer::Allocate(bytes);
  values.sizes.reserve(rows.size());
  std::byte* at = values.bytes.mutable_data();
  for (const HotRowRef& row : rows) {
    if (!row || row.is_tombstone()) {
      values.sizes.push_back(RowValues::kAbsent);
      continue;
    }
    const Bytes value = row.value();
    std::memcpy(at, value.data(), value.size());
    at += value.size();
    values.sizes.push_back(static_cast<int32_t>(value.size()));
  }
  return values;
}

/// Rows under `prefix`, at most `rows_max` of them.
Task<Result<std::vector<HotRowRef>>> ReadPrefix(KvState* state, std::string prefix,
                                                size_t rows_max) {
  std::vector<HotRowRef> rows;
  std::optional<std::string> after;
  size_t bytes = 0;
  while (rows.size() < rows_max) {
    const size_t wanted = std::min(kStepRows, rows_max - rows.size());
    WEIR_CO_ASSIGN(std::vector<HotRowRef> step,
                   co_await state->ScanPrefix(prefix, after, wanted, kStepBytes));
    const size_t bytes_before = bytes;
    const bool may_have_more = step.size() == wanted;
    for (HotRowRef& row : step) {
      bytes += row.value().size();
      rows.push_back(std::move(row));
    }
    if (bytes > kLookupBytesMax) co_return TooLarge();
    // A step ends at its rows, or at about its bytes.
    if (!may_have_more && bytes - bytes_before < kStepBytes / 2) break;
    after = std::string(AsText(rows.back().key()));
  }
  co_return rows;
}

}  // namespace

Task<Result<RowValues>> LookupRows(KvState* state, std::vector<Bytes> keys) {
  std::vector<HotRowRef> rows(keys.size());
  std::vector<Bytes> cold;
  std::vector<size_t> cold_places;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (i % kRowsAhead == 0) {
      state->Prefetch(
          std::span<const Bytes>(keys).subspan(i).first(std::min(kRowsAhead, keys.size() - i)),
          false);
    }
    if (state->FindCommitted(keys[i], &rows[i]) != HotLookup::kCold) continue;
    cold.push_back(keys[i]);
    cold_places.push_back(i);
  }
  if (!cold.empty()) {
    WEIR_CO_ASSIGN(std::vector<HotRowRef> loaded, co_await state->Load(std::move(cold)));
    for (size_t i = 0; i < loaded.size(); ++i) rows[cold_places[i]] = std::move(loaded[i]);
  }
  co_return ToValues(rows);
}

Task<Result<std::vector<RowValues>>> LookupRowsByPrefix(KvState* state,
                                                        std::vector<Bytes> prefixes) {
  std::vector<RowValues> values;
  values.reserve(prefixes.size());
  size_t bytes = 0;
  for (const Bytes prefix : prefixes) {
    WEIR_CO_ASSIGN(const std::vector<HotRowRef> rows,
                   co_await ReadPrefix(state, std::string(AsText(prefix)),
                                       std::numeric_limits<size_t>::max()));
    WEIR_CO_ASSIGN(RowValues found, ToValues(rows));
    bytes += found.bytes.size();
    if (bytes > kLookupBytesMax) co_return TooLarge();
    values.push_back(std::move(found));
  }
  co_return values;
}

Task<Result<Buffer>> ReadFirstRows(KvState* state, int64_t limit) {
  ValueBatchWriter batch;
  if (limit > 0) {
    WEIR_CO_ASSIGN(const std::vector<HotRowRef> rows,
                   co_await ReadPrefix(state, std::string(), static_cast<size_t>(limit)));
    for (const HotRowRef& row : rows) batch.Add(row.value());
  }
  co_return batch.Finish();
}

}  // namespace weir
