// The trace of a change covers the way from the manifest to the runtime, and its spans reach a
// collector.

#include <algorithm>
#include <map>
#include <set>

#include "libs/trace/fake_collector.h"
#include "tests/integration/fixture.h"

namespace splitlet::integration {
namespace {

using Span = trace::FakeCollector::Seen;

class Traces : public IntegrationTest {
 protected:
  void StartTracedNode(const std::string& endpoint, const std::string& more_config = "") {
    harness::NodeOptions options;
    options.env = {{"OTEL_EXPORTER_OTLP_ENDPOINT", endpoint}};
    options.config = more_config;
    StartNode(std::move(options));
  }
  /// All spans of the trace that the pod's first change began.
  static std::vector<Span> TraceOf(const trace::FakeCollector& collector, const std::string& pod) {
    const auto all = collector.spans();
    const auto root = std::ranges::find_if(all, [&](const Span& span) {
      const auto name = span.attributes.find("k8s.pod.name");
      return span.parent_id.empty() && name != span.attributes.end() && name->second == pod;
    });
    std::vector<Span> trace;
    if (root != all.end())
      std::ranges::copy_if(all, std::back_inserter(trace),
                           [&](const Span& span) { return span.trace_id == root->trace_id; });
    return trace;
  }
  /// "splitlet-sync-loop: put admission" for each span.
  static std::set<std::string> StepsOf(const std::vector<Span>& trace) {
    std::set<std::string> steps;
    for (const Span& span : trace) steps.insert(span.service + ": " + span.name);
    return steps;
  }
};

TEST_F(Traces, OfANewPodGoesThroughTheProcessesToTheRuntime) {
  const trace::FakeCollector collector;
  StartTracedNode(collector.url());
  node_->PutManifest("web.yaml", PodYaml("web", "sleep 1000"));
  ExpectRunning("web");
  const std::set<std::string> want = {
      "splitlet-config-source: pod changed",
      "splitlet-config-source: put desired",
      "splitlet-sync-loop: take desired",
      "splitlet-sync-loop: put admission",
      "splitlet-sync-loop: splitlet.v1.PodWorker/UpdatePod",
      "splitlet-pod-worker: splitlet.v1.PodWorker/UpdatePod",
      "splitlet-pod-worker: syncPod",
      "splitlet-pod-worker: runtime.v1.RuntimeService/RunPodSandbox",
      "splitlet-pod-worker: runtime.v1.RuntimeService/StartContainer",
      "splitlet-pod-worker: put workers",
      "splitlet-status: take admission",
      "splitlet-status: take workers",
  };
  std::vector<Span> trace;
  const bool all = WaitFor(kSoon, [&] {
    trace = TraceOf(collector, "web-node-1");
    return std::ranges::includes(StepsOf(trace), want);
  });
  std::string seen;
  for (const auto& step : StepsOf(trace)) seen += step + "\n";
  EXPECT_TRUE(all) << seen;
  std::set<std::string> ids = {""};
  for (const Span& span : trace) ids.insert(span.span_id);
  for (const Span& span : trace)
    EXPECT_TRUE(ids.contains(span.parent_id))
        << span.name << " of " << span.service << " has a parent that nobody sent";
}

TEST_F(Traces, AreNotRecordedWhenTheRateIsNought) {
  const trace::FakeCollector collector;
  StartTracedNode(collector.url(),
                  "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
                  "tracing:\n  samplingRatePerMillion: 0\n");
  node_->PutManifest("web.yaml", PodYaml("web", "sleep 1000"));
  ExpectRunning("web");
  node_->RemoveManifest("web.yaml");
  ExpectGone("web");
  EXPECT_TRUE(collector.spans().empty());
}

TEST_F(Traces, ACollectorThatNeverAnswersHoldsUpNothing) {
  trace::FakeCollector collector;
  collector.Answer(0);
  StartTracedNode(collector.url());
  for (const char* pod : {"a", "b", "c"})
    node_->PutManifest(std::string(pod) + ".yaml", PodYaml(pod, "sleep 1000"));
  ExpectExactly({"a", "b", "c"});
  EXPECT_TRUE(WaitFor(kSoon, [&] { return collector.requests() > 0; })) << "it was asked";
  node_->RemoveManifest("a.yaml");
  ExpectGone("a");
}

}  // namespace
}  // namespace splitlet::integration
