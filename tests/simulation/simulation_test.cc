// Desired pods run, whatever process dies. --seed=N replays one seed; --seeds=N runs that many
// seeds from 1 on, or from --from=N. SIMULATION_SECONDS in the environment ends the row of seeds
// early, with a line "REDUCED: ..." that scripts/run_tests.py repeats.

#include <gtest/gtest.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "libs/base/clock.h"
#include "tests/simulation/api_server.h"
#include "tests/simulation/node.h"

namespace splitlet::simulation {
namespace {

constexpr uint64_t kFewestSeeds = 5;  // even if the time is over

uint64_t only_seed = 0;
uint64_t shutdown_count = 5;
uint64_t first_seed = 1;
uint64_t seed_count = 200;

std::string Join(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) text += "  " + line + "\n";
  return text;
}

/// Ends the row of seeds when a run is short of time.
class TimeForSeeds {
 public:
  TimeForSeeds() {
    const char* text = std::getenv("SIMULATION_SECONDS");
    if (text != nullptr) end_ = clock_.Now() + std::chrono::seconds{std::atoi(text)};
  }
  bool IsOver() const { return end_ && clock_.Now() > *end_; }

 private:
  const RealClock clock_;
  std::optional<Clock::Time> end_;
};

struct Outcome {
  std::vector<std::string> violations;
  std::string end;
  uint64_t digest = 0, steps = 0;
  int crashes = 0;
  SimNode::HookCounts hooks;
  SimNode::LackCounts lacks;
};

Outcome RunSeed(uint64_t seed, const FaultPlan& plan,
                const std::function<void(SimNode&)>& also = nullptr) {
  SimNode node(seed);
  if (seed % 6 == 3) node.JoinCluster(seed);
  AddServices(node);
  if (also) also(node);
  node.StartAll();
  node.RunFor(3min, plan);
  node.HealAndSettle();
  return {node.Violations(), node.Describe(), node.digest(), node.steps(),
          node.crashes(),    node.hooks(),    node.lacks()};
}

TEST(Simulation, DesiredPodsRunWhateverDies) {
  const uint64_t first = only_seed != 0 ? only_seed : first_seed;
  const uint64_t last = only_seed != 0 ? only_seed : first_seed + seed_count - 1;
  const TimeForSeeds time;
  int crashes = 0;
  uint64_t steps = 0, seeds = 0;
  for (uint64_t seed = first; seed <= last; ++seed, ++seeds) {
    if (seeds >= kFewestSeeds && time.IsOver()) {
      fmt::print("REDUCED: seeds {} to {} of the simulation\n", seed, last);
      break;
    }
    SCOPED_TRACE(fmt::format("replay with --seed={}", seed));
    const Outcome run = RunSeed(seed, FaultPlan::All());
    ASSERT_TRUE(run.violations.empty()) << Join(run.violations) << run.end;
    crashes += run.crashes;
    steps += run.steps;
  }
  EXPECT_GT(crashes, 0) << "nothing was disturbed";
  fmt::print("{} seeds, {} steps, {} crashes\n", seeds, steps, crashes);
}

TEST(Simulation, WithoutFaultsPodsAreAsWanted) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Outcome run = RunSeed(seed, FaultPlan::None());
    EXPECT_TRUE(run.violations.empty()) << Join(run.violations) << run.end;
    EXPECT_EQ(run.crashes, 0);
    EXPECT_GT(run.hooks.post_starts, 0);
    EXPECT_GT(run.hooks.pre_stops, 0);
    EXPECT_EQ(run.hooks.stopped_without, 0);
  }
}

/// No event that a pod waits for is noticed only by the resync.
TEST(Simulation, WithoutTheRegularLookPodsAreAsWanted) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Outcome run = RunSeed(seed, FaultPlan::None(), [](SimNode& node) {
      node.SetSyncFrequency(std::chrono::hours{24 * 365});
    });
    EXPECT_TRUE(run.violations.empty()) << Join(run.violations) << run.end;
  }
}

/// The machine shuts down and boots again. Pods end in the order of their priorities, each group
/// within its time, and nothing runs then. In the next boot those pods start again that a kubelet
/// would start.
void GoDownAndUp(uint64_t seed, const FaultPlan& plan) {
  SimNode node(seed);
  if (seed % 2 == 0) node.JoinCluster(seed);
  node.EndPodsWithIt();
  AddServices(node);
  node.StartAll();
  node.RunFor(1min, FaultPlan::None());
  ASSERT_FALSE(node.ViolationsAtTheEnd().empty()) << "pods run";
  ASSERT_TRUE(node.machine().locked);
  node.GoDown(plan);
  if (plan.crash_processes) node.HealAndSettle(2min);
  const auto at_the_end = node.ViolationsAtTheEnd();
  ASSERT_TRUE(at_the_end.empty()) << Join(at_the_end) << node.Describe();
  EXPECT_FALSE(node.machine().locked) << "the machine may go";
  node.Reboot();
  node.RunFor(1min, FaultPlan::None());
  node.HealAndSettle();
  const auto violations = node.Violations();
  EXPECT_TRUE(violations.empty()) << Join(violations) << node.Describe();
}

TEST(Simulation, PodsEndInOrderWithTheMachineAndComeBackWithIt) {
  for (uint64_t seed = first_seed; seed < first_seed + shutdown_count; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    GoDownAndUp(seed, {.keep_pods = true});
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Simulation, PodsEndWithTheMachineWhateverDies) {
  FaultPlan plan = FaultPlan::All();
  plan.keep_pods = true;
  for (uint64_t seed = first_seed; seed < first_seed + shutdown_count; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    GoDownAndUp(seed, plan);
    if (testing::Test::HasFailure()) return;
  }
}

/// A restart of the runtime loses its pulls; pods that wait for them continue nevertheless.
TEST(Simulation, PullsThatTheRuntimeTakesAlongAreMadeAgain) {
  SimNode::LackCounts lacks;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Outcome run = RunSeed(seed, {.restart_runtime = true});
    EXPECT_TRUE(run.violations.empty()) << Join(run.violations) << run.end;
    lacks.lost_pulls += run.lacks.lost_pulls;
  }
  EXPECT_GT(lacks.lost_pulls, 0);
}

/// Pods wait for resources, and report what they wait for.
TEST(Simulation, AFullDiskDelaysAndIsTold) {
  SimNode::LackCounts lacks;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Outcome run = RunSeed(seed, {.fill_disk = true});
    EXPECT_TRUE(run.violations.empty()) << Join(run.violations) << run.end;
    EXPECT_EQ(run.crashes, 0);
    lacks.full_for_pulls += run.lacks.full_for_pulls;
    lacks.full_for_volumes += run.lacks.full_for_volumes;
  }
  EXPECT_GT(lacks.full_for_pulls, 0);
  EXPECT_GT(lacks.full_for_volumes, 0);
}

/// gc evicts one pod after the other until resources suffice. Critical pods stay, each chosen pod
/// ends, and the node's conditions are reset.
void RunShortOfSomething(uint64_t seed, const FaultPlan& plan) {
  SimNode node(seed);
  node.EvictUnderPressure();
  AddServices(node);
  node.StartAll();
  node.RunFor(1min, FaultPlan::None());
  const auto what = seed % 2 == 0 ? SimNode::Shortage::kDisk : SimNode::Shortage::kMemory;
  node.RunShort(what, 90s, plan);
  node.HealAndSettle();
  const auto violations = node.Violations();
  EXPECT_TRUE(violations.empty()) << Join(violations) << node.Describe();
  EXPECT_GT(node.evicted(), 0U);
}

TEST(Simulation, UnderPressurePodsGoOneAfterTheOther) {
  for (uint64_t seed = first_seed; seed < first_seed + shutdown_count; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RunShortOfSomething(seed, {.keep_pods = true});
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Simulation, UnderPressureWhoWasChosenGoesWhateverDies) {
  for (uint64_t seed = first_seed; seed < first_seed + 2 * shutdown_count; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RunShortOfSomething(seed, {.crash_processes = true,
                               .crash_at_fail_points = true,
                               .disturb_bus = true,
                               .keep_pods = true});
    if (testing::Test::HasFailure()) return;
  }
}

/// An invalid manifest does not protect leftovers of removed pods: they disappear from disk,
/// runtime, tables and API server.
TEST(Simulation, AStrayFileHoldsUpNothingOfRemovedPods) {
  for (uint64_t seed = first_seed; seed < first_seed + shutdown_count; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    SimNode node(seed);
    if (seed % 6 == 3) node.JoinCluster(seed);
    node.PutStrayFile();
    AddServices(node);
    node.StartAll();
    node.RunFor(3min, FaultPlan::All());
    node.HealAndSettle(10min);
    const auto violations = node.Violations();
    ASSERT_TRUE(violations.empty()) << Join(violations) << node.Describe();
  }
}

TEST(Simulation, ASeedReplaysExactly) {
  EXPECT_EQ(RunSeed(7, FaultPlan::All()).digest, RunSeed(7, FaultPlan::All()).digest);
  EXPECT_NE(RunSeed(7, FaultPlan::All()).digest, RunSeed(8, FaultPlan::All()).digest);
  EXPECT_EQ(RunSeed(9, FaultPlan::All()).digest, RunSeed(9, FaultPlan::All()).digest);
}

/// The checks find a node with a process that runs but does nothing.
TEST(Simulation, ANodeWithAnIdleProcessIsFoundOut) {
  class Idle final : public Process {
   public:
    Idle(SimNode& n, const std::string& name) : Process(n, name) {}
    void Start() override {}
  };
  for (const std::string idle : {"pod-worker", "status", "pleg"}) {
    SCOPED_TRACE(idle);
    const auto without = [&idle](SimNode& node) {
      node.AddKind(idle, [&idle](SimNode& n) { return std::make_unique<Idle>(n, idle); });
    };
    EXPECT_FALSE(RunSeed(1, {.pause_processes = true}, without).violations.empty());
  }
}

/// Checks that a missing memory limit of a pod is found; returns the number of broken limits.
int BreakLimits(SimNode& node) {
  int limits = 0;
  for (const auto& dir : node.kernel().Dirs()) {
    const auto value = node.kernel().Read(dir + "/memory.max");
    if (!value.ok() || !value->starts_with("134217728") || dir.find("pod") == std::string::npos)
      continue;
    ++limits;
    EXPECT_TRUE(node.kernel().Write(dir + "/memory.max", "max").ok());
    EXPECT_NE(Join(node.Violations()).find("memory.max of "), std::string::npos);
    EXPECT_TRUE(node.kernel().Write(dir + "/memory.max", "134217728").ok());
  }
  return limits;
}

/// Checks that an unmounted subPath is found; breaks the first one, and returns their number.
int BreakParts(SimNode& node) {
  const auto mounted = node.mounts().mounted();
  for (const auto& [path, request] : mounted) {
    if (path.find("/volume-subpaths/") == std::string::npos) continue;
    EXPECT_TRUE(node.mounts().Unmount(path).ok());
    EXPECT_NE(Join(node.Violations()).find("parts of volumes mounted"), std::string::npos);
    return 1;
  }
  return 0;
}

/// The checks find a cgroup with other limits than its pod's, and a subPath that is not mounted.
/// The seed determines the pods of a node at its end.
TEST(Simulation, LimitsAndPartsThatAreNotThereAreFoundOut) {
  int limits = 0, parts = 0;
  for (uint64_t seed = 2; seed < 12 && (limits == 0 || parts == 0); ++seed) {
    SCOPED_TRACE(seed);
    SimNode node(seed);
    AddServices(node);
    node.StartAll();
    node.RunFor(2min, FaultPlan::None());
    node.HealAndSettle(1min);
    ASSERT_TRUE(node.Violations().empty()) << Join(node.Violations());
    limits += BreakLimits(node);
    parts += BreakParts(node);
  }
  EXPECT_GT(limits, 0) << "no pod has limits";
  EXPECT_GT(parts, 0) << "no pod has parts of volumes";
}

/// The same for a node whose API server never accepts its writes.
TEST(Simulation, ANodeThatTellsTheServerNothingIsFoundOut) {
  const struct {
    const char* method;
    const char* prefix;
    const char* found;
    int code = 500;
  } kCases[] = {
      {"PATCH", "/api/v1/namespaces/default/pods", "the mirror pod p"},
      {"DELETE", "/api/v1/namespaces/default/pods", "which was asked to go"},
      {"POST", "/api/v1/namespaces/default/pods", "has no mirror pod"},
      {"PATCH", "/api/v1/nodes", "cannot report the node"},
      {"", "/apis/coordination.k8s.io", "cannot renew the lease"},
      {"GET", "/api/v1/pods", "cannot watch pods"},
      {"", "", "cannot register the node", 401},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(fmt::format("{} {}", c.method, c.prefix));
    const Outcome run = RunSeed(3, FaultPlan::None(), [&c](SimNode& node) {
      node.api()->Break({.method = c.method, .prefix = c.prefix, .code = c.code});
    });
    EXPECT_NE(Join(run.violations).find(c.found), std::string::npos) << Join(run.violations);
  }
}

}  // namespace

void ReadFlags(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto read = [&argument](std::string_view flag, uint64_t& into) {
      if (argument.starts_with(flag))
        std::from_chars(argument.data() + flag.size(), argument.data() + argument.size(), into);
    };
    read("--seed=", only_seed);
    read("--seeds=", seed_count);
    read("--from=", first_seed);
    read("--shutdowns=", shutdown_count);
  }
}

}  // namespace splitlet::simulation

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  splitlet::simulation::ReadFlags(argc, argv);
  return RUN_ALL_TESTS();
}
