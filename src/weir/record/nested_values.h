// Arrays and maps as they stand in rows, and the slots that arrays share with Paimon's keys.
// Format: docs/formats/rows.md (Fluss BinaryArray, BinaryMap).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "weir/base/bytes.h"
#include "weir/record/row.h"
#include "weir/record/table_choices.h"
#include "weir/record/value_plan.h"

namespace weir {

/// Bytes that a value takes in its slot.
size_t SlotBytes(ValueForm form);

/// Reads the value in a slot of `container`, to which the slot lies whole. Not if the value does
/// not lie in the container, or is none of its type; nested values are not looked into.
bool LoadSlot(const ValuePlan& plan, Bytes container, size_t slot, FieldValue& value);

/// Writes a value that is not null into a slot of the container that begins at `container` in
/// `out`, and what does not fit to the end of `out`, padded to 8 bytes. The slot is zero before.
void StoreSlot(const ValuePlan& plan, const FieldValue& value, size_t container, size_t slot,
               std::string& out);

/// The elements of an array. Bytes belong to somebody else.
class ArrayView {
 public:
  /// Not if head and slots do not fit.
  static std::optional<ArrayView> Open(Bytes array, const ValuePlan& element);

  size_t count() const { return count_; }
  /// Not if the element is not sound; see LoadSlot.
  bool Load(size_t i, FieldValue& value) const;

 private:
  ArrayView(Bytes array, const ValuePlan& element, size_t count)
      : array_(array), element_(element), count_(count) {}

  Bytes array_;
  const ValuePlan& element_;
  size_t count_;
};

/// Appends an array to `out`, which must not grow otherwise before the last element is set.
class ArrayWriter {
 public:
  ArrayWriter(const ValuePlan& element, size_t count, std::string& out);
  void Set(size_t i, const FieldValue& value);

 private:
  const ValuePlan& element_;
  std::string& out_;
  const size_t begin_;
  const size_t slots_;
};

struct MapView {
  ArrayView keys;
  ArrayView values;

  /// `plan` is that of the map. Not if the arrays do not fit or differ in length.
  static std::optional<MapView> Open(Bytes map, const ValuePlan& plan);
};

/// Writes the length of the key array, which began at `begin` in `out` behind kMapHeadBytes and
/// ends there; the value array comes next.
inline constexpr size_t kMapHeadBytes = sizeof(int32_t);
void EndMapKeys(size_t begin, std::string& out);

/// Whether `value` is one of this nested type, all the way down. Its parts do not overlap more than
/// so that together they are as long as `value`; hence what is made of it is bounded by its length.
bool IsNestedValue(const ValuePlan& plan, KvFormat format, Bytes value);

/// Brings the nested value of a field, or a text, from one form of rows to the other; other fields
/// are the same in both. `scratch` is what the field points to then. Not if a CHAR has no room
/// there.
bool Transcode(const ValuePlan& plan, KvFormat from, KvFormat to, FieldValue& field,
               std::string& scratch);

}  // namespace weir
