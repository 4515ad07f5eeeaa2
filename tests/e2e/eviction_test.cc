// Pods that end because they exceed their limits, or because the node lacks resources, on real
// containerd.

#include <gmock/gmock.h>

#include "tests/e2e/fixture.h"

namespace splitlet::e2e {
namespace {

using testing::HasSubstr;

class Eviction : public E2eTest {
 protected:
  /// Static pods are evicted too, because there are no others here.
  void StartWith(const std::string& hard) {
    StartNode({.runtime_endpoint = {},
               .config = fmt::format("apiVersion: kubelet.config.k8s.io/v1beta1\n"
                                     "kind: KubeletConfiguration\n"
                                     "fileCheckFrequency: 2s\nsyncFrequency: 10s\n"
                                     "evictionHard: {{{}}}\nsplitlet: {{evictStaticPods: true}}\n",
                                     hard)});
  }
  void ExpectEvicted(const std::string& name, const std::string& message) {
    ASSERT_TRUE(WaitFor(kSoon, [&] {
      const auto pod = node_->Pod(name);
      return pod != nullptr && pod->phase == "Failed";
    }));
    EXPECT_EQ(node_->Pod(name)->reason, "Evicted");
    EXPECT_THAT(node_->Pod(name)->message, HasSubstr(message));
    EXPECT_TRUE(view_->RunningOf(name).empty());
  }
};

TEST_F(Eviction, WhoWritesMoreThanItsVolumeMayHoldEnds) {
  StartWith("");
  node_->PutManifest("writer.yaml",
                     PodYaml("writer", "head -c 4000000 /dev/zero > /data/file; sleep 1000",
                             "  volumes:\n  - {name: data, emptyDir: {sizeLimit: 1Mi}}\n") +
                         "    volumeMounts:\n    - {name: data, mountPath: /data}\n");
  node_->PutManifest("modest.yaml",
                     PodYaml("modest", "head -c 4000 /dev/zero > /data/file; sleep 1000",
                             "  volumes:\n  - {name: data, emptyDir: {sizeLimit: 1Mi}}\n") +
                         "    volumeMounts:\n    - {name: data, mountPath: /data}\n");
  ExpectEvicted("writer", "Usage of EmptyDir volume \"data\" exceeds the limit \"1Mi\". ");
  ExpectRunning("modest");
}

TEST_F(Eviction, WhoWritesMoreThanItsContainersMayEnds) {
  StartWith("");
  node_->PutManifest("writer.yaml",
                     PodYaml("writer", "head -c 40000000 /dev/zero > /file; sleep 1000") +
                         "    resources: {limits: {ephemeral-storage: 10Mi}}\n");
  ExpectEvicted("writer",
                "Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. ");
}

TEST_F(Eviction, ForMemoryTheCriticalPodIsSpared) {
  StartWith("memory.available: 99.9%");
  node_->PutManifest("dear.yaml",
                     PodYaml("dear", "sleep 1000", "  priorityClassName: system-node-critical\n"));
  ExpectRunning("dear");
  node_->PutManifest("cheap.yaml", PodYaml("cheap", "sleep 1000"));
  ExpectEvicted("cheap", "The node was low on resource: memory. Threshold quantity: ");
  ExpectExactly({"dear"});
}

}  // namespace
}  // namespace splitlet::e2e
