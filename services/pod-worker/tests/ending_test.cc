#include <fmt/ranges.h>

#include "libs/base/trace.h"
#include "libs/fs/reserve.h"
#include "services/pod-worker/tests/pod_worker_fixture.h"

/// Pods that end.

namespace splitlet::pod_worker {
namespace {

class Ending : public testing::Test, public TestNode {
 protected:
  void SetUp() override { Start(); }
  static v1::KillPodRequest Request(const std::string& id, int64_t incarnation = 1) {
    v1::KillPodRequest request;
    request.set_uid("uid-web");
    request.set_incarnation(incarnation);
    request.set_request_id(id);
    return request;
  }
  Duration Left(const v1::BootTime& deadline) const { return FromProto(deadline) - clock.Now(); }
};

TEST_F(Ending, ARemovedPodStopsAndFinishes) {
  auto pod = TestPod{.containers = {"a", "b"}}.Make();
  auto& volume = *pod.mutable_spec()->add_volumes();
  volume.set_name("scratch");
  volume.mutable_volume_source()->mutable_empty_dir();
  MountAt(*pod.mutable_spec()->mutable_containers(0), "scratch");
  ASSERT_TRUE(RunPod(pod).ok());
  const std::string dir = "/kubelet/pods/uid-web/volumes/kubernetes.io~empty-dir/scratch";
  EXPECT_TRUE(files.Stat(dir, false).ok());
  Remove(pod);
  EXPECT_EQ(Show(), "a/0=exited(143) b/0=exited(143) sandbox/0=dead");
  EXPECT_EQ(Record()->state(), v1::FINISHED);
  EXPECT_EQ(Record()->observation().containers_size(), 2);
  EXPECT_EQ(Record()->observation().sandboxes(0).ips_size(), 1) << "addresses are kept";
  EXPECT_FALSE(files.Stat(dir, false).ok());
  EXPECT_EQ(events.Count("Killing"), 2);
  Gone("uid-web");
  Settle();
  EXPECT_FALSE(workers.Contains("uid-web"));
}

TEST_F(Ending, ALifeThatIsOverCannotBeStartedAgain) {
  const auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  Remove(pod);
  EXPECT_EQ(Grant(pod).code(), StatusCode::kFailedPrecondition);
  Gone("uid-web");
  Settle();
  Restart();
  EXPECT_EQ(Grant(pod).code(), StatusCode::kFailedPrecondition) << "remembered over a restart";
  ASSERT_TRUE(RunPod(pod, 2).ok());
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
}

TEST_F(Ending, WhoWantsALifeAgainWhoseRecordHasGoneIsToldThatItIsOver) {
  const auto pod = TestPod{.policy = "Never"}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  Exit("app", 0);
  Settle();
  Remove(pod);
  Gone("uid-web");
  Settle();
  ASSERT_FALSE(workers.Contains("uid-web"));
  EXPECT_EQ(Grant(pod).code(), StatusCode::kFailedPrecondition);
  Settle();
  ASSERT_NE(Record(), nullptr);
  EXPECT_EQ(Record()->state(), v1::FINISHED);
  EXPECT_EQ(Record()->terminal_status().phase(), "Succeeded");
}

TEST_F(Ending, ASourceThatBeginsBelowALifeThatIsOverIsToldOfIt) {
  const auto pod = TestPod{.policy = "Never"}.Make();
  ASSERT_TRUE(RunPod(pod, 5).ok());
  Exit("app", 0);
  for (const auto state : {v1::DesiredRecord::WANTED, v1::DesiredRecord::REMOVED}) {
    Remove(pod, 5);
    Gone("uid-web");
    Settle();
    ASSERT_FALSE(workers.Contains("uid-web"));
    Want(pod, 3, 1, state);
    EXPECT_EQ(Record()->incarnation(), 5);
    EXPECT_EQ(Record()->state(), v1::FINISHED);
    EXPECT_EQ(Record()->terminal_status().phase(), "") << "a new incarnation has another end";
  }
  EXPECT_TRUE(RunPod(pod, 6).ok());
  EXPECT_EQ(Record()->incarnation(), 6);
}

TEST_F(Ending, WhoStillHasARemovedRecordIsToldAgainThatThePodIsFinished) {
  const auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod, 2).ok());
  Remove(pod, 2);
  ASSERT_EQ(Record()->state(), v1::FINISHED);
  Gone("uid-web");
  Settle();
  ASSERT_FALSE(workers.Contains("uid-web"));
  const struct {
    const char* name;
    bool restart;
  } kCases[] = {
      {"config-source died and finds the file of the incarnation that is over", false},
      {"pod-worker was started again since", true},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.name);
    if (c.restart) Restart();
    Remove(pod, 2);
    EXPECT_EQ(Record()->state(), v1::FINISHED);
    EXPECT_EQ(Record()->incarnation(), 2);
    RunFor(2h);
    EXPECT_EQ(Record()->state(), v1::FINISHED) << "as long as a process waits for it";
    Gone("uid-web");
    Settle();
    EXPECT_FALSE(workers.Contains("uid-web"));
  }
  RunFor(2h);
  Remove(pod, 2);
  EXPECT_EQ(Record()->state(), v1::FINISHED) << "also when no process remembers its incarnation";
  EXPECT_EQ(runtime.Running("uid-web").size(), 0u);
}

TEST_F(Ending, ALaterLifeWaitsForTheEarlierOne) {
  const auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  const int fault = runtime.AddFault({.method = "StopContainer"});
  ASSERT_TRUE(RunPod(pod, 2).ok());
  EXPECT_EQ(Record()->incarnation(), 1);
  EXPECT_EQ(Record()->state(), v1::TERMINATING);
  Restart();
  runtime.RemoveFault(fault);
  RunFor(5s);
  EXPECT_EQ(Record()->incarnation(), 2);
  EXPECT_EQ(Record()->state(), v1::SYNCING);
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
}

TEST_F(Ending, AGrantThatComesLateReplacesNoLaterOneThatWaits) {
  const auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  const int fault = runtime.AddFault({.method = "StopContainer"});
  ASSERT_TRUE(RunPod(pod, 2).ok());
  ASSERT_TRUE(RunPod(pod, 3).ok());
  EXPECT_FALSE(Grant(pod, 2).ok());
  runtime.RemoveFault(fault);
  RunFor(5s);
  EXPECT_EQ(Record()->incarnation(), 3);
  EXPECT_EQ(Record()->state(), v1::SYNCING);
}

TEST_F(Ending, WithoutGrantAndContainersItIsFinishedAtOnce) {
  const auto pod = TestPod{}.Make();
  Want(pod);
  Remove(pod);
  EXPECT_EQ(Record()->state(), v1::FINISHED);
  EXPECT_FALSE(Record()->granted());
  EXPECT_EQ(Grant(pod).code(), StatusCode::kFailedPrecondition);
}

TEST_F(Ending, RemovedWhileASyncRunsCreatesNothingMore) {
  const auto pod = TestPod{.containers = {"a", "b"}}.Make();
  bool removed = false;
  files.SetHook([&](std::string_view, const std::string& path) {
    if (!removed && path.find("/containers/b") != std::string::npos) {
      removed = true;
      other_loop.Post([this, &pod] {
        v1::DesiredRecord record;
        record.set_uid("uid-web");
        record.set_source("file");
        record.set_incarnation(1);
        record.set_generation(9);
        record.set_state(v1::DesiredRecord::REMOVED);
        record.set_pod(pod.SerializeAsString());
        EXPECT_TRUE(desired.Put("uid-web", record).ok());
      });
    }
    return OkStatus();
  });
  ASSERT_TRUE(RunPod(pod).ok());
  RunFor(5s);
  EXPECT_TRUE(removed);
  EXPECT_TRUE(runtime.Running("uid-web").empty());
  EXPECT_EQ(Record()->state(), v1::FINISHED);
}

TEST_F(Ending, RemovedBetweenCreateAndStartIsNoFailureOfTheContainer) {
  const auto pod = TestPod{}.Make();
  traced.after_create = [this] {
    other_loop.Post([this] {
      v1::DesiredRecord record;
      record.set_uid("uid-web");
      record.set_source("file");
      record.set_incarnation(1);
      record.set_generation(9);
      record.set_state(v1::DesiredRecord::REMOVED);
      EXPECT_TRUE(desired.Put("uid-web", record).ok());
    });
    EXPECT_TRUE(
        all.WaitInStep(clock.Now() + 5s, [this] { return Record()->state() == v1::TERMINATING; }));
  };
  Want(pod);
  Grant(pod).IgnoreError();
  RunFor(5s);
  EXPECT_EQ(runtime.Calls("StartContainer"), 0u);
  EXPECT_EQ(events.Count("Failed"), 0);
  EXPECT_EQ(NoteOf("app").reason(), "");
  EXPECT_EQ(Record()->state(), v1::FINISHED);
}

TEST_F(Ending, TheDeadlineOnlyComesNearer) {
  ASSERT_TRUE(RunPod(TestPod{.grace = 600}.Make()).ok());
  runtime.AddFault({.method = "StopContainer"});
  const auto first = KillPod(Request("1"));
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(Left(first->deadline()), 600s);
  RunFor(100s);
  auto shorter = Request("2");
  shorter.set_has_grace(true);
  shorter.set_grace_period_seconds(50);
  EXPECT_EQ(Left(KillPod(shorter)->deadline()), 50s);
  auto longer = Request("3");
  longer.set_has_grace(true);
  longer.set_grace_period_seconds(300);
  EXPECT_LE(Left(KillPod(longer)->deadline()), 50s);
  EXPECT_EQ(Left(KillPod(Request("1"))->deadline()), 500s)
      << "the same request gets the same answer";
  Restart();
  EXPECT_LE(Left(KillPod(longer)->deadline()), 50s) << "a restart does not begin the grace again";
  runtime.ClearFaults();
  RunFor(5s);
  EXPECT_EQ(Record()->state(), v1::FINISHED);
}

TEST_F(Ending, AKillThatIsNotOnDiskYetIsNotAnsweredWhenAskedAgain) {
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  files.Fail("/run", ResourceExhausted("disk full"));
  EXPECT_EQ(KillPod(Request("1")).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(KillPod(Request("1")).status().code(), StatusCode::kUnavailable);
  files.Fail("/run", OkStatus());
  EXPECT_TRUE(KillPod(Request("1")).ok());
}

TEST_F(Ending, AGrantThatIsNotOnDiskYetIsNotAnsweredWhenAskedAgain) {
  const auto pod = TestPod{}.Make();
  files.Fail("/run", ResourceExhausted("disk full"));
  EXPECT_EQ(RunPod(pod).code(), StatusCode::kUnavailable);
  EXPECT_EQ(Grant(pod).code(), StatusCode::kUnavailable);
  files.Fail("/run", OkStatus());
  EXPECT_TRUE(Grant(pod).ok());
}

TEST_F(Ending, HoweverOftenItIsAskedAFullDiskIsTriedOnceASecond) {
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  int tries = 0;
  files.SetHook([&](std::string_view operation, const std::string& path) -> Status {
    if (!path.starts_with("/run/pod-worker/workers")) return OkStatus();
    tries += operation == "replace" ? 1 : 0;
    return ResourceExhausted("disk full");
  });
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(KillPod(Request("1")).status().code(), StatusCode::kUnavailable);
  tries = 0;
  RunFor(10s);
  EXPECT_GE(tries, 9);
  EXPECT_LE(tries, 20) << "a try may be more than one step";
  int told = 0;
  for (const auto& line : sink.lines())
    told += line.message == "cannot save the state of a pod, will try again" ? 1 : 0;
  EXPECT_EQ(told, 1);
}

TEST_F(Ending, AFullDiskKeepsNoPodFromBeingEnded) {
  const auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  RunFor(30s);
  for (const char* disk : {"/run", "/state"}) {
    files.SetFull(disk, true);
    files.SetUsage(disk, {.capacity_bytes = 1 << 30});
  }
  Remove(pod);
  RunFor(60s);
  ASSERT_NE(Record(), nullptr);
  EXPECT_EQ(Record()->state(), v1::FINISHED);
  EXPECT_TRUE(runtime.Running("uid-web").empty());
  Restart();
  RunFor(5s);
  EXPECT_EQ(Record()->state(), v1::FINISHED);
  // What is not for an end has no claim to the room.
  EXPECT_FALSE(RunPod(TestPod{.name = "other", .uid = "uid-other"}.Make()).ok());
}

/// containerd cannot say that a container has ended before it has written so.
TEST_F(Ending, ARuntimeThatWaitsForRoomIsGivenSome) {
  const auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  const auto reserve = [this] { return files.List("/state/pod-worker/reserve")->size(); };
  RunFor(30s);
  ASSERT_EQ(reserve(), fs::Reserve::kFiles);
  for (const char* disk : {"/run", "/state"}) files.SetUsage(disk, {.capacity_bytes = 1 << 30});
  runtime.AddFault({.method = "StopContainer", .kind = cri::Fault::Kind::kHang});
  runtime.AddFault({.method = "StopPodSandbox"});
  Remove(pod);
  RunFor(30s);
  EXPECT_EQ(reserve(), fs::Reserve::kFiles) << "within the grace period nothing is overdue";
  RunFor(20s);
  EXPECT_EQ(reserve(), fs::Reserve::kFiles / 2);
  runtime.ClearFaults();
  RunFor(5min);
  EXPECT_EQ(Record()->state(), v1::FINISHED);
}

TEST_F(Ending, NothingIsBegunInAProcessThatIsToEnd) {
  const auto pod = TestPod{.containers = {"a", "b"}}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  Call([this] { service().BeginStop(); });
  Remove(pod);
  RunFor(60s);
  EXPECT_EQ(runtime.Running("uid-web").size(), 2u);
  Restart();
  RunFor(5s);
  EXPECT_EQ(Record()->state(), v1::FINISHED);
}

TEST_F(Ending, AKillIsForItsLifeAlone) {
  ASSERT_TRUE(RunPod(TestPod{}.Make(), 5).ok());
  EXPECT_TRUE(KillPod(Request("1", 4)).ok());
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
  EXPECT_EQ(KillPod(Request("2", 6)).status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
}

TEST_F(Ending, AnEvictedPodHasFailedAndIsNotStartedAfterAReboot) {
  const auto pod = TestPod{.source = "api"}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  auto request = Request("1");
  request.set_evict(true);
  request.set_own_limit(true);
  request.set_reason("Evicted");
  request.set_message("The node was low on resource: memory.");
  ASSERT_TRUE(KillPod(request).ok());
  RunFor(1s);
  EXPECT_EQ(Record()->terminal_status().phase(), "Failed");
  EXPECT_EQ(Record()->terminal_status().reason(), "Evicted");
  EXPECT_TRUE(Record()->evicted());
  Kill();
  files.PowerCut();
  clock.SetBoot(2);
  runtime.Reboot();
  Start();
  EXPECT_EQ(Record()->terminal_status().reason(), "Evicted");
  EXPECT_TRUE(Record()->own_limit());
  EXPECT_EQ(
      Grant(pod).code() == StatusCode::kFailedPrecondition || runtime.Running("uid-web").empty(),
      true);
  RunFor(60s);
  EXPECT_TRUE(runtime.Running("uid-web").empty());
}

TEST_F(Ending, ACompletedPodDoesNotRunAgainAfterAReboot) {
  const auto pod = TestPod{.policy = "Never", .source = "api"}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  Exit("app", 0);
  EXPECT_EQ(Record()->state(), v1::FINISHED);
  EXPECT_EQ(Record()->terminal_status().phase(), "Succeeded");
  EXPECT_EQ(Record()->observation().containers(0).state(), v1::ContainerRecord::EXITED);
  Kill();
  files.PowerCut();
  clock.SetBoot(2);
  runtime.Reboot();
  Start();
  RunFor(5s);
  EXPECT_EQ(Record()->terminal_status().phase(), "Succeeded");
  Grant(pod).IgnoreError();
  RunFor(60s);
  EXPECT_EQ(Show(), "app/0=exited(0) sandbox/0=dead");
}

TEST_F(Ending, GrantsOfAnotherBootAreVoid) {
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  Kill();
  clock.SetBoot(2);
  runtime.Reboot();
  Start();
  RunFor(120s);
  EXPECT_TRUE(runtime.Running("uid-web").empty());
  ASSERT_TRUE(Grant(TestPod{}.Make()).ok());
  EXPECT_EQ(Show(), "app/0=exited(255) app/1=running sandbox/0=dead sandbox/1=ready");
}

TEST_F(Ending, TheStartTimeOfAPodRemovedOverARebootIsForgotten) {
  const auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  const auto remembered = [this] {
    return files.Stat("/state/pod-worker/pods/uid-web", false).ok();
  };
  ASSERT_TRUE(remembered());
  Reboot();
  Start();
  owner.silent = true;
  RunFor(5min);
  EXPECT_TRUE(remembered()) << "no answer means no act";
  owner.silent = false;
  RunFor(5min);
  EXPECT_TRUE(remembered()) << "config-source knows it still";
  owner.known.clear();
  RunFor(2min);
  EXPECT_FALSE(remembered());
  const int64_t now = ToNanos(clock.WallNow());
  ASSERT_TRUE(RunPod(pod).ok());
  EXPECT_GE(Record()->start_time_wall_ns(), now)
      << "the pod that comes by this name is another one";
}

TEST_F(Ending, TheStartTimeOfAPodThatIsWantedStillOutlivesAReboot) {
  const auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  const int64_t start = Record()->start_time_wall_ns();
  ASSERT_NE(start, 0);
  Reboot();
  Want(pod);
  owner.known.clear();
  Start();
  RunFor(5min);
  ASSERT_TRUE(Grant(pod).ok());
  EXPECT_EQ(Record()->start_time_wall_ns(), start);
}

TEST_F(Ending, TheActiveDeadlineEndsThePodEvenOverARestart) {
  auto pod = TestPod{.source = "api"}.Make();
  pod.mutable_spec()->set_active_deadline_seconds(30);
  ASSERT_TRUE(RunPod(pod).ok());
  RunFor(20s);
  Restart();
  RunFor(8s);
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
  RunFor(3s);
  EXPECT_TRUE(runtime.Running("uid-web").empty());
  EXPECT_EQ(Record()->terminal_status().phase(), "Failed");
  EXPECT_EQ(Record()->terminal_status().reason(), "DeadlineExceeded");
  EXPECT_EQ(events.Count("DeadlineExceeded"), 1);
}

TEST_F(Ending, AStaticPodIsNotForcedIntoAnEnd) {
  const auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  Remove(pod);
  EXPECT_EQ(Record()->terminal_status().phase(), "");
}

TEST_F(Ending, ASidecarDoesNotKeepAFinishedPod) {
  ASSERT_TRUE(
      RunPod(TestPod{.policy = "Never", .source = "api", .inits = {"s"}, .sidecars = {"s"}}.Make())
          .ok());
  EXPECT_EQ(Show(), "app/0=running s/0=running sandbox/0=ready");
  Exit("app", 0);
  EXPECT_EQ(Show(), "app/0=exited(0) s/0=exited(143) sandbox/0=dead");
  EXPECT_EQ(Record()->terminal_status().phase(), "Succeeded");
}

TEST_F(Ending, AfterARestartNothingWaitsForAnAnswerThatWillNotCome) {
  const auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  process->calls.hold = true;
  Remove(pod);
  ASSERT_EQ(process->calls.stops.size(), 1u);
  EXPECT_EQ(Record()->state(), v1::TERMINATING);
  Restart();
  RunFor(5s);
  EXPECT_EQ(Record()->state(), v1::FINISHED);
  EXPECT_TRUE(runtime.Running("uid-web").empty());
}

TEST_F(Ending, AnAnswerThatNobodyWaitsForChangesNothing) {
  const auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  process->calls.hold = true;
  Remove(pod);
  ASSERT_EQ(process->calls.stops.size(), 1u);
  const auto stopped = process->calls.stops[0];
  process->calls.hold = false;
  for (const auto& container : runtime.Containers())
    ASSERT_TRUE(runtime.ExitContainer(container.id, 0).ok());
  stopped(OkStatus());
  Settle();
  ASSERT_EQ(Record()->state(), v1::FINISHED);
  ASSERT_TRUE(RunPod(pod, 2).ok());
  stopped(Internal("late"));
  Settle();
  EXPECT_EQ(Record()->incarnation(), 2);
  EXPECT_EQ(Record()->state(), v1::SYNCING);
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
}

TEST_F(Ending, AStopThatFailsIsTriedAgain) {
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  runtime.AddFault({.method = "StopContainer", .code = StatusCode::kInternal, .times = 2});
  runtime.AddFault({.method = "StopPodSandbox", .code = StatusCode::kInternal, .times = 2});
  Remove(TestPod{}.Make());
  EXPECT_EQ(Record()->state(), v1::TERMINATING);
  EXPECT_GT(events.Count("FailedKillPod"), 0);
  RunFor(15s);
  EXPECT_EQ(Record()->state(), v1::FINISHED);
}

TEST_F(Ending, AGrantedPodThatNoSourceWantsEndsOnTheSecondLook) {
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  desired.Remove("uid-web");
  RunFor(60s);
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u) << "config-source still knows it";
  owner.known.clear();
  owner.silent = true;
  RunFor(60s);
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u) << "no answer means no act";
  owner.silent = false;
  RunFor(25s);
  EXPECT_TRUE(runtime.Running("uid-web").empty());
  EXPECT_EQ(std::ranges::count(owner.sources, "file"), std::ssize(owner.sources))
      << "no other source keeps it";
}

TEST_F(Ending, AnIncompleteTableEndsNothing) {
  ASSERT_TRUE(RunPod(TestPod{}.Make()).ok());
  owner.known.clear();
  desired.SetComplete({{}, clock.Now(), {}});
  Gone("uid-web");
  RunFor(120s);
  EXPECT_EQ(runtime.Running("uid-web").size(), 1u);
}

TEST_F(Ending, ContainersFoundAfterALifeAreEndedAndTheLifeIsRememberedStill) {
  const auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  Remove(pod);
  Gone("uid-web");
  Settle();
  ASSERT_FALSE(workers.Contains("uid-web"));
  runtime.AddUnmanagedPod({.uid = "uid-web", .name = "left", .containers = {"left"}});
  v1::KillPodRequest request;
  request.set_uid("uid-web");
  for (const auto& sandbox : runtime.Sandboxes())
    if (sandbox.state == cri::SandboxState::kReady) request.add_sandbox_ids(sandbox.id.str());
  const int fault = runtime.AddFault({.method = "StopContainer"});
  ASSERT_TRUE(KillPod(request).ok());
  EXPECT_EQ(Grant(pod).code(), StatusCode::kFailedPrecondition) << "over, while they end too";
  runtime.RemoveFault(fault);
  RunFor(5s);
  EXPECT_TRUE(runtime.Running("uid-web").empty());
  EXPECT_FALSE(workers.Contains("uid-web"));
  EXPECT_EQ(Grant(pod).code(), StatusCode::kFailedPrecondition);
}

class Orphans : public Ending {
 protected:
  void SetUp() override {
    runtime.AddUnmanagedPod({.uid = "uid-orphan", .name = "old", .containers = {"app"}});
    Start();
  }
  v1::KillPodRequest Orphan() {
    v1::KillPodRequest request;
    request.set_uid("uid-orphan");
    request.set_request_id("1");
    for (const auto& sandbox : runtime.Sandboxes())
      if (sandbox.pod_uid == "uid-orphan") request.add_sandbox_ids(sandbox.id.str());
    return request;
  }
};

TEST_F(Orphans, AreKilledByTheirSandboxIdsAndLeaveNoRecord) {
  ASSERT_TRUE(KillPod(Orphan()).ok());
  RunFor(1s);
  EXPECT_TRUE(runtime.Running("uid-orphan").empty());
  EXPECT_FALSE(workers.Contains("uid-orphan"));
}

TEST_F(Orphans, AreNotKilledWhenASourceKnowsThem) {
  const auto pod = TestPod{.uid = "uid-orphan"}.Make();
  Want(pod);
  EXPECT_EQ(KillPod(Orphan()).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(runtime.Running("uid-orphan").size(), 1u);
}

TEST_F(Orphans, AreFinishedForASourceThatRemovesThemWhileTheyEnd) {
  const int fault = runtime.AddFault({.method = "StopContainer"});
  ASSERT_TRUE(KillPod(Orphan()).ok());
  Remove(TestPod{.uid = "uid-orphan"}.Make());
  runtime.RemoveFault(fault);
  RunFor(10s);
  EXPECT_TRUE(runtime.Running("uid-orphan").empty());
  EXPECT_EQ(Record("uid-orphan")->state(), v1::FINISHED);
  EXPECT_EQ(Record("uid-orphan")->incarnation(), 1);
  Gone("uid-orphan");
  Settle();
  EXPECT_FALSE(workers.Contains("uid-orphan"));
}

TEST_F(Orphans, AreLeftAloneWithoutAWord) {
  RunFor(600s);
  EXPECT_EQ(runtime.Running("uid-orphan").size(), 1u);
}

TEST_F(Ending, GcMayRemoveTheRemainsOfARemovedPodOnly) {
  const auto web = TestPod{.policy = "Never", .source = "api"}.Make();
  ASSERT_TRUE(RunPod(web).ok());
  Exit("app", 0);
  v1::HoldRequest request;
  request.add_uids("uid-web");
  EXPECT_EQ(HoldFor(request)->uids_size(), 0) << "finished, and still wanted";
  Remove(web);
  EXPECT_EQ(HoldFor(request)->uids_size(), 1);
}

TEST_F(Ending, TheTraceOfAChangeIsOnItsRecordsAndItsCallsToTheRuntime) {
  Random random(5);
  const std::string start = MakeTraceparent(random), end = MakeTraceparent(random);
  std::vector<std::string> records;
  workers.OnChange([&](const auto& change) { records.push_back(change.traceparent); });
  const auto pod = TestPod{}.Make();
  Want(pod);
  ASSERT_TRUE(Grant(pod, 1, 1, start).ok());
  ASSERT_EQ(Show(), "app/0=running sandbox/0=ready");
  EXPECT_EQ(traced.notes,
            (std::vector<std::string>{"RunPodSandbox " + start, "CreateContainer " + start,
                                      "StartContainer " + start}));
  ASSERT_FALSE(records.empty());
  EXPECT_EQ(records.back(), start);
  bool logged = false;
  for (const auto& line : sink.lines())
    for (const auto& field : line.fields)
      logged = logged || (line.message == "container started" && field.key == kTraceIdField &&
                          field.value == TraceIdOf(start));
  EXPECT_TRUE(logged);
  Restart();
  EXPECT_EQ(TraceIdOf(records.back()), TraceIdOf(start)) << "the grant's file keeps it";
  traced.notes.clear();
  v1::KillPodRequest kill;
  kill.set_uid("uid-web");
  kill.set_incarnation(1);
  ASSERT_TRUE(KillPod(kill, end).ok());
  RunFor(40s);
  EXPECT_EQ(traced.notes,
            (std::vector<std::string>{"StopContainer " + end, "StopPodSandbox " + end}));
  EXPECT_EQ(records.back(), end);
}

TEST_F(Ending, WhatHappensToAPodLaterIsNoneOfTheStepsOfItsChange) {
  Random random(5);
  const std::string start = MakeTraceparent(random);
  const auto pod = TestPod{}.Make();
  Want(pod);
  ASSERT_TRUE(Grant(pod, 1, 1, start).ok());
  Changed();
  ASSERT_EQ(Show(), "app/0=running sandbox/0=ready");
  traced.notes.clear();
  Exit("app", 1);
  ASSERT_EQ(Show(), "app/0=exited(1) app/1=running sandbox/0=ready");
  const std::string later = Unsampled(start);
  EXPECT_EQ(traced.notes,
            (std::vector<std::string>{"CreateContainer " + later, "StartContainer " + later}));
}

TEST_F(Ending, ARemovedPodEndsUnderTheTraceOfItsRemoval) {
  const auto pod = TestPod{}.Make();
  ASSERT_TRUE(RunPod(pod).ok());
  traced.notes.clear();
  v1::DesiredRecord record = *desired.Get("uid-web");
  record.set_state(v1::DesiredRecord::REMOVED);
  ASSERT_TRUE(desired.Put("uid-web", record, "00-removal").ok());
  RunFor(40s);
  EXPECT_EQ(traced.notes,
            (std::vector<std::string>{"StopContainer 00-removal", "StopPodSandbox 00-removal"}));
}

TEST_F(Ending, ARecordThatGoesCarriesTheTraceOfWhatTookItAway) {
  std::vector<std::string> removals;
  workers.OnChange([&](const auto& change) {
    if (!change.present_after) removals.push_back(change.traceparent);
  });
  const auto pod = TestPod{}.Make();
  for (const char* trace : {"00-forgotten", ""}) {
    ASSERT_TRUE(RunPod(pod, static_cast<int64_t>(removals.size()) + 1).ok());
    v1::DesiredRecord record = *desired.Get("uid-web");
    record.set_state(v1::DesiredRecord::REMOVED);
    ASSERT_TRUE(desired.Put("uid-web", record, "00-removal").ok());
    RunFor(1s);
    ASSERT_EQ(Record()->state(), v1::FINISHED);
    Gone("uid-web", trace);
    Settle();
  }
  EXPECT_EQ(removals, (std::vector<std::string>{"00-forgotten", "00-removal"}));
}

}  // namespace
}  // namespace splitlet::pod_worker
