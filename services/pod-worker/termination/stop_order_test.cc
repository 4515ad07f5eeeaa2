#include <gtest/gtest.h>

#include "services/pod-worker/pods_fixture.h"
#include "services/pod-worker/worker/worker_state.h"

namespace splitlet::pod_worker {
namespace {

TEST(StopOrder, SidecarsLastInReverse) {
  const kube::Pod pod =
      TestPod{.containers = {"a", "b"}, .inits = {"s1", "s2"}, .sidecars = {"s1", "s2"}}.Make();
  const auto seen = Observed({{.name = "a"},
                              {.name = "b", .state = Record::EXITED},
                              {.name = "s1"},
                              {.name = "s2", .state = Record::UNKNOWN}});
  std::vector<std::vector<std::string>> names;
  for (const auto& step : StopOrder(&pod, seen)) {
    names.emplace_back();
    for (const auto& stop : step) names.back().push_back(stop.name);
  }
  EXPECT_EQ(names, (std::vector<std::vector<std::string>>{{"a"}, {"s2"}, {"s1"}}));
  EXPECT_EQ(StopOrder(nullptr, seen).size(), 1u);
  EXPECT_TRUE(StopOrder(&pod, Observed({})).empty());
}

}  // namespace
}  // namespace splitlet::pod_worker
