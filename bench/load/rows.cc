// See rows.h.
#include "weir/load/rows.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <random>

#include <nlohmann/json.hpp>

#include "weir/record/arrow_writer.h"

namespace weir::load {
namespace {

constexpr int kPoolRows = 20'000;
constexpr int64_t kFirstTime = 1'700'000'000'000;
constexpr SchemaId kFirstSchema{1};

using Chance = std::mt19937_64;

/// A column: its name, its type in descriptors, and how rows [first, first + count) of it are made
/// and added.
struct ColumnKind {
  std::string name;
  const char* type;
  std::function<void(ArrowBatchWriter&, Chance&, int first, int count)> add;
};

template <typename T, typename Make>
ColumnKind NumberColumn(std::string name, const char* type, Make make) {
  return {std::move(name), type,
          [make](ArrowBatchWriter& writer, Chance& chance, int first, int count) {
            std::vector<T> values(static_cast<size_t>(count));
            for (int i = 0; i < count; ++i)
              values[static_cast<size_t>(i)] = static_cast<T>(make(first + i, chance));
            writer.AddNumbers(values);
          }};
}

/// Numbers below `bound`.
template <typename T>
ColumnKind RandomColumn(std::string name, const char* type, int64_t bound) {
  return NumberColumn<T>(std::move(name), type, [bound](int, Chance& chance) {
    return static_cast<int64_t>(chance() % static_cast<uint64_t>(bound));
  });
}

/// Amounts below `bound` cents.
ColumnKind AmountColumn(std::string name, int64_t bound) {
  return NumberColumn<double>(std::move(name), "DOUBLE", [bound](int, Chance& chance) {
    return static_cast<double>(chance() % static_cast<uint64_t>(bound)) / 100;
  });
}

ColumnKind BooleanColumn(std::string name) {
  return {std::move(name), "BOOLEAN", [](ArrowBatchWriter& writer, Chance& chance, int, int count) {
            const auto values = std::make_unique<bool[]>(static_cast<size_t>(count));
            for (int i = 0; i < count; ++i) values[static_cast<size_t>(i)] = chance() % 2 != 0;
            writer.AddBooleans({values.get(), static_cast<size_t>(count)});
          }};
}

/// Texts of `width` hexadecimal digits.
ColumnKind HexColumn(std::string name, size_t width) {
  return {std::move(name), "STRING",
          [width](ArrowBatchWriter& writer, Chance& chance, int, int count) {
            std::string digits(static_cast<size_t>(count) * width, '0');
            for (char& digit : digits) digit = "0123456789abcdef"[chance() % 16];
            std::vector<std::string_view> values;
            values.reserve(static_cast<size_t>(count));
            for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
              values.push_back(std::string_view(digits).substr(i * width, width));
            }
            writer.AddStrings(values);
          }};
}

ColumnKind IdColumn() {
  return NumberColumn<int64_t>("id", "BIGINT", [](int row, Chance&) { return row; });
}

std::vector<ColumnKind> ColumnsOf(int columns) {
  std::vector<ColumnKind> all;
  all.push_back(IdColumn());
  if (columns == 10) {
    all.push_back(NumberColumn<int64_t>("ts", "BIGINT", [](int row, Chance& chance) {
      return kFirstTime + int64_t{10} * row + static_cast<int64_t>(chance() % 10);
    }));
    all.push_back(RandomColumn<int32_t>("user_id", "INTEGER", 100'000));
    all.push_back(RandomColumn<int32_t>("item_id", "INTEGER", 10'000));
    all.push_back(AmountColumn("price", 100'000));
    all.push_back(RandomColumn<int32_t>("qty", "INTEGER", 100));
    all.push_back(BooleanColumn("flag"));
    all.push_back(HexColumn("s1", 16));
    all.push_back(HexColumn("s2", 20));
    all.push_back(HexColumn("s3", 27));
    return all;
  }
  for (int i = 1; i < 10; ++i)
    all.push_back(RandomColumn<int64_t>(fmt::format("l{}", i), "BIGINT", 1 << 30));
  for (int i = 0; i < 10; ++i)
    all.push_back(RandomColumn<int32_t>(fmt::format("i{}", i), "INTEGER", 1'000'000));
  for (int i = 0; i < 10; ++i) all.push_back(AmountColumn(fmt::format("d{}", i), 1'000'000));
  for (int i = 0; i < 20; ++i) all.push_back(HexColumn(fmt::format("s{}", i), 40));
  return all;
}

Result<ArrowCompression> CompressionOf(const std::string& name) {
  if (name == "none") return ArrowCompression{.codec = ArrowCodec::kNone};
  if (name == "lz4") return ArrowCompression{.codec = ArrowCodec::kLz4Frame};
  if (name == "zstd") return ArrowCompression{.codec = ArrowCodec::kZstd};
  return Fail(ErrorCode::kInvalidConfig, "unknown compression: got={}", name);
}

}  // namespace

int RowBytes(int columns) {
  return columns == 10 ? 100 : 1000;
}

std::string TableJson(int columns, int buckets, const std::string& compression,
                      const std::string& durability) {
  nlohmann::json fields = nlohmann::json::array();
  for (const ColumnKind& column : ColumnsOf(columns)) {
    fields.push_back(
        {{"id", fields.size()}, {"name", column.name}, {"data_type", {{"type", column.type}}}});
  }
  nlohmann::json properties = {
      {"table.log.arrow.compression.type", compression == "lz4" ? "lz4_frame" : compression}};
  if (!durability.empty()) properties["table.durability"] = durability;
  return nlohmann::json{
      {"version", 1},
      {"schema", {{"version", 1}, {"columns", fields}, {"highest_field_id", columns - 1}}},
      {"partition_key", nlohmann::json::array()},
      {"bucket_key", nlohmann::json::array()},
      {"bucket_count", buckets},
      {"properties", properties},
      {"custom_properties", nlohmann::json::object()}}
      .dump();
}

Result<std::vector<ReadyBatch>> MakeBatches(int columns, int batch_rows,
                                            const std::string& compression) {
  WEIR_ASSIGN(const ArrowCompression how, CompressionOf(compression));
  const std::vector<ColumnKind> kinds = ColumnsOf(columns);
  Chance chance(42);  // the same rows in every run
  std::vector<ReadyBatch> batches;
  for (int first = 0; first + batch_rows <= std::max(kPoolRows, batch_rows); first += batch_rows) {
    ArrowBatchWriter writer(how);
    for (const ColumnKind& kind : kinds) kind.add(writer, chance, first, batch_rows);
    batches.push_back(ReadyBatch::OfLog(writer.Finish(kFirstSchema)));
  }
  return batches;
}

}  // namespace weir::load
