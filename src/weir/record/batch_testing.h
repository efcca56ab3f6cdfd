// Help for tests of log batches: golden vectors, and Arrow C++ as a second reader of what we write.
#pragma once

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/api.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/api.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "weir/base/buffer.h"
#include "weir/record/data_type.h"
#include "weir/record/log_batch.h"
#include "weir/record/projection.h"

namespace weir {

inline std::vector<std::byte> FromHex(std::string_view hex) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

/// A list in a file of tests/vectors.
inline nlohmann::json LoadVectors(const std::string& file_name, const char* list = "vectors") {
  std::ifstream file(std::string(WEIR_TESTDATA "/vectors/") + file_name);
  EXPECT_TRUE(file) << file_name;
  return nlohmann::json::parse(file).at(list);
}

inline std::vector<std::byte> HexOf(const nlohmann::json& vector, const char* field) {
  return FromHex(vector.at(field).get<std::string>());
}

/// Reads types as the vectors write them: INT, DECIMAL(10, 2), MAP<STRING NOT NULL, INT>, ROW<`x`
/// BIGINT>.
class TypeTextReader {
 public:
  explicit TypeTextReader(std::string_view text) : text_(text) {}

  DataType Read() {
    const std::string name = TakeWord();
    if (name == "ARRAY") return DataType::Array(Inside<DataType>([&] { return Read(); }).at(0));
    if (name == "MAP") {
      const auto types = Inside<DataType>([&] { return ReadWithNullability(); });
      return DataType::Map(types.at(0), types.at(1));
    }
    if (name == "ROW") {
      return DataType::Row(Inside<RowField>([&] {
        std::string field = TakeWord();
        Take(' ');
        return RowField{std::move(field), ReadWithNullability(), {}, -1};
      }));
    }
    const std::vector<int> numbers = Numbers();
    if (name == "DECIMAL") return DataType::Decimal(numbers.at(0), numbers.at(1));
    if (name == "CHAR") return DataType::Char(numbers.at(0));
    if (name == "BINARY") return DataType::Binary(numbers.at(0));
    if (name == "TIME") return DataType::Time(numbers.at(0));
    if (name == "TIMESTAMP") return DataType::Timestamp(numbers.at(0));
    if (name == "TIMESTAMP_LTZ") return DataType::TimestampLtz(numbers.at(0));
    constexpr std::pair<std::string_view, TypeKind> kPlain[] = {
        {"BOOLEAN", TypeKind::kBoolean},   {"TINYINT", TypeKind::kTinyInt},
        {"SMALLINT", TypeKind::kSmallInt}, {"INT", TypeKind::kInt},
        {"BIGINT", TypeKind::kBigInt},     {"FLOAT", TypeKind::kFloat},
        {"DOUBLE", TypeKind::kDouble},     {"STRING", TypeKind::kString},
        {"BYTES", TypeKind::kBytes},       {"DATE", TypeKind::kDate}};
    for (const auto& [plain, kind] : kPlain) {
      if (plain == name) return DataType::Of(kind);
    }
    ADD_FAILURE() << "unknown type " << name;
    return DataType::Of(TypeKind::kInt);
  }

 private:
  bool Take(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }

  std::string TakeWord() {
    std::string word;
    while (Take('`')) continue;
    while (!text_.empty() &&
           (std::isalnum(static_cast<unsigned char>(text_.front())) || text_.front() == '_')) {
      word += text_.front();
      text_.remove_prefix(1);
    }
    while (Take('`')) continue;
    return word;
  }

  DataType ReadWithNullability() {
    const DataType type = Read();
    constexpr std::string_view kNotNull = " NOT NULL";
    if (!text_.starts_with(kNotNull)) return type;
    text_.remove_prefix(kNotNull.size());
    return type.NotNull();
  }

  template <typename T>
  std::vector<T> Inside(auto&& read_one) {
    std::vector<T> all;
    for (char c = '<'; Take(c); c = ',') {
      while (Take(' ')) continue;
      all.push_back(read_one());
    }
    EXPECT_TRUE(Take('>'));
    return all;
  }

  std::vector<int> Numbers() {
    std::vector<int> all;
    for (char c = '('; Take(c); c = ',') {
      while (Take(' ')) continue;
      all.push_back(std::stoi(TakeWord()));
    }
    Take(')');
    return all;
  }

  std::string_view text_;
};

inline std::vector<DataType> TypesOf(const nlohmann::json& schema) {
  std::vector<DataType> types;
  for (const nlohmann::json& column : schema) {
    const auto text = column.at("type").get<std::string>();
    types.push_back(TypeTextReader(text).Read());
  }
  return types;
}

inline std::vector<ColumnLayout> LayoutsOf(const std::vector<DataType>& types) {
  std::vector<ColumnLayout> layouts;
  for (const DataType& type : types) layouts.push_back(LayoutOf(type));
  return layouts;
}

template <typename T>
std::vector<T> Select(const std::vector<T>& all, const std::vector<int32_t>& positions) {
  std::vector<T> selected;
  for (const int32_t position : positions) selected.push_back(all.at(position));
  return selected;
}

inline arrow::TimeUnit::type UnitOf(int precision) {
  if (precision == 0) return arrow::TimeUnit::SECOND;
  return precision <= 3   ? arrow::TimeUnit::MILLI
         : precision <= 6 ? arrow::TimeUnit::MICRO
                          : arrow::TimeUnit::NANO;
}

inline std::shared_ptr<arrow::DataType> ToArrow(const DataType& type) {
  switch (type.kind()) {
    case TypeKind::kBoolean: return arrow::boolean();
    case TypeKind::kTinyInt: return arrow::int8();
    case TypeKind::kSmallInt: return arrow::int16();
    case TypeKind::kInt: return arrow::int32();
    case TypeKind::kBigInt: return arrow::int64();
    case TypeKind::kFloat: return arrow::float32();
    case TypeKind::kDouble: return arrow::float64();
    case TypeKind::kDecimal: return arrow::decimal128(type.precision(), type.scale());
    case TypeKind::kChar: return arrow::utf8();
    case TypeKind::kString: return arrow::utf8();
    case TypeKind::kBinary: return arrow::fixed_size_binary(type.length());
    case TypeKind::kBytes: return arrow::binary();
    case TypeKind::kDate: return arrow::date32();
    case TypeKind::kTime:
      return type.precision() <= 3 ? arrow::time32(UnitOf(type.precision()))
                                   : arrow::time64(UnitOf(type.precision()));
    case TypeKind::kTimestamp: return arrow::timestamp(UnitOf(type.precision()));
    case TypeKind::kTimestampLtz: return arrow::timestamp(UnitOf(type.precision()));
    case TypeKind::kArray: return arrow::list(ToArrow(type.element()));
    case TypeKind::kMap: return arrow::map(ToArrow(type.key()), ToArrow(type.value()));
    case TypeKind::kRow: {
      arrow::FieldVector fields;
      for (const RowField& field : type.fields())
        fields.push_back(arrow::field(field.name, ToArrow(field.type)));
      return arrow::struct_(fields);
    }
  }
  WEIR_UNREACHABLE();
}

/// The parts of an ARROW batch with records.
struct ArrowBatchParts {
  LogBatchHeader header;
  Bytes change_types;
  Bytes message_head;
  Bytes body;
};

inline ArrowBatchParts SplitArrowBatch(Bytes batch) {
  ArrowBatchParts parts;
  parts.header = DecodeLogBatchHeader(batch).value();
  EXPECT_EQ(parts.header.batch_bytes, batch.size());
  const size_t head_bytes = ProjectionHeadBytes(parts.header, batch).value();
  Bytes rest = batch.subspan(parts.header.records_position());
  parts.change_types = rest.first(parts.header.is_append_only ? 0 : parts.header.record_count);
  parts.message_head =
      batch.first(head_bytes).subspan(parts.header.records_position() + parts.change_types.size());
  parts.body = batch.subspan(head_bytes);
  return parts;
}

/// The columns as Arrow C++ reads them, fully validated.
inline std::shared_ptr<arrow::RecordBatch> ReadWithArrow(Bytes message_head, Bytes body,
                                                         const std::vector<DataType>& types) {
  arrow::FieldVector fields;
  for (const DataType& type : types) fields.push_back(arrow::field("f", ToArrow(type)));
  // Copies, because Arrow C++ wants aligned memory that it owns.
  const auto metadata = arrow::Buffer::FromString(std::string(AsText(message_head.subspan(8))));
  const auto data = arrow::Buffer::FromString(std::string(AsText(body)));
  const auto message = arrow::ipc::Message::Open(metadata, data).ValueOrDie();
  const arrow::ipc::DictionaryMemo no_dictionaries;
  auto batch = arrow::ipc::ReadRecordBatch(*message, arrow::schema(fields), &no_dictionaries,
                                           arrow::ipc::IpcReadOptions::Defaults());
  EXPECT_TRUE(batch.ok()) << batch.status().ToString();
  EXPECT_TRUE((*batch)->ValidateFull().ok()) << (*batch)->ValidateFull().ToString();
  return *batch;
}

inline std::shared_ptr<arrow::RecordBatch> ReadWithArrow(Bytes batch,
                                                         const std::vector<DataType>& types) {
  const ArrowBatchParts parts = SplitArrowBatch(batch);
  return ReadWithArrow(parts.message_head, parts.body, types);
}

}  // namespace weir
