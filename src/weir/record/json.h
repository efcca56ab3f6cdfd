// How JSON from outside is read and written: within bounds and without exceptions. For sources of
// this layer and of those above it that link the JSON library; no public header shows its types.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <nlohmann/json.hpp>

#include "weir/base/result.h"
#include "weir/record/data_type.h"
#include "weir/record/schema.h"
#include "weir/record/table_descriptor.h"

namespace weir {

using Json = nlohmann::json;

/// The longest text that is read from a client, and how deep arrays and objects may lie in one
/// another. A parsed text takes up to about 30 times its length in memory ("[[],[],[]…"), so the
/// first bounds that too.
inline constexpr size_t kJsonBytesMax = 4 << 20;
inline constexpr int kJsonDepthMax = 160;

/// Errors: kInvalidTable. `what` names the text in the message.
Result<Json> ParseJson(std::string_view text, std::string_view what,
                       size_t bytes_max = kJsonBytesMax);

/// `json` in one line, keys in alphabetical order. Its strings must be UTF-8, as all that ParseJson
/// reads are.
std::string DumpJson(const Json& json);

/// Whether `text` may stand in a JSON string; what clients send beside JSON need not.
bool IsUtf8(std::string_view text);

/// Members of `object`, which must be an object; null counts as absent. Errors: kInvalidTable if
/// the member is absent where it is required, or of another kind.
const Json* FindMember(const Json& object, const char* key);
Result<const Json*> RequireArray(const Json& object, const char* key);
Result<std::string> RequireString(const Json& object, const char* key);
Result<std::optional<std::string>> OptionalString(const Json& object, const char* key);
Result<std::optional<int64_t>> OptionalInteger(const Json& object, const char* key, int64_t min,
                                               int64_t max);
Result<int64_t> RequireInteger(const Json& object, const char* key, int64_t min, int64_t max);

Json ToJson(const DataType& type);
/// `depth` is that of the types around this one.
Result<DataType> DataTypeFromJson(const Json& json, int depth = 0);

Json ToJson(const Schema& schema);
Result<Schema> SchemaFromJson(const Json& json);

/// Columns by name. The names are those of the columns that it was made of.
using ColumnPositions = std::unordered_map<std::string_view, int32_t>;
/// Errors: kInvalidTable if two columns have one name.
Result<ColumnPositions> PositionsOf(const std::vector<Column>& columns);

/// The columns that the array `key` of `object` names, each at most once; none if it is absent.
/// Errors: kInvalidTable.
Result<std::vector<int32_t>> PositionsFromJson(const Json& object, const char* key,
                                               const ColumnPositions& known);
Json NamesToJson(const Schema& schema, const std::vector<int32_t>& positions);

Json ToJson(const TableDescriptor& table);
Result<TableDescriptor> TableDescriptorFromJson(const Json& json);
/// The object `key` of `object`, whose values must be strings; none if it is absent. Errors:
/// kInvalidTable.
Result<Properties> PropertiesFromJson(const Json& object, const char* key);

}  // namespace weir
