#include "weir/record/json.h"

#include "weir/base/check.h"

namespace weir {
namespace {

// The parser itself needs no stack for nesting, but copying and writing what it made do.
bool IsDeep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kJsonDepthMax) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

Error WrongKind(const char* key, const char* wanted) {
  return Fail(ErrorCode::kInvalidTable, "a member of the JSON must be {}: key={}", wanted, key);
}

}  // namespace

Result<Json> ParseJson(std::string_view text, std::string_view what, size_t bytes_max) {
  if (text.size() > bytes_max) {
    return Fail(ErrorCode::kInvalidTable, "JSON is too long: what={} bytes={} max={}", what,
                text.size(), bytes_max);
  }
  if (IsDeep(text)) return Fail(ErrorCode::kInvalidTable, "JSON is nested too deep: what={}", what);
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return Fail(ErrorCode::kInvalidTable, "not valid JSON: what={}", what);
  if (!json.is_object()) return Fail(ErrorCode::kInvalidTable, "not a JSON object: what={}", what);
  return json;
}

std::string DumpJson(const Json& json) {
  try {
    return json.dump();
  } catch (const Json::exception&) {  // a string that is not UTF-8: see the contract
    WEIR_UNREACHABLE();
  }
}

bool IsUtf8(std::string_view text) {
  try {
    [[maybe_unused]] const std::string dumped = Json(text).dump();
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

const Json* FindMember(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

Result<const Json*> RequireArray(const Json& object, const char* key) {
  const Json* member = FindMember(object, key);
  if (member == nullptr || !member->is_array()) return WrongKind(key, "an array");
  return member;
}

Result<std::string> RequireString(const Json& object, const char* key) {
  const Json* member = FindMember(object, key);
  if (member == nullptr || !member->is_string()) return WrongKind(key, "a string");
  return member->get_ref<const std::string&>();
}

Result<std::optional<std::string>> OptionalString(const Json& object, const char* key) {
  if (FindMember(object, key) == nullptr) return std::optional<std::string>();
  WEIR_ASSIGN(std::string text, RequireString(object, key));
  return std::optional<std::string>(std::move(text));
}

Result<std::optional<int64_t>> OptionalInteger(const Json& object, const char* key, int64_t min,
                                               int64_t max) {
  const Json* member = FindMember(object, key);
  if (member == nullptr) return std::optional<int64_t>();
  if (!member->is_number_integer()) return WrongKind(key, "an integer");
  // What is beyond int64 comes as unsigned, and would turn negative.
  const bool is_huge = member->is_number_unsigned() && member->get<uint64_t>() > INT64_MAX;
  const int64_t value = is_huge ? INT64_MAX : member->get<int64_t>();
  if (is_huge || value < min || value > max) {
    return Fail(ErrorCode::kInvalidTable,
                "a number in the JSON is out of range: key={} value={} min={} max={}", key, value,
                min, max);
  }
  return std::optional<int64_t>(value);
}

Result<int64_t> RequireInteger(const Json& object, const char* key, int64_t min, int64_t max) {
  WEIR_ASSIGN(const std::optional<int64_t> value, OptionalInteger(object, key, min, max));
  if (!value) return WrongKind(key, "an integer");
  return *value;
}

}  // namespace weir
