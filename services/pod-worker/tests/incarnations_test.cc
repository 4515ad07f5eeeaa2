#include <algorithm>

#include "libs/cri/incarnation.h"
#include "services/pod-worker/pod/grace.h"
#include "services/pod-worker/tests/pod_worker_fixture.h"

/// Which incarnation of a pod is meant: one that is put back under its UID, numbers that are lost,
/// and containers that are gone.

namespace splitlet::pod_worker {
namespace {

class Lives : public testing::Test, public TestNode {
 protected:
  void SetUp() override { Start(); }
  void Exit(int code) {
    ASSERT_TRUE(runtime.ExitContainer("uid-web", "app", code).ok());
    Changed();
    RunFor(5s);
  }
  void Vanish() {
    ASSERT_TRUE(runtime.Vanish("uid-web", "app").ok());
    Changed();
    RunFor(5s);
  }
  /// The whole way of a manifest that is moved away, before gc comes by.
  void MoveAway(const kube::Pod& pod, int64_t incarnation) {
    Remove(pod, incarnation);
    RunFor(60s);
    ASSERT_EQ(Record()->state(), v1::FINISHED);
    Gone("uid-web");
    Settle();
  }
  cri::Container Newest() {
    cri::Container newest;
    for (const auto& container : runtime.Containers())
      if (newest.id.empty() || cri::IsNewer(container, newest)) newest = container;
    return newest;
  }
  std::string Annotation(const std::string& key) { return Newest().annotations[key]; }
  void WipeMemory() {
    ASSERT_TRUE(files.RemoveTree("/run").ok());
    ASSERT_TRUE(files.RemoveTree("/state").ok());
  }
};

TEST_F(Lives, OneThatIsOverAndWantedIsShownSoBeforeAnybodyAsksForIt) {
  const auto pod = TestPod{.policy = "Never"}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  Exit(0);
  for (const bool restart : {false, true}) {
    SCOPED_TRACE(restart ? "with a restart" : "without a restart");
    MoveAway(pod, 1);
    ASSERT_FALSE(workers.Contains("uid-web"));
    Want(pod);
    if (restart) Restart();
    ASSERT_NE(Record(), nullptr);
    EXPECT_EQ(Record()->state(), v1::FINISHED);
    EXPECT_EQ(Record()->terminal_status().phase(), "Succeeded");
  }
}

TEST_F(Lives, ANeverPodThatIsPutBackRunsAgain) {
  const auto pod = TestPod{.policy = "Never"}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_EQ(Annotation("splitlet.dev/incarnation"), "1");
  Exit(0);
  ASSERT_EQ(Record()->terminal_status().phase(), "Succeeded");
  MoveAway(pod, 1);
  ASSERT_TRUE(RunPod(pod, 2).ok());
  EXPECT_EQ(Show(), "app/0=exited(0) app/1=running sandbox/0=dead sandbox/1=ready");
  EXPECT_EQ(Annotation("splitlet.dev/incarnation"), "2");
  EXPECT_EQ(runtime.NewestSandbox("uid-web")->annotations.at("splitlet.dev/incarnation"), "2");
  EXPECT_EQ(Annotation("io.kubernetes.container.restartCount"), "0");
  EXPECT_TRUE(Newest().log_path.ends_with("/app/1.log")) << Newest().log_path;
  Exit(3);
  EXPECT_EQ(Record()->terminal_status().phase(), "Failed");
  EXPECT_EQ(runtime.Containers().size(), 2u);
}

TEST_F(Lives, RestartCountAndBackOffBeginAnewAndTheAttemptGoesOn) {
  const auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  for (int exit = 0; exit < 3; ++exit) {
    Exit(1);
    RunFor(60s);
  }
  ASSERT_EQ(Newest().attempt, 3u);
  MoveAway(pod, 1);
  ASSERT_TRUE(RunPod(pod, 2).ok());
  EXPECT_EQ(Newest().attempt, 4u);
  EXPECT_EQ(Annotation("io.kubernetes.container.restartCount"), "0");
  Restart();
  ASSERT_TRUE(RunPod(pod, 2).ok());
  Exit(1);
  EXPECT_EQ(Newest().attempt, 5u) << "the first restart of an incarnation is immediate";
  EXPECT_EQ(Newest().state, cri::ContainerState::kRunning);
  EXPECT_EQ(Annotation("io.kubernetes.container.restartCount"), "1");
}

TEST_F(Lives, WhatAnEarlierLifeMadeAndNeverStartedGoesFirst) {
  const auto pod = TestPod{}.Make();
  const int fault = runtime.AddFault({.method = "StartContainer"});
  ASSERT_TRUE(RunPod(pod).ok());
  ASSERT_EQ(Newest().state, cri::ContainerState::kCreated);
  MoveAway(pod, 1);
  runtime.RemoveFault(fault);
  ASSERT_TRUE(RunPod(pod, 2).ok());
  EXPECT_EQ(Show(), "app/0=running sandbox/0=dead sandbox/1=ready");
  EXPECT_EQ(Annotation("splitlet.dev/incarnation"), "2");
}

TEST_F(Lives, AnAttemptRemovedBehindTheAgentsBackIsNotGivenAgain) {
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  Exit(1);
  RunFor(60s);
  ASSERT_EQ(Newest().attempt, 1u);
  for (const char* log : {"0.log", "1.log"})
    ASSERT_TRUE(
        files.Replace(fmt::format("/logs/pods/default_web_uid-web/app/{}", log), "", {}).ok());
  Vanish();
  RunFor(60s);
  EXPECT_EQ(Newest().attempt, 2u) << "the record of attempt 0 is all that is left";
  EXPECT_EQ(Annotation("io.kubernetes.container.restartCount"), "2");
}

const struct {
  const char* name;
  const char* policy;      // of the pod
  const char* own_policy;  // of the container; empty: none
  const char* phase;       // empty: it runs again
  const char* count;       // of restarts, where it runs again and what has begun is remembered
} kVanished[] = {
    {"Never", "Never", "", "Failed", ""},
    {"OnFailure: it was promised to run until it ends well", "OnFailure", "", "", "1"},
    {"Always", "Always", "", "", ""},
    {"always, in a pod of Never", "Never", "Always", "", ""},
    {"never, in a pod of OnFailure", "OnFailure", "Never", "Failed", ""},
};

TEST_F(Lives, AContainerThatVanishedHasEnded) {
  for (const auto& c : kVanished) {
    for (const char* how : {"seen", "unseen", "rebooted"}) {
      SCOPED_TRACE(fmt::format("{}, {}", c.name, how));
      TestNode node;
      auto pod = TestPod{.policy = c.policy}.Make();
      if (*c.own_policy != '\0')
        pod.mutable_spec()->mutable_containers(0)->set_restart_policy(c.own_policy);
      node.Start();
      ASSERT_TRUE(node.RunPod(pod).ok());
      const size_t made = node.runtime.Calls("CreateContainer");
      if (how == std::string("seen")) {
        ASSERT_TRUE(node.runtime.Vanish("uid-web", "app").ok());
        node.Changed();
      } else if (how == std::string("unseen")) {
        node.Kill();
        ASSERT_TRUE(node.runtime.Vanish("uid-web", "app").ok());
        node.Start();
      } else {
        node.Reboot();
        node.runtime.Wipe();
        node.Start();
        ASSERT_TRUE(node.RunPod(pod).ok());
      }
      node.RunFor(600s);
      if (*c.phase == '\0') {
        ASSERT_EQ(node.runtime.Running("uid-web").size(), 1u);
        EXPECT_EQ(node.runtime.Calls("CreateContainer"), made + 1);
        EXPECT_EQ(node.Record()->state(), v1::SYNCING);
        const auto again = node.runtime.Containers().front();
        if (*c.count != '\0') {
          EXPECT_EQ(again.annotations.at("io.kubernetes.container.restartCount"), c.count);
          EXPECT_EQ(again.attempt, 1u);
        }
        continue;
      }
      EXPECT_EQ(node.runtime.Calls("CreateContainer"), made);
      EXPECT_EQ(node.Record()->state(), v1::FINISHED);
      EXPECT_EQ(node.Record()->terminal_status().phase(), c.phase);
      const v1::ObservedPod seen = node.Record()->observation();
      ASSERT_EQ(seen.containers_size(), 1);
      EXPECT_EQ(seen.containers(0).reason(), "ContainerStatusUnknown");
      EXPECT_EQ(seen.containers(0).exit_code(), 137);
    }
  }
}

TEST_F(Lives, AnInitContainerThatVanishedHasEnded) {
  const struct {
    const char *policy, *seen, *rebooted;
  } kCases[] = {
      {"Never", "sandbox/0=dead", ""},
      {"OnFailure", "init/1=running sandbox/0=ready", "init/1=running sandbox/0=ready"},
  };
  for (const auto& c : kCases) {
    for (const bool reboot : {false, true}) {
      SCOPED_TRACE(fmt::format("{}, reboot {}", c.policy, reboot));
      TestNode node;
      const auto pod = TestPod{.policy = c.policy, .inits = {"init"}}.Make();
      node.Start();
      ASSERT_TRUE(node.RunPod(pod).ok());
      if (reboot) {
        node.Reboot();
        node.runtime.Wipe();
        node.Start();
        ASSERT_TRUE(node.RunPod(pod).ok());
      } else {
        ASSERT_TRUE(node.runtime.Vanish("uid-web", "init").ok());
        node.Changed();
      }
      node.RunFor(600s);
      EXPECT_EQ(node.Show(), reboot ? c.rebooted : c.seen);
      const bool ends = std::string(c.policy) == "Never";
      EXPECT_EQ(node.Record()->terminal_status().phase(), ends ? "Failed" : "");
    }
  }
}

TEST_F(Lives, ARestartThatWasAskedForIsNoVanishing) {
  auto pod = TestPod{.policy = "Never"}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  runtime.AddImage("other:1");
  pod.mutable_spec()->mutable_containers(0)->set_image("other:1");
  ASSERT_TRUE(RunPod(pod, 1, 2).ok());
  RunFor(60s);
  ASSERT_EQ(Newest().attempt, 1u);
  ASSERT_EQ(Newest().state, cri::ContainerState::kRunning);
  for (const auto& container : runtime.Containers())  // as gc does
    if (container.attempt == 0)
      runtime.RemoveContainer(container.id, After(clock, 1s)).IgnoreError();
  ASSERT_EQ(runtime.Containers().size(), 1u);
  RunFor(600s);
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
}

TEST_F(Lives, WhatRanBeforeAnythingWasRememberedIsLearnt) {
  const auto pod = TestPod{.policy = "Never"}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  Kill();
  ASSERT_TRUE(files.RemoveTree("/state/pod-worker").ok());
  Start();
  Changed();
  RunFor(5s);
  Vanish();
  EXPECT_EQ(Record()->terminal_status().phase(), "Failed");
  EXPECT_EQ(runtime.Calls("CreateContainer"), 1u);
}

TEST_F(Lives, NothingIsStartedThatCouldNotBeRemembered) {
  files.Fail("/state/pod-worker/begun", ResourceExhausted("disk full"));
  ASSERT_TRUE(RunPod(TestPod{.policy = "Never"}.Make()).ok());
  EXPECT_EQ(Newest().state, cri::ContainerState::kCreated);
  files.Fail("/state/pod-worker/begun", OkStatus());
  RunFor(60s);
  EXPECT_EQ(Show(), "app/0=running sandbox/0=ready");
}

TEST_F(Lives, WithoutItsFilesItTellsTheLifeThatTheRuntimeShows) {
  const auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod, 7).ok());
  const std::string before = Show();
  Kill();
  WipeMemory();
  clock.SetWall(clock.WallNow() - 365 * 24h);
  Start();
  ASSERT_TRUE(workers.Contains("uid-web"));
  EXPECT_EQ(Record()->incarnation(), 7);
  EXPECT_EQ(Record()->state(), v1::WORKER_STATE_UNSPECIFIED);
  EXPECT_FALSE(Record()->granted());
  EXPECT_EQ(RunPod(pod, 6).code(), StatusCode::kFailedPrecondition) << "an incarnation before it";
  EXPECT_EQ(Record()->incarnation(), 7);
  ASSERT_TRUE(RunPod(pod, 7).ok());
  RunFor(600s);
  EXPECT_EQ(Show(), before);
  EXPECT_EQ(Record()->state(), v1::SYNCING);
}

TEST_F(Lives, WhatNobodyEndedOfAnEarlierLifeIsEndedBeforeTheNextBegins) {
  auto pod = TestPod{}.Make();
  auto& volume = *pod.mutable_spec()->add_volumes();
  volume.set_name("scratch");
  volume.mutable_volume_source()->mutable_empty_dir();
  ASSERT_TRUE(RunPod(pod, 7).ok());
  const std::string file = "/kubelet/pods/uid-web/volumes/kubernetes.io~empty-dir/scratch/left";
  ASSERT_TRUE(files.Replace(file, "by the earlier incarnation", {}).ok());
  Kill();
  ASSERT_TRUE(files.RemoveTree("/run").ok());
  ASSERT_TRUE(files.RemoveTree("/state/pod-worker").ok());
  Start();
  ASSERT_TRUE(RunPod(pod, 8).ok());
  RunFor(60s);
  EXPECT_EQ(Show(), "app/0=exited(143) app/1=running sandbox/0=dead sandbox/1=ready");
  EXPECT_EQ(Record()->incarnation(), 8);
  EXPECT_FALSE(files.Stat(file, false).ok()) << "a new incarnation has empty directories";
}

TEST_F(Lives, ALifeThatWasFoundIsForgottenWhenNothingIsLeftOfIt) {
  const auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod, 7).ok());
  Kill();
  WipeMemory();
  Start();
  Gone("uid-web");
  RunFor(120s);
  EXPECT_TRUE(workers.Contains("uid-web"));
  runtime.Wipe();
  RunFor(120s);
  EXPECT_FALSE(workers.Contains("uid-web"));
}

TEST_F(Lives, WhatIsNotOnDiskIsNotInTheTable) {
  const auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  Want(pod, 1, 2);
  int saves = 0;
  files.SetHook([&saves](std::string_view, const std::string& path) {
    if (!path.starts_with("/run/pod-worker/workers/")) return OkStatus();
    return ++saves > 1 ? ResourceExhausted("disk full") : OkStatus();
  });
  v1::UpdatePodRequest update;
  update.set_kind(v1::UpdatePodRequest::UPDATE);
  update.set_uid("uid-web");
  update.set_incarnation(1);
  update.set_generation(2);
  update.set_source("file");
  update.set_pod(pod.SerializeAsString());
  v1::KillPodRequest kill;
  kill.set_uid("uid-web");
  kill.set_incarnation(1);
  kill.set_request_id("1");
  Call([&] {  // the second while the first is on its way to the disk
    service().OnUpdatePod(update, [](const Status&) {});
    service().OnKillPod(kill, [](const StatusOr<v1::KillPodReply>&) {});
  });
  EXPECT_GT(saves, 1);
  EXPECT_EQ(Record()->generation(), 2);
  EXPECT_EQ(Record()->state(), v1::SYNCING);
  EXPECT_FALSE(Record()->has_deadline());
  files.SetHook(nullptr);
  RunFor(60s);
  EXPECT_EQ(Record()->state(), v1::FINISHED);
}

TEST_F(Lives, ATerminalStatusIsForgottenOnlyWhenConfigSourceSaysThatThePodIsGone) {
  const auto pod = TestPod{.policy = "Never"}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  Exit(0);
  const auto terminal_statuses = [this] { return files.List("/state/pod-worker/pods")->size(); };
  ASSERT_EQ(terminal_statuses(), 1u);
  owner.silent = true;
  desired.Remove("uid-web");
  RunFor(120s);
  EXPECT_EQ(terminal_statuses(), 1u);
  EXPECT_TRUE(workers.Contains("uid-web"));
  owner.silent = false;
  RunFor(120s);
  EXPECT_EQ(terminal_statuses(), 1u) << "config-source still knows it";
  owner.known.clear();
  RunFor(120s);
  EXPECT_EQ(terminal_statuses(), 0u);
  EXPECT_FALSE(workers.Contains("uid-web"));
  EXPECT_EQ(std::ranges::count(owner.sources, "file"), std::ssize(owner.sources))
      << "no other source keeps it";
}

/// Only the record tells gc that the pod was removed: nothing else does while a source is
/// incomplete.
TEST_F(Lives, UnderAnIncompleteSourceAPodIsForgottenWhenNothingIsLeftOfIt) {
  for (const bool seen : {false, true}) {
    SCOPED_TRACE(seen ? "REMOVED was seen"
                      : "it ended by itself, and left while no process looked");
    const std::string uid = seen ? "uid-seen" : "uid-unseen";
    const auto pod = TestPod{.name = uid, .uid = uid, .policy = "Never"}.Make();
    desired.SetComplete({{"file", "api"}, clock.Now(), {}});
    ASSERT_TRUE(RunPod(pod).ok());
    TestNode::Exit("app", 0, uid);
    desired.SetComplete({{"api"}, clock.Now(), {}});
    RunFor(120s);
    EXPECT_FALSE(Record(uid)->removed());
    owner.silent = true;
    if (seen) Remove(pod);
    Gone(uid);
    RunFor(120s);
    EXPECT_EQ(Record(uid)->removed(), seen);
    owner.silent = false;
    RunFor(120s);
    EXPECT_TRUE(Record(uid)->removed()) << "config-source has said so";
    Restart();
    RunFor(1h);
    EXPECT_TRUE(Record(uid)->removed()) << "what it left is there";
    for (const auto& sandbox : runtime.Sandboxes())  // gc
      EXPECT_TRUE(runtime.RemovePodSandbox(sandbox.id, After(clock, 10s)).ok());
    RunFor(120s);
    EXPECT_TRUE(workers.Contains(uid)) << "its directory is there";
    ASSERT_TRUE(files.RemoveTree("/kubelet/pods/" + uid).ok());
    ASSERT_TRUE(files.RemoveTree("/state/pods/" + uid).ok());
    RunFor(70s);
    EXPECT_FALSE(workers.Contains(uid));
    EXPECT_EQ(files.List("/state/pod-worker/pods")->size(), 0u);
  }
}

/// The messages of the removal were lost: the view of an incomplete source keeps the record.
TEST_F(Lives, UnderAnIncompleteSourceAnOldRecordKeepsNoRemovedPod) {
  const auto pod = TestPod{.policy = "Never"}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  Exit(0);
  desired.SetComplete({{"api"}, clock.Now(), {}});
  RunFor(120s);
  EXPECT_FALSE(Record()->removed()) << "config-source knows the pod";
  owner.known.clear();
  RunFor(120s);
  ASSERT_TRUE(desired.Contains("uid-web"));
  EXPECT_TRUE(Record()->removed());
  for (const auto& sandbox : runtime.Sandboxes())  // gc
    EXPECT_TRUE(runtime.RemovePodSandbox(sandbox.id, After(clock, 10s)).ok());
  ASSERT_TRUE(files.RemoveTree("/kubelet/pods/uid-web").ok());
  ASSERT_TRUE(files.RemoveTree("/state/pods/uid-web").ok());
  RunFor(7min);
  EXPECT_FALSE(workers.Contains("uid-web"));
  EXPECT_EQ(files.List("/state/pod-worker/pods")->size(), 0u);
}

/// status and gc may be away for a moment.
TEST_F(Lives, UnderAnIncompleteSourceARemovedPodIsShownForAWhile) {
  const auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  desired.SetComplete({{"api"}, clock.Now(), {}});
  Remove(pod);
  Gone("uid-web");
  RunFor(40s);
  ASSERT_EQ(Record()->state(), v1::FINISHED);
  for (const auto& sandbox : runtime.Sandboxes())  // gc
    EXPECT_TRUE(runtime.RemovePodSandbox(sandbox.id, After(clock, 10s)).ok());
  ASSERT_TRUE(files.RemoveTree("/kubelet/pods/uid-web").ok());
  ASSERT_TRUE(files.RemoveTree("/state/pods/uid-web").ok());
  RunFor(4min);
  EXPECT_TRUE(Record()->removed());
  RunFor(3min);
  EXPECT_FALSE(workers.Contains("uid-web"));
}

/// The moment of the removal counts, not that of its end.
TEST_F(Lives, UnderAnIncompleteSourceARemovedPodThatEndedLongAgoIsShownForAWhileToo) {
  const auto pod = TestPod{.policy = "Never"}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  TestNode::Exit("app", 0);
  RunFor(10min);
  ASSERT_EQ(Record()->state(), v1::FINISHED);
  desired.SetComplete({{"api"}, clock.Now(), {}});
  Remove(pod);
  Gone("uid-web");
  RunFor(5s);
  for (const auto& sandbox : runtime.Sandboxes())  // gc
    EXPECT_TRUE(runtime.RemovePodSandbox(sandbox.id, After(clock, 10s)).ok());
  ASSERT_TRUE(files.RemoveTree("/kubelet/pods/uid-web").ok());
  ASSERT_TRUE(files.RemoveTree("/state/pods/uid-web").ok());
  RunFor(4min);
  ASSERT_TRUE(workers.Contains("uid-web"));
  EXPECT_TRUE(Record()->removed());
  RunFor(3min);
  EXPECT_FALSE(workers.Contains("uid-web"));
}

/// config-source has died before it saw that the record is gone, and shows the removed pod again.
TEST_F(Lives, AfterAStartAPodThatWasForgottenHasEndedAsBefore) {
  const auto pod = TestPod{.policy = "Never"}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  Exit(0);
  ASSERT_EQ(Record()->terminal_status().phase(), "Succeeded");
  Remove(pod);
  RunFor(1s);
  Gone("uid-web");
  RunFor(1s);
  ASSERT_FALSE(workers.Contains("uid-web"));
  Restart();
  RunFor(5s);
  EXPECT_FALSE(workers.Contains("uid-web")) << "put back now, it would have ended already";
  Remove(pod);
  RunFor(5s);
  EXPECT_EQ(Record()->state(), v1::FINISHED);
  EXPECT_EQ(Record()->terminal_status().phase(), "Succeeded");
  Gone("uid-web");
  RunFor(5s);
  EXPECT_FALSE(workers.Contains("uid-web"));
}

/// Its init container has run, which must not happen again; its container never will.
TEST_F(Lives, ANeverPodThatLosesItsSandboxTooEarlyHasFailed) {
  for (const char* method : {"CreateContainer", "StartContainer"}) {
    SCOPED_TRACE(method);
    const std::string uid = std::string("uid-") + (method[0] == 'C' ? "c" : "s");
    auto pod =
        TestPod{.name = uid, .uid = uid, .policy = "Never", .source = "api", .inits = {"init"}}
            .Make();
    ASSERT_TRUE(RunPod(pod).ok());
    runtime.AddFault({.method = method});
    TestNode::Exit("init", 0, uid);
    runtime.BreakSandbox(uid);
    runtime.ClearFaults();
    Changed(uid);
    RunFor(60s);
    EXPECT_EQ(Record(uid)->terminal_status().phase(), "Failed") << Show(uid);
    EXPECT_EQ(runtime.Running(uid), std::vector<std::string>{});
  }
}

/// An API server takes any grace period; as nanoseconds such a one would be below zero.
TEST_F(Lives, AHugeGraceIsNotOverAtOnce) {
  ASSERT_TRUE(RunPod(TestPod{.grace = INT64_MAX}.Make()).ok());
  v1::KillPodRequest request;
  request.set_uid("uid-web");
  request.set_incarnation(1);
  request.set_request_id("end");
  const auto reply = KillPod(request);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(FromProto(reply->deadline()) - clock.Now(), std::chrono::seconds{kMaxGrace});
  ASSERT_FALSE(traced.graces.empty());
  EXPECT_EQ(traced.graces.back(), kMaxGrace);
  EXPECT_EQ(Record()->state(), v1::FINISHED) << "its container ended when it was told to";
}

TEST_F(Lives, WorkersAreCountedByWhoWantsTheirPods) {
  const auto counts = [&] {
    std::map<std::string, double> found;
    for (const auto& family : process->registry.Collect())
      if (family.name == "kubelet_working_pods")
        for (const auto& metric : family.metric) {
          std::map<std::string, std::string> labels;
          for (const auto& label : metric.label) labels[label.name] = label.value;
          found[labels["lifecycle"] + " " + labels["config"] + " " + labels["static"]] =
              metric.gauge.value;
        }
    return found;
  };
  const auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  RunFor(61s);
  EXPECT_EQ(counts().size(), 15u) << "each combination that can be";
  EXPECT_EQ(counts()["sync desired true"], 1);
  process->calls.hold = true;
  Remove(pod);
  RunFor(61s);
  EXPECT_EQ(counts()["sync desired true"], 0);
  EXPECT_EQ(counts()["terminating orphan true"], 1);
}

}  // namespace
}  // namespace splitlet::pod_worker
