// One column of each type, for tests, fuzz targets and benches.
#pragma once

#include <vector>

#include <fmt/format.h>

#include "weir/record/data_type.h"

namespace weir {

/// Every type, also inside of others.
inline std::vector<DataType> EveryType() {
  std::vector<DataType> types = {
      DataType::Of(TypeKind::kBoolean),  DataType::Of(TypeKind::kTinyInt),
      DataType::Of(TypeKind::kSmallInt), DataType::Of(TypeKind::kInt),
      DataType::Of(TypeKind::kBigInt),   DataType::Of(TypeKind::kFloat),
      DataType::Of(TypeKind::kDouble),   DataType::Decimal(10, 2),
      DataType::Decimal(18, 0),          DataType::Decimal(19, 5),
      DataType::Decimal(38, 10),         DataType::Char(5),
      DataType::Of(TypeKind::kString),   DataType::Binary(4),
      DataType::Of(TypeKind::kBytes),    DataType::Of(TypeKind::kDate)};
  for (const int precision : {0, 3, 6, 9}) {
    types.push_back(DataType::Time(precision));
    types.push_back(DataType::Timestamp(precision));
    types.push_back(DataType::TimestampLtz(precision));
  }
  std::vector<RowField> fields;
  const std::vector<DataType> plain = types;
  for (const DataType& type : plain) {
    types.push_back(DataType::Array(type));
    fields.push_back({fmt::format("f{}", fields.size()), type, {}, -1});
  }
  types.push_back(DataType::Row(fields));
  types.push_back(DataType::Map(DataType::Of(TypeKind::kInt).NotNull(), DataType::Row(fields)));
  types.push_back(DataType::Array(
      DataType::Map(DataType::Of(TypeKind::kString).NotNull(),
                    DataType::Array(DataType::Row({{"x", DataType::Array(plain[3]), {}, -1}})))));
  return types;
}

}  // namespace weir
