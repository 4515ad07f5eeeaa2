// Pods evicted because the node lacks resources, through six real processes.

#include <gmock/gmock.h>

#include "splitlet/v1/records.pb.h"
#include "tests/integration/fixture.h"

namespace splitlet::integration {
namespace {

using testing::HasSubstr;

class Eviction : public IntegrationTest {
 protected:
  /// Static pods are evicted too, because there are no others here.
  void StartWith(const std::string& settings, const std::string& fail_point = "") {
    harness::NodeOptions options;
    options.config =
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
        "fileCheckFrequency: 2s\nsyncFrequency: 10s\nsplitlet: {evictStaticPods: true}\n" +
        settings;
    if (!fail_point.empty()) options.fail_points["gc"] = fail_point;
    StartNode(options);
  }
  bool IsEvicted(const std::string& name) {
    const auto pod = node_->Pod(name);
    return pod != nullptr && pod->phase == "Failed" && pod->reason == "Evicted";
  }
  bool HasCondition(const std::string& condition) {
    for (const auto& [key, record] : node_->Table<v1::PressureRecord>("pressure"))
      for (const auto& stands : record.conditions())
        if (stands == condition) return true;
    return false;
  }
};

constexpr const char* kAlwaysShort = "evictionHard: {memory.available: 99.9%}\n";

TEST_F(Eviction, APodEndsForMemoryAndACriticalOneIsSpared) {
  StartWith(kAlwaysShort);
  node_->PutManifest("dear.yaml",
                     PodYaml("dear", "sleep 1000", "  priorityClassName: system-node-critical\n"));
  ExpectRunning("dear");
  node_->PutManifest("cheap.yaml", PodYaml("cheap", "sleep 1000"));
  ASSERT_TRUE(WaitFor(kSoon, [&] { return IsEvicted("cheap"); }));
  EXPECT_THAT(node_->Pod("cheap")->message,
              HasSubstr("The node was low on resource: memory. Threshold quantity: "));
  EXPECT_TRUE(HasCondition("MemoryPressure"));
  ExpectExactly({"dear"});
  EXPECT_EQ(RestartsOf("dear"), 0);
  EXPECT_THAT(node_->HttpGet("gc", "/metrics"),
              HasSubstr("kubelet_evictions{eviction_signal=\"memory.available\"} 1"));
  for (const char* process : {"pod-worker", "sync-loop", "gc", "status"})
    node_->KillAndAwait(process);
  EXPECT_TRUE(harness::HoldsFor(3s, [&] { return view_->RunningOf("cheap").empty(); }))
      << "it stays down";
  EXPECT_TRUE(WaitFor(kSoon, [&] { return IsEvicted("cheap"); }));
}

/// By the stats of the fake runtime, in which each container has written 4 KiB.
class EvictionKilledAt : public Eviction, public testing::WithParamInterface<const char*> {};

TEST_P(EvictionKilledAt, AnEffectThePodEndsAndNoOther) {
  StartWith("evictionHard: {}\n", std::string(GetParam()) + "=1*crash");
  node_->PutManifest("fine.yaml", PodYaml("fine", "sleep 1000") +
                                      "    resources: {limits: {ephemeral-storage: 1Gi}}\n");
  ExpectRunning("fine");
  node_->PutManifest("greedy.yaml", PodYaml("greedy", "sleep 1000") +
                                        "    resources: {limits: {ephemeral-storage: 1Ki}}\n");
  ASSERT_TRUE(WaitFor(kSoon, [&] { return IsEvicted("greedy"); }));
  EXPECT_EQ(node_->Pod("greedy")->message,
            "Pod ephemeral local storage usage exceeds the total limit of containers 1Ki. ");
  ExpectExactly({"fine"});
  EXPECT_EQ(RestartsOf("fine"), 0);
}

INSTANTIATE_TEST_SUITE_P(Eviction, EvictionKilledAt,
                         testing::Values("gc.choose-victim.after", "gc.evict.after"));

}  // namespace
}  // namespace splitlet::integration
