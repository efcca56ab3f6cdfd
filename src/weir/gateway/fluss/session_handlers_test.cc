// Who a client is, and what it may do before that is known.
#include <gtest/gtest.h>

#include "weir/gateway/fluss/api_testing.h"

namespace weir::fluss {
namespace {

TEST_F(ApiTest, AuthenticationIsOffered) {
  wire::AuthenticateRequest request;
  request.set_token("");
  request.set_protocol("PLAIN");
  EXPECT_EQ(CodeOf(1038, request), 46);
  request.set_protocol("plaintext");
  EXPECT_FALSE(Must<wire::AuthenticateResponse>(1038, request).has_challenge());
}

class SaslTest : public ApiTest {
 protected:
  SaslTest() {
    service_.config.users = {{"alice", "secret"}, {"bob", "other"}};
    session_.needs_user = true;
  }

  int32_t Authenticate(const std::string& token, const std::string& mechanism = "PLAIN") {
    wire::AuthenticateRequest request;
    request.set_protocol(mechanism);
    request.set_token(token);
    return CodeOf(1038, request);
  }
  static std::string Plain(const std::string& user, const std::string& password,
                           const std::string& act_for = "") {
    return act_for + '\0' + user + '\0' + password;
  }
  int32_t Ask() { return CodeOf(1003, wire::ListDatabasesRequest()); }
};

TEST_F(SaslTest, NothingIsServedBeforeTheClientIsKnown) {
  wire::ApiVersionsRequest versions;
  versions.set_client_software_name("test");
  versions.set_client_software_version("1");
  EXPECT_EQ(CodeOf(1000, versions), 0);
  EXPECT_EQ(Ask(), 46);
  EXPECT_EQ(Authenticate(Plain("alice", "secret")), 0);
  EXPECT_EQ(session_.user, "alice");
  EXPECT_EQ(Ask(), 0);
  EXPECT_EQ(Authenticate(""), 0) << "some clients go on after they are known";
}

TEST_F(SaslTest, TheAnswerHasNoChallenge) {
  wire::AuthenticateRequest request;
  request.set_protocol("plain");
  request.set_token(Plain("bob", "other", "bob"));
  EXPECT_FALSE(Must<wire::AuthenticateResponse>(1038, request).has_challenge());
}

TEST_F(SaslTest, WhoIsNotKnownIsRefused) {
  for (const std::string& token :
       {Plain("alice", "other"), Plain("alice", "secre"), Plain("alice", ""), Plain("", "secret"),
        Plain("carol", "secret"), Plain("alice", "secret", "bob"), Plain("alice", "secret") + '\0',
        std::string("alice secret"), std::string()}) {
    EXPECT_EQ(Authenticate(token), 46) << token;
  }
  EXPECT_EQ(Authenticate(Plain("alice", "secret"), "SCRAM-SHA-256"), 46);
  EXPECT_EQ(Authenticate("", "PLAINTEXT"), 46);
  EXPECT_EQ(Ask(), 46);
}

}  // namespace
}  // namespace weir::fluss
