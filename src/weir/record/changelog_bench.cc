// How many rows a second does one core take apart, write to a changelog and read back? A put of a
// row does the first two, a recovery the last. Rows have ten columns and some 100 bytes, batches
// 1 or 1000 rows. Below a million rows a second in any of them, puts would wait for it and not for
// the disk.
#include <benchmark/benchmark.h>

#include <bit>
#include <string>
#include <vector>

#include "weir/base/check.h"
#include "weir/record/changelog.h"
#include "weir/record/key_codec.h"
#include "weir/record/row.h"

namespace weir {
namespace {

constexpr size_t kRows = 1000;

std::vector<DataType> Types() {
  return {DataType::Of(TypeKind::kBigInt), DataType::Of(TypeKind::kInt),
          DataType::Of(TypeKind::kString), DataType::Of(TypeKind::kString),
          DataType::Of(TypeKind::kDouble), DataType::Decimal(10, 2),
          DataType::Timestamp(6),          DataType::Of(TypeKind::kBoolean),
          DataType::Of(TypeKind::kString), DataType::Of(TypeKind::kBigInt)};
}

uint64_t Mixed(uint64_t i) {
  i = (i ^ (i >> 31)) * 0x9e3779b97f4a7c15;
  return i ^ (i >> 29);
}

/// Rows as an application has them: some columns repeat, some do not, one is null now and then.
std::vector<std::string> Rows(KvFormat format) {
  constexpr std::string_view kCities[] = {"Amsterdam", "Berlin", "Kopenhagen", "Oslo"};
  const RowCodec codec(format, Types());
  std::vector<std::string> rows;
  for (uint64_t i = 0; i < kRows; ++i) {
    const auto number = [](uint64_t value) {
      return FieldValue{
          .is_null = false, .nanos = 0, .number = static_cast<int64_t>(value), .bytes = {}};
    };
    const auto text = [](std::string_view value) {
      return FieldValue{.is_null = false, .nanos = 0, .number = 0, .bytes = AsBytes(value)};
    };
    const std::string name = fmt::format("customer-{:016x}", Mixed(i));
    const std::string note = fmt::format("{} of {} parts sent", Mixed(i) % 50, Mixed(i + 1) % 50);
    FieldValue time = number(1'700'000'000'000 + i * 7);
    time.nanos = static_cast<int32_t>(Mixed(i) % 1000 * 1000);
    const std::vector<FieldValue> fields = {
        number(Mixed(i) >> 20),
        number(i % 100),
        text(name),
        text(kCities[Mixed(i) % 4]),
        number(std::bit_cast<uint64_t>(static_cast<double>(Mixed(i) % 100'000) / 8)),
        number(Mixed(i) % 1'000'000),
        time,
        number(i % 3 == 0),
        i % 10 == 0 ? FieldValue{} : text(note),
        number(i)};
    codec.Encode(fields, rows.emplace_back());
  }
  return rows;
}

ChangelogFormat FormatOf(ArrowCodec codec) {
  return {LogFormat::kArrow, {.codec = codec}, KvFormat::kCompacted};
}

void AddAll(const std::vector<std::string>& rows, size_t count, const RowCodec& codec,
            std::vector<FieldValue>& fields, ChangelogWriter& writer) {
  for (size_t i = 0; i < count; ++i) {
    WEIR_CHECK(codec.Decode(AsBytes(rows[i]), fields).ok());
    writer.Add(ChangeType::kInsert, fields);
  }
}

void DecodeRows(benchmark::State& state) {
  const auto format = static_cast<KvFormat>(state.range(0));
  const std::vector<std::string> rows = Rows(format);
  const RowCodec codec(format, Types());
  std::vector<FieldValue> fields(codec.types().size());
  size_t bytes = 0;
  for (const std::string& row : rows) bytes += row.size();
  for (auto _ : state) {
    for (const std::string& row : rows) {
      WEIR_CHECK(codec.Decode(AsBytes(row), fields).ok());
      benchmark::DoNotOptimize(fields.data());
    }
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kRows));
  state.counters["row_bytes"] = static_cast<double>(bytes) / kRows;
}
BENCHMARK(DecodeRows)->Arg(0)->Arg(1);

void EncodeRows(benchmark::State& state) {
  const auto format = static_cast<KvFormat>(state.range(0));
  const RowCodec codec(format, Types());
  std::vector<std::vector<FieldValue>> decoded;
  const std::vector<std::string> rows = Rows(format);
  for (const std::string& row : rows) {
    decoded.emplace_back(codec.types().size());
    WEIR_CHECK(codec.Decode(AsBytes(row), decoded.back()).ok());
  }
  std::string out;
  for (auto _ : state) {
    for (const std::vector<FieldValue>& fields : decoded) {
      out.clear();
      codec.Encode(fields, out);
      benchmark::DoNotOptimize(out.data());
    }
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kRows));
}
BENCHMARK(EncodeRows)->Arg(0)->Arg(1);

void DecodeAndAdd(benchmark::State& state) {
  const std::vector<std::string> rows = Rows(KvFormat::kCompacted);
  const RowCodec codec(KvFormat::kCompacted, Types());
  std::vector<FieldValue> fields(codec.types().size());
  ChangelogWriter writer(FormatOf(ArrowCodec::kZstd), Types());
  for (auto _ : state) {
    AddAll(rows, kRows, codec, fields, writer);
    writer.Clear();
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kRows));
}
BENCHMARK(DecodeAndAdd);

/// Rows a batch, and the codec.
void WriteBatches(benchmark::State& state) {
  const auto count = static_cast<size_t>(state.range(0));
  const std::vector<std::string> rows = Rows(KvFormat::kCompacted);
  const RowCodec codec(KvFormat::kCompacted, Types());
  std::vector<FieldValue> fields(codec.types().size());
  ChangelogWriter writer(FormatOf(static_cast<ArrowCodec>(state.range(1))), Types());
  size_t bytes = 0;
  for (auto _ : state) {
    AddAll(rows, count, codec, fields, writer);
    bytes = writer.Finish(SchemaId{1}, kNoWriterId, kNoBatchSequence).value().size();
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * count));
  state.counters["bytes_a_row"] = static_cast<double>(bytes) / static_cast<double>(count);
}
BENCHMARK(WriteBatches)->ArgsProduct({{1, 10, 1000}, {0, 1, 2}});

void ReadBatches(benchmark::State& state) {
  const auto count = static_cast<size_t>(state.range(0));
  const ChangelogFormat format = FormatOf(static_cast<ArrowCodec>(state.range(1)));
  const RowCodec codec(KvFormat::kCompacted, Types());
  std::vector<FieldValue> fields(codec.types().size());
  ChangelogWriter writer(format, Types());
  AddAll(Rows(KvFormat::kCompacted), count, codec, fields, writer);
  const Buffer batch = writer.Finish(SchemaId{1}, kNoWriterId, kNoBatchSequence).value();
  const LogBatchView view{DecodeLogBatchHeader(batch.bytes()).value(), batch.bytes()};
  for (auto _ : state) {
    ChangelogReader reader = ChangelogReader::Open(view, format, Types()).value();
    while (reader.Next(fields).value()) benchmark::DoNotOptimize(fields.data());
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * count));
}
BENCHMARK(ReadBatches)->ArgsProduct({{1, 1000}, {0, 1, 2}});

void EncodeKeys(benchmark::State& state) {
  const KeyCodec codec =
      KeyCodec::Make(KeyEncoding::kCompacted, {DataType::Of(TypeKind::kBigInt)}).value();
  std::string key;
  FieldValue field{.is_null = false, .nanos = 0, .number = 0, .bytes = {}};
  for (auto _ : state) {
    key.clear();
    ++field.number;
    WEIR_CHECK(codec.Encode(std::span(&field, 1), key).ok());
    benchmark::DoNotOptimize(key.data());
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(EncodeKeys);

}  // namespace
}  // namespace weir
