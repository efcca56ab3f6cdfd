#include "weir/log/manifest.h"

#include <limits>

#include <nlohmann/json.hpp>

#include "weir/base/crc32c.h"
#include "weir/base/varint.h"

namespace weir {
namespace {

constexpr uint64_t kManifestFormat = 1;
// More than any version merges.
constexpr uint64_t kFileLevelMax = 1000;
constexpr std::string_view kStatesMagic = "WEIRSTA1";
constexpr uint64_t kNumberMax = std::numeric_limits<int64_t>::max();

/// A whole number of at most `max`. The library would convert any other kind of number as C++ does,
/// and that is undefined for one that is too large. Errors: kCorruptData.
Result<uint64_t> NumberOf(const nlohmann::json& value, uint64_t max) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > max) {
    return Fail(ErrorCode::kCorruptData, "manifest has a number that makes no sense");
  }
  return value.get<uint64_t>();
}

// Names lead to files below the data directory, whatever a manifest says.
bool IsFileName(std::string_view name) {
  return (name.starts_with("groups/") || name.starts_with("journals/")) &&
         name.find("..") == std::string_view::npos;
}

}  // namespace

std::string ManifestPath(const std::string& data_dir, GroupId group) {
  return fmt::format("{}/groups/{}/manifest", data_dir, group);
}

std::string EncodeManifest(const Manifest& manifest) {
  nlohmann::ordered_json json;
  json["format"] = kManifestFormat;
  json["group"] = manifest.group.value;
  json["epoch"] = manifest.epoch.value;
  json["owner"] = ToString(manifest.owner);
  json["floor"] = manifest.floor.value;
  json["states"] = manifest.states;
  json["files"] = nlohmann::ordered_json::array();
  for (const ManifestFile& file : manifest.files) {
    json["files"].push_back({{"name", file.name}, {"level", file.level}});
  }
  std::string text = json.dump(1);
  text += fmt::format("\ncrc32c {:08x}\n", Crc32c(AsBytes(text)));
  return text;
}

Result<Manifest> DecodeManifest(std::string_view text) {
  const auto corrupt = [](const char* what) {
    return Fail(ErrorCode::kCorruptData, "manifest {}", what);
  };
  const size_t end = text.rfind("\ncrc32c ");
  if (end == std::string_view::npos) return corrupt("has no checksum");
  const std::string_view body = text.substr(0, end);
  if (text.substr(end) != fmt::format("\ncrc32c {:08x}\n", Crc32c(AsBytes(body))))
    return corrupt("checksum differs");
  try {
    const auto json = nlohmann::json::parse(body);
    constexpr uint64_t kMax32 = std::numeric_limits<uint32_t>::max();
    constexpr uint64_t kMax64 = std::numeric_limits<uint64_t>::max();
    WEIR_ASSIGN(const uint64_t format, NumberOf(json.at("format"), kMax64));
    if (format > kManifestFormat) {
      return Fail(ErrorCode::kUnsupported, "manifest was written by a newer version: format={}",
                  format);
    }
    Manifest manifest;
    WEIR_ASSIGN(const uint64_t group, NumberOf(json.at("group"), kMax32));
    WEIR_ASSIGN(const uint64_t epoch, NumberOf(json.at("epoch"), kMax64));
    WEIR_ASSIGN(const uint64_t floor, NumberOf(json.at("floor"), kMax64));
    WEIR_ASSIGN(manifest.owner, ParseJournalId(json.at("owner").get<std::string>()));
    manifest.group = GroupId(static_cast<uint32_t>(group));
    manifest.epoch = Epoch(epoch);
    manifest.floor = Slot(floor);
    manifest.states = json.at("states").get<std::string>();
    if (!IsFileName(manifest.states)) return corrupt("names no file of buckets' states");
    for (const auto& file : json.at("files")) {
      WEIR_ASSIGN(const uint64_t level, NumberOf(file.at("level"), kFileLevelMax));
      manifest.files.push_back({file.at("name").get<std::string>(), static_cast<int>(level)});
      if (!IsFileName(manifest.files.back().name)) return corrupt("names a file elsewhere");
    }
    return manifest;
  } catch (const nlohmann::json::exception& error) {
    return Fail(ErrorCode::kCorruptData, "manifest makes no sense: {}", error.what());
  }
}

std::string EncodeBucketStates(const BucketStates& states) {
  std::string out(kStatesMagic);
  AppendVarint(out, states.size());
  for (const auto& [bucket, state] : states) {
    AppendVarint(out, static_cast<uint64_t>(bucket.table_id.value));
    // 0: no partition, since ids count from 0.
    AppendVarint(out,
                 bucket.partition_id ? static_cast<uint64_t>(bucket.partition_id->value) + 1 : 0);
    AppendVarint(out, static_cast<uint32_t>(bucket.bucket_id));
    AppendVarint(out, static_cast<uint64_t>(state.start.value));
    AppendVarint(out, static_cast<uint64_t>(state.end - state.start));
    AppendVarint(out, static_cast<uint64_t>(state.max_timestamp.value));
    state.writers.EncodeTo(out);
  }
  const uint32_t crc = Crc32c(AsBytes(out));
  out.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  return out;
}

Result<BucketStates> DecodeBucketStates(std::string_view text) {
  const auto corrupt = [](const char* what) {
    return Fail(ErrorCode::kCorruptData, "bucket states {}", what);
  };
  if (text.size() < kStatesMagic.size() + 4 || !text.starts_with(kStatesMagic)) {
    return corrupt("are cut short");
  }
  const Bytes covered = AsBytes(text).first(text.size() - 4);
  if (LoadLittle<uint32_t>(covered.data() + covered.size()) != Crc32c(covered)) {
    return corrupt("checksum differs");
  }
  Bytes rest = covered.subspan(kStatesMagic.size());
  BucketStates states;
  const auto count = TakeVarint(rest);
  if (!count) return corrupt("make no sense");
  for (uint64_t i = 0; i < *count; ++i) {
    const auto table = TakeVarint(rest), partition = TakeVarint(rest), bucket = TakeVarint(rest);
    const auto start = TakeVarint(rest), records = TakeVarint(rest);
    const auto max_timestamp = TakeVarint(rest);
    if (!table || !partition || *partition > kNumberMax || !bucket ||
        *bucket > std::numeric_limits<uint32_t>::max() || !start || *start > kNumberMax ||
        !records || *records > kNumberMax - *start || !max_timestamp) {
      return corrupt("make no sense");
    }
    TableBucket id{TableId(static_cast<int64_t>(*table)), std::nullopt,
                   static_cast<int32_t>(static_cast<uint32_t>(*bucket))};
    if (*partition > 0) id.partition_id = PartitionId(static_cast<int64_t>(*partition) - 1);
    if (!states.empty() && !(std::prev(states.end())->first < id)) return corrupt("are not sorted");
    BucketState state;
    state.start = LogOffset(static_cast<int64_t>(*start));
    state.end = state.start + static_cast<int64_t>(*records);
    state.max_timestamp = Timestamp(static_cast<int64_t>(*max_timestamp));
    WEIR_ASSIGN(state.writers, WriterTable::DecodeFrom(rest));
    states.emplace_hint(states.end(), id, std::move(state));
  }
  if (!rest.empty()) return corrupt("go on behind their end");
  return states;
}

}  // namespace weir
