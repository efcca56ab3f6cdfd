#include "weir/kv/aggregates.h"

#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "weir/kv/row_testing.h"

namespace weir {
namespace {

using testing::Fields;
using testing::Print;

const DataType kBool = DataType::Of(TypeKind::kBoolean);
const DataType kTinyInt = DataType::Of(TypeKind::kTinyInt);
const DataType kSmallInt = DataType::Of(TypeKind::kSmallInt);
const DataType kInt = DataType::Of(TypeKind::kInt);
const DataType kBigInt = DataType::Of(TypeKind::kBigInt);
const DataType kFloat = DataType::Of(TypeKind::kFloat);
const DataType kDouble = DataType::Of(TypeKind::kDouble);
const DataType kString = DataType::Of(TypeKind::kString);
const DataType kBytes = DataType::Of(TypeKind::kBytes);
const DataType kDate = DataType::Of(TypeKind::kDate);
const DataType kPrice = DataType::Decimal(10, 2);
const DataType kWide = DataType::Decimal(38, 2);

std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

Aggregator Make(Aggregate function, const DataType& type, std::string delimiter = ",") {
  return {function, std::move(delimiter), type};
}

/// The value after each input, the first of which is there.
std::string ValuesOf(Aggregator aggregator, const DataType& type, const std::string& inputs) {
  Fields fields;
  std::string results;
  std::vector<FieldValue> value;
  for (const std::string& word : Words(inputs)) {
    const FieldValue input = fields.Parse(type, word);
    if (value.empty()) {
      value = {input};
    } else {
      FieldValue combined;
      const Status status = aggregator.Combine(value.front(), input, combined);
      if (!status.ok()) return results + " refused";
      value = fields.Copy(std::span(&combined, 1));
    }
    results += (results.empty() ? "" : " ") + Print(type, value.front());
  }
  return results;
}

Column ColumnOf(DataType type) {
  return Column{.name = "v",
                .type = std::move(type),
                .id = kNoFieldId,
                .comment = std::nullopt,
                .aggregation = std::nullopt};
}

struct Case {
  Aggregate function;
  DataType type;
  std::string inputs;
  std::string values;
};

void ExpectAll(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    EXPECT_EQ(ValuesOf(Make(c.function, c.type), c.type, c.inputs), c.values)
        << ToString(c.function) << " " << ToString(c.type);
  }
}

TEST(Sum, AddsAndPassesNullsOver) {
  ExpectAll({
      {Aggregate::kSum, kInt, "1 null 2 -10", "1 1 3 -7"},
      {Aggregate::kSum, kInt, "null null 3", "null null 3"},
      {Aggregate::kSum, kTinyInt, "100 27 -127", "100 127 0"},
      {Aggregate::kSum, kSmallInt, "30000 2767", "30000 32767"},
      {Aggregate::kSum, kBigInt, "4611686018427387904 2305843009213693952",
       "4611686018427387904 6917529027641081856"},
      {Aggregate::kSum, kFloat, "0.1 0.2", "0.1 0.3"},
      {Aggregate::kSum, kDouble, "0.5 null 0.25", "0.5 0.5 0.75"},
      {Aggregate::kSum, kPrice, "9999 1 -20000", "9999 10000 -10000"},
      {Aggregate::kSum, kWide, "99999999999999999999999999999999 1 null",
       "99999999999999999999999999999999 100000000000000000000000000000000 "
       "100000000000000000000000000000000"},
  });
}

TEST(Sum, OfIntegersWrapsAround) {
  ExpectAll({
      {Aggregate::kSum, kTinyInt, "127 1", "127 -128"},
      {Aggregate::kSum, kSmallInt, "-32768 -1", "-32768 32767"},
      {Aggregate::kSum, kInt, "3 2147483647", "3 -2147483646"},
      {Aggregate::kSum, kBigInt, "9223372036854775807 1",
       "9223372036854775807 -9223372036854775808"},
  });
}

TEST(Sum, OfDecimalsIsRefusedBeyondTheirDigits) {
  ExpectAll({
      {Aggregate::kSum, DataType::Decimal(5, 2), "99999 1", "99999 refused"},
      {Aggregate::kSum, DataType::Decimal(18, 0), "999999999999999999 999999999999999999",
       "999999999999999999 refused"},
      {Aggregate::kSum, DataType::Decimal(19, 0), "-9999999999999999999 -1",
       "-9999999999999999999 refused"},
  });
}

TEST(Product, MultipliesAndPassesNullsOver) {
  ExpectAll({
      {Aggregate::kProduct, kInt, "2 null -3 7", "2 2 -6 -42"},
      {Aggregate::kProduct, kTinyInt, "100 2", "100 -56"},
      {Aggregate::kProduct, kSmallInt, "-32768 -1", "-32768 -32768"},
      {Aggregate::kProduct, kInt, "65536 65536", "65536 0"},
      {Aggregate::kProduct, kBigInt, "1048576 1073741824", "1048576 1125899906842624"},
      {Aggregate::kProduct, kFloat, "0.5 0.5", "0.5 0.25"},
      {Aggregate::kProduct, kDouble, "0.9 0.8", "0.9 0.7200000000000001"},
      {Aggregate::kProduct, kPrice, "150 115", "150 173"},
      {Aggregate::kProduct, kWide, "150 -115", "150 -173"},
      {Aggregate::kProduct, kPrice, "9999999999 200", "9999999999 refused"},
      {Aggregate::kProduct, kWide, "99999999999999999999999999999999999999 200",
       "99999999999999999999999999999999999999 refused"},
  });
}

TEST(MaxAndMin, KeepTheGreatestAndTheLeast) {
  ExpectAll({
      {Aggregate::kMax, kInt, "3 null 1 7", "3 3 3 7"},
      {Aggregate::kMin, kInt, "3 null 5 -1", "3 3 3 -1"},
      {Aggregate::kMax, kTinyInt, "-1 1", "-1 1"},
      {Aggregate::kMax, kBigInt, "-9223372036854775808 9223372036854775807",
       "-9223372036854775808 9223372036854775807"},
      {Aggregate::kMax, kString, "b null abc c C", "b b b c c"},
      {Aggregate::kMin, kString, "b ü a ab", "b b a a"},
      {Aggregate::kMax, kString, "z ü", "z ü"},
      {Aggregate::kMax, DataType::Char(3), "b ba", "b ba"},
      {Aggregate::kMax, kDate, "19723 -3653", "19723 19723"},
      {Aggregate::kMin, DataType::Time(3), "86399999 0", "86399999 0"},
      {Aggregate::kMax, DataType::Timestamp(3), "1 2 -5", "1 2 2"},
      {Aggregate::kMax, DataType::Timestamp(9), "1.5 1.4 1.6 0.9", "1.5 1.5 1.6 1.6"},
      {Aggregate::kMin, DataType::TimestampLtz(6), "1.5000 1 2", "1.5000 1 1"},
      {Aggregate::kMin, kPrice, "7999 9999 -1", "7999 7999 -1"},
      {Aggregate::kMax, kWide, "-1 -2 127 128 99999999999999999999999999999",
       "-1 -1 127 128 99999999999999999999999999999"},
      {Aggregate::kMin, kWide, "-1 -99999999999999999999999999999 5",
       "-1 -99999999999999999999999999999 -99999999999999999999999999999"},
  });
}

TEST(MaxAndMin, TakeNotANumberForTheGreatest) {
  ExpectAll({
      {Aggregate::kMax, kDouble, "1 nan 2", "1 nan nan"},
      {Aggregate::kMax, kDouble, "nan inf", "nan nan"},
      {Aggregate::kMin, kDouble, "nan inf", "nan inf"},
      {Aggregate::kMin, kFloat, "1 nan -inf", "1 1 -inf"},
      {Aggregate::kMax, kFloat, "-0 0 -0", "-0 0 0"},
      {Aggregate::kMin, kDouble, "0 -0 0", "0 -0 -0"},
  });
}

TEST(FirstAndLastValue, TakeOneOfTheValues) {
  ExpectAll({
      {Aggregate::kLastValue, kInt, "1 2 null", "1 2 null"},
      {Aggregate::kLastValue, kString, "a null b", "a null b"},
      {Aggregate::kLastValueIgnoreNulls, kInt, "1 null 2 null", "1 1 2 2"},
      {Aggregate::kLastValueIgnoreNulls, kWide, "null 5 null", "null 5 5"},
      {Aggregate::kFirstValue, kString, "a b null", "a a a"},
      {Aggregate::kFirstValue, kInt, "null 5 6", "null 5 5"},
      {Aggregate::kFirstValueIgnoreNulls, kInt, "null 1 2", "null 1 1"},
      {Aggregate::kFirstValueIgnoreNulls, kBytes, "x y", "x x"},
  });
}

TEST(BoolAndBoolOr, CombineWhatIsNotNull) {
  ExpectAll({
      {Aggregate::kBoolAnd, kBool, "1 null 0 1", "1 1 0 0"},
      {Aggregate::kBoolAnd, kBool, "null 1 1", "null 1 1"},
      {Aggregate::kBoolOr, kBool, "0 null 1 0", "0 0 1 1"},
      {Aggregate::kBoolOr, kBool, "null 0 0", "null 0 0"},
  });
}

TEST(FunctionsWithoutAnOrder, GiveTheSameBothWays) {
  const std::vector<std::pair<Aggregate, DataType>> functions = {
      {Aggregate::kSum, kInt},      {Aggregate::kSum, kDouble}, {Aggregate::kProduct, kWide},
      {Aggregate::kMax, kString},   {Aggregate::kMin, kDouble}, {Aggregate::kMax, kWide},
      {Aggregate::kBoolAnd, kBool}, {Aggregate::kBoolOr, kBool}};
  for (const auto& [function, type] : functions) {
    for (const auto& [a, b] : {std::pair("1", "0"), std::pair("0", "0"), std::pair("1", "null")}) {
      const auto last = [&](const std::string& first, const std::string& second) {
        return Words(ValuesOf(Make(function, type), type, first + " " + second)).back();
      };
      EXPECT_EQ(last(a, b), last(b, a)) << ToString(function) << " of " << a << " and " << b;
    }
  }
}

TEST(Listagg, JoinsWithItsDelimiter) {
  ExpectAll({
      {Aggregate::kListagg, kString, "a null b c", "a a a,b a,b,c"},
      {Aggregate::kStringAgg, kString, "null a b", "null a a,b"},
  });
  EXPECT_EQ(ValuesOf(Make(Aggregate::kListagg, kString, "; "), kString, "a b"), "a a; b");
}

TEST(Listagg, JoinsEmptyTextToo) {
  Fields fields;
  Aggregator aggregator = Make(Aggregate::kListagg, kString);
  FieldValue result;
  ASSERT_TRUE(aggregator.Combine(fields.OfBytes("a,b"), fields.OfBytes(""), result).ok());
  EXPECT_EQ(Print(kString, result), "a,b,");
}

TEST(Listagg, OfACharIsRefusedWhenItIsTooLong) {
  ExpectAll({{Aggregate::kListagg, DataType::Char(5), "ab cd e", "ab ab,cd refused"}});
}

TEST(Bitmaps, AreUnited) {
  const std::string one("\x3a\x30\0\0\x01\0\0\0\0\0\0\0\x10\0\0\0\x01\0", 18);
  std::string two = one;
  two[16] = 2;
  Fields fields;
  Aggregator aggregator = Make(Aggregate::kRbm32, kBytes);
  FieldValue result;
  ASSERT_TRUE(aggregator.Combine(fields.OfBytes(one), fields.OfBytes(two), result).ok());
  std::string both = one + std::string("\x02\0", 2);
  both[10] = 1;
  EXPECT_EQ(AsText(result.bytes), both);
  ASSERT_TRUE(aggregator.Combine(fields.Null(), fields.OfBytes(two), result).ok());
  EXPECT_EQ(AsText(result.bytes), two);
}

TEST(Bitmaps, ThatAreNoneAreRefusedFromTheFirstOn) {
  Fields fields;
  for (const Aggregate function : {Aggregate::kRbm32, Aggregate::kRbm64}) {
    Aggregator aggregator = Make(function, kBytes);
    EXPECT_EQ(aggregator.CheckFirst(fields.OfBytes("none")).error().code, ErrorCode::kInvalidValue);
    EXPECT_TRUE(aggregator.CheckFirst(fields.Null()).ok());
    FieldValue result;
    EXPECT_FALSE(aggregator.Combine(fields.Null(), fields.OfBytes("none"), result).ok());
  }
}

TEST(AnAggregator, OfAColumnWithoutFunctionKeepsTheLastValueThatIsNotNull) {
  const Column plain = ColumnOf(kInt);
  EXPECT_EQ(ValuesOf(Aggregator::Of(plain), kInt, "1 null 2 null"), "1 1 2 2");
}

TEST(AnAggregator, OfAColumnTakesItsDelimiter) {
  Column column = ColumnOf(kString);
  column.aggregation = Aggregation{.function = Aggregate::kListagg, .parameters = {}};
  EXPECT_EQ(ValuesOf(Aggregator::Of(column), kString, "a b"), "a a,b");
  column.aggregation->parameters["delimiter"] = "|";
  EXPECT_EQ(ValuesOf(Aggregator::Of(column), kString, "a b"), "a a|b");
}

TEST(AnAggregator, OfADecimalRefusesBytesThatAreNoNumber) {
  Fields fields;
  Aggregator aggregator = Make(Aggregate::kSum, kWide);
  EXPECT_FALSE(aggregator.CheckFirst(fields.OfBytes("")).ok());
  EXPECT_FALSE(aggregator.CheckFirst(fields.OfBytes(std::string(17, 'x'))).ok());
}

}  // namespace
}  // namespace weir
