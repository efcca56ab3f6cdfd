// Unions of serialised Roaring bitmaps, for the aggregate functions rbm32 and rbm64. Formats:
// docs/formats/bitmaps.md (the portable format of 32-bit Roaring bitmaps; Java's Roaring64Bitmap).
#pragma once

#include <string>

#include "weir/base/bytes.h"
#include "weir/base/result.h"

namespace weir {

enum class BitmapFormat {
  k32,  // the portable format
  k64,  // what Roaring64Bitmap of Java writes: a radix tree of keys, then containers
};

/// Whether `bitmap` is one, whole; bytes behind it do not matter. Errors: kInvalidValue.
Status CheckBitmap(BitmapFormat format, Bytes bitmap);

/// The union of `a` and `b`, in the place of what is in `out`. It never has more bytes than both
/// together and 64 more a container of 64-bit bitmaps; memory is at most ten times that. Errors:
/// kInvalidValue.
Status UniteBitmaps(BitmapFormat format, Bytes a, Bytes b, std::string& out);

}  // namespace weir
