#include "services/gc/protect/shutdown/graceful_shutdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <algorithm>

#include "libs/fs/path.h"
#include "libs/kube/pod_types.h"
#include "services/gc/gc_fixture.h"

namespace splitlet::gc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr const char* kTimesFile = "/kubelet/graceful_node_shutdown_state";

/// A node with 20 s for its pods and then 10 s for critical ones; the machine waits 30 s.
class NodeShutdown : public testing::Test {
 protected:
  NodeShutdown() {
    node.config.shutdown_groups = PlainGroups(30s, 10s);
    node.machine.max_delay = 30s;
  }

  void PutWorker(const std::string& uid, v1::WorkerState state) {
    v1::WorkerRecord worker;
    worker.set_uid(uid);
    worker.set_incarnation(1);
    worker.set_granted(true);
    worker.set_state(state);
    ASSERT_TRUE(node.workers.Put(bus::KeyOf(uid), worker).ok());
  }
  void Add(const std::string& uid, int32_t priority = 0, int64_t grace = 30) {
    kube::Pod pod;
    pod.mutable_metadata()->set_uid(uid);
    pod.mutable_metadata()->set_name(uid);
    pod.mutable_metadata()->set_namespace_("default");
    pod.mutable_spec()->set_priority(priority);
    pod.mutable_spec()->set_termination_grace_period_seconds(grace);
    v1::DesiredRecord desired;
    desired.set_uid(uid);
    desired.set_incarnation(1);
    desired.set_state(v1::DesiredRecord::WANTED);
    desired.set_pod(pod.SerializeAsString());
    ASSERT_TRUE(node.desired.Put(bus::KeyOf(uid), desired).ok());
    PutWorker(uid, v1::SYNCING);
  }
  /// The worker is finished: containers stopped, volumes torn down.
  void Finish(const std::string& uid) {
    PutWorker(uid, v1::FINISHED);
    node.all.RunUntilIdle();
  }
  void Start() {
    node.Start();
    node.CompleteViews();
    node.all.Advance(10s);  // the first inspection of the signals
  }
  void Say(bool preparing) {
    node.machine.Say(preparing);
    node.all.RunUntilIdle();
  }
  std::vector<std::string> Killed() const {
    std::vector<std::string> uids;
    for (const auto& kill : node.kills.kills) uids.push_back(kill.uid());
    return uids;
  }
  bool ShowsShutdown() {
    const auto record = node.pressure.Find("node");
    return record != nullptr && record->shutting_down();
  }
  std::string Metrics() {
    return prometheus::TextSerializer().Serialize(node.process->registry.Collect());
  }
  long Lines(LogLevel level, const std::string& message) const {
    return std::ranges::count_if(node.sink.lines(), [&](const auto& line) {
      return line.level == level && line.message == message;
    });
  }
  std::vector<std::string> Events() const {
    std::vector<std::string> texts;
    for (const auto& event : node.events.all)
      if (event.reason == "Shutdown") {
        EXPECT_TRUE(event.about_node);
        EXPECT_FALSE(event.warning);
        texts.push_back(event.message);
      }
    return texts;
  }

  TestNode node;
};

TEST_F(NodeShutdown, IsNotLookedForUnlessItIsAskedFor) {
  node.config.shutdown_groups.clear();
  Add("a");
  Start();
  EXPECT_EQ(node.machine.connects, 0);
  Say(true);
  EXPECT_THAT(Killed(), IsEmpty());
  EXPECT_THAT(Metrics(), HasSubstr("kubelet_graceful_shutdown_start_time_seconds 0"));
}

TEST_F(NodeShutdown, TheMachineIsAskedToWait) {
  Start();
  EXPECT_TRUE(node.machine.locked);
  EXPECT_EQ(node.machine.reloads, 0) << "it waits long enough";
  EXPECT_FALSE(node.Exists(kLogindDropIn));
  EXPECT_FALSE(ShowsShutdown());
}

TEST_F(NodeShutdown, WhatAnEarlierStartWasWritingGoes) {
  const std::vector<std::string> left = {fs::NewContentPath(kLogindDropIn),
                                         "/kubelet/.graceful_node_shutdown_state.new"};
  for (const auto& path : left) ASSERT_TRUE(node.files.Replace(path, "half", {}).ok());
  Start();
  for (const auto& path : left) EXPECT_FALSE(node.Exists(path)) << path;
}

TEST_F(NodeShutdown, AMachineThatWaitsTooShortIsToldToWaitLonger) {
  node.machine.max_delay = 5s;
  node.machine.max_delay_after_reload = 30s;
  Start();
  EXPECT_THAT(*node.files.Read(kLogindDropIn, 4096),
              HasSubstr("\n[Login]\nInhibitDelayMaxSec=30\n"));
  EXPECT_EQ(node.machine.reloads, 1);
  EXPECT_TRUE(node.machine.locked);
  EXPECT_EQ(Lines(LogLevel::kError, "InhibitDelayMaxSec is below shutdownGracePeriod"), 0);
}

TEST_F(NodeShutdown, WhatCannotBeToldIsLoggedAndTheMachineWaitsAsLongAsItDoes) {
  node.machine.max_delay = 5s;
  node.machine.reload = PermissionDenied("not root");
  Start();
  EXPECT_TRUE(node.machine.locked);
  EXPECT_EQ(Lines(LogLevel::kError,
                  "InhibitDelayMaxSec is below shutdownGracePeriod and cannot be raised"),
            1);
}

TEST_F(NodeShutdown, AMachineThatDoesNotListenIsAskedFiveTimes) {
  node.machine.max_delay = node.machine.max_delay_after_reload = 5s;
  node.Start();
  node.all.Advance(3s);
  EXPECT_FALSE(node.machine.locked) << "100 to 1600 ms: 3.1 s";
  node.all.Advance(200ms);
  EXPECT_TRUE(node.machine.locked);
  EXPECT_EQ(Lines(LogLevel::kError, "InhibitDelayMaxSec is below shutdownGracePeriod"), 1);
}

TEST_F(NodeShutdown, PodsOfLowerPriorityEndFirst) {
  Add("web", 0, 30);
  Add("quick", -5, 3);
  Add("dear", kube::kSystemCriticalPriority, 60);
  Start();
  Say(true);
  EXPECT_THAT(Killed(), UnorderedElementsAre("web", "quick"));
  EXPECT_TRUE(ShowsShutdown());
  EXPECT_THAT(Events(), ElementsAre("Shutdown manager detected shutdown event"));
  for (const auto& kill : node.kills.kills) {
    EXPECT_TRUE(kill.evict());
    EXPECT_TRUE(kill.node_shutdown());
    EXPECT_EQ(kill.reason(), "Terminated");
    EXPECT_EQ(kill.message(), "Pod was terminated in response to imminent node shutdown.");
    EXPECT_EQ(kill.grace_period_seconds(), kill.uid() == "web" ? 20 : 3);
  }
  Finish("quick");
  PutWorker("web", v1::TERMINATED);  // its volumes still exist
  node.all.Advance(5s);
  EXPECT_EQ(Killed().size(), 2U);
  Finish("web");
  ASSERT_THAT(Killed(), testing::Contains("dear"));
  EXPECT_EQ(node.kills.kills.back().grace_period_seconds(), 10);
  EXPECT_TRUE(node.machine.locked);
  Finish("dear");
  EXPECT_FALSE(node.machine.locked) << "nothing is left to wait for";
  EXPECT_TRUE(ShowsShutdown());
}

TEST_F(NodeShutdown, AGroupThatTakesTooLongDoesNotHoldUpTheNext) {
  Add("stuck");
  Add("dear", kube::kSystemCriticalPriority);
  Start();
  Say(true);
  node.all.Advance(19s);
  EXPECT_THAT(Killed(), ElementsAre("stuck"));
  node.all.Advance(1s);
  EXPECT_THAT(Killed(), ElementsAre("stuck", "dear"));
  node.all.Advance(9s);
  EXPECT_TRUE(node.machine.locked);
  node.all.Advance(1s);
  EXPECT_FALSE(node.machine.locked);
  EXPECT_EQ(Lines(LogLevel::kWarn, "pods did not end in time; letting the node shut down"), 1);
}

TEST_F(NodeShutdown, AGroupWithoutPodsTakesNoTime) {
  Start();
  Say(true);
  EXPECT_FALSE(node.machine.locked);
  EXPECT_EQ(Lines(LogLevel::kInfo, "all pods have ended; letting the node shut down"), 1);
}

TEST_F(NodeShutdown, APodThatEndsAnywayGetsNoMoreThanTheGroupHas) {
  Add("going", 0, 300);
  PutWorker("going", v1::TERMINATING);
  Add("over");
  PutWorker("over", v1::FINISHED);
  Start();
  Say(true);
  EXPECT_THAT(Killed(), ElementsAre("going"));
}

TEST_F(NodeShutdown, APodThatComesLateEndsWithTheGroupWhoseTurnItIs) {
  Add("dear", kube::kSystemCriticalPriority);
  Start();
  Say(true);
  ASSERT_THAT(Killed(), ElementsAre("dear"));
  Add("late");
  node.all.RunUntilIdle();
  EXPECT_THAT(Killed(), ElementsAre("dear", "late"));
  Finish("dear");
  EXPECT_TRUE(node.machine.locked);
  Finish("late");
  EXPECT_FALSE(node.machine.locked);
}

TEST_F(NodeShutdown, ItsTimesAreOnDiskAndInTheMetrics) {
  Add("a");
  Start();
  const double began = static_cast<double>(ToNanos(node.clock.WallNow())) / 1e9;
  Say(true);
  auto times = DecodeTimes(*node.files.Read(kTimesFile, 4096));
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_EQ(times->start, node.clock.WallNow());
  EXPECT_FALSE(times->end);
  EXPECT_THAT(Metrics(), HasSubstr("kubelet_graceful_shutdown_end_time_seconds 0"));
  node.all.Advance(4s);
  Finish("a");
  times = DecodeTimes(*node.files.Read(kTimesFile, 4096));
  EXPECT_EQ(times->end, node.clock.WallNow());
  node.Crash();
  node.machine.Say(false);
  node.clock.SetBoot(2);
  node.all.Reboot();
  Start();
  prometheus::Registry other;
  GcMetrics want(other);
  want.shutdown_start.Set(began);
  want.shutdown_end.Set(began + 4);
  const std::string text = prometheus::TextSerializer().Serialize(other.Collect());
  for (const char* name : {"\nkubelet_graceful_shutdown_start_time_seconds ",
                           "\nkubelet_graceful_shutdown_end_time_seconds "}) {
    const size_t at = text.find(name);
    ASSERT_NE(at, std::string::npos);
    EXPECT_THAT(Metrics(), HasSubstr(text.substr(at, text.find('\n', at + 1) - at)));
  }
  EXPECT_EQ(Lines(LogLevel::kInfo, "resuming node shutdown"), 0) << "another boot";
  EXPECT_TRUE(node.machine.locked);
  EXPECT_EQ(Events().size(), 1U);
}

TEST_F(NodeShutdown, OneThatIsCalledOffLeavesTheNodeAsItWas) {
  Add("a");
  Add("dear", kube::kSystemCriticalPriority);
  Start();
  Say(true);
  EXPECT_TRUE(ShowsShutdown());
  Say(false);
  EXPECT_FALSE(ShowsShutdown());
  EXPECT_THAT(Events(), ElementsAre("Shutdown manager detected shutdown event",
                                    "Shutdown manager detected shutdown cancellation"));
  Finish("a");
  node.all.Advance(1min);
  EXPECT_THAT(Killed(), ElementsAre("a"));
  EXPECT_TRUE(node.machine.locked);
  Say(true);
  EXPECT_THAT(Killed(), ElementsAre("a", "dear")) << "the next one starts from the first group";
}

TEST_F(NodeShutdown, CalledOffAfterTheLockWasGivenBackItIsTakenAgain) {
  Start();
  Say(true);
  ASSERT_FALSE(node.machine.locked);
  Say(false);
  EXPECT_TRUE(node.machine.locked);
}

TEST_F(NodeShutdown, GoesOnWithTheGroupInWhichItsProcessDied) {
  Add("stuck");
  Add("dear", kube::kSystemCriticalPriority);
  Start();
  Say(true);
  node.all.Advance(15s);
  node.Crash();
  EXPECT_FALSE(node.machine.locked) << "the lock goes with the process";
  node.machine.connect = Unavailable("no bus");
  node.Start();
  node.CompleteViews();
  EXPECT_THAT(Killed(), ElementsAre("stuck", "stuck")) << "the same end, asked for again";
  EXPECT_EQ(node.kills.kills[0].request_id(), node.kills.kills[1].request_id());
  EXPECT_EQ(node.kills.kills[0].grace_period_seconds(), node.kills.kills[1].grace_period_seconds());
  node.all.Advance(4s);
  EXPECT_TRUE(ShowsShutdown());
  EXPECT_EQ(Killed().size(), 2U);
  node.all.Advance(1s);
  EXPECT_THAT(Killed(), ElementsAre("stuck", "stuck", "dear")) << "20 s after the group began";
  EXPECT_EQ(Events().size(), 1U) << "its event came before";
}

TEST_F(NodeShutdown, AfterItsEndANewProcessTakesNoLock) {
  Add("a");
  Start();
  Say(true);
  Finish("a");
  node.Crash();
  Add("b");
  Start();
  EXPECT_THAT(Killed(), ElementsAre("a", "b")) << "a pod that was admitted in between must not run";
  EXPECT_EQ(node.machine.locks, 1);
  EXPECT_TRUE(ShowsShutdown());
}

TEST_F(NodeShutdown, CalledOffWhileNobodyListenedIsKnownWithTheNextStart) {
  Add("a");
  Start();
  Say(true);
  node.Crash();
  node.machine.Say(false);
  Start();
  EXPECT_FALSE(ShowsShutdown());
  EXPECT_EQ(Events().back(), "Shutdown manager detected shutdown cancellation");
  EXPECT_TRUE(node.machine.locked);
}

TEST_F(NodeShutdown, BegunWhileNobodyListenedIsKnownWithTheConnection) {
  Add("a");
  node.machine.connect = Unavailable("no bus");
  Start();
  EXPECT_GT(node.machine.connects, 5) << "each second";
  EXPECT_EQ(Lines(LogLevel::kError,
                  "cannot watch logind, will retry: pods are not terminated before a node shutdown "
                  "until then"),
            1);
  EXPECT_THAT(Killed(), IsEmpty());
  node.machine.Say(true);
  node.machine.connect = OkStatus();
  node.all.Advance(1s);
  EXPECT_THAT(Killed(), ElementsAre("a"));
  EXPECT_TRUE(ShowsShutdown());
}

TEST_F(NodeShutdown, ALostBusIsConnectedAnewAfterASecond) {
  Start();
  const int connects = node.machine.connects, locks = node.machine.locks;
  node.machine.Lose();
  node.all.Advance(1s);
  EXPECT_EQ(node.machine.connects, connects + 1);
  EXPECT_EQ(node.machine.locks, locks + 1);
  Add("a");
  Say(true);
  EXPECT_THAT(Killed(), ElementsAre("a"));
}

TEST_F(NodeShutdown, ALockThatIsRefusedIsAskedForAgain) {
  node.machine.lock = Unavailable("too many");
  Start();
  EXPECT_FALSE(node.machine.locked);
  node.machine.lock = OkStatus();
  node.all.Advance(1s);
  EXPECT_TRUE(node.machine.locked);
}

TEST_F(NodeShutdown, AKillIsRepeatedWhilePodWorkerIsAway) {
  Add("a");
  Add("dear", kube::kSystemCriticalPriority);
  Start();
  node.kills.status = Unavailable("starting");
  Say(true);
  node.all.Advance(5s);
  EXPECT_EQ(Killed().size(), 6U);
  EXPECT_EQ(Lines(LogLevel::kWarn, "KillPod for node shutdown failed, will retry"), 1);
  node.kills.status = OkStatus();
  node.all.Advance(5s);
  EXPECT_EQ(Killed().size(), 7U);
  EXPECT_THAT(Killed(), testing::Each("a"));
}

TEST_F(NodeShutdown, WhoIsRefusedIsNotWaitedFor) {
  Add("a");
  Add("dear", kube::kSystemCriticalPriority);
  Start();
  node.kills.status = FailedPrecondition("no such incarnation of the pod");
  Say(true);
  EXPECT_THAT(Killed(), ElementsAre("a", "dear"));
  EXPECT_FALSE(node.machine.locked);
}

TEST_F(NodeShutdown, NobodyIsTakenForGoneUnderAViewThatIsNotLive) {
  Add("a");
  Start();
  node.network.SetConnected("pod-worker", false);
  node.network.SetCallsFail("pod-worker", true);
  node.all.Advance(1min);
  Say(true);
  node.all.Advance(10s);
  EXPECT_THAT(Killed(), IsEmpty());
  EXPECT_TRUE(node.machine.locked);
  node.network.SetCallsFail("pod-worker", false);
  node.network.SetConnected("pod-worker", true);
  node.all.Advance(5s);
  EXPECT_THAT(Killed(), ElementsAre("a"));
}

TEST_F(NodeShutdown, NobodyIsTakenForGoneBeforePodWorkerHasReadAllItsPods) {
  node.Start();
  Say(true);
  node.all.Advance(10s);
  EXPECT_TRUE(node.machine.locked) << "there may be pods";
  Add("a");
  node.CompleteViews();
  EXPECT_THAT(Killed(), ElementsAre("a"));
  EXPECT_TRUE(node.machine.locked);
}

TEST_F(NodeShutdown, APodThatRunsIsWaitedForBeforeItIsKnownWhoItIs) {
  PutWorker("a", v1::SYNCING);
  Start();
  Say(true);
  node.all.Advance(10s);
  EXPECT_THAT(Killed(), IsEmpty()) << "its priority is not known";
  EXPECT_TRUE(node.machine.locked);
  Add("a");
  node.all.RunUntilIdle();
  EXPECT_THAT(Killed(), ElementsAre("a"));
  EXPECT_TRUE(node.machine.locked);
  Finish("a");
  EXPECT_FALSE(node.machine.locked);
}

TEST_F(NodeShutdown, APodThatPodWorkerHasFoundIsWaitedFor) {
  PutWorker("a", v1::WORKER_STATE_UNSPECIFIED);
  Start();
  Say(true);
  node.all.Advance(10s);
  EXPECT_TRUE(node.machine.locked);
  Add("a");
  node.all.RunUntilIdle();
  EXPECT_THAT(Killed(), ElementsAre("a"));
}

TEST_F(NodeShutdown, APodThatNobodyWantsAnyMoreHoldsUpItsGroupUntilItHasEnded) {
  PutWorker("a", v1::TERMINATING);
  Start();
  Say(true);
  node.all.Advance(10s);
  EXPECT_THAT(Killed(), IsEmpty()) << "it ends already";
  EXPECT_TRUE(node.machine.locked);
  Finish("a");
  EXPECT_FALSE(node.machine.locked);
}

TEST_F(NodeShutdown, FilesThatCannotBeUsedHoldUpNothing) {
  ASSERT_TRUE(node.files.Replace(kTimesFile, "what?", {}).ok());
  ASSERT_TRUE(node.files.Replace("/run/gc/shutdown/progress", "what?", {}).ok());
  Add("a");
  Start();
  EXPECT_TRUE(node.machine.locked);
  EXPECT_FALSE(ShowsShutdown());
  Say(true);
  EXPECT_THAT(Killed(), ElementsAre("a"));
}

TEST_F(NodeShutdown, KilledWhereItRaisesTheDelayTheNextStartRaisesIt) {
  for (const char* point :
       {"gc.raise-delay.before", "gc.raise-delay.after", "gc.reload-logind.before",
        "gc.reload-logind.after", "gc.take-lock.before", "gc.take-lock.after"}) {
    SCOPED_TRACE(point);
    node.machine = {};
    node.machine.max_delay = 5s;
    node.machine.max_delay_after_reload = 30s;
    ASSERT_TRUE(node.files.Remove(kLogindDropIn).ok());
    node.DieAt(point, [this] { Start(); });
    EXPECT_FALSE(node.machine.locked) << "the lock ends with the process";
    Start();
    EXPECT_TRUE(node.Exists(kLogindDropIn));
    EXPECT_EQ(node.machine.max_delay, 30s);
    EXPECT_TRUE(node.machine.locked);
    node.Crash();
  }
}

TEST_F(NodeShutdown, KilledWhereItLetsTheMachineGoTheNextStartHoldsItNoMore) {
  for (const char* point : {"gc.release-lock.before", "gc.release-lock.after"}) {
    SCOPED_TRACE(point);
    node.machine.preparing = false;
    Start();
    ASSERT_TRUE(node.machine.locked);
    node.DieAt(point, [this] { Say(true); });
    Start();
    EXPECT_FALSE(node.machine.locked);
    EXPECT_TRUE(ShowsShutdown());
    Say(false);
    node.Crash();
  }
}

}  // namespace
}  // namespace splitlet::gc
