// The table of APIs: which requests this server answers, in which versions, and by what. Specified
// by "Fluss protocol, API reference"; docs/compatibility.md tells what each answer is worth.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "weir/gateway/fluss/frame.h"
#include "weir/gateway/fluss/service.h"
#include "weir/runtime/task.h"

namespace weir::fluss {

struct Api {
  int16_t key;
  std::string_view name;
  /// The lowest version of every API is 0.
  int16_t version_max;
  /// Whether its frames may be as large as frame_bytes_max, and stay encoded.
  bool carries_records;
  /// Gives a whole response frame. `context` stays until then.
  Task<Frame> (*serve)(const RequestContext& context, Buffer body);
};

/// All that a client may call, by key.
std::span<const Api> Apis();

/// Null if the key is unknown.
const Api* FindApi(int16_t key);

/// Serves a request of any key and version, with an error frame if need be. `context` stays until
/// then. Whatever decides about order is done before the first suspension.
Task<Frame> Dispatch(const RequestContext& context, Buffer body);

}  // namespace weir::fluss
