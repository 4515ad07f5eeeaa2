#include "services/pod-worker/tests/pod_worker_fixture.h"

/// RestartAllContainers, against a runtime.

namespace splitlet::pod_worker {
namespace {

kube::Pod Crew() {
  auto pod = TestPod{.policy = "Never", .containers = {"lead", "mate"}, .inits = {"init"}}.Make();
  auto& lead = *pod.mutable_spec()->mutable_containers(0);
  lead.set_restart_policy("Never");
  auto& rule = *lead.add_restart_policy_rules();
  rule.set_action("RestartAllContainers");
  rule.mutable_exit_codes()->set_operator_("In");
  rule.mutable_exit_codes()->add_values(42);
  auto& mate = *pod.mutable_spec()->mutable_containers(1);
  mate.mutable_lifecycle()->mutable_pre_stop()->mutable_exec()->add_command("hook");
  return pod;
}

class RestartsAll : public testing::Test, public TestNode {
 protected:
  void SetUp() override { Start(); }
  void RunCrew() {
    ASSERT_TRUE(RunPod(Crew()).ok());
    Exit("init", 0);
    ASSERT_EQ(runtime.Running("uid-web"), (std::vector<std::string>{"lead", "mate"})) << Show();
    for (const auto& container : runtime.Containers()) Log(container.name, 0);
  }
  /// As the runtime does when the container starts.
  void Log(const std::string& container, int attempt) {
    const std::string path =
        fmt::format("/logs/pods/default_web_uid-web/{}/{}.log", container, attempt);
    ASSERT_TRUE(files.Replace(path, "", {}).ok());
  }
};

TEST_F(RestartsAll, OneEndTakesAllAlongAndTheSandboxStays) {
  RunCrew();
  Exit("lead", 42);
  EXPECT_EQ(Show(), "init/1=running sandbox/0=ready");
  EXPECT_EQ(events.Text("Killing"), "killing");
  Exit("init", 0);
  EXPECT_EQ(Show(), "init/1=exited(0) lead/1=running mate/1=running sandbox/0=ready");
  EXPECT_EQ(Record()->state(), v1::SYNCING);
  EXPECT_TRUE(runtime.Violations().empty());
}

TEST_F(RestartsAll, WhatIsTakenAlongHasNoTimeForItsPreStop) {
  runtime.SetExec("uid-web", "mate", cri::ExecResult{});
  RunCrew();
  Exit("lead", 42);
  EXPECT_EQ(runtime.Calls("ExecSync"), 0u);
  EXPECT_EQ(traced.graces, std::vector<int64_t>{2});
}

TEST_F(RestartsAll, AnotherCodeEndsThePodAsItsPolicySays) {
  RunCrew();
  Exit("lead", 1);
  Exit("mate", 0);
  EXPECT_EQ(Record()->terminal_status().phase(), "Failed");
}

TEST_F(RestartsAll, ItGoesOnWhereTheRuntimeFailed) {
  RunCrew();
  runtime.AddFault({.method = "RemoveContainer", .kind = cri::Fault::Kind::kFail, .times = 2});
  Exit("lead", 42);
  RunFor(60s);
  Exit("init", 0);
  EXPECT_EQ(runtime.Running("uid-web"), (std::vector<std::string>{"lead", "mate"})) << Show();
}

TEST_F(RestartsAll, APodThatIsRemovedMeanwhileEnds) {
  RunCrew();
  runtime.AddFault({.method = "RemoveContainer", .kind = cri::Fault::Kind::kFail, .times = 1});
  Exit("lead", 42);
  Remove(Crew());
  EXPECT_EQ(Record()->state(), v1::FINISHED);
}

}  // namespace
}  // namespace splitlet::pod_worker
