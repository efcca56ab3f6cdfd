// Names of databases and tables. Rules: docs/tables.md.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "weir/base/result.h"

namespace weir {

struct TablePath {
  std::string database;
  std::string table;

  auto operator<=>(const TablePath&) const = default;
};

/// 1 to 200 letters, digits, `_` and `-` of ASCII, not beginning with `__`. Errors: kInvalidName
/// for the name of a database, kInvalidTable for that of a table.
Status CheckDatabaseName(std::string_view name);
Status CheckTableName(std::string_view name);
/// Both names of a path.
Status CheckTablePath(const TablePath& path);

/// kDatabaseNotFound and kTableNotFound.
Error DatabaseNotFound(std::string_view name);
Error TableNotFound(const TablePath& path);

}  // namespace weir

template <>
struct fmt::formatter<weir::TablePath> : fmt::formatter<std::string_view> {
  template <typename Context>
  auto format(const weir::TablePath& path, Context& context) const {
    return fmt::format_to(context.out(), "{}.{}", path.database, path.table);
  }
};
