#include "services/pod-worker/sync/plan/restart_all.h"

#include <gtest/gtest.h>

#include "services/pod-worker/tests/pods_fixture.h"

namespace splitlet::pod_worker {
namespace {

void AddRule(kube::Container& container, const char* action, int code) {
  container.set_restart_policy("Never");
  auto& rule = *container.add_restart_policy_rules();
  rule.set_action(action);
  rule.mutable_exit_codes()->set_operator_("In");
  rule.mutable_exit_codes()->add_values(code);
}

/// Containers a (42 restarts all) and b, init container init (43 restarts all).
kube::Pod Crew() {
  auto pod = TestPod{.policy = "Never", .containers = {"a", "b"}, .inits = {"init"}}.Make();
  AddRule(*pod.mutable_spec()->mutable_containers(0), "RestartAllContainers", 42);
  AddRule(*pod.mutable_spec()->mutable_init_containers(0), "RestartAllContainers", 43);
  return pod;
}

/// "stop b-0; remove b-0; last a-0"
std::string Say(const std::optional<RestartAll>& all) {
  if (!all) return "nothing";
  std::string text = "stop";
  for (const auto& stop : all->stop) text += " " + stop.id;
  text += "; remove";
  for (const auto& id : all->remove) text += " " + id;
  text += "; last";
  for (const auto& id : all->remove_last) text += " " + id;
  return text;
}

constexpr auto kExited = Record::EXITED;

const struct {
  const char* name;
  std::vector<TestRecord> records;
  const char* want;
} kRestartCases[] = {
    {"all run", {{.name = "b"}, {.name = "a"}}, "nothing"},
    {"another code", {{.name = "b"}, {.name = "a", .state = kExited, .exit_code = 1}}, "nothing"},
    {"the code of another container's rule",
     {{.name = "b", .state = kExited, .exit_code = 42}, {.name = "a"}},
     "nothing"},
    {"it takes all along, itself last",
     {{.name = "b"},
      {.name = "a", .state = kExited, .exit_code = 42},
      {.name = "init", .state = kExited}},
     "stop b-0; remove b-0 init-0; last a-0"},
    {"regular containers before init containers",
     {{.name = "a", .state = kExited, .exit_code = 42},
      {.name = "init", .state = kExited, .exit_code = 43}},
     "stop; remove; last a-0 init-0"},
    {"an init container takes along what was before it",
     {{.name = "init", .state = kExited, .exit_code = 43, .restarts = 1},
      {.name = "init", .state = kExited, .exit_code = 1}},
     "stop; remove init-0; last init-1"},
    {"older records go too, and one of them is enough",
     {{.name = "a", .restarts = 1}, {.name = "a", .state = kExited, .exit_code = 42}},
     "stop a-1; remove a-1; last a-0"},
    {"what is unknown is stopped, what never ran is not",
     {{.name = "b", .state = Record::UNKNOWN},
      {.name = "init", .state = Record::CREATED},
      {.name = "a", .state = kExited, .exit_code = 42}},
     "stop b-0; remove b-0 init-0; last a-0"},
};

TEST(ComputeRestartAll, WhatIsStoppedAndRemovedInWhichOrder) {
  for (const auto& c : kRestartCases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(Say(ComputeRestartAll(Crew(), Observed(c.records), {})), c.want);
  }
}

TEST(ComputeRestartAll, AnEphemeralContainerRunsOn) {
  const auto seen = Observed(
      {{.name = "debug"}, {.name = "b"}, {.name = "a", .state = kExited, .exit_code = 42}});
  EXPECT_EQ(Say(ComputeRestartAll(Crew(), seen, {})), "stop b-0; remove b-0; last a-0");
}

TEST(ComputeRestartAll, TheFirstRuleThatMatchesDecides) {
  auto pod = TestPod{.policy = "Never"}.Make();
  auto& app = *pod.mutable_spec()->mutable_containers(0);
  AddRule(app, "Restart", 42);
  AddRule(app, "RestartAllContainers", 42);
  const auto seen = Observed({{.state = kExited, .exit_code = 42}});
  EXPECT_EQ(Say(ComputeRestartAll(pod, seen, {})), "nothing");
}

TEST(ComputeRestartAll, RulesNeedAPolicyOfTheContainersOwn) {
  auto pod = Crew();
  pod.mutable_spec()->mutable_containers(0)->clear_restart_policy();
  const auto seen = Observed({{.name = "a", .state = kExited, .exit_code = 42}});
  EXPECT_EQ(Say(ComputeRestartAll(pod, seen, {})), "nothing");
}

TEST(ComputeRestartAll, WhatWasStoppedAndIsUnknownStillIsRemoved) {
  const auto seen = Observed(
      {{.name = "b", .state = Record::UNKNOWN}, {.name = "a", .state = kExited, .exit_code = 42}});
  EXPECT_EQ(Say(ComputeRestartAll(Crew(), seen, {"b-0"})), "stop; remove b-0; last a-0");
}

TEST(ComputeRestartAll, WhatIsLostSaysNothingAndCannotBeRemoved) {
  auto seen = Observed({{.name = "b", .state = kExited, .exit_code = 137, .id = "lost"},
                        {.name = "a", .state = kExited, .exit_code = 42}});
  seen.mutable_containers(0)->clear_id();
  EXPECT_EQ(Say(ComputeRestartAll(Crew(), seen, {})), "stop; remove; last a-0");
}

}  // namespace
}  // namespace splitlet::pod_worker
