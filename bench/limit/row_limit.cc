// See row_limit.h.
#include "row_limit.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>

#include "weir/kv/row_tree.h"
#include "weir/record/changelog.h"
#include "weir/record/kv_batch.h"
#include "weir/record/table_descriptor.h"

namespace weir::load {
namespace {

// Rows of a put that are fetched from memory together.
constexpr size_t kRowsAhead = 128;

rocksdb::Slice ToSlice(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Rows that are not in memory. The options are those of Weir, as far as they make a difference.
class ColdRows {
 public:
  ColdRows(std::string path, size_t cache_bytes) : path_(std::move(path)) {
    rocksdb::BlockBasedTableOptions table;
    table.checksum = rocksdb::kxxHash64;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    table.block_cache = rocksdb::NewLRUCache(cache_bytes);
    table.cache_index_and_filter_blocks = true;
    table.pin_l0_filter_and_index_blocks_in_cache = true;
    options_.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    options_.create_if_missing = true;
    options_.compression = rocksdb::kLZ4Compression;
    options_.level_compaction_dynamic_level_bytes = true;
    options_.level0_file_num_compaction_trigger = 8;
    options_.target_file_size_base = 8 << 20;
    Clear();
  }

  void Clear() {
    db_.reset();
    std::filesystem::remove_all(path_);
    rocksdb::DB* opened = nullptr;
    Check(rocksdb::DB::Open(options_, path_, &opened));
    db_.reset(opened);
    is_empty_ = true;
  }

  void Add(const RowTree& rows) {
    const std::string file = path_ + ".sst";
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(), options_);
    Check(writer.Open(file));
    RowTree::Cursor cursor(rows, {}, false);
    while (const HotRow* row = cursor.Next()) {
      Check(writer.Put(ToSlice(row->key()), ToSlice(row->value())));
    }
    Check(writer.Finish());
    rocksdb::IngestExternalFileOptions how;
    how.move_files = true;
    Check(db_->IngestExternalFile({file}, how));
    is_empty_ = false;
  }

  /// Values of `keys`, without one where there is no row.
  std::vector<std::optional<rocksdb::PinnableSlice>> Find(const std::vector<Bytes>& keys) {
    std::vector<std::optional<rocksdb::PinnableSlice>> found(keys.size());
    if (is_empty_ || keys.empty()) return found;
    std::vector<rocksdb::Slice> slices;
    for (const Bytes key : keys) slices.push_back(ToSlice(key));
    std::vector<rocksdb::PinnableSlice> values(keys.size());
    std::vector<rocksdb::Status> statuses(keys.size());
    db_->MultiGet({}, db_->DefaultColumnFamily(), keys.size(), slices.data(), values.data(),
                  statuses.data());
    for (size_t i = 0; i < keys.size(); ++i) {
      if (statuses[i].IsNotFound()) continue;
      Check(statuses[i]);
      found[i] = std::move(values[i]);
    }
    return found;
  }

  std::unique_ptr<rocksdb::Iterator> NewIterator() {
    return std::unique_ptr<rocksdb::Iterator>(db_->NewIterator({}));
  }
  bool is_empty() const { return is_empty_; }

 private:
  static void Check(const rocksdb::Status& status) {
    Require(status.ok(), status.ok() ? "" : status.ToString().c_str());
  }

  std::string path_;
  rocksdb::Options options_;
  std::unique_ptr<rocksdb::DB> db_;
  bool is_empty_ = true;
};

class Rows final : public Limit {
 public:
  Rows(const std::string& path, bool has_changelog, size_t memory_max)
      : has_changelog_(has_changelog),
        // As Weir shares its budget.
        hot_bytes_max_(memory_max / 4 * 3),
        log_(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644)),
        cold_(path + ".rows", memory_max / 4) {
    Require(log_ >= 0, "cannot create the file");
  }
  ~Rows() override { Clear(); }

  LimitAnswer Answer(Api api, std::span<char> body, std::vector<char>& memory) override {
    const std::string_view request(body.data(), body.size());
    const std::lock_guard lock(mutex_);
    LimitAnswer answer;
    switch (api) {
      case Api::kCreateTable: MakeTable(request); break;
      case Api::kDropTable: Clear(); break;
      case Api::kPutKv: answer.message = Put(request); break;
      case Api::kLookup: Lookup(request, false, memory, answer); break;
      case Api::kPrefixLookup: Lookup(request, true, memory, answer); break;
      case Api::kGetTableStats:
        answer.message.Message(1, MessageWriter().Number(4, 0).Number(5, row_count_));
        break;
      default: break;  // the answer to what is left is an empty message
    }
    return answer;
  }

  int64_t end_offset() override { return 0; }

 private:
  void Clear() {
    Require(ftruncate(log_, 0) == 0, "cannot empty the file");
    log_bytes_ = 0;
    ForgetHotRows();
    if (!cold_.is_empty()) cold_.Clear();
    row_count_ = 0;
  }

  void ForgetHotRows() {
    RowTree::Cursor cursor(hot_, {}, false);
    while (HotRow* row = cursor.Next()) doomed_.push_back(row);
    hot_.Clear();
    for (HotRow* row : std::exchange(doomed_, {})) row->Drop();
    hot_bytes_ = 0;
  }

  /// There is one table at a time: the last that was made.
  void MakeTable(std::string_view request) {
    Clear();
    const auto table = DecodeTableDescriptor(FindField(request, 2).value_or(Field()).text);
    Require(table.ok(), "cannot read a table descriptor");
    std::vector<DataType> types;
    for (const Column& column : table->schema->columns) types.push_back(column.type);
    ChangelogFormat format;
    const auto compression = table->properties.find("table.log.arrow.compression.type");
    if (compression != table->properties.end()) {
      format.compression.codec = compression->second == "zstd"   ? ArrowCodec::kZstd
                                 : compression->second == "none" ? ArrowCodec::kNone
                                                                 : ArrowCodec::kLz4Frame;
    }
    codec_.emplace(KvFormat::kCompacted, types);
    changelog_.emplace(format, types);
    fields_.resize(types.size());
  }

  MessageWriter Put(std::string_view request) {
    const std::optional<Field> bucket = FindField(request, 5);
    const std::optional<Field> records = bucket ? FindField(bucket->text, 3) : std::nullopt;
    const auto batch = DecodeKvBatch(AsBytes(records.value_or(Field()).text));
    if (!batch.ok()) return MessageWriter().Message(1, MessageWriter().Number(2, 0).Number(3, 14));
    std::vector<Bytes> missing;
    std::vector<size_t> cold_of(batch->records.size());
    if (!cold_.is_empty()) {
      for (size_t i = 0; i < batch->records.size(); ++i) {
        const Bytes key = batch->records[i].key;
        cold_of[i] = missing.size();
        if (hot_.Find(key) == nullptr) missing.push_back(key);
      }
    }
    auto cold = cold_.Find(missing);
    std::vector<Bytes> ahead;
    for (size_t i = 0; i < batch->records.size(); ++i) {
      if (i % kRowsAhead == 0) {
        ahead.clear();
        for (size_t j = i; j < std::min(i + kRowsAhead, batch->records.size()); ++j) {
          ahead.push_back(batch->records[j].key);
        }
        hot_.Prefetch(ahead, false);
      }
      const KvRecord& record = batch->records[i];
      HotRow* const row =
          HotRow::Make(record.key, batch->header.schema_id, *record.row, std::nullopt);
      row->shares = 1;
      hot_bytes_ += row->allocated_bytes();
      HotRow* const old = hot_.Put(row);
      std::optional<Bytes> before;
      if (old != nullptr) {
        before = RowOf(old->value());
      } else if (!missing.empty() && cold_of[i] < cold.size() && cold[cold_of[i]] &&
                 AsText(missing[cold_of[i]]) == AsText(record.key)) {
        before = RowOf(AsBytes(cold[cold_of[i]]->ToStringView()));
      }
      if (before) {
        Log(ChangeType::kUpdateBefore, *before);
      } else {
        ++row_count_;
      }
      Log(before ? ChangeType::kUpdateAfter : ChangeType::kInsert, *record.row);
      if (old != nullptr) {
        hot_bytes_ -= old->allocated_bytes();
        old->Drop();
      }
    }
    WriteLog(batch->header);
    if (hot_bytes_ + hot_.bytes() > hot_bytes_max_) {
      cold_.Add(hot_);
      ForgetHotRows();
    }
    return MessageWriter().Message(1, MessageWriter().Number(2, 0));
  }

  void Log(ChangeType type, Bytes row) {
    if (!has_changelog_) {
      unwritten_ += AsText(row);
      return;
    }
    Require(codec_->Decode(row, fields_).ok(), "cannot read a row");
    changelog_->Add(type, fields_);
  }

  void WriteLog(const KvBatchHeader& header) {
    Buffer batch;
    std::string_view bytes = unwritten_;
    if (has_changelog_) {
      batch = changelog_->Finish(header.schema_id, header.writer_id, header.batch_sequence).value();
      bytes = AsText(batch.bytes());
    }
    Require(
        pwrite(log_, bytes.data(), bytes.size(), log_bytes_) == static_cast<ssize_t>(bytes.size()),
        "cannot write");
    log_bytes_ += static_cast<off_t>(bytes.size());
    unwritten_.clear();
  }

  /// The rows come behind the heads of the messages that hold them.
  void Lookup(std::string_view request, bool is_prefix, std::vector<char>& memory,
              LimitAnswer& answer) {
    const std::optional<Field> bucket = FindField(request, 2);
    std::string_view rest = bucket ? bucket->text : std::string_view();
    std::vector<Bytes> keys;
    while (const std::optional<Field> field = TakeField(rest)) {
      if (field->number == 3) keys.push_back(AsBytes(field->text));
    }
    memory.clear();
    is_prefix ? FindPrefixes(keys, memory) : FindKeys(keys, memory);
    MessageWriter of_bucket;
    of_bucket.Number(2, 0);
    answer.records = {memory.data(), memory.size()};
    answer.message.TextHead(1, of_bucket.text().size() + memory.size()).Raw(of_bucket);
  }

  static void Append(std::vector<char>& memory, std::string_view text) {
    memory.insert(memory.end(), text.begin(), text.end());
  }

  /// A message (field 5) that has a value.
  static void AppendValue(std::vector<char>& memory, std::string_view value) {
    MessageWriter inner;
    inner.TextHead(1, value.size());
    MessageWriter head;
    head.TextHead(5, inner.text().size() + value.size()).Raw(inner);
    Append(memory, head.text());
    Append(memory, value);
  }

  void FindKeys(const std::vector<Bytes>& keys, std::vector<char>& memory) {
    hot_.Prefetch(keys, false);
    std::vector<const HotRow*> rows(keys.size());
    std::vector<Bytes> missing;
    for (size_t i = 0; i < keys.size(); ++i) {
      rows[i] = hot_.Find(keys[i]);
      if (rows[i] == nullptr) missing.push_back(keys[i]);
    }
    const auto cold = cold_.Find(missing);
    size_t next_cold = 0;
    for (const HotRow* row : rows) {
      if (row != nullptr) {
        AppendValue(memory, AsText(row->value()));
      } else if (const auto& value = cold[next_cold++]) {
        AppendValue(memory, value->ToStringView());
      } else {
        Append(memory, MessageWriter().TextHead(5, 0).text());
      }
    }
  }

  /// Merges what is hot with what is cold: of a key that is both, the hot row counts.
  void FindPrefixes(const std::vector<Bytes>& prefixes, std::vector<char>& memory) {
    const auto cold = cold_.is_empty() ? nullptr : cold_.NewIterator();
    for (const Bytes prefix : prefixes) {
      MessageWriter list;
      RowTree::Cursor cursor(hot_, prefix, false);
      const HotRow* hot = cursor.Next();
      if (cold) cold->Seek(ToSlice(prefix));
      while (true) {
        const bool has_hot = hot != nullptr && AsText(hot->key()).starts_with(AsText(prefix));
        const bool has_cold = cold && cold->Valid() && cold->key().starts_with(ToSlice(prefix));
        if (!has_hot && !has_cold) break;
        const int order = !has_hot    ? 1
                          : !has_cold ? -1
                                      : AsText(hot->key()).compare(cold->key().ToStringView());
        list.Text(1, order <= 0 ? AsText(hot->value()) : cold->value().ToStringView());
        if (order <= 0) hot = cursor.Next();
        if (order >= 0) cold->Next();
      }
      Append(memory, MessageWriter().Message(5, list).text());
    }
  }

  const bool has_changelog_;
  const size_t hot_bytes_max_;
  const int log_;
  off_t log_bytes_ = 0;
  std::mutex mutex_;
  RowTree hot_;
  size_t hot_bytes_ = 0;
  std::vector<HotRow*> doomed_;
  ColdRows cold_;
  int64_t row_count_ = 0;
  std::optional<RowCodec> codec_;
  std::optional<ChangelogWriter> changelog_;
  std::vector<FieldValue> fields_;
  std::string unwritten_;
};

}  // namespace

std::unique_ptr<Limit> MakeRowLimit(const std::string& path, bool has_changelog,
                                    size_t memory_max) {
  return std::make_unique<Rows>(path, has_changelog, memory_max);
}

}  // namespace weir::load
