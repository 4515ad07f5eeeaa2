#include "chaos/scenario/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::chaos {
namespace {

namespace stdfs = std::filesystem;
using testing::HasSubstr;

StatusOr<std::string> FromDisk(const std::string& path) {
  std::ifstream file(path);
  if (!file) return NotFound("no such file");
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

std::string ErrorOf(const std::string& text) {
  const auto scenario = ParseScenario(text, "s.yaml", FromDisk);
  return scenario.ok() ? "" : Message(scenario.status());
}

const std::string kPods = "name: a\nduration: 10s\npods:\n- {name: web, run: forever}\n";

const std::string kApi = "name: a\napiServer: true\nduration: 10s\n";
const std::string kApiPods = kApi + "pods:\n- {name: web, run: forever, api: true}\n";

struct ErrorCase {
  const char* name;
  std::string text, want;
};
const ErrorCase kErrorCases[] = {
    {"an empty file", "", "s.yaml: is empty"},
    {"no map", "- a", "s.yaml: expected a map of fields (line 1)"},
    {"broken YAML", "name: [a", "(line 1)"},
    {"an alias of itself", "&a [*a]", "s.yaml: expected a map of fields (line 1)"},
    {"nesting", std::string(400, '['), "s.yaml: bad file (line 1)"},
    {"an unknown field", kPods + "fault: []",
     "s.yaml: fault: unknown field; want one of about, apiServer, duration, faults, limits, load, "
     "name, pods, seed (line 5)"},
    {"a field twice", kPods + "name: b", "s.yaml: name: is given twice (line 5)"},
    {"no name", "duration: 1s\npods: [{name: w, run: x}]", "s.yaml: name: required (line 1)"},
    {"no pods", "name: a\nduration: 1s", "s.yaml: pods: required: at least one (line 1)"},
    {"a bad duration", "name: a\nduration: soon", "s.yaml: duration: "},
    {"a negative duration", "name: a\nduration: -1s", "s.yaml: duration: -1s is below 0 (line 2)"},
    {"too long", "name: a\nduration: 48h", "s.yaml: duration: 48h is more than 24h (line 2)"},
    {"a bad seed", kPods + "seed: x", "s.yaml: seed: expected a whole number, found x (line 5)"},
    {"a pod without content", "name: a\nduration: 1s\npods:\n- name: w\n",
     "s.yaml: pods[0].run: want exactly one of run, manifest and file (line 4)"},
    {"a pod of two kinds", "name: a\nduration: 1s\npods:\n- {name: w, run: x, file: y}\n",
     "want exactly one of run, manifest and file"},
    {"a name that is none", "name: a\nduration: 1s\npods:\n- {name: W_, run: x}\n",
     "s.yaml: pods[0].name: "},
    {"a name twice", kPods + "- {name: web, run: x}\n",
     "s.yaml: pods[1].name: web is a duplicate (line 5)"},
    {"a missing file", "name: a\nduration: 1s\npods:\n- {name: w, file: none.yaml}\n",
     "s.yaml: pods[0].file: none.yaml: no such file (line 4)"},
    {"a manifest that is none",
     "name: a\nduration: 1s\npods:\n- name: w\n  manifest: |\n    apiVersion: v1\n    kind: Pod\n"
     "    spec: {containers: [{name: c, image: i, comand: [x]}]}\n",
     "s.yaml: pods[0].manifest: manifest: spec.containers[0].comand"},
    {"a manifest without containers",
     "name: a\nduration: 1s\npods:\n- name: w\n  manifest: \"apiVersion: v1\\nkind: Pod\"\n",
     "s.yaml: pods[0].manifest: invalid pod: [spec.containers: Required value] (line 5)"},
    {"a bad expectation", "name: a\nduration: 1s\npods:\n- {name: w, run: x, expect: happy}\n",
     "s.yaml: pods[0].expect: happy: want running, succeeded, failed or restarting (line 4)"},
    {"too many pods", "name: a\nduration: 1s\npods:\n- {name: w, run: x, count: 5000}\n",
     "s.yaml: pods[0].count: 5000 is not in 1..1000 (line 4)"},
    {"a fault without a kind", kPods + "faults:\n- {at: 1s}\n",
     "s.yaml: faults[0]: want exactly one of kill, pause, down, "},
    {"a fault of two kinds", kPods + "faults:\n- {at: 1s, kill: pleg, pause: gc}\n",
     "s.yaml: faults[0]: want exactly one of kill, "},
    {"an unknown kind", kPods + "faults:\n- {at: 1s, explode: pleg}\n",
     "s.yaml: faults[0].explode: unknown field"},
    {"an unknown process", kPods + "faults:\n- {at: 1s, kill: plegg}\n",
     "s.yaml: faults[0].kill: plegg is not a process: want any, all or one of config-source, "
     "sync-loop, pod-worker, pleg, status, gc, nats, containerd (line 6)"},
    {"what cannot be partitioned", kPods + "faults:\n- {at: 1s, partition: nats, for: 1s}\n",
     "s.yaml: faults[0].partition: nats is not a process: want any, all or one of config-source, "
     "sync-loop, pod-worker, pleg, status, gc (line 6)"},
    {"neither at nor every", kPods + "faults:\n- {kill: pleg}\n",
     "s.yaml: faults[0].at: want exactly one of at and every (line 6)"},
    {"after the end", kPods + "faults:\n- {at: 11s, kill: pleg}\n",
     "s.yaml: faults[0].at: is not before the end (duration) (line 6)"},
    {"too often", kPods + "faults:\n- {every: 1ms, kill: pleg}\n",
     "s.yaml: faults[0].every: is below 50ms (line 6)"},
    {"a range backwards", kPods + "faults:\n- {every: 5s..2s, kill: pleg}\n",
     "s.yaml: faults[0].every: 5s..2s ends before it begins (line 6)"},
    {"how long is missing", kPods + "faults:\n- {at: 1s, pause: pleg}\n",
     "s.yaml: faults[0].for: required: pause needs a duration (line 6)"},
    {"how long is too much", kPods + "faults:\n- {at: 1s, kill: pleg, for: 1s}\n",
     "s.yaml: faults[0].for: kill has no duration: remove for (line 6)"},
    {"a bad term",
     kPods + "faults:\n- {at: 1s, for: 1s, failPoint: {process: pleg, name: x, term: boom}}\n",
     "s.yaml: faults[0].failPoint.term: x: fail point: unknown action boom"},
    {"a fail point without process",
     kPods + "faults:\n- {at: 1s, for: 1s, failPoint: {name: x, term: crash}}\n",
     "s.yaml: faults[0].failPoint.process: required (line 6)"},
    {"a fault on an unknown pod", kPods + "faults:\n- {at: 1s, hangPod: db, for: 1s}\n",
     "s.yaml: faults[0].hangPod: there is no entry of pods with name db (line 6)"},
    {"a container of no pod", kPods + "faults:\n- {at: 1s, removeContainer: db}\n",
     "s.yaml: faults[0].removeContainer: there is no entry of pods with name db (line 6)"},
    {"a port that is none", "name: a\nduration: 1s\npods:\n- {name: w, run: x, hostPort: 65536}\n",
     "s.yaml: pods[0].hostPort: 65536 is not in 0..65535 (line 4)"},
    {"more than the node", "name: a\nduration: 1s\npods:\n- {name: w, run: x, cpuPercent: 101}\n",
     "s.yaml: pods[0].cpuPercent: 101 is not in 0..100 (line 4)"},
    {"a round without true", kPods + "faults:\n- {at: 1s, collect: gc}\n",
     "s.yaml: faults[0].collect: "},
    {"a flood of the bus", kPods + "faults:\n- {at: 1s, flood: nats, for: 1s}\n",
     "s.yaml: faults[0].flood: nats is not a process: want any, all or one of config-source, "
     "sync-loop, pod-worker, pleg, status, gc (line 6)"},
    {"a port taken for ever", kPods + "faults:\n- {at: 1s, takePort: nats}\n",
     "s.yaml: faults[0].for: required: takePort needs a duration (line 6)"},
    {"a folder that is none", kPods + "faults:\n- {at: 1s, fillDisk: etc, for: 1s}\n",
     "s.yaml: faults[0].fillDisk: etc: want one of state, run, log, manifests, kubelet (line 6)"},
    {"messages of no process", kPods + "faults:\n- {at: 1s, loseMessages: 10%, for: 1s}\n",
     "s.yaml: faults[0].of: required (line 6)"},
    {"a jump of no process's clock", kPods + "faults:\n- {at: 1s, clockJump: 1h, for: 1s}\n",
     "s.yaml: faults[0].of: required (line 6)"},
    {"a jump of the bus's clock", kPods + "faults:\n- {at: 1s, clockJump: 1h, of: nats, for: 1s}\n",
     "s.yaml: faults[0].of: nats is not a process: want any, all or one of config-source"},
    {"a jump that is none", kPods + "faults:\n- {at: 1s, clockJump: 0, of: gc, for: 1s}\n",
     "s.yaml: faults[0].clockJump: 0 does not move the clock (line 6)"},
    {"a jump out of this age", kPods + "faults:\n- {at: 1s, clockJump: -90000h, of: gc, for: 1s}\n",
     "s.yaml: faults[0].clockJump: -90000h is more than 87600h (line 6)"},
    {"a jump without a unit", kPods + "faults:\n- {at: 1s, clockJump: 5, of: gc, for: 1s}\n",
     "s.yaml: faults[0].clockJump: "},
    {"a jump without an end", kPods + "faults:\n- {at: 1s, clockJump: 5s, of: gc}\n",
     "s.yaml: faults[0].for: required: clockJump needs a duration (line 6)"},
    {"a percentage that is none",
     kPods + "faults:\n- {at: 1s, loseMessages: 10, of: gc, for: 1s}\n",
     "s.yaml: faults[0].loseMessages: "},
    {"load of an unknown pod", kPods + "load:\n- {every: 1s, delete: db}\n",
     "s.yaml: load[0].delete: there is no entry of pods with name db (line 6)"},
    {"an API server that is neither yes nor no", kPods + "apiServer: fake\n",
     "s.yaml: apiServer: want true or false, found fake (line 5)"},
    {"a pod of a server that is not wanted",
     "name: a\nduration: 1s\npods:\n- {name: w, run: x, api: true}\n",
     "s.yaml: pods[0].api: the scenario needs apiServer: true (line 4)"},
    {"a pod that is of the server in part", kApi + "pods:\n- {name: w, run: x, api: 1}\n",
     "s.yaml: pods[0].api: want true or false, found 1 (line 5)"},
    {"a UID that the server would not give",
     kApi + "pods:\n- {name: w, run: x, api: true, sameUid: true}\n",
     "s.yaml: pods[0].sameUid: want false: the API server gives each pod its own UID (line 5)"},
    {"volumes of what has no script of ours",
     "name: a\nduration: 1s\npods:\n- name: w\n  volumes: true\n  manifest: |\n    apiVersion: v1\n"
     "    kind: Pod\n    spec: {containers: [{name: c, image: i}]}\n",
     "s.yaml: pods[0].volumes: unknown field"},
    {"volumes by number", kApi + "pods:\n- {name: w, run: x, volumes: 3}\n",
     "s.yaml: pods[0].volumes: want true or false, found 3 (line 5)"},
    {"another manifest of what has none", kApiPods + "load:\n- {at: 1s, update: web}\n",
     "s.yaml: load[0].update: web is a pod of the API server, which cannot be updated (line 7)"},
    {"a broken manifest of what has none",
     kApiPods + "faults:\n- {at: 1s, breakManifest: web, for: 1s}\n",
     "s.yaml: faults[0].breakManifest: web has no manifest (line 7)"},
    {"a server that is not there", kPods + "faults:\n- {at: 1s, kill: api-server}\n",
     "s.yaml: faults[0].kill: api-server is not a process: want any, all or one of config-source"},
    {"a process of a cluster's node", kPods + "faults:\n- {at: 1s, kill: node-api}\n",
     "s.yaml: faults[0].kill: node-api is not a process: want any, all or one of config-source"},
    {"a port of the server", kApiPods + "faults:\n- {at: 1s, takePort: api-server, for: 1s}\n",
     "s.yaml: faults[0].takePort: api-server is not a process: want any, all or one of "
     "config-source, sync-loop, pod-worker, pleg, status, gc, nats, containerd (line 7)"},
    {"answers of no server", kPods + "faults:\n- {at: 1s, serverAnswers: drop, for: 1s}\n",
     "s.yaml: faults[0].serverAnswers: the scenario needs apiServer: true (line 6)"},
    {"an answer that is none", kApiPods + "faults:\n- {at: 1s, serverAnswers: 418, for: 1s}\n",
     "s.yaml: faults[0].serverAnswers: 418: want one of 401, 403, 409, 429, 500, 503, 504, drop, "
     "lose, hang, garbage, no-page (line 7)"},
    {"answers for ever", kApiPods + "faults:\n- {at: 1s, serverAnswers: drop}\n",
     "s.yaml: faults[0].for: required: serverAnswers needs a duration (line 7)"},
    {"watches that end somehow", kApiPods + "faults:\n- {at: 1s, endWatches: true}\n",
     "s.yaml: faults[0].endWatches: true: want one of closed, expired (line 7)"},
    {"watches that end for a time", kApiPods + "faults:\n- {at: 1s, endWatches: closed, for: 1s}\n",
     "s.yaml: faults[0].for: endWatches has no duration: remove for (line 7)"},
    {"watches of no server", kPods + "faults:\n- {at: 1s, endWatches: closed}\n",
     "s.yaml: faults[0].endWatches: the scenario needs apiServer: true (line 6)"},
    {"a list where a map should be", kPods + "limits: [1]\n",
     "s.yaml: limits: expected a map of fields (line 5)"},
};

TEST(ScenarioErrors, NameFileFieldReasonAndLine) {
  for (const auto& c : kErrorCases) EXPECT_THAT(ErrorOf(c.text), HasSubstr(c.want)) << c.name;
}

TEST(ScenarioErrors, AreOneLine) {
  const std::string error = ErrorOf("name: a\nduration: 1s\npods:\n- {name: w, manifest: \"[\"}\n");
  EXPECT_NE(error, "");
  EXPECT_EQ(error.find('\n'), std::string::npos) << error;
}

TEST(Scenarios, SayWhatIsDoneWhen) {
  const auto s = ParseScenario(
      "name: a\nseed: 7\nduration: 10s\npods:\n"
      "- {name: web, count: 2, run: forever, grace: 5s, ignoresTerm: true, unharmed: true}\n"
      "- {name: job, run: 'exit 3', expect: failed, start: false}\n"
      "load:\n- {every: 1s..2s, create: job, from: 2s, until: 8s}\n"
      "faults:\n- {at: 1s, pause: [pleg, gc], for: 1s..3s}\n"
      "- {every: 500ms, kill: any}\n- {at: 2s, limitMemory: 2Mi, of: gc, for: 1s}\n"
      "- {at: 3s, clockJump: -36h, of: [gc, pleg], for: 1s}\n"
      "limits: {settle: 30s, memory: 100Mi, descriptors: 99, grace: 500ms, back: 3s}\n",
      "s.yaml", FromDisk);
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_EQ(s->seed, 7u);
  EXPECT_TRUE(s->pods[0].unharmed && s->pods[0].ignores_term && s->pods[0].at_start);
  EXPECT_EQ(s->pods[0].pod->spec().termination_grace_period_seconds(), 5);
  EXPECT_EQ(s->pods[0].pod->spec().restart_policy(), "Always");
  EXPECT_EQ(s->pods[1].ends, Ends::kFails);
  EXPECT_EQ(s->pods[1].pod->spec().restart_policy(), "Never");
  EXPECT_FALSE(s->pods[1].at_start);
  EXPECT_EQ(s->load[0].when.every_high, Duration{2s});
  EXPECT_EQ(s->faults[0].targets, (std::vector<std::string>{"pleg", "gc"}));
  EXPECT_EQ(s->faults[0].lasting_high, Duration{3s});
  EXPECT_EQ(s->faults[1].targets, Processes());
  EXPECT_EQ(s->faults[2].bytes, 2u << 20);
  EXPECT_EQ(s->faults[2].line, 12);
  EXPECT_EQ(s->faults[3].jump, Duration{-36h});
  EXPECT_EQ(s->faults[3].targets, (std::vector<std::string>{"gc", "pleg"}));
  EXPECT_EQ(s->limits.memory_bytes, 100u << 20);
  EXPECT_EQ(s->limits.settle, Duration{30s});
}

TEST(Scenarios, MayBeOfANodeOfAnApiServer) {
  const auto s = ParseScenario(
      "name: a\nduration: 10s\napiServer: true\npods:\n"
      "- {name: web, run: forever, api: true, volumes: true}\n- {name: static, run: forever}\n"
      "faults:\n- {at: 1s, partition: api-server, for: 2s}\n"
      "- {at: 2s, kill: [api-server, node-api]}\n"
      "- {at: 3s, serverAnswers: [429, no-page], for: 1s..2s}\n- {at: 4s, endWatches: expired}\n"
      "- {at: 5s, kill: any}\n",
      "s.yaml", FromDisk);
  ASSERT_TRUE(s.ok()) << s.status();
  EXPECT_TRUE(s->api_server);
  EXPECT_TRUE(s->pods[0].api && s->pods[0].volumes);
  EXPECT_FALSE(s->pods[1].api || s->pods[1].volumes);
  EXPECT_EQ(s->faults[0].targets, std::vector<std::string>{"api-server"});
  EXPECT_EQ(s->faults[1].targets, (std::vector<std::string>{"api-server", "node-api"}));
  EXPECT_EQ(s->faults[2].targets, std::vector<std::string>{"api-server"});
  EXPECT_EQ(s->faults[2].answers, (std::vector<std::string>{"429", "no-page"}));
  EXPECT_EQ(s->faults[3].answers, std::vector<std::string>{"expired"});
  EXPECT_EQ(s->faults[4].targets, Processes()) << "any is of every node";
}

/// Parses every scenario of the tree.
std::vector<std::string> Library() {
  std::vector<std::string> paths;
  for (const auto& entry : stdfs::directory_iterator("tests/chaos"))
    if (entry.path().extension() == ".yaml") paths.push_back(entry.path().string());
  return paths;
}

TEST(Library, EveryScenarioCanBeRead) {
  const auto paths = Library();
  EXPECT_GE(paths.size(), 10u);
  for (const auto& path : paths) {
    const auto scenario = ParseScenario(*FromDisk(path), path, [](const std::string& name) {
      return FromDisk("tests/chaos/" + name);
    });
    EXPECT_TRUE(scenario.ok()) << scenario.status();
    if (scenario.ok()) {
      EXPECT_EQ(scenario->name, stdfs::path(path).stem().string());
      EXPECT_NE(scenario->about, "") << path;
    }
  }
}

}  // namespace
}  // namespace splitlet::chaos
