// WEIR_CHECK: an invariant of our own code. It stays on in release builds, because stopping is
// better than storing nonsense. What the caller or the world got wrong is a Result instead
// (result.h).
#pragma once

namespace weir {

[[noreturn]] void CheckFailed(const char* expression, const char* file, int line);

}  // namespace weir

#define WEIR_CHECK(condition) \
  (static_cast<bool>(condition) ? void(0) : ::weir::CheckFailed(#condition, __FILE__, __LINE__))

#define WEIR_UNREACHABLE() ::weir::CheckFailed("unreachable", __FILE__, __LINE__)
