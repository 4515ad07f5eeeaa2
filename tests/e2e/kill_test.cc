// Processes, nats-server and containerd are killed under load on real containerd; no container
// restarts because of it.

#include <functional>
#include <set>

#include "libs/base/processes.h"
#include "libs/cri/grpc_runtime.h"
#include "runtime/v1/api.pb.h"
#include "tests/e2e/fixture.h"

namespace splitlet::e2e {
namespace {

class UnderLoad : public E2eTest {
 protected:
  /// One pod from before, and six that are created with a call of `disturb` after each.
  void AddPodsWhile(const std::function<void(int)>& disturb) {
    StartNode();
    node_->PutManifest("old.yaml", PodYaml("old", kForever));
    ExpectExactly(names_);
    const auto old = view_->RunningOf("old").at(0).id;
    for (int i = 0; i < 6; ++i) {
      names_.push_back(fmt::format("p{}", i));
      node_->PutManifest(names_.back() + ".yaml", PodYaml(names_.back(), kForever));
      disturb(i);
    }
    ExpectExactly(names_);
    EXPECT_EQ(view_->RunningOf("old").at(0).id, old);
  }
  std::vector<std::string> names_ = {"old"};
};

class EachProcess : public UnderLoad, public testing::WithParamInterface<std::string> {};

TEST_P(EachProcess, KilledUnderLoadEveryPodRunsOnceAndNoneIsRestarted) {
  AddPodsWhile([this](int i) {
    if (i % 2 == 1) node_->keeper().Signal(GetParam(), 9);
  });
  for (const auto& name : names_) EXPECT_EQ(RestartsOf(name), 0) << name;
}

INSTANTIATE_TEST_SUITE_P(Kill, EachProcess,
                         testing::Values("config-source", "sync-loop", "pod-worker", "pleg",
                                         "status", "gc", "nats"),
                         [](const auto& param) { return harness::Identifier(param.param); });

using Node_ = E2eTest;

TEST_F(UnderLoad, ContainerdKilledNoContainerIsRestarted) {
  AddPodsWhile([this](int i) {
    if (i == 3) KillContainerd();
  });
  EXPECT_EQ(RestartsOf("old"), 0);
}

TEST_F(Node_, AllOfTheAgentStoppedAndStartedAgainNoContainerIsRestarted) {
  StartNode();
  node_->PutManifest("a.yaml", PodYaml("a", kForever));
  node_->PutManifest("b.yaml", PodYaml("b", kForever));
  ExpectExactly({"a", "b"});
  std::set<std::string> before;
  for (const auto& c : view_->Containers()) before.insert(c.id.str());
  for (const auto& process : ProcessNames()) node_->StopProcess(process);
  EXPECT_EQ(view_->Running().size(), 2u);
  for (const auto& process : ProcessNames()) node_->StartProcess(process);
  node_->PutManifest("c.yaml", PodYaml("c", kForever));
  ExpectExactly({"a", "b", "c"});
  for (const char* name : {"a", "b"}) {
    EXPECT_TRUE(before.contains(view_->RunningOf(name).at(0).id.str())) << name;
    EXPECT_EQ(RestartsOf(name), 0) << name;
  }
}

/// A sandbox made by another agent: a kubelet's labels, without splitlet's annotation.
cri::SandboxId MakeUnmanagedSandbox(harness::RuntimeView& view, const std::string& log_dir) {
  runtime::v1::PodSandboxConfig config;
  config.mutable_metadata()->set_name("unmanaged");
  config.mutable_metadata()->set_namespace_("other");
  config.mutable_metadata()->set_uid("11111111-2222-3333-4444-555555555555");
  config.set_log_directory(log_dir);
  (*config.mutable_labels())["io.kubernetes.pod.name"] = "unmanaged";
  (*config.mutable_labels())["io.kubernetes.pod.namespace"] = "other";
  (*config.mutable_labels())["io.kubernetes.pod.uid"] = config.metadata().uid();
  config.mutable_linux()->mutable_security_context()->mutable_namespace_options()->set_network(
      runtime::v1::POD);
  auto made = view.runtime().RunPodSandbox(config, "", After(view.clock(), 60s));
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? *made : cri::SandboxId();
}

TEST_F(Node_, PodsThatNobodyHereMadeAreLeftAlone) {
  const harness::TempDir logs("fl");
  const auto unmanaged = MakeUnmanagedSandbox(*view_, logs.path());
  StartNode();
  node_->PutManifest("a.yaml", PodYaml("a", kForever));
  ExpectRunning("a");
  const auto report = node_->RunGc(false);
  EXPECT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(harness::HoldsFor(6s, [&] {
    const auto sandboxes = view_->ReadySandboxesOf("unmanaged");
    return sandboxes.size() == 1 && sandboxes[0].id == unmanaged;
  }));
}

}  // namespace
}  // namespace splitlet::e2e
