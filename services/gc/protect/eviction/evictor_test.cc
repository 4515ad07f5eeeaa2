#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libs/base/fail_point.h"
#include "services/gc/protect/eviction/eviction_fixture.h"

namespace splitlet::gc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

TEST_F(Eviction, NothingIsAskedWhileTheNodeHasEnough) {
  Add({.uid = "a", .memory = 900 * kMebi});
  Start();
  calls.clear();
  node.all.Advance(59s);
  EXPECT_EQ(calls["ListContainerStats"], 0);
  EXPECT_EQ(node.disk.measured, 0);
  EXPECT_THAT(Killed(), IsEmpty());
}

TEST_F(Eviction, TheWorstPodEndsAndTheNextOneOnlyWhenItIsGone) {
  Add({.uid = "less", .memory = 10 * kMebi});
  Add({.uid = "more", .memory = 20 * kMebi});
  Start();
  SetMemory(50);
  node.all.Advance(10s);
  ASSERT_THAT(Killed(), ElementsAre("more"));
  const auto& kill = node.kills.kills[0];
  EXPECT_EQ(kill.reason(), "Evicted");
  EXPECT_EQ(kill.message(),
            "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. "
            "Container app was using 20Mi, request is 0, has larger consumption of memory. ");
  EXPECT_TRUE(kill.evict());
  EXPECT_FALSE(kill.own_limit());
  EXPECT_EQ(kill.grace_period_seconds(), 1);
  EXPECT_EQ(kill.incarnation(), 1);
  EXPECT_EQ(CountEvents("Evicted"), 1);
  EXPECT_THAT(AnnotationsOf("Evicted"), ElementsAre(Pair("offending_containers", "app"),
                                                    Pair("offending_containers_usage", "20Mi"),
                                                    Pair("starved_resource", "memory")));
  EXPECT_GE(CountEvents("EvictionThresholdMet"), 1);
  EXPECT_TRUE(HasCondition("MemoryPressure"));
  EXPECT_THAT(Metrics(), HasSubstr("kubelet_evictions{eviction_signal=\"memory.available\"} 1"));
  EXPECT_THAT(Metrics(), HasSubstr("kubelet_eviction_stats_age_seconds_count{eviction_signal="
                                   "\"memory.available\"} 1"));
  node.all.Advance(19s);
  EXPECT_THAT(Killed(), ElementsAre("more")) << "it is still ending";
  PutWorker("more", v1::FINISHED, true);
  node.all.Advance(1s);
  EXPECT_THAT(Killed(), ElementsAre("more", "less"))
      << "immediately, not with the next ten seconds";
}

TEST_F(Eviction, OneThatDoesNotEndHoldsUpTheNextForHalfAMinuteAtMost) {
  Add({.uid = "a", .memory = 20 * kMebi});
  Add({.uid = "b", .memory = 10 * kMebi});
  Start();
  SetMemory(50);
  node.all.Advance(10s);
  ASSERT_THAT(Killed(), ElementsAre("a"));
  node.all.Advance(29s);
  EXPECT_EQ(Killed().size(), 1U);
  node.all.Advance(2s);
  EXPECT_THAT(Killed(), ElementsAre("a", "b"));
}

TEST_F(Eviction, EnoughIsEnough) {
  Add({.uid = "a"});
  Add({.uid = "b"});
  Start();
  SetMemory(50);
  node.all.Advance(10s);
  ASSERT_EQ(Killed().size(), 1U);
  SetMemory(500);
  PutWorker(Killed()[0], v1::FINISHED, true);
  node.all.Advance(4min);
  EXPECT_EQ(Killed().size(), 1U);
  EXPECT_TRUE(HasCondition("MemoryPressure"));
  node.all.Advance(2min);
  EXPECT_FALSE(HasCondition("MemoryPressure"));
}

TEST_F(Eviction, CriticalAndStaticPodsAreSpared) {
  Add({.uid = "critical", .priority = 2'000'000'000, .memory = 300 * kMebi});
  Add({.uid = "static", .memory = 200 * kMebi, .source = "file"});
  Start();
  SetMemory(50);
  node.all.Advance(30s);
  EXPECT_THAT(Killed(), IsEmpty());
  Add({.uid = "small", .priority = 1000});
  node.all.Advance(10s);
  EXPECT_THAT(Killed(), ElementsAre("small"));
}

TEST_F(Eviction, StaticPodsGoWhereTheNodeSaysThatTheyMay) {
  node.config.evict_static_pods = true;
  Add({.uid = "critical", .priority = 2'000'000'000, .memory = 300 * kMebi, .source = "file"});
  Add({.uid = "static", .memory = 200 * kMebi, .source = "file"});
  Start();
  SetMemory(50);
  node.all.Advance(10s);
  EXPECT_THAT(Killed(), ElementsAre("static"));
}

TEST_F(Eviction, ASoftThresholdWaitsItsGraceAndGivesThePodOne) {
  node.config.eviction_hard.clear();
  node.config.eviction_soft = {{"memory.available", "200Mi"}};
  node.config.eviction_soft_grace = {{"memory.available", 1min}};
  node.config.eviction_max_grace_seconds = 20;
  Add({.uid = "a"});
  Start();
  SetMemory(150);
  node.all.Advance(60s);
  EXPECT_THAT(Killed(), IsEmpty());
  EXPECT_TRUE(HasCondition("MemoryPressure"));
  node.Crash();
  node.Start();
  node.CompleteViews();
  node.all.Advance(10s);
  ASSERT_THAT(Killed(), ElementsAre("a")) << "since when it is met survives the process";
  EXPECT_EQ(node.kills.kills[0].grace_period_seconds(), 20);
}

TEST_F(KernelStats, ThePodWithMostProcessesEnds) {
  Add({.uid = "few"});
  Add({.uid = "many"});
  Add({.uid = "most", .priority = 1});
  ShowCgroups();
  SetProcesses("/kubepods/podfew/c", 3);
  SetProcesses("/kubepods/burstable/podmany/c/below", 600);
  SetProcesses("/kubepods/podmost/c", 900);
  Start();
  node.failing = "ListContainers";  // the runtime may be out of process ids, too
  RunOut();
  ASSERT_THAT(Killed(), ElementsAre("many"));
  EXPECT_EQ(node.kills.kills[0].message(),
            "The node was low on resource: pids. Threshold quantity: 100, available: 50. ");
  EXPECT_TRUE(HasCondition("PIDPressure"));
}

/// A pod whose only container uses 10Mi.
struct FilledPod {
  const char* name;
  int64_t used, inactive_file;  // Mi, of its cgroup; 0 used: the cgroup cannot be read
  bool runs;
  const char* goes;
};

class MemoryOfCgroup : public KernelStats, public testing::WithParamInterface<FilledPod> {};

TEST_P(MemoryOfCgroup, SaysWhoGoesBeforeTheSumOfItsContainers) {
  const FilledPod& c = GetParam();
  node.config.eviction_hard = {{"memory.available", "100Mi"}};
  Add({.uid = "filled", .memory = 10 * kMebi});
  Add({.uid = "other", .memory = 20 * kMebi});
  ShowCgroups();
  const std::string cgroup = "/sys/fs/cgroup/kubepods/besteffort/podfilled";
  ASSERT_TRUE(node.files.MakeDirs(cgroup, 0755).ok());
  if (c.used > 0) Write(cgroup + "/memory.current", fmt::format("{}\n", c.used * kMebi));
  Write(cgroup + "/memory.stat", fmt::format("inactive_file {}\n", c.inactive_file * kMebi));
  Write("/sys/fs/cgroup/kubepods/podother/memory.current", fmt::format("{}\n", 20 * kMebi));
  if (!c.runs) {
    const cri::ContainerId container(ContainerOf("filled"));
    ASSERT_TRUE(node.runtime.StopContainer(container, 0, After(node.clock, 1min)).ok());
  }
  Start();
  SetMemory(50);
  node.all.Advance(10s);
  EXPECT_THAT(Killed(), ElementsAre(c.goes));
}

INSTANTIATE_TEST_SUITE_P(
    Eviction, MemoryOfCgroup,
    testing::Values(FilledPod{"an_emptyDir_was_filled", 300, 0, true, "filled"},
                    FilledPod{"files_that_can_be_dropped", 300, 295, true, "other"},
                    FilledPod{"it_cannot_be_read", 0, 0, true, "other"},
                    FilledPod{"filled_and_nothing_runs", 300, 0, false, "filled"},
                    FilledPod{"little_and_nothing_runs", 5, 0, false, "other"},
                    FilledPod{"unread_and_nothing_runs", 0, 0, false, "filled"}),
    [](const auto& of) { return of.param.name; });

TEST_F(KernelStats, WithoutCgroupsOfPodsThoseOfTheirContainersCount) {
  Add({.uid = "few"});
  Add({.uid = "many"});
  ShowCgroups();
  SetProcesses("/k8s.io/" + ContainerOf("few"), 3);
  SetProcesses("/k8s.io/" + ContainerOf("many"), 600);
  Start();
  node.failing = "ListContainers";
  RunOut();
  EXPECT_THAT(Killed(), IsEmpty()) << "the pods of the containers are unknown";
  node.failing.clear();
  node.all.Advance(10s);
  EXPECT_THAT(Killed(), ElementsAre("many"));
}

TEST_F(KernelStats, WhereNoCgroupIsToBeSeenTheLowestPriorityEnds) {
  Add({.uid = "high", .priority = 5});
  Add({.uid = "low"});
  Start();
  RunOut();
  EXPECT_THAT(Killed(), ElementsAre("low"));
}

TEST_F(KernelStats, WhenAllPodsTogetherReachTheirLimitTheWorstOfThemEnds) {
  node.config.eviction_hard = {{"memory.available", "100Mi"}};
  node.config.pods_cgroup = "/kubepods";
  Add({.uid = "less", .memory = 10 * kMebi});
  Add({.uid = "more", .memory = 20 * kMebi});
  ShowCgroups();
  Write("/sys/fs/cgroup/kubepods/memory.max", fmt::format("{}\n", 400 * kMebi));
  Write("/sys/fs/cgroup/kubepods/memory.current", fmt::format("{}\n", 250 * kMebi));
  Start();
  EXPECT_THAT(Killed(), IsEmpty());
  Write("/sys/fs/cgroup/kubepods/memory.current", fmt::format("{}\n", 350 * kMebi));
  node.all.Advance(10s);
  ASSERT_THAT(Killed(), ElementsAre("more"));
  EXPECT_THAT(node.kills.kills[0].message(),
              HasSubstr("The node was low on resource: memory. Threshold quantity: 100Mi, "
                        "available: 50Mi. "));
  EXPECT_TRUE(HasCondition("MemoryPressure"));
  EXPECT_THAT(Metrics(), HasSubstr("{eviction_signal=\"allocatableMemory.available\"} 1"));
}

TEST_F(Eviction, WithoutStatsNobodyEnds) {
  Add({.uid = "a"});
  Start();
  SetMemory(50);
  node.failing = "ListContainerStats";
  node.all.Advance(30s);
  EXPECT_THAT(Killed(), IsEmpty());
  EXPECT_THAT(Metrics(), HasSubstr("splitlet_gc_errors_total{kind=\"eviction\"}"));
}

TEST_F(Eviction, NobodyEndsUnderAViewThatIsNotLive) {
  Add({.uid = "a"});
  Start();
  node.network.SetConnected("pod-worker", false);
  node.network.SetCallsFail("pod-worker", true);
  node.all.Advance(10s);
  SetMemory(50);
  node.all.Advance(30s);
  EXPECT_THAT(Killed(), IsEmpty());
}

TEST_F(Eviction, AKillIsRepeatedWhilePodWorkerIsAway) {
  Add({.uid = "a", .memory = 20 * kMebi});
  Add({.uid = "b"});
  Start();
  SetMemory(50);
  node.kills.status = Unavailable("starting");
  node.all.Advance(15s);
  EXPECT_GT(Killed().size(), 2U);
  const std::string failed = "KillPod for an eviction failed, will retry";
  EXPECT_EQ(node.Logged(failed), 1);
  node.kills.status = DeadlineExceeded("no answer");
  node.all.Advance(5s);
  EXPECT_EQ(node.Logged(failed), 2) << "another code";
  EXPECT_THAT(Metrics(), HasSubstr("splitlet_gc_errors_total{kind=\"evict\"}"));
  node.kills.status = OkStatus();
  node.all.Advance(2s);
  std::set<std::string> requests;
  for (const auto& kill : node.kills.kills) requests.insert(kill.uid() + kill.request_id());
  EXPECT_EQ(requests.size(), 1U);
  EXPECT_EQ(CountEvents("Evicted"), 1);
}

TEST_F(Eviction, AfterItsEndNoTimerTouchesIt) {
  Add({.uid = "a"});
  Start();
  SetMemory(50);
  const struct {
    Status kill;
    Duration runs;
  } kCases[] = {{Unavailable("starting"), 10s}, {OkStatus(), 5s}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(ToString(c.kill));
    node.kills.status = c.kill;
    node.Crash();
    node.Start();
    node.all.Advance(c.runs);
    const size_t kills = Killed().size();
    ASSERT_GT(kills, 0u);
    node.process->service = nullptr;
    node.all.Advance(1min);
    EXPECT_EQ(Killed().size(), kills);
    EXPECT_EQ(CountEvents("ExceededGracePeriod"), 0);
  }
}

TEST_F(Eviction, WhoRunsOnAfterItsTimeIsToldOnce) {
  Add({.uid = "a"});
  Start();
  SetMemory(50);
  node.all.Advance(10s);
  ASSERT_EQ(CountEvents("Evicted"), 1);
  PutWorker("a", v1::TERMINATING, true);
  node.all.Advance(9s);
  EXPECT_EQ(CountEvents("ExceededGracePeriod"), 0);
  node.all.Advance(10s);
  EXPECT_EQ(CountEvents("ExceededGracePeriod"), 1);
}

TEST_F(Eviction, WhoEndsInItsTimeIsNotToldSo) {
  Add({.uid = "a"});
  Start();
  SetMemory(50);
  node.all.Advance(10s);
  ASSERT_EQ(CountEvents("Evicted"), 1);
  PutWorker("a", v1::TERMINATED, true);
  SetMemory(500);
  node.all.Advance(1min);
  EXPECT_EQ(CountEvents("ExceededGracePeriod"), 0);
}

TEST_F(Eviction, WhatIsRefusedIsNotAskedForAgainAtOnce) {
  Add({.uid = "a"});
  Start();
  SetMemory(50);
  node.kills.status = FailedPrecondition("no such incarnation of the pod");
  node.all.Advance(30s);
  EXPECT_LE(Killed().size(), 3U);
  EXPECT_EQ(CountEvents("Evicted"), 0);
}

/// How the node runs short of a resource, and how many inspections follow until a pod is evicted.
struct Shortage {
  const char* name;
  std::string signal, value;  // of the threshold
  Duration grace;             // of a soft threshold; 0: a hard threshold
  int rounds;
  void (*begin)(TestNode& node);
};

void StarveMemory(TestNode& node) {
  const std::string text = "MemTotal: 1024000 kB\nActive(anon): 972800 kB\n";
  ASSERT_TRUE(node.files.Replace("/proc/meminfo", text, {}).ok());
}
void FillDisk(TestNode& node) { node.files.SetUsage("/kubelet", {100, 5, 100, 50}); }
void SetProcesses(TestNode& node, int count) {
  for (const char* limit : {"/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"})
    ASSERT_TRUE(node.files.Replace(limit, "1000\n", {}).ok());
  const std::string load = fmt::format("0.20 0.18 0.12 1/{} 11206\n", count);
  ASSERT_TRUE(node.files.Replace("/proc/loadavg", load, {}).ok());
}
void StarveProcesses(TestNode& node) { SetProcesses(node, 995); }

const Shortage kShortages[] = {
    {"memory", "memory.available", "100Mi", 0s, 1, &StarveMemory},
    {"memory_below_a_soft_threshold", "memory.available", "100Mi", 30s, 1, &StarveMemory},
    {"process_ids", "pid.available", "10", 0s, 1, &StarveProcesses},
    {"disk_after_images_went", "nodefs.available", "10%", 0s, 2, &FillDisk},
};

/// The shortage begins this many seconds after a regular round.
class RoundsUntilAKill : public Eviction,
                         public testing::WithParamInterface<std::tuple<Shortage, int>> {};

TEST_P(RoundsUntilAKill, AreTwoAtMost) {
  const auto& [shortage, second] = GetParam();
  node.config.eviction_hard = {{shortage.signal, shortage.value}};
  if (shortage.grace > 0s) {
    node.config.eviction_soft.swap(node.config.eviction_hard);
    node.config.eviction_soft_grace = {{shortage.signal, shortage.grace}};
  }
  node.config.image_min_age = 0s;
  node.config.sandbox_image = "pause";
  node.runtime.AddImage("unused");
  SetProcesses(node, 80);
  Add({.uid = "a"});
  Start();
  // An inspection asks the runtime for its disk, on the strand of the signals.
  std::string strand;
  int rounds = 0;
  node.all.SetBeforeStep([&](const exec::Scheduler::Step& step) { strand = step.strand; });
  on_call = [&](std::string_view method) {
    if (method == "ImageFsInfo" && strand.ends_with("pressure")) ++rounds;
  };
  node.all.Advance(std::chrono::seconds{second});
  shortage.begin(node);
  node.all.Advance(shortage.grace);
  ASSERT_THAT(Killed(), IsEmpty());
  rounds = 0;
  const Clock::Time due = node.clock.Now();
  while (Killed().empty() && node.clock.Now() - due < 1min) node.all.Advance(100ms);
  ASSERT_THAT(Killed(), ElementsAre("a"));
  EXPECT_EQ(rounds, shortage.rounds);
  EXPECT_LE(rounds, 2);
  EXPECT_LE(node.clock.Now() - due, kPressurePeriod + 100ms);
  EXPECT_EQ(calls["RemoveImage"], shortage.rounds - 1)
      << "the round between them freed what it can";
}

INSTANTIATE_TEST_SUITE_P(Eviction, RoundsUntilAKill,
                         testing::Combine(testing::ValuesIn(kShortages), testing::Values(1, 5, 9)),
                         [](const auto& of) {
                           return fmt::format("{}_{}s", std::get<0>(of.param).name,
                                              std::get<1>(of.param));
                         });

class KilledAt : public Eviction, public testing::WithParamInterface<const char*> {};

/// Whichever process dies in between, only the pod that was chosen first is evicted.
TEST_P(KilledAt, AnEffectOnePodEnds) {
  Add({.uid = "a", .memory = 20 * kMebi});
  Add({.uid = "b", .memory = 10 * kMebi});
  Start();
  FailPoints points(
      {.crash = [] { throw exec::Scheduler::CrashedHere{}; }, .delay = [](int64_t) {}});
  ASSERT_TRUE(points.Set(GetParam(), "crash").ok());
  bool crashed = false;
  node.all.SetAfterStep([&](const exec::Scheduler::Step&, bool died) { crashed |= died; });
  FailPoints::SetCurrent(&points);
  SetMemory(50);
  node.all.Advance(10s);
  FailPoints::SetCurrent(nullptr);
  EXPECT_TRUE(crashed);
  node.Crash();
  node.Start();
  node.all.Advance(20s);
  const auto killed = Killed();
  EXPECT_FALSE(killed.empty());
  EXPECT_EQ(std::ranges::count(killed, "b"), 0);
  for (const auto& kill : node.kills.kills)
    EXPECT_EQ(kill.request_id(), node.kills.kills[0].request_id());
  PutWorker("a", v1::FINISHED, true);
  SetMemory(500);
  node.all.Advance(1s);
  EXPECT_THAT(*node.files.List("/run/gc/victims"), IsEmpty());
  node.all.Advance(1min);
  EXPECT_EQ(Killed(), killed);
}

INSTANTIATE_TEST_SUITE_P(Eviction, KilledAt,
                         testing::Values("gc.choose-victim.before", "gc.choose-victim.after",
                                         "gc.evict.before", "gc.evict.after"));

TEST_F(Eviction, AChoiceThatNobodyHeardOfIsForgottenAfterHalfAMinute) {
  Add({.uid = "a"});
  Start();
  node.kills.status = Unavailable("away");
  SetMemory(50);
  node.all.Advance(10s);
  ASSERT_FALSE(Killed().empty());
  node.Crash();
  node.kills = {};
  SetMemory(500);
  node.clock.Advance(31s);
  node.Start();
  node.all.Advance(30s);
  EXPECT_THAT(Killed(), IsEmpty());
  EXPECT_THAT(*node.files.List("/run/gc/victims"), IsEmpty());
}

TEST(PendingEviction, IsOnDiskAsItWasChosen) {
  const PendingEviction eviction{
      .uid = "u",
      .name_space = "default",
      .name = "web",
      .incarnation = 7,
      .signal = "memory.available",
      .message = "The node was low on resource: memory. ",
      .annotations = {{"offending_containers", ""}, {"starved_resource", "memory"}},
      .grace_seconds = 20,
      .own_limit = true,
      .chosen_at = {3, 5s}};
  const auto read = DecodeEviction(EncodeEviction(eviction), 3);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(EncodeEviction(*read), EncodeEviction(eviction));
  EXPECT_EQ(read->chosen_at, eviction.chosen_at);
  EXPECT_EQ(read->annotations, eviction.annotations);
  for (const char* broken : {"", "no line", "1 a b\n", "x a b c\n", "1x a b c\n", "1 a b c d\n"})
    EXPECT_FALSE(DecodeEviction(broken, 3).ok()) << broken;
}

}  // namespace
}  // namespace splitlet::gc
