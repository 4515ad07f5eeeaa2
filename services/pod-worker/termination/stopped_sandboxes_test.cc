#include "services/pod-worker/termination/stopped_sandboxes.h"

#include "services/pod-worker/tests/pod_worker_fixture.h"

namespace splitlet::pod_worker {
namespace {

class StoppedSandboxesTest : public testing::Test, public TestNode {
 protected:
  void SetUp() override { Start(); }
  /// What gc hears of all sandboxes: how many it may remove, and how many of them are stopped.
  std::pair<int, int> Held() {
    v1::HoldRequest request;
    for (const auto& sandbox : runtime.Sandboxes()) request.add_sandbox_ids(sandbox.id.str());
    const auto reply = HoldFor(request);
    EXPECT_TRUE(reply.ok()) << reply.status();
    return {reply->sandbox_ids_size(), reply->stopped_sandbox_ids_size()};
  }
};

TEST_F(StoppedSandboxesTest, GcHearsOfThoseOfAPodThatEndedHere) {
  const auto web = TestPod{.source = "api"}.Make();
  ASSERT_TRUE(RunPod(web).ok());
  runtime.BreakSandbox("uid-web");
  Changed();
  ASSERT_EQ(runtime.Sandboxes().size(), 2u);
  Remove(web);
  EXPECT_EQ(Held(), std::pair(2, 2));
  Restart();
  EXPECT_EQ(Held(), std::pair(2, 0)) << "nobody knows any more";
}

TEST_F(StoppedSandboxesTest, OneWhoseStopFailedIsNone) {
  const auto web = TestPod{.source = "api"}.Make();
  ASSERT_TRUE(RunPod(web).ok());
  // The sandbox is dead then, and what the network plugins left is not known.
  runtime.BreakSandbox("uid-web");
  runtime.AddFault({.method = "StopPodSandbox", .times = 1'000});
  Remove(web);
  EXPECT_EQ(Held().second, 0);
  runtime.ClearFaults();
  RunFor(10s);
  EXPECT_EQ(Held(), std::pair(1, 1));
}

TEST(StoppedSandboxes, OfAnotherStopOrAReadySandboxNothingIsKnown) {
  StoppedSandboxes stopped;
  stopped.OnStopped({"a", "b"});
  stopped.OnBegun({"a"});
  EXPECT_FALSE(stopped.Contains("a"));
  EXPECT_TRUE(stopped.Contains("b"));
  stopped.OnStopped({"a"});
  stopped.KeepOnly({{.id = cri::SandboxId("a"), .state = cri::SandboxState::kReady},
                    {.id = cri::SandboxId("b"), .state = cri::SandboxState::kNotReady}});
  EXPECT_FALSE(stopped.Contains("a"));
  EXPECT_TRUE(stopped.Contains("b"));
  stopped.KeepOnly({});
  EXPECT_FALSE(stopped.Contains("b"));
}

}  // namespace
}  // namespace splitlet::pod_worker
