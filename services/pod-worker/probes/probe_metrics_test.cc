#include "services/pod-worker/probes/probe_metrics.h"

#include <gtest/gtest.h>

namespace splitlet::pod_worker {
namespace {

TEST(ProbeSeries, TwoPodsOfOneNameShareADurationUntilBothAreGone) {
  prometheus::Registry registry;
  Metrics metrics(registry);
  const auto series = [&](const char* uid) {
    PodRef pod;
    pod.name = "web";
    pod.name_space = "default";
    pod.uid = uid;
    auto made = std::make_unique<ProbeSeries>(metrics, pod, "app", ProbeKind::kLiveness);
    made->Observe(true, 1s);
    return made;
  };
  /// How often the runs of "web" were observed.
  const auto observed = [&] {
    for (const auto& family : metrics.probe_duration.Collect())
      for (const auto& metric : family.metric) return metric.histogram.sample_count;
    return uint64_t{0};
  };
  auto ending = series("uid-1");
  auto starting = series("uid-2");
  EXPECT_EQ(observed(), 2u);
  ending.reset();
  starting->Observe(true, 1s);
  EXPECT_EQ(observed(), 3u);
  starting.reset();
  EXPECT_EQ(observed(), 0u);
}

}  // namespace
}  // namespace splitlet::pod_worker
