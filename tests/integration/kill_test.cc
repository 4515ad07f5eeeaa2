// Processes, bus and runtime are killed or paused; the desired pods keep running, and nothing is
// left behind.

#include <set>

#include "libs/base/processes.h"
#include "tests/fake_cri/control.h"
#include "tests/integration/fixture.h"

namespace splitlet::integration {
namespace {

class EachProcess : public IntegrationTest, public testing::WithParamInterface<std::string> {};

TEST_P(EachProcess, KilledWithRunningPodsNothingHappensToThem) {
  StartNode();
  for (const char* name : {"a", "b", "c"})
    node_->PutManifest(std::string(name) + ".yaml", PodYaml(name, "sleep 1000"));
  ExpectExactly({"a", "b", "c"});
  std::set<std::string> before;
  for (const auto& c : view_->Containers()) before.insert(c.id.str());
  for (int i = 0; i < 3; ++i) node_->KillAndAwait(GetParam());
  node_->PutManifest("d.yaml", PodYaml("d", "sleep 1000"));
  node_->RemoveManifest("c.yaml");
  ExpectExactly({"a", "b", "d"});
  for (const char* name : {"a", "b"}) {
    EXPECT_EQ(RestartsOf(name), 0);
    EXPECT_TRUE(before.contains(view_->RunningOf(name).at(0).id.str()))
        << name << " has another container";
  }
}

TEST_P(EachProcess, KilledWhilePodsStartAllStartOnce) {
  StartNode();
  std::vector<std::string> names;
  for (int i = 0; i < 10; ++i) {
    names.push_back(fmt::format("p{}", i));
    node_->PutManifest(names.back() + ".yaml", PodYaml(names.back(), "sleep 1000"));
    if (i % 3 == 2) node_->Kill(GetParam());
  }
  ExpectExactly(names);
  for (const auto& name : names) EXPECT_EQ(RestartsOf(name), 0) << name;
}

TEST_P(EachProcess, PausedForTenSecondsItCatchesUp) {
  StartNode();
  node_->PutManifest("a.yaml", PodYaml("a", "sleep 1000"));
  node_->PutManifest("b.yaml", PodYaml("b", "sleep 1000"));
  ExpectExactly({"a", "b"});
  node_->Pause(GetParam());
  node_->PutManifest("c.yaml", PodYaml("c", "sleep 1000"));
  node_->RemoveManifest("b.yaml");
  EXPECT_TRUE(harness::HoldsFor(10s, [&] { return view_->RunningOf("a").size() == 1; }));
  node_->Resume(GetParam());
  ExpectExactly({"a", "c"});
  EXPECT_EQ(RestartsOf("a"), 0);
}

class CrashedAtPoints : public EachProcess {
 protected:
  /// A pod that starts and ends while another one stays. It has a name of its own, because dead
  /// containers of an earlier incarnation would count as restarts.
  void LiveOnce() {
    const std::string name = fmt::format("x{}", number_++);
    node_->PutManifest(name + ".yaml", PodYaml(name, "sleep 1000"));
    ExpectExactly({"stays", name});
    // status may have been killed a moment ago; it saves some records long after their cause.
    ASSERT_TRUE(WaitFor(kSoon, [&] { return RestartsOf(name) >= 0; }));
    ASSERT_EQ(RestartsOf(name), 0);
    node_->RemoveManifest(name + ".yaml");
    ExpectGone(name);
    // gc works once a minute by itself. No answer is expected, because gc crashes during the call
    // or has just started.
    if (GetParam() == "gc") node_->RunGc(false).status().IgnoreError();
    ExpectExactly({"stays"});
  }
  void Set(const std::string& point, const std::string& term) {
    ASSERT_TRUE(WaitFor(kSoon, [&] { return node_->SetFault(GetParam(), point, term).ok(); }))
        << point;
  }
  /// Fail points that an incarnation passes, found by one incarnation during which all of them do
  /// nothing.
  std::vector<std::string> Passed() {
    const auto all = node_->Faults(GetParam());
    EXPECT_TRUE(all.ok()) << all.status();
    if (!all.ok()) return {};
    for (const auto& point : all->faults()) Set(point.name(), "delay(0ms)");
    LiveOnce();
    const auto counted = node_->Faults(GetParam());
    EXPECT_TRUE(counted.ok()) << counted.status();
    std::vector<std::string> passed;
    if (!counted.ok()) return passed;
    for (const auto& point : counted->faults())
      if (point.hits() > 0) passed.push_back(point.name());
    for (const auto& point : all->faults()) Set(point.name(), "off");
    return passed;
  }

 private:
  int number_ = 0;
};

/// Crashes at every fail point of the process that an incarnation passes, and compares with an
/// incarnation without crashes.
TEST_P(CrashedAtPoints, ThePodsLifeIsTheSame) {
  StartNode();
  node_->PutManifest("stays.yaml", PodYaml("stays", "sleep 1000"));
  ExpectExactly({"stays"});
  const auto before = view_->RunningOf("stays").at(0).id;
  const auto points = Passed();
  ASSERT_FALSE(HasFatalFailure());
  int crashed = 0;
  for (const std::string& point : points) {
    SCOPED_TRACE(point);
    const int restarts = node_->keeper().RestartsOf(GetParam());
    Set(point, "1*crash");
    LiveOnce();
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_EQ(view_->RunningOf("stays").at(0).id, before);
    if (node_->keeper().RestartsOf(GetParam()) > restarts) ++crashed;
    Set(point, "off");
  }
  EXPECT_GT(crashed, 0) << "none of " << points.size() << " fail points was met";
  RecordProperty("crashed_at", crashed);
}

INSTANTIATE_TEST_SUITE_P(Kill, CrashedAtPoints, testing::ValuesIn(ProcessNames()),
                         [](const auto& param) { return harness::Identifier(param.param); });

INSTANTIATE_TEST_SUITE_P(Kill, EachProcess, testing::ValuesIn(ProcessNames()),
                         [](const auto& param) { return harness::Identifier(param.param); });

using Bus = IntegrationTest;

TEST_F(Bus, WithoutNatsEverythingGoesOnByPolling) {
  StartNode();
  node_->PutManifest("a.yaml", PodYaml("a", "sleep 1000"));
  ExpectExactly({"a"});
  node_->StopNats();
  node_->PutManifest("b.yaml", PodYaml("b", "sleep 1000"));
  ExpectExactly({"a", "b"});
  node_->RemoveManifest("a.yaml");
  ExpectExactly({"b"});
  for (const auto& process : ProcessNames()) node_->KillAndAwait(process);
  ExpectExactly({"b"});
  EXPECT_EQ(RestartsOf("b"), 0);
  node_->StartNats();
  node_->PutManifest("c.yaml", PodYaml("c", "sleep 1000"));
  ExpectExactly({"b", "c"});
  EXPECT_TRUE(WaitFor(kSoon, [&] {
    const auto info = node_->Info("status");
    return info.ok() && info->bus_connected();
  }));
}

TEST_F(Bus, AServerKilledAgainAndAgainLosesNothing) {
  StartNode();
  node_->PutManifest("a.yaml", PodYaml("a", "sleep 1000"));
  ExpectExactly({"a"});
  node_->StopNats();
  node_->StartNats();
  for (int i = 0; i < 3; ++i) node_->keeper().Signal("nats", 9);
  node_->PutManifest("b.yaml", PodYaml("b", "sleep 1000"));
  ExpectExactly({"a", "b"});
}

/// nats-server drops stalled readers after 2 s, instead of minutes as by default.
TEST_F(Bus, ReadersStoppedForLongSeeWhatHappenedMeanwhileAlsoFromNewOwners) {
  StartNode({.nats_settings = "ping_interval: \"1s\"\nping_max: 1\n"});
  const auto put = [this](const std::string& name, const std::string& script) {
    node_->PutManifest(name + ".yaml", PodYaml(name, script));
  };
  for (const char* name : {"stays", "goes", "exits", "changes"}) put(name, "sleep 1000");
  ExpectExactly({"stays", "goes", "exits", "changes"});
  const auto stays = view_->RunningOf("stays").at(0).id;
  const auto changes = view_->RunningOf("changes").at(0).id;
  const std::vector<std::string> readers = {"sync-loop", "status"};
  for (const auto& reader : readers) node_->Pause(reader);
  node_->RemoveManifest("goes.yaml");
  put("changes", "sleep 2000");
  put("comes", "sleep 1000");
  fake_cri::Control control(control_);
  ASSERT_TRUE(control.ExitContainer("exits", "app", 1).ok());
  for (const auto& owner : {"config-source", "pod-worker", "pleg", "gc"})
    node_->KillAndAwait(owner);
  ASSERT_TRUE(WaitFor(kSoon,
                      [&] {
                        const auto exits = view_->RunningOf("exits");
                        return view_->RunningOf("goes").empty() && exits.size() == 1 &&
                               exits[0].attempt == 1;
                      }))
      << "both need no reader; " << view_->Describe();
  EXPECT_TRUE(harness::HoldsFor(10s, [&] {
    const auto running = view_->RunningOf("stays");
    return running.size() == 1 && running[0].id == stays && view_->RunningOf("comes").empty();
  })) << "nothing is granted meanwhile";
  for (const auto& reader : readers) node_->Resume(reader);
  ExpectExactly({"stays", "exits", "changes", "comes"});
  EXPECT_TRUE(WaitFor(kSoon, [&] { return node_->IsGone("goes"); }));
  EXPECT_EQ(view_->RunningOf("stays").at(0).id, stays);
  EXPECT_NE(view_->RunningOf("changes").at(0).id, changes);
  EXPECT_TRUE(WaitFor(kSoon, [&] { return RestartsOf("exits") == 1; }));
  for (const char* name : {"stays", "comes"}) EXPECT_EQ(RestartsOf(name), 0) << name;
  for (const auto& reader : readers) EXPECT_EQ(node_->keeper().RestartsOf(reader), 0);
}

TEST_F(Bus, EveryProcessDeadAtOnceComesBackToTheSameNode) {
  StartNode();
  node_->PutManifest("a.yaml", PodYaml("a", "sleep 1000"));
  node_->PutManifest("b.yaml", PodYaml("b", "sleep 1000"));
  ExpectExactly({"a", "b"});
  const auto before = view_->RunningOf("a").at(0).id;
  node_->RemoveManifest("b.yaml");
  node_->keeper().Signal("nats", 9);
  for (const auto& process : ProcessNames()) node_->Kill(process);
  ExpectExactly({"a"});
  EXPECT_EQ(view_->RunningOf("a").at(0).id, before);
}

class Runtime : public IntegrationTest {
 protected:
  bool PlegIsReady() {
    return node_->HttpGet("pleg", "/readyz").find(" 200 ") != std::string::npos;
  }
};

TEST_F(Runtime, AMissingRuntimeIsSaidAndPodsStartWhenItIsBack) {
  StartNode();
  node_->PutManifest("a.yaml", PodYaml("a", "sleep 1000"));
  ExpectExactly({"a"});
  runtime_.Stop("fake-cri");
  EXPECT_TRUE(WaitFor(
      kSoon, [&] { return node_->HttpGet("pleg", "/readyz").find(" 503 ") != std::string::npos; }));
  node_->PutManifest("b.yaml", PodYaml("b", "sleep 1000"));
  for (const auto& process : ProcessNames())
    EXPECT_EQ(node_->keeper().RestartsOf(process), 0) << process << " did not stay up";
  StartFakeCriAgain();
  ExpectExactly({"a", "b"});
  EXPECT_TRUE(WaitFor(
      kSoon, [&] { return node_->HttpGet("pleg", "/readyz").find(" 200 ") != std::string::npos; }));
}

TEST_F(Runtime, ACallThatNeverReturnsHoldsBackOnlyItsPod) {
  StartNode();
  fake_cri::Control control(control_);
  ASSERT_TRUE(control.Fault("RunPodSandbox", "stuck", "hang").ok());
  node_->PutManifest("stuck.yaml", PodYaml("stuck", "sleep 1000"));
  for (int i = 0; i < 5; ++i)
    node_->PutManifest(fmt::format("ok{}.yaml", i), PodYaml(fmt::format("ok{}", i), "sleep 1000"));
  ExpectExactly({"ok0", "ok1", "ok2", "ok3", "ok4"});
  EXPECT_TRUE(WaitFor(kSoon, [&] { return PlegIsReady(); })) << node_->HttpGet("pleg", "/readyz");
  EXPECT_TRUE(harness::HoldsFor(5s, [&] { return PlegIsReady(); }));
}

TEST_F(Runtime, AnInspectionThatNeverReturnsLeavesPlegHealthy) {
  StartNode();
  node_->PutManifest("stuck.yaml", PodYaml("stuck", "sleep 1000"));
  ExpectExactly({"stuck"});
  fake_cri::Control control(control_);
  ASSERT_TRUE(control.Fault("PodSandboxStatus", "stuck", "hang").ok());
  ASSERT_TRUE(control.ExitContainer(view_->RunningOf("stuck").at(0).id.str(), 1).ok());
  node_->PutManifest("ok.yaml", PodYaml("ok", "sleep 1000"));
  ExpectRunning("ok");
  EXPECT_TRUE(WaitFor(kSoon, [&] { return PlegIsReady(); })) << node_->HttpGet("pleg", "/readyz");
  EXPECT_TRUE(harness::HoldsFor(5s, [&] { return PlegIsReady(); }));
}

TEST_F(Runtime, PodsThatNobodyHereMadeAreLeftAlone) {
  StartNode();
  fake_cri::Control control(control_);
  ASSERT_TRUE(control.AddUnmanagedPod("other", "11111111-2222-3333-4444-555555555555").ok());
  node_->PutManifest("a.yaml", PodYaml("a", "sleep 1000"));
  ExpectRunning("a");
  for (const auto& process : ProcessNames()) node_->KillAndAwait(process);
  const auto report = node_->RunGc(false);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(harness::HoldsFor(6s, [&] { return view_->RunningOf("other").size() == 1; }));
}

using Start = IntegrationTest;

TEST_F(Start, TheSecondStartOfAProcessRefuses) {
  StartNode();
  for (const auto& process : ProcessNames()) {
    SCOPED_TRACE(process);
    const pid_t first = node_->keeper().PidOf(process);
    const auto second = node_->RunAgain(process);
    EXPECT_EQ(second.exit_code, 1);
    EXPECT_NE(second.output.find("lock"), std::string::npos) << second.output;
    EXPECT_EQ(node_->keeper().PidOf(process), first);
  }
}

TEST_F(Start, ASecondNodeMayNotChangeTheSameRuntime) {
  StartNode();
  for (const std::string process : {"pod-worker", "gc"}) {
    SCOPED_TRACE(process);
    const auto other =
        node_->RunWithConfig(process, fmt::format("apiVersion: kubelet.config.k8s.io/v1beta1\n"
                                                  "kind: KubeletConfiguration\n"
                                                  "containerRuntimeEndpoint: unix://{}\n",
                                                  socket_));
    EXPECT_EQ(other.exit_code, 1);
    EXPECT_NE(other.output.find("lock of the runtime"), std::string::npos) << other.output;
  }
}

TEST_F(Start, PodWorkerAloneStartsADeadContainerAgain) {
  StartNode();
  node_->PutManifest("a.yaml", PodYaml("a", "sleep 1000"));
  ExpectExactly({"a"});
  const auto before = view_->RunningOf("a").at(0).id;
  for (const auto& process : ProcessNames())
    if (process != "pod-worker") node_->StopProcess(process);
  node_->StopNats();
  fake_cri::Control control(control_);
  ASSERT_TRUE(control.ExitContainer(before.str(), 1).ok());
  EXPECT_TRUE(WaitFor(kSoon, [&] {
    const auto running = view_->RunningOf("a");
    return running.size() == 1 && running[0].id != before;
  })) << view_->Describe();
}

TEST_F(Start, OfTwoStartsAtOnceOneServesAndTheOtherRefuses) {
  StartNode();
  node_->PutManifest("a.yaml", PodYaml("a", "sleep 1000"));
  ExpectExactly({"a"});
  const auto before = view_->RunningOf("a").at(0).id;
  for (const auto& process : ProcessNames()) {
    SCOPED_TRACE(process);
    const std::string again = process + "-again";
    node_->StopProcess(process);
    node_->StartTwice(process);
    auto& keeper = node_->keeper();
    ASSERT_TRUE(
        WaitFor(kSoon, [&] { return keeper.RestartsOf(process) + keeper.RestartsOf(again) > 2; }));
    const bool first_serves = keeper.RestartsOf(process) == 0;
    EXPECT_NE(first_serves, keeper.RestartsOf(again) == 0) << "one of them, and always the same";
    const auto info = node_->Info(process);
    ASSERT_TRUE(info.ok()) << info.status();
    EXPECT_EQ(info->pid(), keeper.PidOf(first_serves ? process : again));
    const auto log = harness::ReadFile(node_->LogOf(first_serves ? again : process));
    EXPECT_NE(log.find("lock"), std::string::npos) << log;
    keeper.Stop(process);
    keeper.Stop(again);
    node_->StartProcess(process);
  }
  ExpectExactly({"a"});
  EXPECT_EQ(view_->RunningOf("a").at(0).id, before);
}

TEST_F(Start, ABadConfigurationIsOneLineWithFileKeyAndReason) {
  const struct {
    const char* name;
    const char* config;
    const char* key;
  } kCases[] = {
      {"an unknown key of ours; others are a warning", "splitlet:\n  killUnmanagedPod: true\n",
       "killUnmanagedPod"},
      {"a wrong type", "maxPods: many\n", "maxPods"},
      {"an impossible value", "imageGCHighThresholdPercent: 101\n", "imageGCHighThresholdPercent"},
  };
  StartNode();
  for (const auto& c : kCases) {
    for (const auto& process : ProcessNames()) {
      SCOPED_TRACE(fmt::format("{} for {}", c.name, process));
      const auto run = node_->RunWithConfig(
          process,
          std::string("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n") +
              c.config);
      EXPECT_EQ(run.exit_code, 1);
      EXPECT_NE(run.output.find("bad.yaml"), std::string::npos) << run.output;
      EXPECT_NE(run.output.find(c.key), std::string::npos) << run.output;
      EXPECT_EQ(std::count(run.output.begin(), run.output.end(), '\n'), 1) << run.output;
    }
  }
}

TEST_F(Start, RecordsOfAnotherBootGrantNothingAndPodsComeBack) {
  StartNode();
  node_->PutManifest("a.yaml", PodYaml("a", "sleep 1000"));
  ExpectExactly({"a"});
  for (const auto& process : ProcessNames()) node_->StopProcess(process);
  fake_cri::Control control(control_);
  ASSERT_TRUE(control.StopEverything().ok());  // the effect of a reboot on containers
  node_->SetEnv("SPLITLET_BOOT_ID", "another-boot");
  for (const auto& process : ProcessNames()) node_->StartProcess(process);
  ExpectExactly({"a"});
}

}  // namespace
}  // namespace splitlet::integration
