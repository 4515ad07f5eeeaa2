// A node is handed over from a kubelet and back: nothing restarts, and splitlet's objects have the
// names, labels and annotations that a kubelet looks for.

#include <algorithm>
#include <filesystem>
#include <set>

#include "libs/base/processes.h"
#include "tests/fake_cri/control.h"
#include "tests/harness/kubelet_records.h"
#include "tests/integration/fixture.h"

namespace splitlet::integration {
namespace {

constexpr const char* kUid = "0f9e8d7c-6b5a-4433-2211-00ffeeddccbb";

class Adoption : public IntegrationTest {
 protected:
  /// A kubelet ran this pod; its manifest exists when splitlet starts.
  void TakeOver() {
    ASSERT_NO_FATAL_FAILURE(MakeKubeletsPod({.name = "web", .uid = kUid}));
    node_->Start();
    ExpectExactly({"web"});
  }
  /// Everything before the start of splitlet.
  void MakeKubeletsPod(harness::KubeletPod pod) {
    StartFakeCri("cri");
    node_ = std::make_unique<Node>(harness::NodeOptions{.runtime_endpoint = "unix://" + socket_});
    pod_ = std::move(pod);
    pod_.log_root = node_->dir() + "/pods";
    auto records = harness::MakeKubeletRecords(*view_, pod_);
    ASSERT_TRUE(records.ok()) << records.status();
    records_ = *std::move(records);
    node_->PutManifest("web.yaml", harness::ManifestOf(pod_));
  }
  bool IsUntouched() {
    const auto running = view_->RunningOf("web");
    const auto sandboxes = view_->ReadySandboxesOf("web");
    return running.size() == 1 && running[0].id == records_.running && sandboxes.size() == 1 &&
           sandboxes[0].id == records_.sandbox;
  }

  harness::KubeletPod pod_;
  harness::KubeletRecords records_;
};

TEST_F(Adoption, AKubeletsContainerRunsOnWithItsRestartCountAndIsGivenBack) {
  ASSERT_NO_FATAL_FAILURE(TakeOver());
  EXPECT_TRUE(IsUntouched()) << view_->Describe();
  const auto pod = node_->Pod("web");
  ASSERT_NE(pod, nullptr);
  EXPECT_EQ(pod->uid, kUid);
  EXPECT_EQ(RestartsOf("web"), 2);
  const auto report = node_->RunGc(false);
  ASSERT_TRUE(report.ok()) << report.status();
  for (const auto& process : ProcessNames()) node_->KillAndAwait(process);
  ExpectExactly({"web"});
  EXPECT_TRUE(harness::HoldsFor(4s, [&] { return IsUntouched(); })) << view_->Describe();
  EXPECT_EQ(RestartsOf("web"), 2);
  for (const auto& process : ProcessNames()) node_->StopProcess(process);
  EXPECT_TRUE(harness::HoldsFor(4s, [&] { return IsUntouched(); })) << view_->Describe();
}

TEST_F(Adoption, TheNextContainerOfAKubeletsPodCountsOnInTheSameSandbox) {
  ASSERT_NO_FATAL_FAILURE(TakeOver());
  fake_cri::Control control(control_);
  ASSERT_TRUE(control.ExitContainer(records_.running.str(), 1).ok());
  ASSERT_TRUE(WaitFor(kSoon, [&] { return RestartsOf("web") == 3 && node_->IsRunning("web"); }));
  ExpectExactly({"web"});
  const auto next = view_->RunningOf("web").at(0);
  EXPECT_EQ(next.attempt, 3u);
  EXPECT_EQ(next.sandbox_id, records_.sandbox);
  EXPECT_EQ(next.annotations.at("io.kubernetes.container.restartCount"), "3");
  EXPECT_TRUE(std::filesystem::exists(pod_.LogDirectory() + "/app/3.log"));
}

TEST_F(Adoption, OfAPodWithAnInitContainerAndTwoContainersAllStayAsTheyAre) {
  ASSERT_NO_FATAL_FAILURE(MakeKubeletsPod({.name = "web", .uid = kUid, .large = true}));
  fake_cri::Control control(control_);
  ASSERT_TRUE(control.ExitContainer(records_.prepare.str(), 0).ok());
  node_->Start();
  ASSERT_NO_FATAL_FAILURE(ExpectRunning("web"));
  const auto ids = [this] {
    std::set<std::string> all;
    for (const auto& c : view_->RunningOf("web")) all.insert(c.id.str());
    return all;
  };
  const std::set<std::string> both{records_.running.str(), records_.side.str()};
  const auto prepared_once = [this] {
    const auto all = view_->Containers();
    return std::count_if(all.begin(), all.end(),
                         [](const auto& c) { return c.name == "prepare"; }) == 1;
  };
  for (const auto& process : ProcessNames()) node_->KillAndAwait(process);
  ASSERT_NO_FATAL_FAILURE(ExpectRunning("web"));
  EXPECT_TRUE(harness::HoldsFor(4s, [&] { return ids() == both && prepared_once(); }))
      << view_->Describe();
  const auto pod = node_->Pod("web");
  ASSERT_NE(pod, nullptr);
  ASSERT_EQ(pod->init_containers.size(), 1u);
  EXPECT_EQ(pod->init_containers[0].state, "terminated");
  EXPECT_EQ(pod->init_containers[0].exit_code, 0);
  ASSERT_EQ(pod->containers.size(), 2u);
  EXPECT_EQ(pod->containers[0].restarts, 2);
  EXPECT_EQ(pod->containers[1].restarts, 0);

  ASSERT_TRUE(control.ExitContainer(records_.side.str(), 1).ok());
  ASSERT_TRUE(WaitFor(kSoon, [&] {
    const auto now = node_->Pod("web");
    return now != nullptr && now->containers.size() == 2 && now->containers[1].restarts == 1 &&
           node_->IsRunning("web");
  })) << view_->Describe();
  EXPECT_TRUE(ids().contains(records_.running.str())) << "the other one runs on";
  EXPECT_TRUE(prepared_once());
  EXPECT_EQ(view_->ReadySandboxes().size(), 1u);
}

TEST_F(Adoption, AKubeletsPodGoesWithItsManifest) {
  ASSERT_NO_FATAL_FAILURE(TakeOver());
  node_->RemoveManifest("web.yaml");
  ExpectGone("web");
}

TEST_F(Adoption, AnEditedImageReplacesAKubeletsContainer) {
  ASSERT_NO_FATAL_FAILURE(TakeOver());
  std::string yaml = harness::ManifestOf(pod_);
  yaml.replace(yaml.find("busybox:1"), 9, "busybox:2");
  node_->PutManifest("web.yaml", yaml);
  ASSERT_TRUE(WaitFor(kSoon, [&] {
    const auto running = view_->RunningOf("web");
    return running.size() == 1 && running[0].id != records_.running;
  }));
  ExpectExactly({"web"});
  EXPECT_TRUE(WaitFor(kSoon, [&] { return RestartsOf("web") == 3; })) << RestartsOf("web");
}

TEST_F(Adoption, WhatIsMadeHereCarriesExactlyAKubeletsLabelsAndAnnotations) {
  StartNode();
  const std::string yaml = fmt::format(R"(apiVersion: v1
kind: Pod
metadata:
  name: web
  uid: {}
  labels: {{tier: front}}
  annotations: {{example.com/note: kept}}
spec:
  terminationGracePeriodSeconds: 7
  containers:
  - name: app
    image: splitlet.local/busybox:1
    terminationMessagePath: /dev/end
    terminationMessagePolicy: FallbackToLogsOnError
    ports: [{{name: http, containerPort: 80}}]
)",
                                       kUid);
  node_->PutManifest("web.yaml", yaml);
  ExpectExactly({"web"});

  const auto sandbox = view_->ReadySandboxesOf("web").at(0);
  EXPECT_EQ(sandbox.pod_name, "web-node-1");
  EXPECT_EQ(sandbox.pod_namespace, "default");
  EXPECT_EQ(sandbox.pod_uid, kUid);
  EXPECT_EQ(sandbox.attempt, 0u);
  const cri::StringMap pod_labels = {{"io.kubernetes.pod.name", "web-node-1"},
                                     {"io.kubernetes.pod.namespace", "default"},
                                     {"io.kubernetes.pod.uid", kUid}};
  cri::StringMap want = pod_labels;
  want["tier"] = "front";
  EXPECT_EQ(sandbox.labels, want);
  cri::StringMap annotations = sandbox.annotations;
  EXPECT_EQ(annotations.erase("kubernetes.io/config.seen"), 1u);
  EXPECT_EQ(annotations.erase("splitlet.dev/node"), 1u);
  const std::string incarnation = annotations["splitlet.dev/incarnation"];
  EXPECT_NE(incarnation, "");
  annotations.erase("splitlet.dev/incarnation");
  EXPECT_EQ(annotations, (cri::StringMap{{"example.com/note", "kept"},
                                         {"kubernetes.io/config.hash", kUid},
                                         {"kubernetes.io/config.source", "file"}}));

  const auto container = view_->RunningOf("web").at(0);
  EXPECT_EQ(container.name, "app");
  EXPECT_EQ(container.attempt, 0u);
  want = pod_labels;
  want["io.kubernetes.container.name"] = "app";
  EXPECT_EQ(container.labels, want);
  annotations = container.annotations;
  EXPECT_EQ(annotations["io.kubernetes.container.ports"],
            R"([{"name":"http","containerPort":80,"protocol":"TCP"}])");
  annotations.erase("io.kubernetes.container.ports");
  EXPECT_EQ(annotations["splitlet.dev/incarnation"], incarnation);
  annotations.erase("splitlet.dev/incarnation");
  EXPECT_EQ(
      annotations,
      (cri::StringMap{{"io.kubernetes.container.hash", harness::kAppHash},
                      {"io.kubernetes.container.restartCount", "0"},
                      {"io.kubernetes.container.terminationMessagePath", "/dev/end"},
                      {"io.kubernetes.container.terminationMessagePolicy", "FallbackToLogsOnError"},
                      {"io.kubernetes.pod.terminationGracePeriod", "7"}}));
  EXPECT_TRUE(
      std::filesystem::exists(node_->dir() + "/pods/default_web-node-1_" + kUid + "/app/0.log"));
}

}  // namespace
}  // namespace splitlet::integration
