#include "weir/record/value_plan.h"

#include "weir/record/row.h"

namespace weir {
namespace {

ValueForm FormOf(const DataType& type) {
  switch (type.kind()) {
    case TypeKind::kBoolean: return ValueForm::kBoolean;
    case TypeKind::kTinyInt: return ValueForm::kInt8;
    case TypeKind::kSmallInt: return ValueForm::kInt16;
    case TypeKind::kInt: return ValueForm::kInt32;
    case TypeKind::kBigInt: return ValueForm::kInt64;
    case TypeKind::kFloat: return ValueForm::kFloat;
    case TypeKind::kDouble: return ValueForm::kDouble;
    case TypeKind::kDecimal:
      return type.precision() <= kCompactDigitsMax ? ValueForm::kDecimal : ValueForm::kBigDecimal;
    case TypeKind::kChar: return ValueForm::kChar;
    case TypeKind::kString: return ValueForm::kText;
    case TypeKind::kBinary: return ValueForm::kBinary;
    case TypeKind::kBytes: return ValueForm::kText;
    case TypeKind::kDate: return ValueForm::kInt32;
    case TypeKind::kTime: return ValueForm::kTime;
    case TypeKind::kTimestamp:
    case TypeKind::kTimestampLtz:
      return type.precision() <= 3 ? ValueForm::kMillis : ValueForm::kNanos;
    case TypeKind::kArray: return ValueForm::kArray;
    case TypeKind::kMap: return ValueForm::kMap;
    case TypeKind::kRow: return ValueForm::kRow;
  }
  WEIR_UNREACHABLE();
}

}  // namespace

ValuePlan PlanOf(const DataType& type) {
  ValuePlan plan{.form = FormOf(type),
                 .precision = static_cast<uint8_t>(type.precision()),
                 .length = type.length(),
                 .children = {}};
  for (const RowField& child : type.children()) plan.children.push_back(PlanOf(child.type));
  return plan;
}

std::vector<ValuePlan> PlansOf(std::span<const DataType> types) {
  std::vector<ValuePlan> plans;
  plans.reserve(types.size());
  for (const DataType& type : types) plans.push_back(PlanOf(type));
  return plans;
}

bool IsInBytes(const DataType& type) {
  return IsInBytes(FormOf(type));
}

}  // namespace weir
