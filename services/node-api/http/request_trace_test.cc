#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libs/base/fake_span_sink.h"
#include "libs/base/trace.h"
#include "services/node-api/node_api_fixture.h"

namespace splitlet::node_api {
namespace {

using testing::Contains;
using testing::Pair;

const std::string kTrace = "0123456789abcdef0123456789abcdef";
const std::string kSampled = "00-" + kTrace + "-00000000000000aa-01";
const std::string kUnsampled = "00-" + kTrace + "-00000000000000aa-00";

class RequestTraces : public NodeApiTest {
 protected:
  RequestTraces() {
    AllowAll();
    pod_calls->reply->set_output("out");
  }
  /// Sends a request for which node-api calls pod-worker.
  void Run(const std::string& traceparent, Surface surface = Surface::kSecured) {
    Ask ask{.method = "POST", .target = "/run/default/web/app?cmd=ls", .surface = surface};
    if (!traceparent.empty()) ask.headers = {{"TraceParent", traceparent}};
    EXPECT_EQ(Code(ask), 200);
  }

  std::shared_ptr<FakeSpanSink> sink = std::make_shared<FakeSpanSink>(clock);
};

TEST_F(RequestTraces, ARequestIsAStepOfItsClientsTrace) {
  const SpanSinkScope scope(sink);
  sink->samples = false;
  Start();
  PutPod();
  Run(kSampled);
  const auto spans = sink->spans();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].name, "/run");
  EXPECT_EQ(spans[0].kind, SpanKind::kServer);
  EXPECT_EQ(spans[0].trace_id, kTrace);
  EXPECT_EQ(spans[0].parent_id, "00000000000000aa");
  EXPECT_THAT(spans[0].attributes, Contains(Pair("http.request.method", "POST")));
  EXPECT_THAT(spans[0].attributes, Contains(Pair("http.response.status_code", "200")));
  ASSERT_EQ(pod_calls->traces.size(), 1u);
  EXPECT_EQ(pod_calls->traces[0], Traceparent(kTrace, spans[0].span_id, true));
}

TEST_F(RequestTraces, WithoutOneItBeginsWhereTracesAreSampled) {
  const SpanSinkScope scope(sink);
  Start();
  PutPod();
  Run("");
  Run("nonsense");
  EXPECT_EQ(pod_calls->traces[0],
            "00-" + sink->spans()[0].trace_id + "-" + sink->spans()[0].span_id + "-01");
  EXPECT_EQ(sink->spans().size(), 2u);
  EXPECT_NE(sink->spans()[0].trace_id, sink->spans()[1].trace_id);
  EXPECT_EQ(sink->spans()[0].parent_id, "");
  Run(kUnsampled);
  sink->samples = false;
  Run("");
  EXPECT_EQ(sink->spans().size(), 2u) << "what is not sampled is not recorded";
  EXPECT_EQ(pod_calls->traces[2], kUnsampled) << "and goes on as it came";
}

TEST_F(RequestTraces, WithoutACollectorTheContextGoesOnAsItCame) {
  Start();
  PutPod();
  Run(kSampled);
  EXPECT_EQ(pod_calls->traces, std::vector<std::string>{kSampled});
}

TEST_F(RequestTraces, WhoIsNotLetInHasNone) {
  const SpanSinkScope scope(sink);
  Start();
  Ask ask{.target = "/pods", .token = "", .headers = {{"traceparent", kSampled}}};
  EXPECT_EQ(Code(ask), 401);
  ask.surface = Surface::kReadOnly;
  EXPECT_EQ(Code(ask), 200);
  ASSERT_EQ(sink->spans().size(), 1u);
  EXPECT_NE(sink->spans()[0].trace_id, kTrace) << "the read-only port takes no client's trace";
}

TEST_F(RequestTraces, EveryCallOfARequestCarriesIt) {
  const SpanSinkScope scope(sink);
  Start();
  PutPod();
  const https::Headers traced = {{"traceparent", kSampled}};
  Code({.method = "PUT", .target = "/debug/flags/v", .headers = traced, .body = "5"});
  Code({.method = "POST", .target = "/checkpoint/default/web/app", .headers = traced});
  Send(
      {.method = "POST",
       .target = "/exec/default/web/app?command=ls&output=1",
       .headers = {{"traceparent", kSampled}, {"Upgrade", "SPDY/3.1"}, {"Connection", "Upgrade"}}});
  EXPECT_EQ(levels->traces.size(), 3u);
  EXPECT_EQ(pod_calls->traces.size(), 2u);
  for (const auto& calls : {levels->traces, pod_calls->traces})
    for (const std::string& trace : calls) EXPECT_EQ(TraceIdOf(trace), kTrace);
  EXPECT_EQ(sink->spans().size(), 3u);
}

}  // namespace
}  // namespace splitlet::node_api
