#include "weir/kv/state_file.h"

#include "weir/base/crc32c.h"

namespace weir {
namespace {

constexpr std::string_view kMagic = "WEIRKVST";
constexpr uint32_t kFormat = 1;
constexpr uint32_t kHasTables = 1;

}  // namespace

std::string EncodeStateFile(const StateFile& state) {
  std::string bytes(kStateFileBytes, '\0');
  auto* const at = reinterpret_cast<std::byte*>(bytes.data());
  std::memcpy(at, kMagic.data(), kMagic.size());
  StoreLittle<uint32_t>(at + 8, kFormat);
  StoreLittle<uint32_t>(at + 12, state.has_tables ? kHasTables : 0);
  StoreLittle<int64_t>(at + 16, state.checkpoint.log_offset.value);
  StoreLittle<int64_t>(at + 24, state.checkpoint.row_count);
  StoreLittle<uint32_t>(at + 32, 0);
  StoreLittle<uint32_t>(at + 36, Crc32c(AsBytes(bytes).first(36)));
  return bytes;
}

Result<StateFile> DecodeStateFile(Bytes bytes) {
  if (bytes.size() < kMagic.size() + sizeof(uint32_t) ||
      AsText(bytes.first(kMagic.size())) != kMagic) {
    return Fail(ErrorCode::kCorruptData, "not a file STATE: bytes={}", bytes.size());
  }
  const auto format = LoadLittle<uint32_t>(bytes.data() + 8);
  if (format > kFormat) {
    return Fail(ErrorCode::kCorruptData, "STATE is of a newer version of weir: format={}", format);
  }
  if (bytes.size() != kStateFileBytes || format != kFormat ||
      LoadLittle<uint32_t>(bytes.data() + 36) != Crc32c(bytes.first(36))) {
    return Fail(ErrorCode::kCorruptData, "checksum of STATE differs: bytes={} format={}",
                bytes.size(), format);
  }
  const auto flags = LoadLittle<uint32_t>(bytes.data() + 12);
  const auto offset = LoadLittle<int64_t>(bytes.data() + 16);
  if (flags > kHasTables || LoadLittle<uint32_t>(bytes.data() + 32) != 0 || offset < 0) {
    return Fail(ErrorCode::kCorruptData, "STATE says what cannot be: flags={} log_offset={}", flags,
                offset);
  }
  return StateFile{{LogOffset(offset), LoadLittle<int64_t>(bytes.data() + 24)}, flags != 0};
}

}  // namespace weir
