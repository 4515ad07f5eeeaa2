#include "services/pod-worker/probes/network_call.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

namespace splitlet::pod_worker {
namespace {

using http::Outcome;
using Stage = Outcome::Stage;

std::string Shown(const ProbeAnswer& answer) {
  static constexpr const char* kKinds[] = {"success", "warning", "failure", "error"};
  return fmt::format("{}{}: {}", kKinds[static_cast<int>(answer.kind)],
                     answer.failed ? "(failed)" : "", answer.text);
}

const ProbeCall kGet{.action = HttpProbe{.host = "10.0.0.5", .url = "http://10.0.0.5:8080/"},
                     .timeout = 2s};
const ProbeCall kTcp{.action = TcpProbe{"10.0.0.5", 8080}, .timeout = 2s};
const ProbeCall kRpc{.action = GrpcProbe{"fd00::5", 9, "s"}, .timeout = 2s};

Outcome Answered(int code, std::string body = {}, std::string head = {}) {
  return {
      .stage = Stage::kReadingBody, .code = code, .head = std::move(head), .body = std::move(body)};
}
Outcome Not(Status status, Stage stage) {
  return {.status = std::move(status), .stage = stage, .url = "http://10.0.0.5:8080/next"};
}
/// A gRPC answer with this status of the server's health.
Outcome Serving(char status) {
  return Answered(200, std::string("\0\0\0\0\2\x08", 6) + status,
                  "HTTP/2 200\r\n\r\ngrpc-status: 0\r\n");
}
Outcome Rpc(const char* trailers, std::string body = {}) {
  return Answered(200, std::move(body), std::string("HTTP/2 200\r\n\r\n") + trailers);
}

TEST(NetworkCall, WhatAnAnswerSays) {
  const auto no_connection =
      Not(Unavailable("dial tcp 10.0.0.5:8080: connect: connection refused"), Stage::kConnecting);
  const struct {
    const char* name;
    const ProbeCall& call;
    Outcome outcome;
    const char* want;
  } kCases[] = {
      {"a code of 200", kGet, Answered(200, "ok"), "success: ok"},
      {"of 299", kGet, Answered(299), "success: "},
      {"of 302, to another host", kGet, Answered(302, "moved"),
       "warning: Probe terminated redirects, Response body: moved"},
      {"of 404: never the body", kGet, Answered(404, "secret"),
       "failure: HTTP probe failed with statuscode: 404"},
      {"of 101", kGet, Answered(101), "failure: HTTP probe failed with statuscode: 101"},
      {"no connection", kGet, no_connection,
       "failure: Get \"http://10.0.0.5:8080/next\": dial tcp 10.0.0.5:8080: connect: connection "
       "refused"},
      {"a body that breaks off", kGet, Not(Unavailable("unexpected EOF"), Stage::kReadingBody),
       "error(failed): unexpected EOF"},
      {"not asked at all", kGet, Not(Aborted("too many calls"), Stage::kConnecting),
       "error: too many calls"},
      {"tcp", kTcp, Outcome{}, "success: "},
      {"tcp without a connection", kTcp, no_connection,
       "failure: dial tcp 10.0.0.5:8080: connect: connection refused"},
      {"grpc", kRpc, Serving(1), "success: service healthy"},
      {"grpc, not serving", kRpc, Serving(2),
       "failure: service unhealthy (responded with \"NOT_SERVING\")"},
      {"grpc, an unknown number", kRpc, Serving(9),
       "failure: service unhealthy (responded with \"9\")"},
      {"grpc, no status at all means unknown", kRpc,
       Rpc("grpc-status: 0\r\n", std::string("\0\0\0\0\0", 5)),
       "failure: service unhealthy (responded with \"UNKNOWN\")"},
      {"grpc without the service", kRpc,
       Rpc("grpc-status: 12\r\ngrpc-message: unknown service%20x\r\n"),
       "failure: error: this server does not implement the grpc health protocol "
       "(grpc.health.v1.Health): unknown service x"},
      {"grpc, another code", kRpc, Rpc("grpc-status: 5\r\ngrpc-message: unknown%2\r\n"),
       "failure: error: health rpc probe failed: rpc error: code = NotFound desc = unknown%2"},
      {"grpc, the server's time is over", kRpc, Rpc("grpc-status: 4\r\n"),
       "failure: timeout: health rpc did not complete within 2s"},
      {"grpc, ours is", kRpc, Not(DeadlineExceeded("x"), Stage::kAwaitingHeaders),
       "failure: timeout: health rpc did not complete within 2s"},
      {"grpc, not even a connection in time", kRpc, Not(DeadlineExceeded("x"), Stage::kConnecting),
       "failure: timeout: failed to connect service \"[fd00::5]:9\" within 2s: context deadline "
       "exceeded"},
      {"grpc, no connection", kRpc, Not(Unavailable("refused"), Stage::kConnecting),
       "failure: error: failed to connect service at \"[fd00::5]:9\": refused"},
      {"grpc, the connection breaks", kRpc, Not(Unavailable("reset"), Stage::kAwaitingHeaders),
       "failure: error: health rpc probe failed: rpc error: code = Unavailable desc = reset"},
      {"grpc, a web server", kRpc, Answered(503),
       "failure: error: health rpc probe failed: rpc error: code = Unavailable desc = unexpected "
       "HTTP status code received from server: 503"},
      {"grpc, no trailers", kRpc, Answered(200),
       "failure: error: health rpc probe failed: rpc error: code = Internal desc = server closed "
       "the stream without sending trailers"},
      {"grpc, a code that is none", kRpc, Rpc("grpc-status: x\r\n"),
       "failure: error: health rpc probe failed: rpc error: code = Internal desc = transport: "
       "malformed grpc-status"},
      {"grpc, a message that is shorter than it says", kRpc,
       Rpc("grpc-status: 0\r\n", std::string("\0\0\0\0\3\x08\1", 7)),
       "failure: error: health rpc probe failed: rpc error: code = Internal desc = malformed "
       "message"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Shown(AnswerOf(c.call, c.outcome)), c.want);
  }
}

TEST(NetworkCall, WhatIsAsked) {
  const auto get = ExchangeOf(kGet);
  ASSERT_TRUE(get);
  EXPECT_EQ(get->url, "http://10.0.0.5:8080/");
  EXPECT_EQ(get->max_bytes, kMaxProbeOutput);
  EXPECT_FALSE(get->body);
  EXPECT_EQ(ExchangeOf(kTcp)->protocol, http::Exchange::Protocol::kConnect);
  const auto rpc = ExchangeOf(kRpc);
  EXPECT_EQ(rpc->protocol, http::Exchange::Protocol::kHttp2);
  EXPECT_EQ(rpc->url, "http://[fd00::5]:9/grpc.health.v1.Health/Check");
  EXPECT_EQ(rpc->body, std::string("\0\0\0\0\3\x0a\1s", 8));
  EXPECT_EQ(fmt::format("{}", fmt::join(rpc->headers, ", ")),
            "Content-Type: application/grpc, TE: trailers, Accept:, User-Agent: kube-probe/1.36, "
            "grpc-timeout: 2000m");
}

TEST(NetworkCall, APodWithoutAnAddressHasFailed) {
  const ProbeCall none{.action = HttpProbe{.host = "", .url = "http://:80/"}, .timeout = 1s};
  EXPECT_FALSE(ExchangeOf(none));
  EXPECT_EQ(Shown(AnswerWithoutAddress(none.action)),
            "failure: Get \"http://:80/\": the pod has no address");
  EXPECT_EQ(Shown(AnswerWithoutAddress(TcpProbe{"", 80})), "failure: the pod has no address");
}

}  // namespace
}  // namespace splitlet::pod_worker
