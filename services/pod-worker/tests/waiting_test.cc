#include "services/pod-worker/records/disk_records.h"
#include "services/pod-worker/tests/pod_worker_fixture.h"
#include "splitlet/v1/pod_worker_records.pb.h"

/// Whatever pod-worker waits for has an event or a time of its own: here the regular look at each
/// pod never comes.

namespace splitlet::pod_worker {
namespace {

class WithoutRegularLook : public testing::Test, public TestNode {
 protected:
  void SetUp() override {
    config.sync_frequency = std::chrono::hours{24 * 365};
    Start();
  }
};

TEST_F(WithoutRegularLook, AStartedSidecarLetsThoseAfterItBegin) {
  const auto pod = TestPod{.inits = {"s", "i"}, .sidecars = {"s"}}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(Show(), "i/0=running s/0=running sandbox/0=ready");
  Exit("i", 0);
  EXPECT_EQ(Show(), "app/0=running i/0=exited(0) s/0=running sandbox/0=ready");
}

TEST_F(WithoutRegularLook, ASidecarLivesAsLongAsAContainerThatCouldNotBeStopped) {
  const auto pod = TestPod{.inits = {"s"}, .sidecars = {"s"}}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  runtime.AddFault({.method = "StopContainer", .times = 1});
  Remove(pod);
  EXPECT_EQ(runtime.Calls("StopContainer"), 1u) << "the sidecar is not told";
  EXPECT_TRUE(Show().find("s/0=running") != std::string::npos) << Show();
  RunFor(10s);
  EXPECT_EQ(Record()->state(), v1::FINISHED);
  EXPECT_EQ(runtime.Calls("StopContainer"), 3u);
}

TEST_F(WithoutRegularLook, SidecarsFollowEachOther) {
  ASSERT_TRUE(RunPod(TestPod{.inits = {"s", "t"}, .sidecars = {"s", "t"}}.Make()).ok());
  EXPECT_EQ(Show(), "app/0=running s/0=running sandbox/0=ready t/0=running");
}

TEST_F(WithoutRegularLook, ASidecarThatCrashesHoldsUpTheRestOnlyUntilItRuns) {
  runtime.SetBehaviour("uid-web", "s", {{.start_error = Internal("no")}, {}});
  ASSERT_TRUE(RunPod(TestPod{.inits = {"s"}, .sidecars = {"s"}}.Make()).ok());
  EXPECT_EQ(Show(), "s/0=exited(128) sandbox/0=ready");
  RunFor(16s);
  EXPECT_EQ(Show(), "app/0=running s/0=exited(128) s/1=running sandbox/0=ready");
}

TEST_F(WithoutRegularLook, ASidecarComesBackBesideItsPod) {
  ASSERT_TRUE(RunPod(TestPod{.inits = {"s"}, .sidecars = {"s"}}.Make()).ok());
  Exit("s", 0);
  EXPECT_EQ(Show(), "app/0=running s/0=exited(0) s/1=running sandbox/0=ready");
}

TEST_F(WithoutRegularLook, TheLastInitThatEndsLetsThePodBegin) {
  ASSERT_TRUE(RunPod(TestPod{.inits = {"i", "j"}}.Make()).ok());
  Exit("i", 0);
  Exit("j", 0);
  EXPECT_EQ(Show(), "app/0=running i/0=exited(0) j/0=exited(0) sandbox/0=ready");
}

TEST_F(WithoutRegularLook, ABackOffEndsAtItsTime) {
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  Exit("app", 1);
  Exit("app", 1);
  ASSERT_EQ(NoteOf("app").reason(), "CrashLoopBackOff");
  RunFor(10s);
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
}

TEST_F(WithoutRegularLook, APulledImageLetsItsContainersBegin) {
  auto pod = TestPod{.containers = {"a", "b"}}.Make();
  for (auto& container : *pod.mutable_spec()->mutable_containers()) container.set_image("new:1");
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(Show(), "a/0=running b/0=running sandbox/0=ready");
}

TEST_F(WithoutRegularLook, AFailedPullIsTriedAgainAtItsTime) {
  auto pod = TestPod{.containers = {"a", "b"}}.Make();
  for (auto& container : *pod.mutable_spec()->mutable_containers()) container.set_image("bad:1");
  runtime.SetPull("bad:1", {.error = Unavailable("registry away")});
  ASSERT_TRUE(RunPod(pod).ok());
  runtime.SetPull("bad:1", {});
  RunFor(15s);
  EXPECT_EQ(Show(), "a/0=running b/0=running sandbox/0=ready");
}

TEST_F(WithoutRegularLook, AnImageThatMayNotBePulledIsLookedForAgain) {
  auto pod = TestPod{}.Make();
  pod.mutable_spec()->mutable_containers(0)->set_image("absent:1");
  pod.mutable_spec()->mutable_containers(0)->set_image_pull_policy("Never");
  ASSERT_TRUE(RunPod(pod).ok());
  runtime.AddImage("absent:1");
  RunFor(16s);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
}

TEST_F(WithoutRegularLook, AReplacedContainerIsFollowedWhenItHasStopped) {
  auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  runtime.AddImage("other:1");
  pod.mutable_spec()->mutable_containers(0)->set_image("other:1");
  ASSERT_TRUE(RunPod(pod, 1, 2).ok());
  EXPECT_EQ(Show(), "app/0=exited(143) app/1=running sandbox/0=ready");
}

TEST_F(WithoutRegularLook, AReplacedContainerThatDoesNotStopIsStoppedAgain) {
  auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  runtime.AddImage("other:1");
  pod.mutable_spec()->mutable_containers(0)->set_image("other:1");
  runtime.AddFault({.method = "StopContainer", .times = 1});
  ASSERT_TRUE(RunPod(pod, 1, 2).ok());
  RunFor(3s);
  EXPECT_EQ(Show(), "app/0=exited(143) app/1=running sandbox/0=ready");
}

TEST_F(WithoutRegularLook, AReplacedContainerIsStoppedAlsoAfterAFullDisk) {
  auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  runtime.AddImage("other:1");
  pod.mutable_spec()->mutable_containers(0)->set_image("other:1");
  files.Fail("/run/pod-worker/restarts", ResourceExhausted("disk full"));
  ASSERT_TRUE(RunPod(pod, 1, 2).ok());
  ASSERT_EQ(Show(), "app/0=running sandbox/0=ready");
  files.Fail("/run/pod-worker/restarts", OkStatus());
  RunFor(2s);
  EXPECT_EQ(Show(), "app/0=exited(143) app/1=running sandbox/0=ready");
}

TEST_F(WithoutRegularLook, ADeadSandboxIsReplaced) {
  ASSERT_TRUE(RunPod(TestPod{.containers = {"a", "b"}}.Make()).ok());
  runtime.BreakSandbox("uid-web");
  Changed();
  EXPECT_EQ(Show(),
            "a/0=exited(137) a/1=running b/0=exited(137) b/1=running sandbox/0=dead "
            "sandbox/1=ready");
}

TEST_F(WithoutRegularLook, ASandboxWithoutAddressIsReplacedBeforeAnythingRunsInIt) {
  int bad = 2;
  traced.after_sandbox = [this, &bad](const cri::SandboxId& id) {
    if (bad-- > 0) runtime.SetIps(id, {});
  };
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  EXPECT_NE(Record()->sync_error().find("has no address"), std::string::npos);
  RunFor(5s);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=dead sandbox/1=dead sandbox/2=ready");
  EXPECT_EQ(Record()->sync_error(), "");
}

TEST_F(WithoutRegularLook, ARuntimeThatRefusesIsAskedAgain) {
  for (const char* method : {"ListPodSandbox", "RunPodSandbox", "CreateContainer"}) {
    runtime.AddFault({.method = method, .times = 1});
    runtime.AddFault({.method = method, .code = StatusCode::kUnknown, .times = 1});
  }
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  RunFor(120s);
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
}

TEST_F(WithoutRegularLook, TheFullNameIsFreeWhenTheOtherHasEnded) {
  const auto old = TestPod{.uid = "uid-old"}.Make(), fresh = TestPod{.uid = "uid-new"}.Make();
  ASSERT_TRUE(RunPod(old).ok());
  ASSERT_TRUE(RunPod(fresh).ok());
  Remove(old);
  EXPECT_EQ(Show("uid-new"), "app/0=running sandbox/0=ready");
}

TEST_F(WithoutRegularLook, TheFullNameIsFreeWhenWhatWasFoundAtTheStartHasGone) {
  Kill();
  runtime.AddUnmanagedPod({.uid = "uid-old",
                           .name = "web",
                           .containers = {"app"},
                           .annotations = {{"kubernetes.io/config.source", "file"}}});
  Start();
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  ASSERT_EQ(Show(), "");
  runtime.BreakSandbox("uid-old");
  RunFor(2s);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
}

class DyingSandbox : public WithoutRegularLook, public testing::WithParamInterface<std::string> {};

/// containerd stops the containers of a sandbox first and the sandbox then.
TEST_P(DyingSandbox, IsNotTheFailureOfTheContainerThatWasToRunInIt) {
  ASSERT_TRUE(RunPod(TestPod{.containers = {"a", "b"}}.Make()).ok());
  bool died = false;
  const auto die = [this, &died] {
    if (!std::exchange(died, true)) runtime.BreakSandbox("uid-web");
  };
  if (GetParam() == "after CreateContainer") {
    traced.after_create = die;
  } else {
    traced.before = [die](const std::string& method) {
      if (method == GetParam()) die();
    };
  }
  Exit("a", 137);
  RunFor(500ms);
  EXPECT_TRUE(died);
  EXPECT_EQ(Show(),
            "a/0=exited(137) a/1=running b/0=exited(137) b/1=running sandbox/0=dead "
            "sandbox/1=ready");
  EXPECT_EQ(events.Count("Failed"), 0);
  EXPECT_EQ(events.Count("Started"), 4);
  EXPECT_EQ(events.Count("SandboxChanged"), 1);
  EXPECT_EQ(Record()->sync_error(), "");
  EXPECT_EQ(NoteOf("a").reason(), "");
}
TEST_F(WithoutRegularLook, WhatNeverRanInADyingSandboxRunsInTheNextAlsoWhenItRunsOnlyOnce) {
  bool died = false;
  traced.before = [this, &died](const std::string& method) {
    if (method == "StartContainer" && !std::exchange(died, true)) runtime.BreakSandbox("uid-web");
  };
  ASSERT_TRUE(RunPod(TestPod{.policy = "Never"}.Make()).ok());
  RunFor(500ms);
  EXPECT_TRUE(died);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=dead sandbox/1=ready");
}

TEST_F(WithoutRegularLook, NothingIsMadeWhileContainersOfASandboxAreKilledOneAfterTheOther) {
  ASSERT_TRUE(RunPod(TestPod{.containers = {"a", "b", "c"}}.Make()).ok());
  for (const char* name : {"a", "b", "c"}) {
    Exit(name, 137);
    RunFor(400ms);
  }
  EXPECT_EQ(runtime.Calls("CreateContainer"), 3u);
  runtime.BreakSandbox("uid-web");
  Changed();
  EXPECT_EQ(Show(),
            "a/0=exited(137) a/1=running b/0=exited(137) b/1=running c/0=exited(137) c/1=running "
            "sandbox/0=dead sandbox/1=ready");
}

TEST_F(WithoutRegularLook, AContainerThatSomebodyKilledRunsAgainAMomentLater) {
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  Exit("app", 143);
  EXPECT_EQ(runtime.Running("uid-web").size(), 0u);
  RunFor(500ms);
  EXPECT_EQ(Show(), "app/0=exited(143) app/1=running sandbox/0=ready");
  ASSERT_TRUE(runtime.ExitContainer("uid-web", "app", 137, "OOMKilled").ok());
  Changed();
  EXPECT_EQ(NoteOf("app").reason(), "CrashLoopBackOff") << "that is the container's own doing";
}

INSTANTIATE_TEST_SUITE_P(Moments, DyingSandbox,
                         testing::Values("CreateContainer", "after CreateContainer",
                                         "StartContainer"));

TEST_F(WithoutRegularLook, AHoldThatCouldNotBeSavedHoldsNothing) {
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  Exit("app", 1);
  v1::HoldRequest request;
  for (const auto& container : runtime.Containers()) request.add_container_ids(container.id.str());
  files.Fail("/run/pod-worker/holds", Internal("no space left on device"));
  ASSERT_FALSE(HoldFor(request).ok());
  files.Fail("/run/pod-worker/holds", OkStatus());
  Exit("app", 1);
  RunFor(21s);
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
}

class Held : public WithoutRegularLook {
 protected:
  /// A pod whose container has ended under a hold of gc.
  void SetUp() override {
    WithoutRegularLook::SetUp();
    ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
    Exit("app", 1);
    v1::HoldRequest request;
    for (const auto& container : runtime.Containers())
      request.add_container_ids(container.id.str());
    const auto reply = HoldFor(request);
    ASSERT_TRUE(reply.ok());
    hold_ = reply->hold_id();
    ASSERT_TRUE(runtime.ExitContainer("uid-web", "app", 1).ok());
    RunFor(20s);
    Changed();
    ASSERT_EQ(runtime.Running("uid-web").size(), 0u);
  }
  std::string hold_;
};

TEST_F(Held, AReleasedHoldLetsThePodGoOn) {
  Call([this] { service().OnReleaseHold(hold_); });
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
}

TEST_F(Held, AForgottenHoldEndsAtItsTime) {
  RunFor(41s);
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
}

TEST_F(WithoutRegularLook, TheActiveDeadlineEndsThePodAtItsTime) {
  auto pod = TestPod{}.Make();
  pod.mutable_spec()->set_active_deadline_seconds(100);
  ASSERT_TRUE(RunPod(pod).ok());
  RunFor(99s);
  ASSERT_EQ(runtime.Running("uid-web").size(), 1u);
  RunFor(2s);
  EXPECT_EQ(runtime.Running("uid-web").size(), 0u);
  EXPECT_EQ(Record()->terminal_status().reason(), "DeadlineExceeded");
}

TEST_F(WithoutRegularLook, APodThatDoesNotEndIsEndedAgain) {
  const auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  runtime.AddFault({.method = "StopContainer", .times = 2});
  runtime.AddFault({.method = "StopPodSandbox", .times = 2});
  Remove(pod);
  RunFor(20s);
  EXPECT_EQ(Record()->state(), v1::FINISHED);
}

TEST_F(WithoutRegularLook, EveryWaitGoesOnAfterARestartOfTheProcess) {
  ASSERT_TRUE(RunPod(TestPod{.inits = {"s", "i"}, .sidecars = {"s"}}.Make()).ok());
  Restart();
  Exit("i", 0);
  ASSERT_EQ(runtime.Running("uid-web"), (std::vector<std::string>{"app", "s"}));
  Exit("app", 1);
  Exit("app", 1);
  Restart();
  RunFor(10s);
  EXPECT_EQ(runtime.Running("uid-web"), (std::vector<std::string>{"app", "s"}));
}

// Pods whose files cannot be read wait too, until an operator has put the files aside.

class UnreadableFile : public testing::Test, public TestNode {
 protected:
  void SetUp() override { Start(); }
};

TEST_F(UnreadableFile, ABrokenTerminalStatusStartsNothingUntilRootPutsItAside) {
  const auto job = TestPod{.policy = "Never", .source = "api"}.Make();
  ASSERT_TRUE(RunPod(job).ok());
  Exit("app", 0);
  RunFor(60s);
  ASSERT_EQ(Record()->state(), v1::FINISHED);
  Reboot();
  const std::string path = "/state/pod-worker/pods/uid-web";
  ASSERT_TRUE(files.Stat(path, false).ok()) << "the terminal status";
  ASSERT_TRUE(files.Replace(path, "splitlet-fact 1 1 0\nbroken", {}).ok());
  Start();
  Want(job);
  EXPECT_EQ(Grant(job).code(), StatusCode::kFailedPrecondition);
  RunFor(120s);
  EXPECT_EQ(runtime.Running("uid-web").size(), 0u) << "it may have ended for good";
  EXPECT_EQ(Record()->state(), v1::WORKER_STATE_UNSPECIFIED);
  EXPECT_NE(Record()->sync_error().find("record discard uid-web"), std::string::npos);
  ASSERT_EQ(service().Notes().size(), 1u);
  EXPECT_NE(service().Notes()[0].find("pod uid-web"), std::string::npos);

  const auto aside = DiscardRecord("uid-web");
  ASSERT_TRUE(aside.ok()) << aside.status();
  EXPECT_EQ(*aside, std::vector<std::string>{"/state/pod-worker/pods-discarded/uid-web"});
  EXPECT_EQ(*files.Read(aside->front(), 100), "splitlet-fact 1 1 0\nbroken");
  EXPECT_TRUE(service().Notes().empty());
  EXPECT_EQ(Record()->sync_error(), "");
  EXPECT_NE(Record()->incarnation(), 0) << "the incarnation that the runtime shows";
  EXPECT_TRUE(Grant(job).ok());
  RunFor(60s);
  EXPECT_NE(Record()->state(), v1::WORKER_STATE_UNSPECIFIED)
      << "it goes on by what the runtime shows";
  EXPECT_EQ(DiscardRecord("uid-web").status().code(), StatusCode::kNotFound);
}

TEST_F(UnreadableFile, AGrantOfBytesThatAreNoPodStartsAndStopsNothing) {
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  Kill();
  const DiskRecords records(files, clock, config.run_dir, config.state_dir);
  const auto all = records.ReadAll(300s);
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->workers.size(), 1u);
  v1::SavedWorker saved = all->workers.front();
  saved.mutable_grant()->set_pod("\xff\xff");
  ASSERT_TRUE(records.SaveWorker(saved).ok());
  Start();
  RunFor(60s);
  EXPECT_EQ(Record()->state(), v1::WORKER_STATE_UNSPECIFIED);
  EXPECT_NE(Record()->sync_error().find("the pod of a grant: the bytes are no pod"),
            std::string::npos)
      << Record()->sync_error();
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
}

TEST_F(UnreadableFile, AFileWithoutItsOtherHalfSaysNothing) {
  const auto web = TestPod{}.Make();
  ASSERT_TRUE(RunPod(web).ok());
  Kill();
  const std::string content = *files.Read("/run/pod-worker/workers/uid-web", 10000);
  ASSERT_TRUE(files.Replace("/state/pod-worker/pods/uid-web", "garbage", {}).ok());
  Start();
  Exit("app", 1);
  RunFor(120s);
  EXPECT_EQ(runtime.Running("uid-web").size(), 0u)
      << "its grant alone restarts nothing: it may have been evicted";
  EXPECT_EQ(*files.Read("/run/pod-worker/workers/uid-web", 10000), content);
  ASSERT_TRUE(DiscardRecord("uid-web").ok());
  RunFor(60s);
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u) << "the grant is good and counts again";
}

TEST_F(UnreadableFile, APodThatIsGoneNeedsItsBrokenFileNoMore) {
  const auto web = TestPod{}.Make();
  ASSERT_TRUE(RunPod(web).ok());
  Kill();
  const std::string path = "/run/pod-worker/workers/uid-web";
  ASSERT_TRUE(files.Replace(path, "garbage", {}).ok());
  desired.SetComplete({{std::string(bus::kAll)}, clock.Now(), {}});
  Start();
  Remove(web);
  RunFor(300s);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready") << "nothing is stopped for it";
  EXPECT_EQ(*files.Read(path, 100), "garbage");
  for (const auto& container : runtime.Containers())
    ASSERT_TRUE(runtime.RemoveContainer(container.id, After(clock, 10s)).ok());
  for (const auto& sandbox : runtime.Sandboxes())
    ASSERT_TRUE(runtime.RemovePodSandbox(sandbox.id, After(clock, 10s)).ok());
  RunFor(300s);
  EXPECT_EQ(*files.Read("/run/pod-worker/workers-discarded/uid-web", 100), "garbage");
  EXPECT_EQ(Record()->state(), v1::FINISHED) << "its removal ends";
}

TEST_F(UnreadableFile, ABrokenFileOfBackOffsCostsADelayOnly) {
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  Kill();
  ASSERT_TRUE(files.Replace("/run/pod-worker/restarts/uid-web", "garbage", {}).ok());
  Start();
  EXPECT_TRUE(service().Notes().empty());
  Exit("app", 1);
  RunFor(60s);
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
}

TEST_F(WithoutRegularLook, OfThreeOfOneNameEachWaitsForAllBeforeIt) {
  const auto old = TestPod{.uid = "uid-old"}.Make(), next = TestPod{.uid = "uid-next"}.Make(),
             last = TestPod{.uid = "uid-last"}.Make();
  ASSERT_TRUE(RunPod(old).ok());
  ASSERT_TRUE(RunPod(next).ok());
  ASSERT_TRUE(RunPod(last).ok());
  EXPECT_EQ(Show("uid-next") + Show("uid-last"), "");
  Remove(next);
  EXPECT_EQ(Record("uid-next")->state(), v1::FINISHED) << "granted, and never begun";
  EXPECT_EQ(Show("uid-last"), "") << "the first still runs";
  EXPECT_EQ(Record("uid-last")->admission_reason(), "waits for pod uid-old of the same name");
  Remove(old);
  EXPECT_EQ(Show("uid-last"), "app/0=running sandbox/0=ready");
  EXPECT_EQ(Show("uid-next"), "") << "nothing was ever asked for it";
}

TEST_F(WithoutRegularLook, APodOnTheHostsNetworkNeedsNoOther) {
  runtime.SetConditions(
      {{"RuntimeReady", true, "", ""}, {"NetworkReady", false, "NoCni", "no config"}});
  auto pod = TestPod{}.Make();
  pod.mutable_spec()->set_host_network(true);
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
  EXPECT_EQ(events.Count("NetworkNotReady"), 0);
}

TEST_F(WithoutRegularLook, AnImageThatRunsAsRootWaitsUntilThePodNamesAnotherUser) {
  auto pod = TestPod{}.Make();
  auto& security = *pod.mutable_spec()->mutable_security_context();
  security.set_run_as_non_root(true);
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(NoteOf("app").reason(), "CreateContainerConfigError");
  EXPECT_EQ(NoteOf("app").message(),
            "container has runAsNonRoot and image will run as root (pod: "
            "\"web_default(uid-web)\", container: app)");
  security.set_run_as_user(1000);
  ASSERT_TRUE(RunPod(pod, 2).ok());
  RunFor(1min);
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
}

}  // namespace
}  // namespace splitlet::pod_worker
