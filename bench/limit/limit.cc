// What a server cannot do without, and nothing else: programs that answer `weir bench` like a
// server, on the same sockets and files. Their CPU time is the limit that a real server is measured
// against.
//
// One bucket whatever the tables are called; all is forgotten at the end; the client is trusted.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "log_limit.h"
#include "row_limit.h"

namespace weir::load {
namespace {

int Main(int argc, char** argv) {
  const std::string_view what = argc > 3 ? argv[3] : "log";
  const bool is_log = what == "log";
  if (argc < 3 || argc > 5 || (!is_log && what != "rows" && what != "changelog")) {
    std::fprintf(stderr,
                 "usage: weir_limit PORT PATH [log | rows [MEMORY_MB] | changelog [MEMORY_MB]]\n");
    return 2;
  }
  const size_t memory_mb = argc > 4 ? static_cast<size_t>(std::atoi(argv[4])) : 1024;
  const std::unique_ptr<Limit> limit =
      is_log ? MakeLogLimit(argv[2]) : MakeRowLimit(argv[2], what == "changelog", memory_mb << 20);
  ServeLimit(std::atoi(argv[1]), *limit);
}

}  // namespace
}  // namespace weir::load

int main(int argc, char** argv) {
  return weir::load::Main(argc, argv);
}
