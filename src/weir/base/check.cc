#include "weir/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace weir {

void CheckFailed(const char* expression, const char* file, int line) {
  // Not through the logger: it may be what is broken.
  std::fprintf(stderr, "weir: invariant broken: %s at %s:%d\n", expression, file, line);
  std::abort();
}

}  // namespace weir
