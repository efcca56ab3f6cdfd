#include "weir/server/data_directory.h"

#include <nlohmann/json.hpp>

namespace weir {
namespace {

// Raised when something is written that older versions cannot read.
constexpr int kFormat = 1;
constexpr size_t kRootBytesMax = 64 << 10;
constexpr uint32_t kGroupsMax = 4096;

}  // namespace

Result<DataDirectory> DataDirectory::Open(FileSystem& files, Random& random,
                                          const std::string& path, uint32_t groups) {
  DataDirectory directory;
  WEIR_TRY(files.MakeDirectories(path));
  auto lock = files.Lock(path + "/LOCK");
  if (!lock.ok()) {
    if (lock.error().code != ErrorCode::kOverloaded) return std::move(lock).error();
    return Fail(ErrorCode::kOverloaded,
                "the data directory {} is in use by another server; stop that one, or choose "
                "another --data-dir",
                path);
  }
  directory.lock_ = *std::move(lock);
  const std::string root = path + "/root";
  if (!files.Exists(root)) {
    WEIR_TRY(files.MakeDirectories(path + "/journals"));
    WEIR_TRY(files.MakeDirectories(path + "/groups"));
    nlohmann::ordered_json json;
    json["format"] = kFormat;
    json["cluster"] = fmt::format("{:016x}{:016x}", random.Next(), random.Next());
    json["groups"] = groups;
    WEIR_TRY(ReplaceFile(files, root, json.dump(1) + "\n"));
    directory.groups_ = groups;
    return directory;
  }
  WEIR_ASSIGN(const std::string text, ReadWholeFile(files, root, kRootBytesMax));
  try {
    const auto json = nlohmann::json::parse(text);
    if (const int format = json.at("format").get<int>(); format > kFormat) {
      return Fail(ErrorCode::kUnsupported,
                  "the data directory {} was written by a newer version of weir (format {}, this "
                  "one knows {}); "
                  "start that version",
                  path, format, kFormat);
    }
    directory.groups_ = json.at("groups").get<uint32_t>();
  } catch (const nlohmann::json::exception& error) {
    return Fail(ErrorCode::kCorruptData, "{} makes no sense: {}; restore it from a backup", root,
                error.what());
  }
  if (directory.groups_ == 0 || directory.groups_ > kGroupsMax) {
    return Fail(ErrorCode::kCorruptData, "{} makes no sense: groups={}; restore it from a backup",
                root, directory.groups_);
  }
  return directory;
}

}  // namespace weir
