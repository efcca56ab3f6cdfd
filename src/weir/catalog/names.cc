#include "weir/catalog/names.h"

#include <algorithm>

namespace weir {
namespace {

constexpr size_t kNameCharactersMax = 200;

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

Status CheckName(std::string_view name, ErrorCode code) {
  if (name.empty() || name.size() > kNameCharactersMax) {
    return Fail(code, "a name must have 1 to {} characters: characters={}", kNameCharactersMax,
                name.size());
  }
  if (!std::all_of(name.begin(), name.end(), IsNameCharacter)) {
    return Fail(code, "a name may have only letters, digits, `_` and `-`: name={}", name);
  }
  if (name.starts_with("__"))
    return Fail(code, "names that begin with `__` are reserved: name={}", name);
  return Ok();
}

}  // namespace

Status CheckDatabaseName(std::string_view name) {
  return CheckName(name, ErrorCode::kInvalidName);
}
Status CheckTableName(std::string_view name) {
  return CheckName(name, ErrorCode::kInvalidTable);
}

Status CheckTablePath(const TablePath& path) {
  WEIR_TRY(CheckDatabaseName(path.database));
  return CheckTableName(path.table);
}

Error DatabaseNotFound(std::string_view name) {
  return Fail(ErrorCode::kDatabaseNotFound, "there is no such database: database={}", name);
}

Error TableNotFound(const TablePath& path) {
  return Fail(ErrorCode::kTableNotFound, "there is no such table: table={}", path);
}

}  // namespace weir
