// Rules about API pods: a correct node breaks none of them, and each bug of a naive agent breaks
// one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chaos/node/fake_node.h"
#include "chaos/node/manifest.h"
#include "chaos/node/reported_pod.h"
#include "chaos/round/engine.h"
#include "chaos/rules/event_rates.h"
#include "k8s.io/api/core/v1/persistent_volume.pb.h"
#include "k8s.io/api/core/v1/persistent_volume_claim.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/codec.h"

namespace splitlet::chaos {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kScenario = R"(
name: api
apiServer: true
duration: 40s
limits: {settle: 20s}
pods:
- {name: web, count: 2, run: forever, unharmed: true}
- {name: api, count: 2, run: forever, api: true, unharmed: true}
- {name: more, count: 4, run: forever, api: true}
- {name: job, count: 2, run: "exit 0", expect: succeeded, api: true}
- {name: loop, run: "exit 1", expect: restarting, api: true}
- {name: cut, count: 2, run: forever, api: true}
- {name: forced, count: 3, run: forever, api: true, forced: true}
- {name: edited, count: 2, run: forever}
load:
- {delete: more, every: 4s}
- {create: more, every: 3s}
- {delete: forced, every: 5s}
- {create: forced, every: 4s}
- {delete: job, every: 9s}
- {create: job, every: 8s}
- {update: edited, every: 6s}
faults:
- {every: 3s, kill: [pod-worker, status]}
- {every: 6s, endContainer: cut}
- {at: 14s, down: pod-worker, for: 5s}
- {at: 8s, down: api-server, for: 5s}
- {at: 20s, serverAnswers: ["429", drop], for: 4s}
- {at: 25s, endWatches: expired}
- {at: 28s, partition: api-server, for: 4s}
)";

Scenario ApiScenario(const std::string& text) {
  auto scenario = ParseScenario(
      text, "api.yaml", [](const std::string&) -> StatusOr<std::string> { return NotFound("no"); });
  EXPECT_TRUE(scenario.ok()) << scenario.status();
  return scenario.ok() ? *std::move(scenario) : Scenario{};
}

struct ApiTrial {
  FakeClock clock;
  FakePacer pacer{clock};
  FakeNode node;
  Scenario scenario = ApiScenario(kScenario);
  explicit ApiTrial(Bug bug) : node(clock, bug) {}

  StatusOr<Outcome> Go(uint64_t seed) {
    Engine engine(
        {.node = node, .clock = clock, .pacer = pacer, .stopped = nullptr, .progress = nullptr},
        scenario, seed);
    return engine.Run();
  }
};

std::vector<std::string> Violations(Bug bug, uint64_t seed) {
  ApiTrial trial(bug);
  const auto outcome = trial.Go(seed);
  EXPECT_TRUE(outcome.ok()) << outcome.status();
  std::vector<std::string> found;
  if (outcome.ok())
    for (const auto& v : outcome->violations)
      found.push_back(v.rule + " " + v.subject + ": " + v.text);
  return found;
}

TEST(ApiPods, ANodeThatIsRightBreaksNoRule) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    EXPECT_THAT(Violations(Bug::kNone, seed), IsEmpty());
  }
}

TEST(ApiPods, EachNaiveAgentIsCaughtByItsRule) {
  const struct {
    Bug bug;
    const char* want;
  } kCases[] = {
      {Bug::kKeepsObject, "was removed, but is still at the API server"},
      {Bug::kResurrects, "runs although the API server no longer has the pod"},
      {Bug::kResurrects, "resurrected forced-"},
      {Bug::kForgetsForced, "unwanted forced-"},
      {Bug::kEventStorm, "events about the pod in a minute at the API server, the limit is 100"},
      {Bug::kRevivesThere, "phase Running after Succeeded at the API server"},
      {Bug::kNoMirror, "server web-0: is 0 times at the API server"},
      {Bug::kOldMirror, "is version 0 there, want "},
      {Bug::kStaleThere, "the API server shows other containers than the node"},
      {Bug::kNodeNotReady, "server node: is not Ready at the API server"},
      {Bug::kDoublesOnKill, "one-container api-"},
      {Bug::kForgetsRemoval, "unwanted more-"},
      {Bug::kUnreadyOnKill, "unharmed api-0 server: is not ready at the API server"},
      {Bug::kMiscounts, "restarts cut-"},
  };
  for (const auto& c : kCases) {
    std::vector<std::string> found;
    const auto is_it = [&c](const std::string& v) { return v.find(c.want) != std::string::npos; };
    for (uint64_t seed = 1; seed <= 8 && std::ranges::none_of(found, is_it); ++seed)
      for (auto& violation : Violations(c.bug, seed)) found.push_back(std::move(violation));
    EXPECT_THAT(found, Contains(testing::Truly(is_it))) << c.want;
  }
}

TEST(ApiPods, WhatTheServerDoesNotTakeIsCountedAndIsNoViolation) {
  ApiTrial trial(Bug::kNone);
  trial.scenario = ApiScenario(R"(
name: away
apiServer: true
duration: 10s
limits: {settle: 20s}
pods: [{name: a, count: 2, run: forever, api: true}, {name: b, count: 2, run: forever, api: true, start: false}]
load: [{at: 3s, delete: a}, {at: 3s, create: b}, {at: 8s, create: b}]
faults: [{at: 2s, down: api-server, for: 3s}]
)");
  const auto outcome = trial.Go(1);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_THAT(outcome->violations, IsEmpty());
  EXPECT_EQ(outcome->failed.at("delete"), 1);
  EXPECT_EQ(outcome->failed.at("create"), 1);
  EXPECT_EQ(outcome->done.at("create"), 3);
}

TEST(ApiPods, AStackWithoutAServerIsRefusedBeforeAnythingIsDone) {
  ApiTrial trial(Bug::kNone);
  trial.node.serves = false;
  const auto outcome = trial.Go(1);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(Message(outcome.status()), "api.yaml: apiServer: no API server");
  EXPECT_EQ(trial.node.puts, 0);
}

TEST(ApiPods, AnAnswerIsDrawnForEachTimeAndEachEndsForItself) {
  const Scenario scenario = ApiScenario(std::string(kScenario) +
                                        "- {every: 1s, serverAnswers: [drop, hang], for: 500ms}\n");
  std::set<std::string> keys;
  for (const Step& step : MakePlan(scenario, 1).steps)
    if (step.action.kind == FaultKind::kServerAnswers && step.kind == Step::Kind::kBegin)
      keys.insert(KeyOf(step.action));
  EXPECT_THAT(keys, Contains("serverAnswers api-server drop"));
  EXPECT_THAT(keys, Contains("serverAnswers api-server hang"));
}

kube::Pod Made(const PodTemplate& from, const std::string& node) {
  const PodToRun run{.name = "v-0", .witness = "v-0.1.3", .from = &from, .version = 3};
  const std::string text = ManifestOf(run, {.witness_dir = "/w", .node = node});
  EXPECT_TRUE(!from.api || text.find('\n') == std::string::npos) << "no line of the control socket";
  kube::Pod pod;
  const auto read = kube::DecodeInto(text, "pod", kube::Strictness::kStrict, pod);
  EXPECT_TRUE(read.ok()) << read.status() << text;
  return pod;
}

TEST(ApiPods, AreBoundToTheNodeAndCalledAsAStaticPodIs) {
  const Scenario scenario = ApiScenario(
      "name: a\napiServer: true\nduration: 1s\npods:\n- {name: v, run: x, api: true, volumes: "
      "true}\n"
      "- {name: s, run: x, volumes: true}");
  const kube::Pod pod = Made(scenario.pods[0], "n1");
  EXPECT_EQ(pod.metadata().name(), "v-0-n1");
  EXPECT_EQ(pod.metadata().namespace_(), "default");
  EXPECT_EQ(pod.spec().node_name(), "n1");
  EXPECT_EQ(pod.metadata().labels().at(kVersionLabel), "3");
  EXPECT_EQ(pod.spec().volumes_size(), 9)
      << "two empty ones, four with content, two claims, the witness";
  EXPECT_EQ(pod.spec().security_context().fs_group(), 2000);
  const std::string script = pod.spec().containers(0).command(2);
  EXPECT_THAT(script, HasSubstr("[ -s /volumes/secret/word ] || exit 9\n"));
  EXPECT_THAT(script, HasSubstr("echo more >> /volumes/host-path/file || exit 9\n"));
  EXPECT_THAT(script, HasSubstr("[ $(stat -c %g /volumes/local) = 2000 ] || exit 9\n"));
  const kube::Pod plain = Made(scenario.pods[1], "n1");
  EXPECT_EQ(plain.spec().node_name(), "");
  EXPECT_EQ(plain.spec().volumes_size(), 5) << "a static pod has no objects of the server";
  EXPECT_THAT(plain.spec().containers(0).command(2), Not(HasSubstr("secret")));
}

/// Format that fake-api accepts, and that pod-worker requires for pods with claims.
TEST(ApiPods, HaveClaimsOnVolumesOfThisNode) {
  size_t claims = 0, volumes = 0;
  for (const auto& [path, json] : ObjectsOfVolumes("/v", "n1")) {
    EXPECT_EQ(json.find('\n'), std::string::npos) << "no line of the control socket";
    k8s::io::api::core::v1::PersistentVolume volume;
    k8s::io::api::core::v1::PersistentVolumeClaim claim;
    if (path.find("/persistentvolumeclaims/") != std::string::npos) {
      ++claims;
      ASSERT_TRUE(kube::DecodeInto(json, path, kube::Strictness::kStrict, claim).ok()) << json;
      EXPECT_TRUE(path.ends_with("/" + claim.metadata().name()));
      EXPECT_EQ(claim.status().phase(), "Bound");
      EXPECT_EQ(claim.spec().volume_name(), claim.metadata().name());
    } else if (path.find("/persistentvolumes/") != std::string::npos) {
      ++volumes;
      ASSERT_TRUE(kube::DecodeInto(json, path, kube::Strictness::kStrict, volume).ok()) << json;
      EXPECT_EQ(volume.spec().claim_ref().uid(), "claim-" + volume.metadata().name());
      const auto& source = volume.spec().persistent_volume_source();
      const std::string where =
          source.has_local() ? source.local().path() : source.host_path().path();
      EXPECT_THAT(FoldersOfVolumes("/v"), testing::Contains(where));
      const auto& terms = volume.spec().node_affinity().required().node_selector_terms();
      EXPECT_EQ(terms.at(0).match_expressions(0).values(0), "n1");
    }
  }
  EXPECT_EQ(claims, 2u);
  EXPECT_EQ(volumes, 2u);
}

TEST(ApiPods, AreReadFromTheServersList) {
  const auto pods = ParsePodList(
      R"({"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a","uid":"u",)"
      R"("labels":{"splitlet.dev/version":"4"},"deletionTimestamp":"2026-01-01T00:00:00Z",)"
      R"("annotations":{"kubernetes.io/config.mirror":"h"}},"status":{"phase":"Running",)"
      R"("conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[{"name":"app",)"
      R"("containerID":"containerd://c","restartCount":2,"ready":true,"state":{"running":{}}}]}},)"
      R"({"metadata":{"name":"b"}}]})");
  ASSERT_TRUE(pods.ok()) << pods.status();
  ASSERT_EQ(pods->size(), 2u);
  const ReportedPod& a = pods->at(0);
  EXPECT_TRUE(a.name == "a" && a.uid == "u" && a.phase == "Running");
  EXPECT_TRUE(a.ready && a.mirror && a.deleting);
  EXPECT_EQ(a.version, 4);
  const ReportedContainer app{
      .name = "app", .id = "containerd://c", .restarts = 2, .ready = true, .running = true};
  EXPECT_EQ(a.containers, std::vector{app});
  EXPECT_FALSE(pods->at(1).ready || pods->at(1).mirror || pods->at(1).deleting);
  EXPECT_EQ(pods->at(1).version, -1);
  EXPECT_FALSE(ParsePodList("no").ok());
}

TEST(ApiPods, EventsAreCountedForEachPodThatTheyAreAbout) {
  const auto events = ParseEventList(
      R"({"kind":"EventList","apiVersion":"v1","items":[)"
      R"({"metadata":{"name":"a.1"},"involvedObject":{"kind":"Pod","name":"a","uid":"u"},"count":3},)"
      R"({"metadata":{"name":"a.2"},"involvedObject":{"kind":"Pod","name":"a","uid":"u"}},)"
      R"({"metadata":{"name":"n.1"},"involvedObject":{"kind":"Node","name":"n","uid":"n"},"count":9},)"
      R"({"metadata":{"name":"b.1"},"involvedObject":{"kind":"Pod","name":"b","uid":"w"},"count":2}]})");
  ASSERT_TRUE(events.ok()) << events.status();
  ASSERT_EQ(events->size(), 2u);
  EXPECT_TRUE(events->at(0).pod == "a" && events->at(0).uid == "u");
  EXPECT_EQ(events->at(0).count, 4) << "one without a count is one";
  EXPECT_EQ(events->at(1).count, 2);
  EXPECT_FALSE(ParseEventList("no").ok());
}

TEST(ApiPods, OnlyEventsOfTheLastMinuteCount) {
  EventRates rates;
  const Clock::Time start{1, std::chrono::hours{1}};
  const struct {
    Duration at;
    int64_t count, want;
  } kSteps[] = {{0s, 5, 5},    {30s, 20, 20},  {59s, 25, 25}, {61s, 25, 20}, {91s, 25, 5},
                {95s, 40, 20}, {130s, 40, 15}, {300s, 40, 0}, {301s, 41, 1}, {302s, 3, 3}};
  for (const auto& step : kSteps)
    EXPECT_EQ(rates.InLastMinute("u", start + step.at, step.count), step.want) << step.at / 1s;
  EXPECT_EQ(rates.InLastMinute("another", start, 7), 7);
}

TEST(ApiPods, OnlyThoseOfTheServerCanBeDeletedByForce) {
  const auto scenario =
      ParseScenario("name: a\nduration: 1s\npods: [{name: v, run: x, forced: true}]", "a.yaml",
                    [](const std::string&) -> StatusOr<std::string> { return NotFound("no"); });
  EXPECT_EQ(Message(scenario.status()), "a.yaml: pods[0].forced: needs api: true (line 3)");
}

}  // namespace
}  // namespace splitlet::chaos
