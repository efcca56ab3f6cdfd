// Handshake, and access to remote files.
#include <algorithm>
#include <cctype>
#include <map>
#include <vector>

#include "weir/base/log.h"
#include "weir/gateway/fluss/api.h"
#include "weir/gateway/fluss/handlers.h"

namespace weir::fluss {

Answer<wire::ApiVersionsResponse> ApiVersions(const RequestContext&, wire::ApiVersionsRequest) {
  wire::ApiVersionsResponse response;
  for (const Api& api : Apis()) {
    wire::PbApiVersion& version = *response.add_api_versions();
    version.set_api_key(api.key);
    version.set_min_version(0);
    version.set_max_version(api.version_max);
  }
  co_return response;
}

namespace {

std::string Upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

/// Takes as long for every password of the same length, so that nobody learns from the time how
/// much of a guess is right.
bool IsSame(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

/// The user of a SASL/PLAIN message: whom to act for (nobody else), name and password, with NUL
/// between them (RFC 4616). Errors: kAuthenticationFailed.
Result<std::string> UserOfPlain(std::string_view message,
                                const std::map<std::string, std::string>& users) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= message.size();) {
    const size_t end = std::min(message.find('\0', begin), message.size());
    parts.push_back(message.substr(begin, end - begin));
    begin = end + 1;
  }
  const bool is_well_formed = parts.size() == 3 && !parts[1].empty() && !parts[2].empty() &&
                              (parts[0].empty() || parts[0] == parts[1]);
  if (!is_well_formed) {
    return Fail(ErrorCode::kAuthenticationFailed,
                "a SASL/PLAIN message must have a user and a password");
  }
  const auto user = users.find(std::string(parts[1]));
  // The name is a stranger's text of any length, which has no place in our log.
  if (user == users.end() || !IsSame(user->second, parts[2]))
    return Fail(ErrorCode::kAuthenticationFailed, "user or password is wrong");
  return user->first;
}

}  // namespace

Answer<wire::AuthenticateResponse> Authenticate(const RequestContext& context,
                                                wire::AuthenticateRequest request) {
  Session& session = context.session;
  const std::string protocol = Upper(request.protocol());
  if (!session.needs_user) {
    if (protocol == "PLAINTEXT") co_return wire::AuthenticateResponse();
    co_return Fail(ErrorCode::kAuthenticationFailed,
                   "this address takes clients without authentication only: set "
                   "client.security.protocol to PLAINTEXT");
  }
  // Clients may go on after they are known.
  if (session.user) co_return wire::AuthenticateResponse();
  if (protocol != "PLAIN") {
    co_return Fail(ErrorCode::kAuthenticationFailed,
                   "only PLAIN of the SASL mechanisms is known: mechanism={}", protocol);
  }
  Result<std::string> user = UserOfPlain(request.token(), context.service.config.users);
  if (!user.ok()) {
    LogWarn("gateway", "a client is refused: reason={}", user.error().message);
    co_return std::move(user).error();
  }
  session.user = *std::move(user);
  co_return wire::AuthenticateResponse();
}

Answer<wire::GetFileSystemSecurityTokenResponse> GetFileSystemSecurityToken(
    const RequestContext&, wire::GetFileSystemSecurityTokenRequest) {
  // All records are local. An empty token for local files is what clients take for "nothing is
  // needed".
  wire::GetFileSystemSecurityTokenResponse response;
  response.set_schema("file");
  response.set_token("");
  co_return response;
}

}  // namespace weir::fluss
