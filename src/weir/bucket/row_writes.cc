#include "weir/bucket/row_writes.h"

#include <algorithm>
#include <string>

namespace weir {
namespace {

// What one turn of the loop merges: well below a millisecond of work, so that lookups beside large
// writes stay fast. So few rows that what was fetched from memory for them together is still in the
// cache when they are merged.
constexpr size_t kRowsPerTurn = 128;
constexpr size_t kBytesPerTurn = size_t{256} << 10;
// Larger changelogs are encoded and compressed elsewhere, at some hundred megabytes a second.
constexpr size_t kBytesOnLoopMax = size_t{256} << 10;

/// The first of `records`, which one turn merges.
std::span<const KvRecord> OneTurn(std::span<const KvRecord> records) {
  const size_t count_max = std::min(kRowsPerTurn, records.size());
  size_t count = 0;
  for (size_t bytes = 0; count < count_max && bytes < kBytesPerTurn; ++count) {
    bytes += records[count].key.size() + records[count].row.value_or(Bytes()).size();
  }
  return records.first(count);
}

/// Rows kept for the merge of one record.
void Resize(std::vector<FieldValue>& fields, size_t columns) {
  if (fields.size() != columns) fields.assign(columns, FieldValue{});
}

/// Whether puts need not know what there was, so that their changes are told as updates.
bool ReplacesBlindly(const RowTable& table, const RowMerger& merger) {
  return table.image == ChangelogImage::kWal && !merger.needs_old_row() &&
         !table.merge->auto_increment;
}

}  // namespace

/// Memory that is kept from one write to the next, and the merger of the last one, since most
/// writes are alike.
struct RowWrites::Scratch {
  std::vector<FieldValue> old;
  std::vector<FieldValue> input;
  std::vector<FieldValue> merged;
  std::vector<FieldValue> key;
  std::vector<Bytes> keys;
  std::string bytes;
  /// Held, so that no other table can come to lie at its address.
  std::shared_ptr<const RowTable> changelog_table;
  std::unique_ptr<ChangelogWriter> changelog;
  std::shared_ptr<const MergeRules> rules;
  PutMode mode;
  std::unique_ptr<RowMerger> merger;
};

RowWrites::RowWrites(TableId table, KvState& state, NumberSource& numbers, EventLoop& loop,
                     BlockingPool& pool)
    : table_(table),
      state_(state),
      numbers_(numbers),
      loop_(loop),
      pool_(pool),
      scratch_(std::make_unique<Scratch>()) {}

RowWrites::~RowWrites() = default;

Result<RowMerger*> RowWrites::MergerFor(const RowTable& table, const PutMode& mode) {
  Scratch& scratch = *scratch_;
  const bool is_same = scratch.merger != nullptr && scratch.rules == table.merge &&
                       scratch.mode.target_columns == mode.target_columns &&
                       scratch.mode.is_overwrite == mode.is_overwrite;
  if (!is_same) {
    WEIR_ASSIGN(scratch.merger, RowMerger::Make(table.merge, mode));
    scratch.rules = table.merge;
    scratch.mode = mode;
  }
  return scratch.merger.get();
}

void RowWrites::BeginChangelog(std::shared_ptr<const RowTable> table) {
  Scratch& scratch = *scratch_;
  const auto types = table->latest_codec().types();
  Resize(scratch.old, types.size());
  Resize(scratch.input, types.size());
  Resize(scratch.merged, types.size());
  Resize(scratch.key, table->key_columns.size());
  if (scratch.changelog_table == table) return;
  scratch.changelog = std::make_unique<ChangelogWriter>(
      table->changelog, std::vector<DataType>(types.begin(), types.end()));
  scratch.changelog_table = std::move(table);
}

Task<Result<RowChanges>> RowWrites::Merge(std::shared_ptr<const RowTable> table,
                                          const KvBatchView* batch, const PutMode* mode,
                                          Timestamp time) {
  lost_.reset();
  time_ = time;
  WEIR_CO_ASSIGN(RowMerger* const merger, MergerFor(*table, *mode));
  const SchemaId schema = batch->header.schema_id;
  if (table->CodecOf(schema) == nullptr) {
    co_return Fail(ErrorCode::kSchemaNotFound,
                   "the table has no such schema: schema_id={} latest={}", schema, table->latest());
  }
  // From where the rows are looked for until they are staged.
  const KvState::Hold hold(state_);
  const Status prepared = co_await Prepare(*table, *batch, *merger);
  if (!prepared.ok()) co_return prepared.error();
  BeginChangelog(table);
  int64_t row_count_change = 0;
  Status merged = co_await MergeRecords(*table, *batch, *merger, &row_count_change);
  co_return co_await Finish(table->latest(), batch->header, std::move(merged), row_count_change);
}

Task<Result<RowChanges>> RowWrites::DeleteExpired(std::shared_ptr<const RowTable> table,
                                                  const std::vector<HotRowRef>* rows,
                                                  Timestamp expired_at) {
  lost_.reset();
  const KvState::Hold hold(state_);
  std::vector<Bytes> cold;
  for (const HotRowRef& row : *rows) {
    HotRowRef newest;
    if (state_.FindNewest(row.key(), &newest) == HotLookup::kCold) cold.push_back(row.key());
  }
  const Status loaded = co_await LoadRows(std::move(cold));
  if (!loaded.ok()) co_return loaded.error();
  BeginChangelog(table);
  int64_t row_count_change = 0;
  Status deleted = Ok();
  for (const HotRowRef& row : *rows) {
    deleted = DeleteIfExpired(*table, row.key(), expired_at, &row_count_change);
    if (!deleted.ok()) break;
  }
  KvBatchHeader of_no_writer;
  co_return co_await Finish(table->latest(), of_no_writer, std::move(deleted), row_count_change);
}

Task<Result<RowChanges>> RowWrites::Finish(SchemaId schema, KvBatchHeader header, Status collected,
                                           int64_t row_count_change) {
  ChangelogWriter& changelog = *scratch_->changelog;
  if (collected.ok()) {
    auto finish = [&] { return changelog.Finish(schema, header.writer_id, header.batch_sequence); };
    std::optional<Result<Buffer>> made;
    if (changelog.bytes() <= kBytesOnLoopMax) {
      made = finish();
    } else {
      made = co_await pool_.Run(finish);
    }
    if (!made->ok()) {
      collected = made->error();
    } else if (lost_) {
      collected = *lost_;
    } else {
      co_return RowChanges{**std::move(made), row_count_change};
    }
  }
  changelog.Clear();
  state_.Unstage();
  co_return std::move(collected).error();
}

Task<Status> RowWrites::Prepare(const RowTable& table, const KvBatchView& batch,
                                const RowMerger& merger) {
  if (table.merge->auto_increment) {
    const auto wanted = static_cast<int64_t>(batch.records.size());
    if (reserved_.end - reserved_.first < wanted) {
      const int64_t count = std::max(wanted, table.auto_increment_block);
      WEIR_CO_ASSIGN(reserved_, co_await numbers_.Reserve(table_, count));
    }
  }
  std::vector<Bytes> cold;
  const bool is_blind = ReplacesBlindly(table, merger);
  const std::span<const KvRecord> records(batch.records);
  for (size_t done = 0; state_.may_be_cold() && done < records.size();) {
    if (done > 0) co_await loop_.NextTurn();
    const auto some = OneTurn(records.subspan(done));
    done += some.size();
    PrefetchRows(some);
    for (const KvRecord& record : some) {
      if (is_blind && record.row) continue;
      HotRowRef row;
      if (state_.FindNewest(record.key, &row) == HotLookup::kCold) cold.push_back(record.key);
    }
  }
  co_return co_await LoadRows(std::move(cold));
}

Task<Status> RowWrites::LoadRows(std::vector<Bytes> cold_keys) {
  if (!cold_keys.empty()) {
    const auto loaded = co_await state_.Load(std::move(cold_keys));
    if (!loaded.ok()) co_return loaded.error();
  }
  // What was found may be gone with what was lost.
  if (lost_) co_return *lost_;
  co_return Ok();
}

void RowWrites::PrefetchRows(std::span<const KvRecord> records) {
  std::vector<Bytes>& keys = scratch_->keys;
  keys.clear();
  for (const KvRecord& record : records) keys.push_back(record.key);
  state_.Prefetch(keys, true);
}

Task<Status> RowWrites::MergeRecords(const RowTable& table, const KvBatchView& batch,
                                     RowMerger& merger, int64_t* row_count_change) {
  const std::span<const KvRecord> records(batch.records);
  for (size_t done = 0; done < records.size();) {
    if (done > 0) co_await loop_.NextTurn();
    if (lost_) co_return *lost_;
    const auto some = OneTurn(records.subspan(done));
    done += some.size();
    PrefetchRows(some);
    for (const KvRecord& record : some) {
      if (record.row) {
        WEIR_CO_TRY(PutRow(table, batch.header.schema_id, record, merger, row_count_change));
      } else {
        WEIR_CO_TRY(DeleteRow(table, record, merger, row_count_change));
      }
    }
  }
  co_return Ok();
}

// Fields that the schema of `value` does not have yet are null.
Status RowWrites::DecodeStored(const RowTable& table, Bytes value,
                               std::vector<FieldValue>& fields) const {
  const RowCodec* const codec = table.CodecOf(SchemaIdOf(value));
  WEIR_CHECK(codec != nullptr);  // it was one when the row was written, and schemas stay
  const size_t columns = codec->types().size();
  WEIR_TRY(codec->Decode(RowOf(value), std::span(fields).first(columns)));
  std::fill(fields.begin() + static_cast<ptrdiff_t>(columns), fields.end(), FieldValue{});
  return Ok();
}

Status RowWrites::PutRow(const RowTable& table, SchemaId schema, const KvRecord& record,
                         RowMerger& merger, int64_t* row_count_change) {
  Scratch& scratch = *scratch_;
  const RowCodec& codec = *table.CodecOf(schema);
  const size_t columns = codec.types().size();
  WEIR_TRY(codec.Decode(*record.row, std::span(scratch.input).first(columns)));
  std::fill(scratch.input.begin() + static_cast<ptrdiff_t>(columns), scratch.input.end(),
            FieldValue{});
  // A row under another key than its own would make a state that is not the fold of its changelog.
  for (size_t i = 0; i < table.key_columns.size(); ++i) {
    scratch.key[i] = scratch.input[static_cast<size_t>(table.key_columns[i])];
  }
  scratch.bytes.clear();
  WEIR_TRY(table.key.Encode(scratch.key, scratch.bytes));
  if (scratch.bytes != AsText(record.key)) {
    return Fail(ErrorCode::kCorruptBatch, "a row does not have the key under which it is put");
  }
  ChangelogWriter& changelog = *scratch.changelog;
  if (ReplacesBlindly(table, merger)) {
    changelog.Add(ChangeType::kUpdateAfter, scratch.input);
    state_.StagePut(record.key, schema, *record.row, time_);
    return Ok();
  }

  HotRowRef old;
  const HotLookup found = state_.FindNewest(record.key, &old);
  WEIR_CHECK(found != HotLookup::kCold);
  const bool is_new = found == HotLookup::kAbsent;
  bool is_numbered = false;
  if (is_new && table.merge->auto_increment) {
    WEIR_CHECK(reserved_.first < reserved_.end);
    FieldValue& number = scratch.input[static_cast<size_t>(*table.merge->auto_increment)];
    number = FieldValue{.is_null = false, .nanos = 0, .number = reserved_.first++, .bytes = {}};
    is_numbered = true;
  }
  if (!is_new) WEIR_TRY(DecodeStored(table, old.value(), scratch.old));
  const std::span<const FieldValue> before =
      is_new ? std::span<const FieldValue>() : std::span<const FieldValue>(scratch.old);
  WEIR_ASSIGN(const MergeKind kind, merger.Merge(before, scratch.input, scratch.merged));
  if (kind == MergeKind::kNothing) return Ok();
  const bool is_input = kind == MergeKind::kInput;
  const std::vector<FieldValue>& after = is_input ? scratch.input : scratch.merged;
  if (is_new) {
    changelog.Add(ChangeType::kInsert, after);
    ++*row_count_change;
  } else {
    if (table.image == ChangelogImage::kFull) changelog.Add(ChangeType::kUpdateBefore, before);
    changelog.Add(ChangeType::kUpdateAfter, after);
  }
  if (is_input && !is_numbered) {
    state_.StagePut(record.key, schema, *record.row, time_);
    return Ok();
  }
  scratch.bytes.clear();
  table.latest_codec().Encode(after, scratch.bytes);
  state_.StagePut(record.key, table.latest(), AsBytes(scratch.bytes), time_);
  return Ok();
}

Status RowWrites::DeleteRow(const RowTable& table, const KvRecord& record, RowMerger& merger,
                            int64_t* row_count_change) {
  Scratch& scratch = *scratch_;
  WEIR_TRY(merger.CheckDeletes());
  HotRowRef old;
  const HotLookup found = state_.FindNewest(record.key, &old);
  WEIR_CHECK(found != HotLookup::kCold);
  if (found == HotLookup::kAbsent) return Ok();
  WEIR_TRY(DecodeStored(table, old.value(), scratch.old));
  WEIR_ASSIGN(const MergeKind kind, merger.Delete(scratch.old, scratch.merged));
  ChangelogWriter& changelog = *scratch.changelog;
  if (kind == MergeKind::kDelete) {
    StageDelete(record.key, row_count_change);
  } else if (kind != MergeKind::kNothing) {
    if (table.image == ChangelogImage::kFull) changelog.Add(ChangeType::kUpdateBefore, scratch.old);
    changelog.Add(ChangeType::kUpdateAfter, scratch.merged);
    scratch.bytes.clear();
    table.latest_codec().Encode(scratch.merged, scratch.bytes);
    state_.StagePut(record.key, table.latest(), AsBytes(scratch.bytes), time_);
  }
  return Ok();
}

Status RowWrites::DeleteIfExpired(const RowTable& table, Bytes key, Timestamp expired_at,
                                  int64_t* row_count_change) {
  HotRowRef row;
  const HotLookup found = state_.FindNewest(key, &row);
  WEIR_CHECK(found != HotLookup::kCold);
  if (found == HotLookup::kAbsent || row.written_at() > expired_at) return Ok();
  WEIR_TRY(DecodeStored(table, row.value(), scratch_->old));
  StageDelete(key, row_count_change);
  return Ok();
}

/// Of the row that scratch_->old is.
void RowWrites::StageDelete(Bytes key, int64_t* row_count_change) {
  scratch_->changelog->Add(ChangeType::kDelete, scratch_->old);
  state_.StageDelete(key);
  --*row_count_change;
}

Result<int64_t> ReplayChanges(const RowTable& table, const LogBatchView& batch, KvState& state) {
  int64_t row_count_change = 0;
  const RowCodec* const codec = table.CodecOf(batch.header.schema_id);
  if (codec == nullptr) {
    return Fail(ErrorCode::kCorruptData, "a changelog batch has an unknown schema: schema_id={}",
                batch.header.schema_id);
  }
  const auto types = codec->types();
  auto opened = ChangelogReader::Open(batch, table.changelog,
                                      std::vector<DataType>(types.begin(), types.end()));
  if (!opened.ok()) return Fail(ErrorCode::kCorruptData, "{}", opened.error().message);
  ChangelogReader reader = *std::move(opened);
  std::vector<FieldValue> fields(types.size());
  std::vector<FieldValue> key(table.key_columns.size());
  std::string key_bytes;
  std::string row;
  while (true) {
    const Result<std::optional<ChangeType>> next = reader.Next(fields);
    if (!next.ok()) return Fail(ErrorCode::kCorruptData, "{}", next.error().message);
    if (!*next) return row_count_change;
    if (**next == ChangeType::kUpdateBefore) continue;
    for (size_t i = 0; i < key.size(); ++i) {
      key[i] = fields[static_cast<size_t>(table.key_columns[i])];
    }
    key_bytes.clear();
    WEIR_TRY(table.key.Encode(key, key_bytes));
    if (**next == ChangeType::kDelete) {
      state.StageDelete(AsBytes(key_bytes));
      --row_count_change;
      continue;
    }
    if (**next == ChangeType::kInsert) ++row_count_change;
    row.clear();
    codec->Encode(fields, row);
    state.StagePut(AsBytes(key_bytes), batch.header.schema_id, AsBytes(row),
                   batch.header.commit_timestamp);
  }
}

}  // namespace weir
