// Handshake, and access to remote files.
#include <algorithm>
#include <cctype>

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

Answer<wire::AuthenticateResponse> Authenticate(const RequestContext&,
                                                wire::AuthenticateRequest request) {
  std::string protocol = request.protocol();
  std::ranges::transform(protocol, protocol.begin(),
                         [](unsigned char c) { return std::toupper(c); });
  if (protocol != "PLAINTEXT") {
    co_return Fail(ErrorCode::kAuthenticationFailed,
                   "this server takes clients without authentication only: set "
                   "client.security.protocol to PLAINTEXT");
  }
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
