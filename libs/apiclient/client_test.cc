#include "libs/apiclient/client.h"

#include <gtest/gtest.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "k8s.io/api/core/v1/node.pb.h"
#include "libs/apiclient/client_metrics.h"
#include "libs/apiclient/scripted_transport.h"

namespace splitlet::apiclient {
namespace {

using k8s::io::api::core::v1::Node;

/// A Node "n1" of resource version "7", as an API server writes it: magic, type (v1, Node), raw.
const std::string kGoldenNode(
    "k8s\0"
    "\x0a\x0a\x0a\x02v1\x12\x04Node"
    "\x12\x09\x0a\x07\x0a\x02n1\x32\x01\x37",
    27);

class Calls : public testing::Test {
 protected:
  Calls() {
    const WaitUntil wait = [this](Clock::Time until, const std::function<bool()>& done) {
      if (done()) return true;
      if (on_wait) on_wait();
      if (clock.Now() < until) clock.Advance(until - clock.Now());
      return done();
    };
    metrics = std::make_shared<ClientMetrics>(registry);
    client = std::make_unique<Client>(clock, transport,
                                      Client::Options{.metrics = metrics, .wait = wait});
    json = std::make_unique<Client>(clock, transport,
                                    Client::Options{.content = ContentType::kJson, .wait = wait});
    node.mutable_metadata()->set_name("n1");
    node.mutable_metadata()->set_resource_version("7");
  }
  Deadline In(Duration duration) const { return After(clock, duration); }
  const Request& sent(size_t i = 0) const { return transport.asked.at(i).request; }

  FakeClock clock;
  std::function<void()> on_wait;
  ScriptedTransport transport;
  prometheus::Registry registry;
  std::shared_ptr<ClientMetrics> metrics;
  std::unique_ptr<Client> client, json;
  Node node;
};

TEST_F(Calls, ProtobufIsInItsEnvelope) {
  EXPECT_EQ(EncodeObject(ContentType::kProtobuf, {"v1", "Node", node}), kGoldenNode);
  Node read;
  const auto type = DecodeObject(kGoldenNode, read);
  ASSERT_TRUE(type.ok()) << type.status();
  EXPECT_EQ(type->kind, "Node");
  EXPECT_EQ(type->api_version, "v1");
  EXPECT_EQ(read.metadata().name(), "n1");
}

TEST_F(Calls, AreWhatTheirNamesSay) {
  for (int i = 0; i < 5; ++i) transport.answers.push_back(Answered(200, kGoldenNode));
  Node into;
  ASSERT_TRUE(client->Get("/api/v1/nodes/n1", &into, In(10s)).ok());
  EXPECT_EQ(into.metadata().resource_version(), "7");
  ASSERT_TRUE(client->Create("/api/v1/nodes", {"v1", "Node", node}, nullptr, In(10s)).ok());
  ASSERT_TRUE(client->Update("/api/v1/nodes/n1", {"v1", "Node", node}, &into, In(10s)).ok());
  ASSERT_TRUE(
      client->Patch("/api/v1/nodes/n1/status", {PatchType::kStrategicMerge, "{}"}, &into, In(10s))
          .ok());
  ASSERT_TRUE(
      client->Delete("/api/v1/nodes/n1", {.uid = "u", .grace_period_seconds = 0}, In(10s)).ok());
  const struct {
    const char *method, *path, *type;
    std::string body;
  } kWant[] = {
      {"GET", "/api/v1/nodes/n1", "", ""},
      {"POST", "/api/v1/nodes", "application/vnd.kubernetes.protobuf", kGoldenNode},
      {"PUT", "/api/v1/nodes/n1", "application/vnd.kubernetes.protobuf", kGoldenNode},
      {"PATCH", "/api/v1/nodes/n1/status", "application/strategic-merge-patch+json", "{}"},
      {"DELETE", "/api/v1/nodes/n1", "application/json",
       R"({"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0,)"
       R"("preconditions":{"uid":"u"}})"},
  };
  for (size_t i = 0; i < std::size(kWant); ++i) {
    EXPECT_EQ(sent(i).method, kWant[i].method);
    EXPECT_EQ(sent(i).path, kWant[i].path);
    EXPECT_EQ(sent(i).content_type, kWant[i].type);
    EXPECT_EQ(sent(i).body, kWant[i].body);
    EXPECT_EQ(sent(i).accept, "application/vnd.kubernetes.protobuf,application/json");
  }
}

TEST_F(Calls, JsonIsSentAndReadWhereItIsWanted) {
  transport.answers.push_back(
      Answered(201, R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n2"},"new":1})"));
  Node into;
  ASSERT_TRUE(json->Create("/api/v1/nodes", {"v1", "Node", node}, &into, In(10s)).ok());
  EXPECT_EQ(sent().content_type, "application/json");
  EXPECT_EQ(sent().accept, "application/json");
  EXPECT_EQ(sent().body,
            R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","resourceVersion":"7"}})");
  EXPECT_EQ(into.metadata().name(), "n2");
}

TEST_F(Calls, AnErrorIsTheServersWord) {
  const auto said = [](int code, const std::string& reason) {
    return Answered(code, fmt::format(R"({{"kind":"Status","apiVersion":"v1","status":"Failure",)"
                                      R"("message":"it is so","reason":"{}","code":{}}})",
                                      reason, code));
  };
  const struct {
    int code;
    const char* reason;
    StatusCode want;
  } kCases[] = {
      {400, "BadRequest", StatusCode::kInvalidArgument},
      {401, "Unauthorized", StatusCode::kUnauthenticated},
      {403, "Forbidden", StatusCode::kPermissionDenied},
      {404, "NotFound", StatusCode::kNotFound},
      {405, "MethodNotAllowed", StatusCode::kUnimplemented},
      {409, "AlreadyExists", StatusCode::kAlreadyExists},
      {409, "Conflict", StatusCode::kAborted},
      {410, "Expired", StatusCode::kOutOfRange},
      {413, "RequestEntityTooLarge", StatusCode::kResourceExhausted},
      {422, "Invalid", StatusCode::kInvalidArgument},
      {429, "TooManyRequests", StatusCode::kResourceExhausted},
      {500, "InternalError", StatusCode::kUnavailable},
      {503, "ServiceUnavailable", StatusCode::kUnavailable},
      {302, "", StatusCode::kUnknown},
  };
  for (const auto& c : kCases) {
    transport.answers.push_back(said(c.code, c.reason));
    const Status status = client->Get("/x", nullptr, In(10s));
    EXPECT_EQ(status.code(), c.want) << c.code;
    EXPECT_EQ(Message(status), "it is so");
  }
  EXPECT_EQ(Message(StatusOf(Answered(502, "<html>\nBad gateway"))),
            "the API server answers 502: <html>\\x0aBad gateway");
  EXPECT_EQ(Message(StatusOf(Answered(500))), "the API server answers 500");
}

TEST_F(Calls, AnErrorThatIsNotTheApisIsNothingFinal) {
  constexpr const char* kPage = "<html>no such page</html>";
  constexpr const char* kOfAnotherCode =
      R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404})";
  const struct {
    int code;
    std::string body;
    StatusCode want;
  } kCases[] = {
      {404, "404 page not found\n", StatusCode::kUnavailable},
      {404, "", StatusCode::kUnavailable},
      {404, R"({"error":"NotFound","code":404})", StatusCode::kUnavailable},
      {404, R"({"kind":"Status","status":"Failure","code":404})", StatusCode::kUnavailable},
      {404, R"({"kind":"Pod","metadata":{"name":"a"}})", StatusCode::kUnavailable},
      {302, kPage, StatusCode::kUnavailable},
      {400, kPage, StatusCode::kUnavailable},
      {403, kPage, StatusCode::kUnavailable},
      {405, kPage, StatusCode::kUnavailable},
      {409, kPage, StatusCode::kUnavailable},
      {409, kOfAnotherCode, StatusCode::kUnavailable},
      {410, kPage, StatusCode::kUnavailable},
      {422, kPage, StatusCode::kUnavailable},
      {502, kPage, StatusCode::kUnavailable},
      {401, kPage, StatusCode::kUnauthenticated},
      {413, kPage, StatusCode::kResourceExhausted},
      {429, "Too many requests, please try again later.", StatusCode::kResourceExhausted},
  };
  for (const auto& c : kCases) {
    transport.answers.push_back(Answered(c.code, c.body));
    const Status status = client->Get("/x", nullptr, In(10s));
    EXPECT_EQ(status.code(), c.want) << c.code << " " << c.body;
    EXPECT_TRUE(Message(status).starts_with(fmt::format("the API server answers {}", c.code)))
        << status;
  }
}

TEST_F(Calls, ASuccessThatIsNotTheApisIsNone) {
  const std::string pod = R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},)"
                          R"("status":{"phase":"Failed"}})";
  const std::string done = R"({"kind":"Status","apiVersion":"v1","status":"Success"})";
  const std::string failed = R"({"kind":"Status","apiVersion":"v1","status":"Failure","code":500})";
  const std::string packed(
      "k8s\0"
      "\x0a\x0c\x0a\x02v1\x12\x06Status"
      "\x12\x09\x12\x07"
      "Success",
      29);
  const struct {
    std::string body;
    bool is_deletion, is_node;
  } kCases[] = {
      {"<html>welcome</html>", false, false},
      {"", false, false},
      {"{}", false, false},
      {"[]", false, false},
      {R"({"status":"ok"})", false, false},
      {R"({"metadata":{"name":"n1"}})", false, false},
      {std::string("k8s\0junk", 8), false, false},
      {failed, false, false},
      {done, true, false},
      {packed, true, false},
      {pod, true, false},
      {kGoldenNode, true, true},
  };
  for (const auto& c : kCases) {
    for (int i = 0; i < 4; ++i) transport.answers.push_back(Answered(200, c.body));
    const auto want = [](bool good) { return good ? StatusCode::kOk : StatusCode::kDataLoss; };
    EXPECT_EQ(client->Delete("/x", {}, In(10s)).code(), want(c.is_deletion)) << c.body;
    EXPECT_EQ(client->Patch("/x", {PatchType::kMerge, "{}"}, nullptr, In(10s)).code(),
              want(c.is_deletion))
        << c.body;
    Node into;
    EXPECT_EQ(client->Get("/x", &into, In(10s)).code(), want(c.is_node)) << c.body;
    EXPECT_EQ(client->Patch("/x", {PatchType::kMerge, "{}"}, &into, In(10s)).code(),
              want(c.is_node))
        << c.body;
    EXPECT_EQ(into.metadata().name(), c.is_node ? "n1" : "") << c.body;
  }
}

TEST_F(Calls, AnErrorMayBeProtobuf) {
  const std::string bytes(
      "k8s\0"
      "\x0a\x0c\x0a\x02v1\x12\x06Status"
      "\x12\x1b\x12\x07"
      "Failure\x1a\x04gone\x22\x07"
      "Expired0\x9a\x03",
      47);
  EXPECT_EQ(StatusOfObject(bytes).code(), StatusCode::kOutOfRange);
  EXPECT_EQ(Message(StatusOfObject(bytes)), "gone");
}

TEST_F(Calls, GarbageIsDataLossAndIsNotQuoted) {
  for (const std::string& body :
       {std::string("hunter2"), std::string("k8s\0hunter2", 11),
        std::string(R"({"metadata":{"name":["hunter2"]}})"), std::string()}) {
    transport.answers.push_back(Answered(200, body));
    Node into;
    const Status status = client->Get("/x", &into, In(10s));
    EXPECT_EQ(status.code(), StatusCode::kDataLoss) << body;
    EXPECT_EQ(Message(status).find("hunter2"), std::string::npos) << status;
  }
}

TEST_F(Calls, RetryAfterIsWaitedForWithinTheDeadline) {
  transport.answers = {Asking(429, 2s), Asking(503, 1s), Answered(200, kGoldenNode)};
  const auto begun = clock.Now();
  EXPECT_TRUE(client->Patch("/x", {PatchType::kMerge, "{}"}, nullptr, In(10s)).ok());
  EXPECT_EQ(clock.Now() - begun, 3s);

  transport.answers = {Asking(429, 11s)};
  EXPECT_EQ(client->Get("/x", nullptr, In(10s)).code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(clock.Now() - begun, 3s) << "no time for it";

  transport.asked.clear();
  for (int i = 0; i < 20; ++i) transport.answers.push_back(Asking(500, 0s));
  EXPECT_EQ(client->Get("/x", nullptr, In(10s)).code(), StatusCode::kUnavailable);
  EXPECT_EQ(transport.asked.size(), 11u);
}

TEST_F(Calls, WithoutRetryAfterAnErrorIsTheCallers) {
  transport.answers = {Answered(503)};
  EXPECT_EQ(client->Get("/x", nullptr, In(10s)).code(), StatusCode::kUnavailable);
  EXPECT_EQ(transport.asked.size(), 1u);
}

TEST_F(Calls, AConnectionThatBreaksIsTriedOnceMoreWhereThatDoesNoHarm) {
  transport.answers = {Unavailable("EOF"), Answered(200, kGoldenNode)};
  EXPECT_TRUE(client->Get("/x", nullptr, In(10s)).ok());
  transport.answers = {Unavailable("EOF"), Unavailable("EOF")};
  EXPECT_EQ(client->Delete("/x", {}, In(10s)).code(), StatusCode::kUnavailable);
  transport.asked.clear();
  transport.answers = {Unavailable("EOF")};
  EXPECT_EQ(client->Create("/x", {"v1", "Node", node}, nullptr, In(10s)).code(),
            StatusCode::kUnavailable);
  EXPECT_EQ(transport.asked.size(), 1u);
}

TEST_F(Calls, WhoGivesUpDoesNotWait) {
  const auto token = std::make_shared<CancelToken>();
  on_wait = [&] { token->Cancel(); };
  transport.answers = {Asking(429, 5s)};
  EXPECT_EQ(client->Get("/x", nullptr, {clock.Now() + 10s, token}).code(), StatusCode::kCancelled);
}

TEST_F(Calls, ATransportThatForgetsToAnswerHoldsNobodyForEver) {
  EXPECT_EQ(client->Get("/x", nullptr, In(10s)).code(), StatusCode::kDeadlineExceeded);
  transport.asked.back().done(Answered(200));  // no caller waits any longer
}

TEST_F(Calls, AreCounted) {
  transport.answers = {Answered(404), Unavailable("EOF"), Answered(200, kGoldenNode)};
  EXPECT_FALSE(client->Get("/x", nullptr, In(10s)).ok());
  EXPECT_TRUE(client->Get("/x", nullptr, In(10s)).ok());
  const std::string text = prometheus::TextSerializer().Serialize(registry.Collect());
  for (const char* code : {"404", "<error>", "200"})
    EXPECT_NE(text.find(fmt::format("rest_client_requests_total{{code=\"{}\",host=\"server:6443\","
                                    "method=\"GET\"}} 1",
                                    code)),
              std::string::npos)
        << text;
  EXPECT_NE(
      text.find("rest_client_request_duration_seconds_count{host=\"server:6443\",verb=\"GET\"} "
                "3"),
      std::string::npos)
      << text;
}

TEST(Escaping, LeavesWhatNeedsNone) {
  EXPECT_EQ(Escaped("spec.nodeName=n-1_~"), "spec.nodeName%3Dn-1_~");
  EXPECT_EQ(Escaped("a/b ?\xc3\xa4"), "a%2Fb%20%3F%C3%A4");
}

}  // namespace
}  // namespace splitlet::apiclient
