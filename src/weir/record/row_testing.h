// Help for tests of rows: rows of the golden vectors, rows drawn by chance, and their comparison.
#pragma once

#include <bit>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "weir/record/batch_testing.h"
#include "weir/record/every_type.h"
#include "weir/record/nested_values.h"
#include "weir/record/row.h"
#include "weir/record/row_fields.h"

namespace weir {

/// Makes fields. Owns their bytes.
class FieldMaker {
 public:
  explicit FieldMaker(KvFormat format) : format_(format) {}

  /// Of values as the vectors write them.
  FieldValue FromJson(const DataType& type, const nlohmann::json& value) {
    if (value.is_null()) return {};
    switch (type.kind()) {
      case TypeKind::kBoolean: return Number(value.get<bool>() ? 1 : 0);
      case TypeKind::kFloat: return Number(std::bit_cast<uint32_t>(value.get<float>()));
      case TypeKind::kDouble: return Number(std::bit_cast<int64_t>(value.get<double>()));
      case TypeKind::kDecimal: return Decimal(type, value.at("decimal").get<std::string>());
      case TypeKind::kChar:
      case TypeKind::kString: return Text(value.get<std::string>());
      case TypeKind::kBinary:
      case TypeKind::kBytes: return Text(std::string(AsText(HexOf(value, "hex"))));
      case TypeKind::kTimestamp:
      case TypeKind::kTimestampLtz: {
        FieldValue field = Number(
            value.at(value.contains("ntz_millis") ? "ntz_millis" : "ltz_millis").get<int64_t>());
        field.nanos = value.value("nanos_of_milli", 0);
        return field;
      }
      case TypeKind::kArray: return Array(type.element(), value.at("array"));
      case TypeKind::kMap: return Map(type, value.at("map"));
      case TypeKind::kRow: return Row(type, value.at("row"));
      default: return Number(value.get<int64_t>());
    }
  }

  std::vector<FieldValue> RowFromJson(const std::vector<DataType>& types,
                                      const nlohmann::json& row) {
    std::vector<FieldValue> fields;
    for (size_t i = 0; i < types.size(); ++i) fields.push_back(FromJson(types[i], row.at(i)));
    return fields;
  }

  /// One in five is null.
  FieldValue Random(const DataType& type, std::mt19937_64& random) {
    if (random() % 5 == 0) return {};
    return RandomValue(type, random);
  }

  FieldValue RandomValue(const DataType& type, std::mt19937_64& random) {
    const auto bits = static_cast<int64_t>(random() >> (random() % 64));
    const int64_t number = random() % 2 == 0 ? bits : ~bits;
    switch (type.kind()) {
      case TypeKind::kBoolean: return Number(number & 1);
      case TypeKind::kTinyInt: return Number(static_cast<int8_t>(number));
      case TypeKind::kSmallInt: return Number(static_cast<int16_t>(number));
      case TypeKind::kInt:
      case TypeKind::kDate: return Number(static_cast<int32_t>(number));
      case TypeKind::kBigInt:
      case TypeKind::kDouble: return Number(number);
      case TypeKind::kFloat: return Number(static_cast<uint32_t>(number));
      case TypeKind::kDecimal: {
        Int128 value = number;
        if (type.precision() > kCompactDigitsMax) value = value * number % 1'000'000'007 * number;
        value %= kPowersOfTen[static_cast<size_t>(type.precision())];
        return Unscaled(type, value);
      }
      case TypeKind::kChar: return Text(RandomText(random, static_cast<size_t>(type.length())));
      case TypeKind::kString:
      case TypeKind::kBytes: return Text(RandomText(random, random() % 20));
      case TypeKind::kBinary: return Text(RandomText(random, static_cast<size_t>(type.length())));
      case TypeKind::kTime: {
        const int64_t millis = (number & 0x7fffffff) % kMillisOfDay;
        return Number(type.precision() == 0 ? millis / 1000 * 1000 : millis);
      }
      case TypeKind::kTimestamp:
      case TypeKind::kTimestampLtz: return RandomTimestamp(type, number, random);
      case TypeKind::kArray: {
        const std::vector<DataType> elements(random() % 4, type.element());
        return Array(PlanOf(type.element()), RandomRow(elements, random));
      }
      case TypeKind::kMap: {
        const size_t count = random() % 4;
        std::vector<FieldValue> keys;
        for (size_t i = 0; i < count; ++i) keys.push_back(RandomValue(type.key(), random));
        return Map(type, keys, RandomRow(std::vector<DataType>(count, type.value()), random));
      }
      case TypeKind::kRow: {
        std::vector<DataType> types;
        for (const RowField& field : type.fields()) types.push_back(field.type);
        return Row(type, RandomRow(types, random));
      }
    }
    WEIR_UNREACHABLE();
  }

  std::vector<FieldValue> RandomRow(const std::vector<DataType>& types, std::mt19937_64& random) {
    std::vector<FieldValue> fields;
    for (const DataType& type : types) fields.push_back(Random(type, random));
    return fields;
  }

  static FieldValue Number(int64_t number) {
    FieldValue field;
    field.is_null = false;
    field.number = number;
    return field;
  }

  FieldValue Text(std::string text) {
    owned_.push_back(std::move(text));
    FieldValue field;
    field.is_null = false;
    field.bytes = AsBytes(owned_.back());
    return field;
  }

  FieldValue Unscaled(const DataType& type, Int128 value) {
    if (type.precision() <= kCompactDigitsMax) return Number(static_cast<int64_t>(value));
    std::string bytes;
    EncodeUnscaled(value, bytes);
    return Text(std::move(bytes));
  }

  FieldValue Array(const ValuePlan& element, const std::vector<FieldValue>& values) {
    std::string array;
    Append(element, values, array);
    return Text(std::move(array));
  }

  FieldValue Map(const DataType& type, const std::vector<FieldValue>& keys,
                 const std::vector<FieldValue>& values) {
    std::string map(kMapHeadBytes, '\0');
    Append(PlanOf(type.key()), keys, map);
    EndMapKeys(0, map);
    Append(PlanOf(type.value()), values, map);
    return Text(std::move(map));
  }

  FieldValue Row(const DataType& type, const std::vector<FieldValue>& values) {
    std::string row;
    EncodeRow(format_, PlanOf(type).children, values, row);
    return Text(std::move(row));
  }

 private:
  FieldValue Decimal(const DataType& type, std::string text) {
    Int128 value = 0;
    for (const char c : text) {
      if (c >= '0' && c <= '9') value = value * 10 + (c - '0');
    }
    return Unscaled(type, text.starts_with('-') ? -value : value);
  }

  FieldValue RandomTimestamp(const DataType& type, int64_t number, std::mt19937_64& random) {
    // What their columns can tell: seconds, milliseconds, microseconds or nanoseconds.
    constexpr int64_t kMax[] = {std::numeric_limits<int64_t>::max() / 1000 * 1000,
                                std::numeric_limits<int64_t>::max(),
                                std::numeric_limits<int64_t>::max() / 1000 - 1,
                                std::numeric_limits<int64_t>::max() / 1'000'000 - 1};
    const int unit = (type.precision() + 2) / 3;
    FieldValue field = Number(number % kMax[unit]);
    if (unit == 0) field.number = field.number / 1000 * 1000;
    if (unit == 2) field.nanos = static_cast<int32_t>(random() % 1000 * 1000);
    if (unit == 3) field.nanos = static_cast<int32_t>(random() % 1'000'000);
    return field;
  }

  static std::string RandomText(std::mt19937_64& random, size_t size) {
    std::string text;
    for (size_t i = 0; i < size; ++i) text += static_cast<char>('a' + random() % 26);
    return text;
  }

  FieldValue Array(const DataType& element, const nlohmann::json& values) {
    std::vector<FieldValue> elements;
    for (const nlohmann::json& value : values) elements.push_back(FromJson(element, value));
    return Array(PlanOf(element), elements);
  }

  FieldValue Map(const DataType& type, const nlohmann::json& entries) {
    std::vector<FieldValue> keys;
    std::vector<FieldValue> values;
    for (const nlohmann::json& entry : entries) {
      keys.push_back(FromJson(type.key(), entry.at(0)));
      values.push_back(FromJson(type.value(), entry.at(1)));
    }
    return Map(type, keys, values);
  }

  FieldValue Row(const DataType& type, const nlohmann::json& values) {
    std::vector<DataType> types;
    for (const RowField& field : type.fields()) types.push_back(field.type);
    return Row(type, RowFromJson(types, values));
  }

  static void Append(const ValuePlan& element, const std::vector<FieldValue>& values,
                     std::string& out) {
    ArrayWriter writer(element, values.size(), out);
    for (size_t i = 0; i < values.size(); ++i) writer.Set(i, values[i]);
  }

  KvFormat format_;
  std::deque<std::string> owned_;
};

/// Bytes of nested values may differ where they mean nothing, hence not only bytes are compared.
inline bool SameValue(const ValuePlan& plan, KvFormat format, const FieldValue& a,
                      const FieldValue& b);

inline bool SameArrays(const ValuePlan& element, KvFormat format, const ArrayView& a,
                       const ArrayView& b) {
  if (a.count() != b.count()) return false;
  for (size_t i = 0; i < a.count(); ++i) {
    FieldValue of_a;
    FieldValue of_b;
    if (!a.Load(i, of_a) || !b.Load(i, of_b) || !SameValue(element, format, of_a, of_b))
      return false;
  }
  return true;
}

inline bool SameValue(const ValuePlan& plan, KvFormat format, const FieldValue& a,
                      const FieldValue& b) {
  if (a.is_null || b.is_null) return a.is_null == b.is_null;
  switch (plan.form) {
    case ValueForm::kArray:
      return SameArrays(plan.children[0], format, *ArrayView::Open(a.bytes, plan.children[0]),
                        *ArrayView::Open(b.bytes, plan.children[0]));
    case ValueForm::kMap: {
      const MapView map_a = *MapView::Open(a.bytes, plan);
      const MapView map_b = *MapView::Open(b.bytes, plan);
      return SameArrays(plan.children[0], format, map_a.keys, map_b.keys) &&
             SameArrays(plan.children[1], format, map_a.values, map_b.values);
    }
    case ValueForm::kRow: {
      std::vector<FieldValue> of_a(plan.children.size());
      std::vector<FieldValue> of_b(plan.children.size());
      if (DecodeRow(format, plan.children, a.bytes, of_a, NestedValues::kCheck) != kNoFault ||
          DecodeRow(format, plan.children, b.bytes, of_b, NestedValues::kCheck) != kNoFault) {
        return false;
      }
      for (size_t i = 0; i < of_a.size(); ++i) {
        if (!SameValue(plan.children[i], format, of_a[i], of_b[i])) return false;
      }
      return true;
    }
    default:
      return a.number == b.number && a.nanos == b.nanos && AsText(a.bytes) == AsText(b.bytes);
  }
}

inline void ExpectSameRow(const std::vector<DataType>& types, KvFormat format,
                          std::span<const FieldValue> got, std::span<const FieldValue> expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(SameValue(PlanOf(types[i]), format, got[i], expected[i]))
        << "column " << i << " " << ToString(types[i]) << " got " << got[i].number << " '"
        << AsText(got[i].bytes) << "' expected " << expected[i].number << " '"
        << AsText(expected[i].bytes) << "'";
  }
}

}  // namespace weir
