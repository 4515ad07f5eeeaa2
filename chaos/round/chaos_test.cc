#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chaos/node/fake_node.h"
#include "chaos/node/manifest.h"
#include "chaos/report/report.h"
#include "chaos/report/report_html.h"
#include "chaos/round/interrupted_calls.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/codec.h"

namespace splitlet::chaos {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kHead = R"(
name: test
duration: 30s
limits: {settle: 20s}
pods:
- {name: web, count: 3, run: forever, unharmed: true, grace: 4s, ignoresTerm: true}
- {name: wave, count: 4, run: forever, start: false, grace: 6s, ignoresTerm: true}
- {name: job, count: 2, run: "exit 0", expect: succeeded}
- {name: loop, run: "exit 1", expect: restarting}
- {name: same, count: 2, run: forever, sameUid: true}
- {name: cut, count: 2, run: forever}
)";
/// Pods with sidecars that do not fit on the node together. Their containers are removed behind the
/// agent's back, and they end and return under the same UID.
constexpr const char* kOthers = R"(
name: others
duration: 40s
limits: {settle: 20s}
pods:
- {name: car, count: 2, run: forever, sidecars: 2, grace: 4s, ignoresTerm: true, hooked: true}
- {name: left, run: forever, cpuPercent: 60, hostPort: 8080, ignoresTerm: true, grace: 2s}
- {name: right, run: forever, cpuPercent: 60, hostPort: 8080, start: false}
- {name: job, count: 2, run: "exit 0", expect: succeeded}
- {name: again, run: "exit 0", expect: succeeded, sameUid: true}
- {name: cut, count: 2, run: forever}
load:
- {delete: car, every: 7s}
- {create: car, every: 5s}
- {delete: left, at: 5s}
- {create: right, at: 5s}
- {update: right, every: 3s, from: 10s}
- {delete: again, at: 10s}
- {create: again, at: 12s}
faults:
- {every: 4s, removeContainer: [cut, job]}
)";
constexpr const char* kLoad = R"(
load:
- {wave: wave, every: 5s..7s}
- {update: cut, every: 4s}
- {delete: same, every: 6s}
- {create: same, every: 3s}
)";
constexpr const char* kFaults = R"yaml(
faults:
- {every: 2s..4s, kill: pod-worker}
- {every: 5s, kill: any}
- {at: 9s, down: pod-worker, for: 4s}
- {at: 3s, pause: pleg, for: 2s}
- {at: 2s, breakManifest: web, for: 5s}
- {at: 21s, endContainer: cut}
- {at: 1s, slowRuntime: 100ms, for: 3s}
- {at: 4s, loseMessages: 20%, of: any, for: 3s}
- {at: 6s, failPoint: {process: pleg, name: pleg.relist.before, term: "2*return(unavailable)"}, for: 2s}
)yaml";

Scenario Parsed(const std::string& text) {
  auto scenario = ParseScenario(text, "test.yaml", [](const std::string&) -> StatusOr<std::string> {
    return NotFound("no");
  });
  EXPECT_TRUE(scenario.ok()) << scenario.status();
  return scenario.ok() ? *std::move(scenario) : Scenario{};
}

Scenario Whole() { return Parsed(std::string(kHead) + kLoad + kFaults); }

struct Trial {
  FakeClock clock;
  FakePacer pacer{clock};
  FakeNode node;
  Scenario scenario;
  std::function<bool()> stopped;
  explicit Trial(Bug bug, Scenario s = Whole()) : node(clock, bug), scenario(std::move(s)) {}

  StatusOr<Outcome> Go(uint64_t seed) {
    Engine engine(
        {.node = node, .clock = clock, .pacer = pacer, .stopped = stopped, .progress = nullptr},
        scenario, seed);
    return engine.Run();
  }
  std::set<std::string> Rules(uint64_t seed) {
    std::set<std::string> rules;
    const auto outcome = Go(seed);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    if (outcome.ok())
      for (const auto& v : outcome->violations)
        rules.insert(v.rule + " " + v.subject + ": " + v.text);
    return rules;
  }
};

TEST(Chaos, APlanThatCannotBeKeptUpWithIsWatchedAllTheSame) {
  Trial trial(Bug::kNone, Parsed(std::string(kHead) + R"(
faults:
- {every: 100ms, kill: gc}
)"));
  trial.node.begin_takes = 200ms;
  const auto outcome = trial.Go(1);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  const int faults = outcome->done.at("kill");
  EXPECT_GT(faults, 250);
  EXPECT_GE(outcome->inspections, faults / 2) << "with each second fault";
  EXPECT_LE(outcome->longest_gap, 500ms) << "0.3 s and a fault";
  EXPECT_GT(outcome->latest_step, 20s);
  EXPECT_LT(outcome->latest_step, 40s);
}

TEST(Chaos, FaultsThatOverlapEndEachAtItsTime) {
  const Scenario scenario = Parsed(std::string(kHead) + R"yaml(
faults:
- {at: 1s, failPoint: {process: pleg, name: pleg.inspect.before, term: "50%delay(1s)"}, for: 4s}
- {at: 2s, failPoint: {process: pleg, name: pleg.relist.before, term: "50%delay(1s)"}, for: 6s}
- {at: 3s, pause: gc, for: 4s}
- {at: 4s, pause: gc, for: 1s}
)yaml");
  Trial trial(Bug::kNone, scenario);
  const auto outcome = trial.Go(1);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_THAT(trial.node.open_faults, IsEmpty());
  std::vector<std::string> ends;
  for (const auto& entry : outcome->timeline.entries)
    if (entry.text.starts_with("end of ")) ends.push_back(entry.text.substr(7, 30));
  EXPECT_EQ(ends, (std::vector<std::string>{"failPoint pleg pleg.inspect.be", "pause gc for 4s",
                                            "failPoint pleg pleg.relist.bef"}));
  EXPECT_EQ(outcome->longest_gap, 300ms);
  EXPECT_LT(outcome->latest_step, 1ms);
}

TEST(Chaos, AFaultThatDidNotComeIntoForceIsNoneThatWasDone) {
  Trial trial(Bug::kNone, Parsed(std::string(kHead) + R"(
faults:
- {every: 2s, loseMessages: 20%, of: pleg, for: 1s}
)"));
  trial.node.too_late = true;
  const auto outcome = trial.Go(1);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->done.at("loseMessages"), 0);
  EXPECT_GT(outcome->failed.at("loseMessages"), 10);
}

TEST(Chaos, ANodeThatIsRightBreaksNoRule) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    Trial trial(Bug::kNone);
    EXPECT_THAT(trial.Rules(seed), IsEmpty());
    EXPECT_EQ(trial.node.pods(), 0u);
    EXPECT_THAT(trial.node.open_faults, IsEmpty());
  }
}

TEST(Chaos, WhatTheRuntimeLostSightOfIsCountedAndIsNoLeakOfTheAgent) {
  const auto with = [](const char* target) {
    return Parsed(std::string(kHead) + "faults:\n- {at: 3s, kill: [" + target + "]}\n");
  };
  Trial trial(Bug::kForgetsTasks, with("containerd"));
  const auto outcome = trial.Go(1);
  ASSERT_TRUE(outcome.ok());
  EXPECT_THAT(outcome->violations, IsEmpty());
  EXPECT_EQ(outcome->runtime_leaks.size(), 1u);
  EXPECT_THAT(ReportJson({.scenario = "s", .rounds = {*outcome}}),
              HasSubstr("\"forgottenByRuntime\": 1"));
  // A resource that an agent could still remove is a leak, and so is any leftover while the runtime
  // runs.
  Trial mounts(Bug::kLeaksMount, with("containerd"));
  EXPECT_THAT(mounts.Rules(1), Not(IsEmpty()));
}

TEST(Chaos, AContainerThatEndedBeforeItRanIsARestartWithoutAWitness) {
  Trial trial(Bug::kNone);
  trial.node.first_start_fails = true;
  EXPECT_THAT(trial.Rules(1), IsEmpty());
  Trial miscounts(Bug::kMiscounts);
  miscounts.node.first_start_fails = true;
  EXPECT_THAT(miscounts.Rules(1), Contains(HasSubstr("restarts ")));
}

TEST(Chaos, AttemptsOfEarlierIncarnationsAreNoRestarts) {
  Trial trial(Bug::kNone);
  trial.node.earlier_attempts = 3;
  EXPECT_THAT(trial.Rules(1), IsEmpty());
}

TEST(Chaos, EachNaiveAgentIsCaughtByItsRule) {
  const struct {
    Bug bug;
    const char* rule;
  } kCases[] = {{Bug::kDoublesOnKill, "one-container"},
                {Bug::kSecondSandbox, "one-sandbox"},
                {Bug::kRerunsOnKill, "no-rerun"},
                {Bug::kRerunsOnKill, "terminal"},
                {Bug::kRevives, "terminal"},
                {Bug::kGraceStartsAgain, "grace"},
                {Bug::kKillsAtOnce, "grace"},
                {Bug::kHooksAgain, "hooks"},
                {Bug::kRestartsOnKill, "unharmed"},
                {Bug::kUnreadyOnKill, "unharmed"},
                {Bug::kBrokenKillsPod, "unharmed"},
                {Bug::kForgetsRemoval, "unwanted"},
                {Bug::kNeverStarts, "runs"},
                {Bug::kMiscounts, "restarts"},
                {Bug::kStaleStatus, "status"},
                {Bug::kKeepsStatus, "status"},
                {Bug::kLeaksMount, "leak"},
                {Bug::kStaysDead, "process-back"},
                {Bug::kFat, "memory"},
                {Bug::kOpensFiles, "descriptors"},
                {Bug::kTwoUids, "one-pod"}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.rule);
    std::set<std::string> rules;
    const auto is_it = [&c](const std::string& v) {
      return v.starts_with(std::string(c.rule) + " ");
    };
    for (uint64_t seed = 1; seed <= 10 && std::ranges::none_of(rules, is_it); ++seed)
      rules.merge(Trial(c.bug).Rules(seed));
    EXPECT_THAT(rules, Contains(testing::Truly(is_it))) << static_cast<int>(c.bug);
  }
}

TEST(Chaos, SidecarsRoomAndWhatIsRemovedBehindTheAgentBreakNoRuleWhenAllIsRight) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Trial trial(Bug::kNone, Parsed(kOthers));
    EXPECT_THAT(trial.Rules(seed), IsEmpty());
  }
}

TEST(Chaos, WhoIsNaiveAboutOrderRoomAndPodsThatMayNotRunAgainIsCaught) {
  const struct {
    Bug bug;
    const char* rule;
  } kCases[] = {{Bug::kSidecarsLate, "order car-0: app was started 0.1s before side-1"},
                {Bug::kSidecarsEndFirst, "order car-0: side-0 ended while app ran"},
                {Bug::kIgnoresRoom, "room port-8080: two pods use the port at the same time"},
                {Bug::kIgnoresRoom, "room node: running pods request 120 % of the node"},
                {Bug::kNeverHooks, "containers started, no postStart began"},
                {Bug::kNeverHooks, "containers got TERM, no preStop began"},
                {Bug::kRerunsWhatIsGone, "no-rerun job-0: started 2 times"},
                {Bug::kEndedForEver, "ends again-0: has ended but never ran in this incarnation"}};
  for (const auto& c : kCases) {
    std::set<std::string> rules;
    for (uint64_t seed = 1; seed <= 5; ++seed)
      rules.merge(Trial(c.bug, Parsed(kOthers)).Rules(seed));
    EXPECT_THAT(rules, Contains(HasSubstr(c.rule)));
  }
}

TEST(Chaos, TheBusIsNotMissedWhileAnotherProgramHasItsPortAndAProcessIs) {
  const auto taken = [](const char* who) {
    return Parsed(std::string(kHead) + "faults:\n- {at: 3s, takePort: [" + who + "], for: 15s}\n");
  };
  EXPECT_THAT(Trial(Bug::kNone, taken("nats")).Rules(1), IsEmpty());
  EXPECT_THAT(Trial(Bug::kNone, taken("pleg")).Rules(1),
              Contains(HasSubstr("process-back pleg: has been down")));
}

TEST(Chaos, AViolationShowsWhatHappenedAroundIt) {
  Trial trial(Bug::kRestartsOnKill);
  const auto outcome = trial.Go(1);
  ASSERT_TRUE(outcome.ok());
  ASSERT_FALSE(outcome->violations.empty());
  EXPECT_THAT(outcome->violations[0].around, Contains(HasSubstr("kill pod-worker")));
  EXPECT_THAT(outcome->violations[0].around, Contains(HasSubstr("bus            workers")));
}

TEST(Chaos, APodThatIsPutAgainBeforeItsRemovalWasSeenMayLive) {
  Trial trial(Bug::kNone, Parsed(R"(
name: test
duration: 30s
limits: {settle: 20s}
pods: [{name: same, run: forever, sameUid: true}]
load: [{at: 5s, delete: same}, {at: 5100ms, create: same}, {at: 25s, delete: same}]
)"));
  trial.node.misses_removals = true;
  const auto outcome = trial.Go(1);
  ASSERT_TRUE(outcome.ok());
  std::vector<std::string> found;
  for (const auto& v : outcome->violations) found.push_back(v.rule + " " + v.text);
  EXPECT_THAT(found, Not(IsEmpty())) << "the second removal is to be seen";
  EXPECT_THAT(found, Contains(HasSubstr("unwanted container c1 still runs after its pod was")));
  EXPECT_THAT(found, Not(Contains(HasSubstr("grace"))));
  Trial again(Bug::kNone, Parsed(R"(
name: test
duration: 30s
limits: {settle: 20s}
pods: [{name: same, run: forever, sameUid: true}]
load: [{at: 5s, delete: same}, {at: 5100ms, create: same}]
)"));
  again.node.misses_removals = true;
  const auto second = again.Go(1);
  ASSERT_TRUE(second.ok());
  EXPECT_LT(second->to_settle, 2s);
}

TEST(Chaos, AViolationAtRestShowsWhatHappenedToItsSubject) {
  Trial trial(Bug::kMiscounts, Parsed(R"(
name: test
duration: 30s
limits: {settle: 20s}
pods: [{name: cut, run: forever}, {name: web, run: forever}]
faults: [{at: 29s, endContainer: cut}]
)"));
  const auto outcome = trial.Go(1);
  ASSERT_TRUE(outcome.ok());
  ASSERT_FALSE(outcome->violations.empty());
  EXPECT_EQ(outcome->violations[0].subject, "cut-0");
  const auto& around = outcome->violations[0].around;
  EXPECT_THAT(around, Contains(HasSubstr("cut-0          created")));
  EXPECT_THAT(around, Contains(HasSubstr("cut-0          app #1 runs"))) << "20 s before";
  EXPECT_LE(std::ranges::count_if(
                around, [](const std::string& line) { return line.ends_with("web-0-node"); }),
            7)
      << "of another pod only the last seconds";
}

TEST(Chaos, WhatCannotBeDoneIsSaidBeforeAnythingIsDone) {
  Trial trial(Bug::kNone);
  trial.node.cannot = FaultKind::kPause;
  const auto outcome = trial.Go(1);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(trial.node.puts, 0);
  EXPECT_EQ(Message(outcome.status()), "test.yaml: pause (line 23): it cannot be done here");
}

TEST(Chaos, AnInterruptedRoundEndsItsFaultsAndRemovesItsPods) {
  Trial trial(Bug::kNone);
  const Clock::Time end = trial.clock.Now() + Duration{11s};
  trial.stopped = [&trial, end] { return trial.clock.Now() > end; };
  const auto outcome = trial.Go(1);
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome->interrupted);
  EXPECT_THAT(trial.node.open_faults, IsEmpty());
  trial.clock.Advance(20s);
  trial.node.Inspect();
  EXPECT_EQ(trial.node.pods(), 0u);
}

TEST(Plan, IsTheSeedsAlone) {
  const Scenario scenario = Whole();
  const std::string one = PlanText(scenario, MakePlan(scenario, 1));
  EXPECT_EQ(one, PlanText(scenario, MakePlan(scenario, 1)));
  EXPECT_NE(one, PlanText(scenario, MakePlan(scenario, 2)));
}

TEST(Plan, AJumpOfTheClockIsATermOfItsFailPoint) {
  const Scenario scenario =
      Parsed(std::string(kHead) + "faults: [{at: 1s, clockJump: -1h30m, of: pleg, for: 2s}]");
  const Plan plan = MakePlan(scenario, 1);
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(Describe(plan.steps[0].action), "clockJump pleg shift(-5400000ms) for 2s");
  EXPECT_EQ(plan.steps[0].action.points[0].name, "clock.wall");
}

TEST(Plan, EndsWhatItBeginsInTime) {
  const Scenario scenario = Whole();
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    std::map<std::string, int> open;
    Duration before{0};
    for (const Step& step : MakePlan(scenario, seed).steps) {
      EXPECT_LE(before, step.at);
      EXPECT_LE(step.at, scenario.duration);
      before = step.at;
      if (step.kind == Step::Kind::kBegin && step.action.lasting > Duration{0})
        ++open[Describe(step.action)];
      if (step.kind == Step::Kind::kEnd) --open[Describe(step.action)];
    }
    for (const auto& [what, count] : open) EXPECT_EQ(count, 0) << what;
  }
}

TEST(Plan, DrawsAmongAllTargetsAndHitsAllWhenAsked) {
  const Scenario any = Parsed(std::string(kHead) + "faults: [{every: 100ms, kill: any}]");
  std::set<std::string> hit;
  for (const Step& step : MakePlan(any, 1).steps) hit.insert(step.action.target);
  EXPECT_EQ(hit.size(), Processes().size());
  const Scenario all = Parsed(std::string(kHead) + "faults: [{at: 1s, kill: all}]");
  EXPECT_EQ(MakePlan(all, 1).steps.size(), Processes().size());
}

TEST(Plan, DeletesOnlyWhatIsThereAndCreatesOnlyWhatIsNot) {
  const Scenario scenario = Whole();
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    std::set<std::string> present;
    for (const auto& pod : scenario.pods)
      for (int i = 0; pod.at_start && i < pod.count; ++i) present.insert(PodName(pod, i));
    for (const Step& step : MakePlan(scenario, seed).steps) {
      const std::string name = PodName(scenario.pods[step.pod_template], step.number);
      if (step.kind == Step::Kind::kCreate) {
        EXPECT_TRUE(present.insert(name).second);
      } else if (step.kind == Step::Kind::kDelete) {
        EXPECT_EQ(present.erase(name), 1u);
      } else if (step.kind == Step::Kind::kUpdate) {
        EXPECT_TRUE(present.contains(name));
      }
    }
  }
}

TEST(Manifests, ArePodsThatWitnessTheirStarts) {
  const Scenario scenario = Whole();
  const PodToRun run{
      .name = "web-1", .witness = "web-1.7", .from = &scenario.pods[0], .version = 7};
  const std::string text = ManifestOf(run, {.witness_dir = "/w"});
  const auto decoded = kube::Decode(text, "m", kube::Strictness::kStrict);
  ASSERT_TRUE(decoded.ok()) << decoded.status() << text;
  const auto pod = decoded->As<kube::Pod>();
  EXPECT_EQ(pod->metadata().name(), "web-1");
  EXPECT_EQ(pod->spec().termination_grace_period_seconds(), 4);
  EXPECT_THAT(pod->spec().containers(0).command(2), HasSubstr("/witness/web-1.7"));
  EXPECT_EQ(pod->spec().volumes(0).volume_source().host_path().path(), "/w");
  EXPECT_EQ(pod->metadata().uid(), "");
  const PodToRun same{
      .name = "same-0", .witness = "same-0", .from = &scenario.pods[4], .version = 7};
  EXPECT_THAT(ManifestOf(same, {.witness_dir = "/w"}), HasSubstr("\"uid\": \"chaos-same-0\""));
}

TEST(Manifests, HaveSidecarsAHostPortAndAShareOfTheProcessors) {
  const Scenario scenario = Parsed(kOthers);
  const PodToRun car{.name = "car-0", .witness = "w", .from = &scenario.pods[0]};
  const auto pod =
      kube::Decode(ManifestOf(car, {.witness_dir = "/w"}), "m", kube::Strictness::kStrict)
          ->As<kube::Pod>();
  ASSERT_EQ(pod->spec().init_containers_size(), 2);
  EXPECT_EQ(pod->spec().init_containers(1).name(), "side-1");
  EXPECT_EQ(pod->spec().init_containers(1).restart_policy(), "Always");
  const PodToRun left{.name = "left-0", .witness = "w", .from = &scenario.pods[1]};
  const auto large = kube::Decode(ManifestOf(left, {.witness_dir = "/w", .processors = 4}), "m",
                                  kube::Strictness::kStrict)
                         ->As<kube::Pod>();
  const auto& app = large->spec().containers(0);
  EXPECT_EQ(app.ports(0).host_port(), 8080);
  EXPECT_EQ(app.resources().requests().at("cpu").string(), "2400m");
}

TEST(Manifests, MayHaveProbesAndHooksThatWitnessThatTheyBegin) {
  const Scenario scenario = Parsed(
      "name: a\nduration: 1s\npods:\n- {name: w, run: x, probed: true, hooked: true}\n"
      "- {name: v, run: x}");
  const PodToRun run{.name = "w-0", .witness = "w-0.7", .from = &scenario.pods[0]};
  const auto pod =
      kube::Decode(ManifestOf(run, {.witness_dir = "/w"}), "m", kube::Strictness::kStrict)
          ->As<kube::Pod>();
  const auto& app = pod->spec().containers(0);
  EXPECT_EQ(app.readiness_probe().handler().exec().command(2), "/witness/w-0.7");
  EXPECT_TRUE(app.has_startup_probe() && app.has_liveness_probe());
  EXPECT_THAT(app.lifecycle().post_start().exec().command(2), HasSubstr("mkdir /post "));
  EXPECT_THAT(app.lifecycle().pre_stop().exec().command(2), HasSubstr("mkdir /pre "));
  const PodToRun plain{.name = "v-0", .witness = "v-0.7", .from = &scenario.pods[1]};
  EXPECT_THAT(ManifestOf(plain, {.witness_dir = "/w"}), Not(HasSubstr("exec")));
}

TEST(Manifests, MayHaveAnotherImageEachTime) {
  const Scenario scenario =
      Parsed("name: a\nduration: 1s\npods: [{name: w, run: x, image: '127.0.0.1:5000/{life}:1'}]");
  const PodToRun run{.name = "w-0", .witness = "w-0.1.7", .from = &scenario.pods[0]};
  EXPECT_THAT(ManifestOf(run, {.witness_dir = "/w"}), HasSubstr("127.0.0.1:5000/w-0.1.7:1\""));
}

TEST(Witnesses, AreReadLineByLine) {
  const WallTime boot{1000s};
  const Witness witness = ParseWitness(
      "start 1.50\npost 1.6\nterm 2\nterm 2.25\nrubbish\nagain 3\nstart x\nstart 9", boot);
  EXPECT_EQ(witness.post_starts, 1);
  EXPECT_EQ(witness.pre_stops, 0);
  EXPECT_EQ(witness.hooks_again, 1);
  ASSERT_EQ(witness.starts.size(), 2u);
  EXPECT_EQ(witness.starts[0], boot + 1500ms);
  ASSERT_EQ(witness.terms.size(), 2u);
  EXPECT_EQ(witness.terms[1], boot + 2250ms);
}

TEST(Forgotten, IsNothingThatNoCutCanHaveLost) {
  const std::string early(64, 'a'), late(64, 'b'), both(64, 'c'), never(64, 'd');
  const auto listed = [](const std::vector<std::string>& ids) {
    Snapshot snapshot{.runtime_answered = true};
    for (const auto& id : ids) snapshot.sandboxes.push_back({.id = id, .pod = "p", .uid = "u"});
    return snapshot;
  };
  InterruptedCalls cuts;
  cuts.OnListed(listed({early, both}), 1s);
  cuts.OnListed(listed({early, both}), 9s);
  cuts.OnListed(listed({both}), 60s);
  cuts.OnListed(listed({late, both}), 100s);
  const std::set<std::string> all = {"shim 1 of " + early, "shim 2 of " + late, "shim 3 of " + both,
                                     "shim 4 of " + never, "network namespace cni-1"};
  EXPECT_THAT(cuts.Affected(all), IsEmpty()) << "nothing was cut off";
  cuts.Add(30s, 40s);
  EXPECT_EQ(cuts.Affected(all), (std::set<std::string>{"shim 3 of " + both, "shim 4 of " + never,
                                                       "network namespace cni-1"}));
  cuts.Add(17s, 17s);
  EXPECT_THAT(cuts.Affected(all), Contains("shim 1 of " + early)) << "while it was removed";
  cuts.Add(92s, 92s);
  EXPECT_EQ(cuts.Affected(all), all) << "while it was made";
}

Report MakeReport(Bug bug) {
  Report report{.scenario = "a <b> & \"c\"",
                .about = "about",
                .file = "f.yaml",
                .version = "splitlet 0",
                .label = "abc",
                .command = "again",
                .rounds = {}};
  Trial trial(bug);
  auto outcome = trial.Go(3);
  EXPECT_TRUE(outcome.ok());
  report.rounds.push_back(*std::move(outcome));
  return report;
}

TEST(Reports, NeedNothingFromOutside) {
  const std::string html = ReportHtml(MakeReport(Bug::kRestartsOnKill));
  for (const char* outside : {"src=", "href=", "@import", "url(", "<script"})
    EXPECT_THAT(html, Not(HasSubstr(outside)));
  EXPECT_THAT(html, HasSubstr("a &lt;b&gt; &amp; &quot;c&quot;"));
  EXPECT_THAT(html, HasSubstr("workers: &lt;syncing&gt;"));
  EXPECT_THAT(html, HasSubstr("<svg "));
  EXPECT_THAT(html, HasSubstr(">web-0</text>"));
}

TEST(Reports, ShowSeedsAndViolations) {
  const Report bad = MakeReport(Bug::kRestartsOnKill);
  EXPECT_THAT(ReportJson(bad), HasSubstr("\"seed\": 3"));
  EXPECT_THAT(ReportJson(bad), HasSubstr("\"rule\": \"unharmed\""));
  EXPECT_THAT(ReportText(bad), HasSubstr("VIOLATION seed 3"));
  const Report good = MakeReport(Bug::kNone);
  EXPECT_EQ(ViolationsOf(good), 0u);
  EXPECT_THAT(ReportHtml(good), HasSubstr("no violation"));
  EXPECT_THAT(ReportText(good), HasSubstr("0 violations"));
  EXPECT_THAT(ReportText(good), HasSubstr("at most 0.3s apart; the plan was at most 0s late"));
  EXPECT_THAT(ReportJson(good), HasSubstr("\"longestGapSeconds\": 0.3"));
}

}  // namespace
}  // namespace splitlet::chaos
