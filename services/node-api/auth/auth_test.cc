#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/node-api/auth/attributes.h"
#include "services/node-api/http/routes.h"
#include "services/node-api/node_api_fixture.h"

namespace splitlet::node_api {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(Attributes, EachPathAsksForItsOwn) {
  const struct {
    const char* path;
    std::vector<std::string_view> want;
  } kCases[] = {
      {"/stats/summary", {"stats"}},
      {"/metrics", {"metrics"}},
      {"/metrics/resource", {"metrics"}},
      {"/logs/syslog", {"log"}},
      {"/checkpoint/a/b/c", {"checkpoint"}},
      {"/pods", {"pods", "proxy"}},
      {"/runningpods/", {"pods", "proxy"}},
      {"/healthz/ping", {"healthz", "proxy"}},
      {"/configz", {"configz", "proxy"}},
      {"/podsx", {"proxy"}},
      {"/Pods", {"proxy"}},
      {"/exec/a/b/c", {"proxy"}},
      {"/attach/a/b/c", {"proxy"}},
      {"/portForward/a/b", {"proxy"}},
      {"/run/a/b/c", {"proxy"}},
      {"/containerLogs/a/b/c", {"proxy"}},
      {"/debug/pprof/", {"proxy"}},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.path);
    EXPECT_EQ(SubresourcesOf(c.path), c.want);
  }
  EXPECT_EQ(VerbOf("POST"), "create");
  EXPECT_EQ(VerbOf("HEAD"), "");
}

using Auth = NodeApiTest;

/// Every route with all parameters of a request: namespace, pod, container, and an optional uid.
std::vector<std::string> AllPaths() {
  std::vector<std::string> paths;
  for (const ServedPath& served : ServedPaths()) {
    const std::string path(served.path);
    if (served.itself) paths.push_back(path);
    if (!served.below) continue;
    for (const char* rest : {"/", "/a", "/a/b", "/a/b/c", "/a/b/uid/c"})
      paths.push_back(path + rest);
  }
  return paths;
}

TEST(Routes, AllAreKnownToWhoLooksAtAll) {
  const auto paths = AllPaths();
  for (const char* path :
       {"/healthz", "/pods", "/stats/a", "/metrics/slis", "/exec/a/b/uid/c", "/portForward/a/b",
        "/logs/", "/debug/flags/v", "/flagz", "/statusz", "/checkpoint/a/b/c"})
    EXPECT_THAT(paths, testing::Contains(path));
  for (const std::string& path : paths)
    EXPECT_EQ(FindRoute(path, Surface::kSecured, {}).kind, Match::Kind::kServed) << path;
}

TEST_F(Auth, NobodyGetsInWithoutCredentials) {
  reviewer->rights = {"bob get pods"};
  Start();
  for (const std::string& path : AllPaths()) {
    for (const char* method :
         {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"}) {
      SCOPED_TRACE(fmt::format("{} {}", method, path));
      EXPECT_EQ(Text({.method = method, .target = path, .token = ""}), "401 Unauthorized");
      EXPECT_EQ(Text({.method = method, .target = path, .token = "bad"}), "401 Unauthorized");
    }
  }
  EXPECT_THAT(reviewer->asked, IsEmpty());
}

TEST_F(Auth, NobodyGetsInWithoutRights) {
  Start();
  for (const std::string& path : AllPaths()) {
    for (const char* method : {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}) {
      SCOPED_TRACE(fmt::format("{} {}", method, path));
      EXPECT_THAT(Text({.method = method, .target = path}), HasSubstr("403 Forbidden (user=bob"));
    }
  }
}

constexpr const char* kSocketToken = "base64url.bearer.authorization.k8s.io.Z29vZA";

TEST_F(Auth, WhoIsWhoAndMayDoWhat) {
  reviewer->rights = {"bob get pods", "alice get proxy", "root get metrics",
                      "system:anonymous get healthz"};
  reviewer->tokens["proxy"] = {.name = "alice", .uid = "", .groups = {}, .extra = {}};
  reviewer->tokens["root"] = {.name = "root", .uid = "", .groups = {}, .extra = {}};
  config.server.anonymous = true;
  Start();
  const https::ClientCertificate bob{
      .common_name = "bob", .organizations = {"dev"}, .uid = "", .sha256 = "ab"};
  const struct {
    const char* name;
    Ask ask;
    std::string want;
  } kCases[] = {
      {"pods alone", {.target = "/pods"}, "200 "},
      {"pods alone is not configz",
       {.target = "/configz"},
       "403 Forbidden (user=bob, verb=get, resource=nodes, subresource(s)=[configz proxy])"},
      {"proxy is pods too", {.target = "/pods", .token = "proxy"}, "200 "},
      {"proxy is configz too", {.target = "/configz", .token = "proxy"}, "200 "},
      {"proxy is not metrics",
       {.target = "/metrics", .token = "proxy"},
       "403 Forbidden (user=alice, verb=get, resource=nodes, subresource(s)=[metrics])"},
      {"HEAD has no verb",
       {.method = "HEAD", .target = "/metrics", .token = "root"},
       "403 Forbidden (user=root, verb=, resource=nodes, subresource(s)=[metrics])"},
      {"a certificate", {.token = "", .client = bob}, "200 "},
      {"a certificate comes before a token", {.token = "bad", .client = bob}, "200 "},
      {"anonymous", {.target = "/healthz", .token = ""}, "200 ok"},
      {"anonymous may not all",
       {.token = ""},
       "403 Forbidden (user=system:anonymous, verb=get, resource=nodes, subresource(s)=[pods "
       "proxy])"},
      {"no Bearer",
       {.token = "", .headers = {{"Authorization", "Basic Ym9i"}}},
       "403 Forbidden (user=system:anonymous, verb=get, resource=nodes, subresource(s)=[pods "
       "proxy])"},
      {"bearer in lower case",
       {.token = "", .headers = {{"authorization", "bearer good"}}},
       "200 "},
      {"a token among protocols",
       {.token = "",
        .headers = {{"Sec-WebSocket-Protocol",
                     fmt::format("{}, v4.channel.k8s.io", kSocketToken)}}},
       "200 "},
      {"a path that hides another", {.target = "/pods/../configz"}, "404 404 page not found"},
      {"an escaped one", {.target = "/%70ods"}, "200 "},
      {"unknown paths need no authentication",
       {.target = "/nosuch", .token = ""},
       "404 404 page not found"},
      {"without its slash", {.target = "/stats", .token = ""}, "301 Moved Permanently"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_THAT(Text(c.ask), testing::StartsWith(c.want));
  }
}

TEST_F(Auth, AWrongCredentialIsNobodysNorAnonymous) {
  reviewer->rights = {"bob get pods", "system:anonymous get healthz"};
  config.server.anonymous = true;
  Start();
  ASSERT_EQ(Text({.target = "/healthz", .token = ""}), "200 ok");
  const struct {
    const char* name;
    Ask ask;
    std::string want;
  } kCases[] = {
      {"a wrong token", {.target = "/healthz", .token = "bad"}, "401 Unauthorized"},
      {"a wrong certificate",
       {.target = "/healthz", .token = "", .bad_client = "unknown authority"},
       "401 Unauthorized"},
      {"a wrong certificate beside a good token", {.bad_client = "unknown authority"}, "200 "},
      {"a wrong certificate beside a wrong token",
       {.target = "/healthz", .token = "bad", .bad_client = "unknown authority"},
       "401 Unauthorized"},
      {"a token alone among protocols",
       {.target = "/healthz", .token = "", .headers = {{"Sec-WebSocket-Protocol", kSocketToken}}},
       "401 Unauthorized"},
      {"two tokens among protocols",
       {.target = "/healthz",
        .token = "",
        .headers = {{"Sec-WebSocket-Protocol",
                     fmt::format("{0}, {0}, v4.channel.k8s.io", kSocketToken)}}},
       "401 Unauthorized"},
      {"a token among protocols that cannot be decoded",
       {.target = "/healthz",
        .token = "",
        .headers = {{"Sec-WebSocket-Protocol",
                     "base64url.bearer.authorization.k8s.io.?, v4.channel.k8s.io"}}},
       "401 Unauthorized"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_THAT(Text(c.ask), testing::StartsWith(c.want));
  }
}

TEST_F(Auth, ACertificatesOwnerAsTheApiServerSeesIt) {
  reviewer->rights = {"alice get pods"};
  Start();
  EXPECT_EQ(Code({.token = "",
                  .client = https::ClientCertificate{.common_name = "alice",
                                                     .organizations = {"dev", "ops"},
                                                     .uid = "7",
                                                     .sha256 = "ab"}}),
            200);
  const User& seen = reviewer->users.at(0);
  EXPECT_THAT(seen.groups, ElementsAre("dev", "ops", "system:authenticated"));
  EXPECT_EQ(seen.uid, "7");
  EXPECT_THAT(seen.extra.at("authentication.kubernetes.io/credential-id"),
              ElementsAre("X509SHA256=ab"));
}

TEST_F(Auth, WithoutItsFeatureGateACertificateSaysNoUid) {
  reviewer->rights = {"alice get pods"};
  config.gates = config::FeatureGates({{"AllowParsingUserUIDFromCertAuth", false}});
  Start();
  EXPECT_EQ(
      Code({.token = "",
            .client =
                https::ClientCertificate{
                    .common_name = "alice", .organizations = {"dev"}, .uid = "7", .sha256 = "ab"}}),
      200);
  EXPECT_EQ(reviewer->users.at(0).uid, "");
}

TEST_F(Auth, AnswersAreKeptForAWhile) {
  reviewer->rights = {"bob get metrics"};
  Start();
  EXPECT_EQ(Code({.target = "/metrics/resource"}), 200);
  EXPECT_THAT(reviewer->asked, ElementsAre("get metrics"));
  EXPECT_EQ(Code({.target = "/configz"}), 403);
  EXPECT_EQ(Code({.target = "/configz"}), 403);
  EXPECT_EQ(reviewer->asked.size(), 3U);  // for configz and proxy
  EXPECT_EQ(reviewer->token_calls, 1);

  reviewer->trouble = Unavailable("the API server is away");
  EXPECT_EQ(Code({.target = "/metrics/slis"}), 200);
  all.Advance(std::chrono::seconds{31});
  EXPECT_EQ(Code({.target = "/configz"}), 0);  // each request asks the API server again
  all.Advance(std::chrono::seconds{20});
  EXPECT_EQ(Code({.target = "/metrics/slis"}), 200);
  all.Advance(std::chrono::minutes{3});
  const auto late = Send({.target = "/metrics/slis"});
  all.Advance(std::chrono::seconds{20});
  EXPECT_EQ(late->answer->code, 401);
}

TEST_F(Auth, AnErrorOfTheReviewIsNoRefusal) {
  Start();
  reviewer->trouble = Internal("broken");
  EXPECT_EQ(Text({.token = "", .client = https::ClientCertificate{.common_name = "alice"}}),
            "500 Authorization error (user=alice, verb=get, resource=nodes, subresource=pods)");
  EXPECT_EQ(Text({}), "401 Unauthorized");
}

TEST_F(Auth, OneQuestionForAllThatAskAtOnce) {
  AllowAll();
  Start();
  for (int i = 0; i < 5; ++i)
    loop.Post([this] {
      service->OnRequest(Surface::kSecured,
                         {.method = "GET",
                          .target = "/configz",
                          .path = "/configz",
                          .headers = {{"Authorization", "Bearer good"}}},
                         std::make_shared<FakeResponder>(std::make_shared<Answered>()));
    });
  all.Advance(1ms);
  EXPECT_EQ(reviewer->token_calls, 1);
}

TEST_F(Auth, WhoShowsTokensThatNobodyKnowsKeepsNobodyElseOut) {
  reviewer->rights = {"alice get pods"};
  reviewer->on_token = [this](const Deadline& deadline) { all.Charge(Remaining(clock, deadline)); };
  Start();
  constexpr int kStrangers = 3 * ReviewCalls::kMaxWaiting;
  std::vector<std::shared_ptr<Answered>> strangers;
  for (int i = 0; i < kStrangers; ++i) strangers.push_back(Begin({.token = fmt::format("{}", i)}));
  all.Advance(1ms);
  const auto with_code = [&strangers](int code) {
    return std::ranges::count_if(
        strangers, [code](const auto& each) { return each->answer && each->answer->code == code; });
  };
  EXPECT_EQ(with_code(429), kStrangers - ReviewCalls::kMaxWaiting);
  EXPECT_EQ(Code({.token = "", .client = https::ClientCertificate{.common_name = "alice"}}), 200);
  all.Advance(ReviewCalls::kLimit);
  EXPECT_EQ(with_code(401), ReviewCalls::kMaxWaiting) << "a request waits longer than it may";
}

TEST_F(Auth, NoQuestionLastsForMoreThanHalfAMinute) {
  Start();
  std::vector<Duration> left;
  reviewer->trouble = Unavailable("it hangs");
  reviewer->on_access = [&](const Deadline& deadline) {
    left.push_back(Remaining(clock, deadline));
    all.Charge(left.back());
  };
  const auto asked =
      Begin({.token = "", .client = https::ClientCertificate{.common_name = "alice"}});
  all.Advance(29s);
  EXPECT_FALSE(asked->answer);
  all.Advance(2s);
  ASSERT_TRUE(asked->answer);
  EXPECT_EQ(asked->answer->code, 500);
  ASSERT_EQ(left.size(), 3U);
  EXPECT_EQ(left[0], ReviewCalls::kAttemptLimit);
  EXPECT_LT(left[2], ReviewCalls::kAttemptLimit);
}

TEST_F(Auth, WithoutAnApiServerTokensAreNobodys) {
  config.has_api_server = false;
  Start();
  EXPECT_EQ(Text({}), "401 Unauthorized: this node has no API server to ask");
  EXPECT_EQ(Text({.token = ""}), "401 Unauthorized");
  EXPECT_THAT(Text({.token = "", .client = https::ClientCertificate{.common_name = "alice"}}),
              HasSubstr("403 Forbidden (user=alice"));
}

TEST_F(Auth, WithoutAnApiServerACertificateIsEnoughWhereAllIsAllowed) {
  config.has_api_server = false;
  AllowAll();
  Start();
  EXPECT_EQ(Code({.token = "", .client = https::ClientCertificate{.common_name = "alice"}}), 200);
  EXPECT_EQ(Code({.token = ""}), 401);
}

}  // namespace
}  // namespace splitlet::node_api
