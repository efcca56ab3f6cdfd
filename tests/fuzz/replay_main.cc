// Runs a fuzz target over every file of the given folders, so that each compiler and sanitizer
// replays the corpus as a test. With libFuzzer (-DWEIR_FUZZ=ON) its own main takes this one's
// place.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

/// Number of files replayed, or -1 if the folder cannot be listed or a file cannot be read.
int ReplayFolder(const std::filesystem::path& folder) {
  std::error_code error;
  int count = 0;
  for (std::filesystem::directory_iterator file(folder, error), end; !error && file != end;
       file.increment(error)) {
    if (!file->is_regular_file()) continue;
    std::ifstream stream(file->path(), std::ios::binary);
    const std::string input{std::istreambuf_iterator<char>(stream), {}};
    if (!stream) return -1;
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
    ++count;
  }
  return error ? -1 : count;
}

}  // namespace

int main(int argc, char** argv) {
  // A corpus that went missing must not pass for one without findings.
  bool is_complete = argc > 1;
  for (int i = 1; i < argc; ++i) {
    const int count = ReplayFolder(argv[i]);
    std::printf("replayed %d inputs of %s\n", count, argv[i]);
    is_complete = is_complete && count > 0;
  }
  return is_complete ? 0 : 1;
}
