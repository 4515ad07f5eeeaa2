// Hands a node on containerd over from a kubelet and back, without a restart.

#include <filesystem>

#include "libs/base/processes.h"
#include "libs/cri/grpc_runtime.h"
#include "tests/e2e/fixture.h"
#include "tests/harness/kubelet_records.h"

namespace splitlet::e2e {
namespace {

using Adoption = E2eTest;

TEST_F(Adoption, AKubeletsContainerRunsOnWithItsRestartCountAndIsGivenBack) {
  MakeNode({.runtime_endpoint = Endpoint()});
  const harness::KubeletPod pod{.name = "web",
                                .uid = "0f9e8d7c-6b5a-4433-2211-00ffeeddccbb",
                                .log_root = node_->dir() + "/pods"};
  const auto records = harness::MakeKubeletRecords(*view_, pod);
  ASSERT_TRUE(records.ok()) << records.status();
  const auto untouched = [&] {
    const auto running = view_->RunningOf("web");
    const auto sandboxes = view_->ReadySandboxesOf("web");
    return running.size() == 1 && running[0].id == records->running && sandboxes.size() == 1 &&
           sandboxes[0].id == records->sandbox;
  };
  ASSERT_TRUE(untouched()) << view_->Describe();

  node_->PutManifest("web.yaml", harness::ManifestOf(pod));
  node_->Start();
  ExpectExactly({"web"});
  EXPECT_TRUE(harness::HoldsFor(5s, untouched)) << view_->Describe();
  EXPECT_EQ(RestartsOf("web"), 2);
  for (const auto& process : ProcessNames()) node_->StopProcess(process);
  EXPECT_TRUE(harness::HoldsFor(5s, untouched)) << view_->Describe();

  for (const auto& process : ProcessNames()) node_->StartProcess(process);
  ExpectExactly({"web"});
  EXPECT_EQ(RestartsOf("web"), 2);
  EXPECT_TRUE(untouched()) << view_->Describe();
  ASSERT_TRUE(view_->runtime().StopContainer(records->running, 2, After(view_->clock(), 30s)).ok());
  ASSERT_TRUE(WaitFor(kSoon, [&] { return RestartsOf("web") == 3 && node_->IsRunning("web"); }));
  EXPECT_EQ(view_->ReadySandboxesOf("web").at(0).id, records->sandbox);
  EXPECT_TRUE(std::filesystem::exists(pod.LogDirectory() + "/app/3.log"));
  node_->RemoveManifest("web.yaml");
  ExpectGone("web");
}

}  // namespace
}  // namespace splitlet::e2e
