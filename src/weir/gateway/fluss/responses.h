// Whole response frames of messages and errors.
#pragma once

#include "weir/base/error.h"
#include "weir/gateway/fluss/frame.h"
#include "weir/gateway/fluss/service.h"

namespace google::protobuf {
class MessageLite;
}

namespace weir::fluss {

/// The request failed as a whole.
Frame ErrorFrame(const RequestContext& context, const Error& error);

/// An error frame instead if the message is larger than any client could read.
Frame MessageFrame(const RequestContext& context, const google::protobuf::MessageLite& message);

/// Sets error code and message of a nested result, which must not have them when it succeeded:
/// clients take their presence for failure.
template <typename Message>
void SetError(Message& message, const Error& error) {
  message.set_error_code(static_cast<int32_t>(ToFlussCode(error.code)));
  message.set_error_message(SentMessage(error.message));
}

}  // namespace weir::fluss
