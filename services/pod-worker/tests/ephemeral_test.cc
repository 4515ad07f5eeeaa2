#include <gtest/gtest.h>

#include "runtime/v1/api.pb.h"
#include "services/pod-worker/tests/pod_worker_fixture.h"

/// Ephemeral containers, from a granted pod that has gained one.

namespace splitlet::pod_worker {
namespace {

class Ephemeral : public testing::Test, public TestNode {
 protected:
  void SetUp() override {
    traced.on_container = [this](const runtime::v1::ContainerConfig& asked) {
      made[asked.metadata().name()] = asked;
    };
    Start();
  }
  /// As the API server shows the pod after `kubectl debug`.
  static kube::Pod WithDebug(kube::Pod pod, const std::string& target = "") {
    auto& added = *pod.mutable_spec()->add_ephemeral_containers();
    added.set_target_container_name(target);
    auto& debug = *added.mutable_ephemeral_container_common();
    debug.set_name("debug");
    debug.set_image("busybox:1.36");
    debug.set_image_pull_policy("IfNotPresent");
    debug.set_termination_message_path("/dev/termination-log");
    debug.set_termination_message_policy("File");
    return pod;
  }
  static TestPod ApiPod() { return {.source = "api"}; }
  std::map<std::string, runtime::v1::ContainerConfig> made;
};

TEST_F(Ephemeral, AddedToARunningPodItStartsOnce) {
  const auto pod = ApiPod().Make();
  ASSERT_TRUE(RunPod(pod).ok());
  ASSERT_TRUE(RunPod(WithDebug(pod), 1, 2).ok());
  EXPECT_EQ(Show(), "app/0=running debug/0=running sandbox/0=ready");
  EXPECT_EQ(events.Count("FeatureNotSupported"), 0);
  int told = 0;
  for (const auto& event : events.events) {
    EXPECT_EQ(event.ephemeral_container, event.container == "debug") << event.reason;
    told += event.ephemeral_container ? 1 : 0;
  }
  EXPECT_GE(told, 2) << "Created, Started";
  Exit("debug", 1);
  RunFor(10min);
  EXPECT_EQ(Show(), "app/0=running debug/0=exited(1) sandbox/0=ready");
  Restart();
  RunFor(2min);
  EXPECT_EQ(Show(), "app/0=running debug/0=exited(1) sandbox/0=ready");
}

TEST_F(Ephemeral, OneThatHasBegunAndIsGoneDoesNotBeginAgain) {
  ASSERT_TRUE(RunPod(WithDebug(ApiPod().Make())).ok());
  ASSERT_TRUE(runtime.Vanish("uid-web", "debug").ok());
  Changed();
  RunFor(2min);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  Restart();
  RunFor(2min);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
}

TEST_F(Ephemeral, ItWaitsForNoInitContainer) {
  auto pod = ApiPod();
  pod.inits = {"init"};
  ASSERT_TRUE(RunPod(WithDebug(pod.Make())).ok());
  Changed();
  EXPECT_EQ(Show(), "debug/0=running init/0=running sandbox/0=ready");
}

TEST_F(Ephemeral, AFailedCreateIsTriedAgainAndHoldsUpNobody) {
  const auto pod = ApiPod().Make();
  ASSERT_TRUE(RunPod(pod).ok());
  runtime.AddFault({.method = "CreateContainer", .code = StatusCode::kInternal, .times = 1});
  ASSERT_TRUE(RunPod(WithDebug(pod), 1, 2).ok());
  EXPECT_EQ(NoteOf("debug").reason(), "CreateContainerError");
  Exit("app", 1);
  EXPECT_EQ(runtime.Running("uid-web").size(), 2u) << Show();
}

TEST_F(Ephemeral, OneThatWasOnlyCreatedIsStartedAsItIs) {
  const auto pod = ApiPod().Make();
  ASSERT_TRUE(RunPod(pod).ok());
  runtime.AddFault({.method = "StartContainer", .code = StatusCode::kUnavailable, .times = 1});
  ASSERT_TRUE(RunPod(WithDebug(pod), 1, 2).ok());
  EXPECT_EQ(Show(), "app/0=running debug/0=created sandbox/0=ready");
  RunFor(1min);
  EXPECT_EQ(Show(), "app/0=running debug/0=running sandbox/0=ready");
}

TEST_F(Ephemeral, ItSeesTheProcessesOfItsTarget) {
  const auto pod = ApiPod().Make();
  ASSERT_TRUE(RunPod(pod).ok());
  const std::string app = runtime.Containers().at(0).id.str();
  ASSERT_TRUE(RunPod(WithDebug(pod, "app"), 1, 2).ok());
  const auto& options = made["debug"].linux().security_context().namespace_options();
  EXPECT_EQ(options.pid(), runtime::v1::TARGET);
  EXPECT_EQ(options.target_id(), app);
}

TEST_F(Ephemeral, WherePodsShareTheirProcessesATargetChangesNothing) {
  auto pod = ApiPod().Make();
  pod.mutable_spec()->set_share_process_namespace(true);
  ASSERT_TRUE(RunPod(pod).ok());
  ASSERT_TRUE(RunPod(WithDebug(pod, "app"), 1, 2).ok());
  EXPECT_EQ(made["debug"].linux().security_context().namespace_options().pid(), runtime::v1::POD);
}

TEST_F(Ephemeral, ATargetThatIsNotThereIsWaitedFor) {
  auto pod = ApiPod();
  pod.inits = {"init"};
  ASSERT_TRUE(RunPod(WithDebug(pod.Make(), "app")).ok());
  Changed();
  EXPECT_EQ(NoteOf("debug").reason(), "CreateContainerConfigError");
  EXPECT_EQ(NoteOf("debug").message(), "unable to find target container app");
  EXPECT_EQ(events.Text("Failed"), "Error: unable to find target container app");
  EXPECT_EQ(Show(), "init/0=running sandbox/0=ready");
  Exit("init", 0);
  Changed();
  RunFor(20s);
  EXPECT_EQ(Show(), "app/0=running debug/0=running init/0=exited(0) sandbox/0=ready");
}

TEST_F(Ephemeral, AStaticPodHasNone) {
  const auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_FALSE(RunPod(WithDebug(pod), 1, 2).ok());
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
}

TEST_F(Ephemeral, ItDoesNotKeepAFinishedPodNorDecideItsPhase) {
  auto pod = ApiPod();
  pod.policy = "Never";
  ASSERT_TRUE(RunPod(WithDebug(pod.Make())).ok());
  Exit("app", 0);
  EXPECT_EQ(Show(), "app/0=exited(0) debug/0=exited(143) sandbox/0=dead");
  EXPECT_EQ(Record()->terminal_status().phase(), "Succeeded");
}

TEST_F(Ephemeral, ASidecarThatEndsWithItsPodDoesNotWaitForIt) {
  auto pod = ApiPod();
  pod.inits = pod.sidecars = {"side"};
  ASSERT_TRUE(RunPod(WithDebug(pod.Make())).ok());
  Changed();
  ASSERT_EQ(runtime.Running("uid-web").size(), 3u) << Show();
  process->calls.hold = true;
  Remove(WithDebug(pod.Make()));
  ASSERT_EQ(process->calls.stops.size(), 2u) << "app, debug";
  process->calls.stops[0](OkStatus());
  Settle();
  EXPECT_EQ(process->calls.stops.size(), 3u) << "side";
}

TEST_F(Ephemeral, ANewSandboxDoesNotRunItAgain) {
  ASSERT_TRUE(RunPod(WithDebug(ApiPod().Make())).ok());
  runtime.BreakSandbox("uid-web");
  Changed();
  RunFor(1min);
  EXPECT_EQ(Show(),
            "app/0=exited(137) app/1=running debug/0=exited(137) sandbox/0=dead "
            "sandbox/1=ready");
}

}  // namespace
}  // namespace splitlet::pod_worker
