#include "services/pod-worker/sync/plan/actions.h"

#include <gtest/gtest.h>

#include "k8s.io/api/core/v1/probe.pb.h"
#include "services/pod-worker/pod/observed.h"
#include "services/pod-worker/pod/phase.h"
#include "services/pod-worker/sync/plan/attempts.h"
#include "services/pod-worker/tests/pods_fixture.h"

namespace splitlet::pod_worker {
namespace {

/// One line that says all: "sandbox 1; kill; stop a,b; init c; start d; remove e; again".
std::string Say(const PodActions& todo) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  const auto names = [](const auto& list, auto name) {
    std::string joined;
    for (const auto& item : list) joined += (joined.empty() ? "" : ",") + name(item);
    return joined;
  };
  if (todo.create_sandbox_attempt) add("sandbox " + std::to_string(*todo.create_sandbox_attempt));
  if (todo.kill_pod) add("kill");
  if (!todo.stop.empty())
    add("stop " + names(todo.stop, [](const ContainerStop& s) { return s.id; }));
  const auto start = [](const ContainerStart& s) {
    std::string word = s.name;
    if (s.restart_count) word += "#" + std::to_string(*s.restart_count);
    if (!s.created_id.empty()) word += "(" + s.created_id + ")";
    for (const auto& id : s.remove) word += "-" + id;
    return word;
  };
  if (!todo.start_ephemeral.empty()) add("ephemeral " + names(todo.start_ephemeral, start));
  if (!todo.start_init.empty()) add("init " + names(todo.start_init, start));
  if (!todo.start.empty()) add("start " + names(todo.start, start));
  if (!todo.remove.empty())
    add("remove " + names(todo.remove, [](const std::string& s) { return s; }));
  if (todo.sidecar_first) add("again");
  return text.empty() ? "nothing" : text;
}

const struct {
  const char* name;
  TestPod pod;
  std::vector<TestRecord> records;
  const char* want;
} kGoodSandbox[] = {
    {"both containers of a new sandbox start", {.containers = {"a", "b"}}, {}, "start a,b"},
    {"what runs is left alone", {}, {{}}, "nothing"},
    {"an edited image restarts that container alone",
     {.containers = {"a", "b"}},
     {{.name = "a", .hash = "0"}, {.name = "b"}},
     "stop a-0; start a#1"},
    {"an edited image restarts under policy Never too",
     {.policy = "Never"},
     {{.hash = "0"}},
     "stop app-0; start app#1"},
    {"an exit under Always is followed by the next attempt",
     {},
     {{.state = Record::EXITED, .restarts = 3}, {.state = Record::EXITED, .restarts = 2}},
     "start app#4"},
    {"exit 0 under OnFailure ends the pod",
     {.policy = "OnFailure"},
     {{.state = Record::EXITED}},
     "kill"},
    {"exit 1 under OnFailure restarts",
     {.policy = "OnFailure"},
     {{.state = Record::EXITED, .exit_code = 1}},
     "start app#1"},
    {"one finished beside one running keeps the pod",
     {.policy = "Never", .containers = {"a", "b"}},
     {{.name = "a", .state = Record::EXITED}, {.name = "b"}},
     "nothing"},
    {"an older unknown one is stopped before the next attempt",
     {},
     {{.state = Record::EXITED, .restarts = 1}, {.state = Record::UNKNOWN}},
     "stop app-0; start app#2"},
    {"an older unknown one does not live on beside the running one",
     {},
     {{.restarts = 1}, {.state = Record::UNKNOWN}},
     "stop app-0"},
    {"an unknown container is stopped before its successor",
     {},
     {{.state = Record::UNKNOWN}},
     "stop app-0; start app#1"},
    {"a created one from before a crash is started as it is",
     {},
     {{.state = Record::CREATED}},
     "start app#0(app-0)"},
    {"a created one of another image goes, its number stays",
     {},
     {{.state = Record::CREATED, .restarts = 2, .hash = "0"}},
     "start app#2-app-2"},
    {"a created one of a dead sandbox goes",
     {},
     {{.state = Record::CREATED, .sandbox = "old"}},
     "start app#0-app-0"},
    {"a second running record of a name is stopped",
     {},
     {{.restarts = 1}, {.restarts = 0}},
     "stop app-0"},
    {"init containers come first", {.inits = {"i", "j"}}, {}, "init i"},
    {"a running init container is waited for", {.inits = {"i", "j"}}, {{.name = "i"}}, "nothing"},
    {"after init 0 only init 1 starts",
     {.inits = {"i", "j"}},
     {{.name = "i", .state = Record::EXITED}},
     "init j"},
    {"the last init's end starts the others in the same pass",
     {.inits = {"i"}},
     {{.name = "i", .state = Record::EXITED}},
     "start app"},
    {"a failed init is tried again",
     {.policy = "OnFailure", .inits = {"i"}},
     {{.name = "i", .state = Record::EXITED, .exit_code = 1}},
     "init i#1"},
    {"an init killed for memory has failed even with exit 0 of the runtime",
     {.policy = "Never", .inits = {"i"}},
     {{.name = "i", .state = Record::EXITED, .exit_code = 137}},
     "kill"},
    {"a failed init under Never ends the pod",
     {.policy = "Never", .inits = {"i"}},
     {{.name = "i", .state = Record::EXITED, .exit_code = 1}},
     "kill"},
    {"init records may be gone while the pod runs", {.inits = {"i"}}, {{}}, "nothing"},
    {"a sidecar whose record is gone starts again",
     {.inits = {"s"}, .sidecars = {"s"}},
     {{}},
     "init s"},
    {"what follows a sidecar waits for no more than its start",
     {.inits = {"s", "i"}, .sidecars = {"s"}},
     {},
     "init s; again"},
    {"what follows an init container waits for its end",
     {.inits = {"i", "s"}, .sidecars = {"s"}},
     {},
     "init i"},
    {"a sidecar after an init container too",
     {.inits = {"i", "s"}, .sidecars = {"s"}},
     {{.name = "i", .state = Record::EXITED}},
     "init s; again"},
    {"a running sidecar lets the rest begin",
     {.inits = {"s", "i"}, .sidecars = {"s"}},
     {{.name = "s"}},
     "init i"},
    {"a sidecar that ended starts again beside the main container",
     {.inits = {"s"}, .sidecars = {"s"}},
     {{}, {.name = "s", .state = Record::EXITED}},
     "init s#1"},
    {"a sidecar does not keep a finished pod",
     {.policy = "Never", .inits = {"s"}, .sidecars = {"s"}},
     {{.state = Record::EXITED}, {.name = "s"}},
     "kill"},
    {"what an init container did in an earlier sandbox does not count",
     {.inits = {"i", "j"}},
     {{.name = "i", .state = Record::EXITED, .sandbox = "old"},
      {.name = "j", .state = Record::EXITED, .sandbox = "old"}},
     "init i#1"},
    {"old init records are pruned",
     {.inits = {"i"}},
     {{},
      {.name = "i", .state = Record::EXITED, .restarts = 1},
      {.name = "i", .state = Record::EXITED, .exit_code = 1, .restarts = 0}},
     "remove i-0"},
};

TEST(ComputePodActions, InAGoodSandbox) {
  for (const auto& c : kGoodSandbox) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Say(ComputePodActions(c.pod.Make(), Observed(c.records))), c.want);
  }
}

const struct {
  const char* name;
  TestPod pod;
  std::vector<TestRecord> records;
  const char* want;
} kDeadSandbox[] = {
    {"a dead sandbox is made again",
     {},
     {{.state = Record::EXITED}},
     "sandbox 1; kill; start app#1"},
    {"init containers begin again",
     {.inits = {"i", "j"}},
     {{.state = Record::EXITED}, {.name = "i", .state = Record::EXITED}},
     "sandbox 1; kill; init i#1"},
    {"what later init containers left goes, the first is counted on",
     {.inits = {"i", "j", "s"}, .sidecars = {"s"}},
     {{.state = Record::EXITED},
      {.name = "s", .state = Record::EXITED, .restarts = 3},
      {.name = "j", .state = Record::EXITED, .restarts = 1},
      {.name = "j", .state = Record::EXITED, .exit_code = 1},
      {.name = "i", .state = Record::EXITED}},
     "sandbox 1; kill; init i#1; remove j-1,j-0,s-3"},
    {"Never with records is only killed", {.policy = "Never"}, {{.state = Record::EXITED}}, "kill"},
    {"Never without records tries again", {.policy = "Never"}, {}, "sandbox 1; kill; start app"},
    {"all done under OnFailure gets no new sandbox",
     {.policy = "OnFailure"},
     {{.state = Record::EXITED}},
     "kill"},
    {"OnFailure starts what is not done",
     {.policy = "OnFailure", .containers = {"a", "b"}},
     {{.name = "a", .state = Record::EXITED},
      {.name = "b", .state = Record::EXITED, .exit_code = 1}},
     "sandbox 1; kill; start b#1"},
    {"a created container of the dead sandbox goes",
     {},
     {{.state = Record::CREATED}},
     "sandbox 1; kill; start app#0-app-0"},
};

TEST(ComputePodActions, WithADeadSandbox) {
  for (const auto& c : kDeadSandbox) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Say(ComputePodActions(c.pod.Make(), Observed(c.records, false))), c.want);
  }
}

const struct {
  const char* name;
  TestPod pod;
  std::vector<TestRecord> records;
  const char* want;
} kEphemeral[] = {
    {"it starts beside what runs", {}, {{}}, "ephemeral debug"},
    {"it waits for no init container", {.inits = {"i"}}, {{.name = "i"}}, "ephemeral debug"},
    {"it comes before what else is to start", {}, {}, "ephemeral debug; start app"},
    {"one that runs is left alone", {}, {{}, {.name = "debug"}}, "nothing"},
    {"one that has ended stays so, however it ended",
     {},
     {{}, {.name = "debug", .state = Record::EXITED, .exit_code = 1}},
     "nothing"},
    {"one that ended in an earlier sandbox too",
     {},
     {{}, {.name = "debug", .state = Record::EXITED, .sandbox = "old"}},
     "nothing"},
    {"one whose state is unknown may have run",
     {},
     {{}, {.name = "debug", .state = Record::UNKNOWN}},
     "nothing"},
    {"one that was only created is started as it is",
     {},
     {{}, {.name = "debug", .state = Record::CREATED}},
     "ephemeral debug#0(debug-0)"},
    {"one that was only created in an earlier sandbox is made again",
     {},
     {{}, {.name = "debug", .state = Record::CREATED, .sandbox = "old"}},
     "ephemeral debug#0-debug-0"},
    {"it does not keep a finished pod", {.policy = "Never"}, {{.state = Record::EXITED}}, "kill"},
    {"nor one whose init container has failed",
     {.policy = "Never", .inits = {"i"}},
     {{.name = "i", .state = Record::EXITED, .exit_code = 1}},
     "kill"},
};

TEST(ComputePodActions, AnEphemeralContainerStartsOnce) {
  for (const auto& c : kEphemeral) {
    SCOPED_TRACE(c.name);
    kube::Pod pod = c.pod.Make();
    auto& debug =
        *pod.mutable_spec()->add_ephemeral_containers()->mutable_ephemeral_container_common();
    debug.set_name("debug");
    debug.set_image("busybox:1.36");
    EXPECT_EQ(Say(ComputePodActions(pod, Observed(c.records))), c.want);
  }
}

TEST(ComputePodActions, NoSandboxAtAllIsAttemptZeroAndNoChange) {
  const PodActions todo = ComputePodActions(TestPod{}.Make(), {});
  EXPECT_EQ(Say(todo), "sandbox 0; kill; start app");
  EXPECT_FALSE(todo.sandbox_changed);
}

TEST(ComputePodActions, TwoReadySandboxesAreReplacedByOne) {
  v1::ObservedPod seen = Observed({{}});
  v1::SandboxRecord second = seen.sandboxes(0);
  second.set_attempt(4);
  *seen.add_sandboxes() = seen.sandboxes(0);
  *seen.mutable_sandboxes(0) = second;
  const PodActions todo = ComputePodActions(TestPod{}.Make(), seen);
  EXPECT_EQ(Say(todo), "sandbox 5; kill; start app#1");
  EXPECT_TRUE(todo.sandbox_changed);
}

TEST(ComputePodActions, ASandboxWithoutAddressIsReplacedUnlessInTheHostsNetwork) {
  v1::ObservedPod seen = Observed({{}});
  seen.mutable_sandboxes(0)->clear_ips();
  kube::Pod pod = TestPod{}.Make();
  EXPECT_EQ(Say(ComputePodActions(pod, seen)), "sandbox 1; kill; start app#1");
  pod.mutable_spec()->set_host_network(true);
  EXPECT_EQ(Say(ComputePodActions(pod, seen)), "sandbox 1; kill; start app#1")
      << "the mode differs";
  EXPECT_FALSE(ComputePodActions(pod, seen).sandbox_changed);
  seen.mutable_sandboxes(0)->set_host_network(true);
  EXPECT_EQ(Say(ComputePodActions(pod, seen)), "nothing");
}

TEST(ComputePodActions, WhatWasStoppedToBeReplacedStartsWhateverThePolicy) {
  const kube::Pod pod = TestPod{.policy = "Never"}.Make();
  const auto seen = Observed({{.state = Record::EXITED, .hash = "0"}});
  EXPECT_EQ(Say(ComputePodActions(pod, seen)), "kill");
  EXPECT_EQ(Say(ComputePodActions(pod, seen, {"app-0"})), "start app#1");
  EXPECT_EQ(TerminalPhase(pod, seen), "Succeeded");
  EXPECT_EQ(TerminalPhase(pod, seen, {"app-0"}), "");
}

TEST(ComputePodActions, AnUnknownOneThatWasStoppedIsRemovedAndReplaced) {
  const auto seen = Observed({{.state = Record::UNKNOWN}});
  EXPECT_EQ(Say(ComputePodActions(TestPod{}.Make(), seen, {"app-0"})), "start app#1-app-0");
}

TEST(ShouldRestart, ContainerRulesNeedAContainerPolicy) {
  kube::Pod pod = TestPod{.policy = "Never"}.Make();
  auto& container = *pod.mutable_spec()->mutable_containers(0);
  auto& rule = *container.add_restart_policy_rules();
  rule.set_action("Restart");
  rule.mutable_exit_codes()->set_operator_("In");
  rule.mutable_exit_codes()->add_values(42);
  const auto after = [&](int code) {
    const auto seen = Observed({{.state = Record::EXITED, .exit_code = code}});
    return ShouldRestart(pod, container, NewestRecord(seen, "app"));
  };
  EXPECT_FALSE(after(42));
  container.set_restart_policy("Never");
  EXPECT_TRUE(after(42));
  EXPECT_FALSE(after(1));
}

TEST(ComputePodActions, WhatWasMadeInADeadSandboxIsNoSignThatThisOneIsInitialised) {
  const auto pod = TestPod{.inits = {"init"}}.Make();
  const auto seen = Observed({{.name = "init"},
                              {.name = "app", .state = Record::CREATED, .sandbox = "sandbox-old"},
                              {.name = "init", .state = Record::EXITED, .sandbox = "sandbox-old"}});
  EXPECT_EQ(Say(ComputePodActions(pod, seen)), "nothing") << "init runs";
}

const struct {
  const char* name;
  TestPod pod;
  std::vector<TestRecord> records;
  const char *natural, *killed;
} kPhases[] = {
    {"running under Always", {.source = "api"}, {{}}, "", "Failed"},
    {"all exited 0 under Never",
     {.policy = "Never", .source = "api"},
     {{.state = Record::EXITED}},
     "Succeeded",
     "Succeeded"},
    {"one failed under Never",
     {.policy = "Never", .source = "api", .containers = {"a", "b"}},
     {{.name = "a", .state = Record::EXITED, .exit_code = 3},
      {.name = "b", .state = Record::EXITED}},
     "Failed",
     "Failed"},
    {"exit 1 under OnFailure is no end",
     {.policy = "OnFailure", .source = "api"},
     {{.state = Record::EXITED, .exit_code = 1}},
     "",
     "Failed"},
    {"exit 0 under Always, then killed",
     {.source = "api"},
     {{.state = Record::EXITED}},
     "",
     "Succeeded"},
    {"a static pod under Always is not forced to an end",
     {},
     {{.state = Record::EXITED, .exit_code = 137}},
     "",
     ""},
    {"an init that failed for good",
     {.policy = "Never", .source = "api", .inits = {"i"}},
     {{.name = "i", .state = Record::EXITED, .exit_code = 1}},
     "Failed",
     "Failed"},
    {"a container that never started", {.policy = "Never", .source = "api"}, {}, "", "Failed"},
    {"a running sidecar does not count",
     {.policy = "Never", .source = "api", .inits = {"s"}, .sidecars = {"s"}},
     {{.state = Record::EXITED}, {.name = "s"}},
     "Succeeded",
     "Succeeded"},
};

TEST(Phases, OfEndedPods) {
  for (const auto& c : kPhases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(TerminalPhase(c.pod.Make(), Observed(c.records)), c.natural);
    EXPECT_EQ(PhaseAfterKill(c.pod.Make(), Observed(c.records)), c.killed);
  }
}

/// A pod whose container `name` has all probes by a command.
kube::Pod WithProbes(kube::Pod pod, bool init) {
  auto& container = init ? *pod.mutable_spec()->mutable_init_containers(0)
                         : *pod.mutable_spec()->mutable_containers(0);
  for (auto* probe : {container.mutable_startup_probe(), container.mutable_liveness_probe()})
    probe->mutable_handler()->mutable_exec()->add_command("check");
  container.mutable_liveness_probe()->set_termination_grace_period_seconds(5);
  return pod;
}

/// "stop <message> (<grace>)! start <name>", '!' where it is replaced.
std::string DoneAbout(const kube::Pod& pod, const v1::ObservedPod& seen,
                      const ProbeResultsById& probes) {
  const PodActions todo = ComputePodActions(pod, seen, {}, probes);
  std::string text;
  for (const auto& stop : todo.stop)
    text += fmt::format("stop {} ({}){} ", stop.message, stop.grace_seconds.value_or(0),
                        stop.replaced ? "!" : "");
  for (const auto& start : todo.start_init) text += "start " + start.name + " ";
  for (const auto& start : todo.start) text += "start " + start.name + " ";
  return text;
}

TEST(ComputePodActions, AProbeThatFailedReplacesItsContainer) {
  using enum ProbeKind;
  const auto app = Observed({{}});
  const auto pod = WithProbes(TestPod{}.Make(), false);
  EXPECT_EQ(DoneAbout(pod, app, {}), "");
  EXPECT_EQ(DoneAbout(pod, app, {{"app-0", {{kStartup, true}, {kLiveness, true}}}}), "");
  EXPECT_EQ(DoneAbout(pod, app, {{"other", {{kLiveness, false}}}}), "") << "of another container";
  EXPECT_EQ(DoneAbout(pod, app, {{"app-0", {{kLiveness, false}}}}),
            "stop Container app failed liveness probe, will be restarted (5)! start app ");
  EXPECT_EQ(DoneAbout(pod, app, {{"app-0", {{kStartup, false}}}}),
            "stop Container app failed startup probe, will be restarted (0)! start app ");
  EXPECT_EQ(DoneAbout(WithProbes(TestPod{.policy = "Never"}.Make(), false), app,
                      {{"app-0", {{kLiveness, false}}}}),
            "stop Container app failed liveness probe (5) ");
  auto slow = pod;
  slow.mutable_spec()
      ->mutable_containers(0)
      ->mutable_startup_probe()
      ->set_termination_grace_period_seconds(7);
  EXPECT_EQ(DoneAbout(slow, app, {{"app-0", {{kStartup, false}}}}),
            "stop Container app failed startup probe, will be restarted (7)! start app ");
  auto deleted = pod;
  deleted.mutable_metadata()->set_deletion_grace_period_seconds(10);
  EXPECT_EQ(DoneAbout(deleted, app, {{"app-0", {{kLiveness, false}}}}),
            "stop Container app failed liveness probe, will be restarted (0)! start app ");
}

TEST(ComputePodActions, ASidecarHasStartedWhenItsProbeSaysSo) {
  using enum ProbeKind;
  const auto side = Observed({{.name = "side"}});
  const auto pod =
      WithProbes(TestPod{.inits = {"side", "next"}, .sidecars = {"side"}}.Make(), true);
  EXPECT_EQ(DoneAbout(pod, side, {}), "");
  EXPECT_EQ(DoneAbout(pod, side, {{"side-0", {{kStartup, true}}}}), "start next ");
  EXPECT_EQ(DoneAbout(pod, side, {{"side-0", {{kStartup, false}}}}),
            "stop Init container side failed startup probe (0)! start side ");
  EXPECT_EQ(DoneAbout(pod, side, {{"side-0", {{kStartup, true}, {kLiveness, false}}}}),
            "stop Init container side failed liveness probe (5)! start side start next ");
}

}  // namespace
}  // namespace splitlet::pod_worker
