#include "services/status/pods/pod_conditions.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "libs/cri/observe.h"
#include "libs/kube/restart_policy.h"
#include "services/status/pods/phase.h"
#include "services/status/pods/resize.h"

namespace splitlet::status {
namespace {

constexpr std::array<std::string_view, 9> kOwnConditions = {
    "PodScheduled",        "Ready",
    "Initialized",         "ContainersReady",
    "PodResizeInProgress", "PodResizePending",
    "DisruptionTarget",    "PodReadyToStartContainers",
    kAllRestarting};

std::string Names(std::string_view what, const std::vector<std::string>& names) {
  std::string text(what);
  text += " status: [";
  for (size_t i = 0; i < names.size(); ++i) text += (i > 0 ? " " : "") + names[i];
  return text + "]";
}

struct ConditionValue {
  std::string status = "True";
  std::string reason, message;
  int64_t since = 0;  // seconds, from the records; 0: they do not show it
};

ConditionValue JudgeInitialized(const ConditionInputs& in, const kube::PodStatus& pod) {
  ConditionValue value;
  value.since = pod.start_time().seconds();
  std::vector<std::string> incomplete;
  for (const auto& container : in.pod.spec().init_containers()) {
    const auto* status = FindByName(in.containers.init, container.name());
    const bool sidecar = kube::IsSidecar(container);
    const bool done = status != nullptr && (sidecar ? status->started() : status->ready());
    if (!done) incomplete.push_back(container.name());
    if (done && !sidecar)
      value.since = std::max(value.since, status->state().terminated().finished_at().seconds());
  }
  if (pod.phase() == kSucceeded) {
    value.reason = "PodCompleted";
    return value;
  }
  for (const auto& status : in.containers.regular)
    if (status.state().has_running() || status.state().has_terminated()) return value;
  if (incomplete.empty()) return value;
  return {.status = "False",
          .reason = "ContainersNotInitialized",
          .message = Names("containers with incomplete", incomplete),
          .since = pod.start_time().seconds()};
}

/// Containers that must be ready for the pod to be ready: sidecars and regular containers. nullptr:
/// no status.
std::vector<std::pair<std::string, const kube::ContainerStatus*>> Deciding(
    const ConditionInputs& in) {
  std::vector<std::pair<std::string, const kube::ContainerStatus*>> deciding;
  for (const auto& container : in.pod.spec().init_containers())
    if (kube::IsSidecar(container))
      deciding.emplace_back(container.name(), FindByName(in.containers.init, container.name()));
  for (const auto& container : in.pod.spec().containers())
    deciding.emplace_back(container.name(), FindByName(in.containers.regular, container.name()));
  return deciding;
}

/// Seconds since which a container is not ready; 0: unknown, as for a running one.
int64_t UnreadySince(const kube::ContainerStatus* status, int64_t start) {
  if (status == nullptr) return start;
  if (const auto* end = EndOf(*status)) return end->finished_at().seconds();
  return status->state().has_running() ? 0 : start;
}

ConditionValue JudgeContainersReady(const ConditionInputs& in, const kube::PodStatus& pod) {
  const int64_t start = pod.start_time().seconds();
  std::vector<std::string> unready;
  int64_t ready_since = start;
  int64_t unready_since = std::numeric_limits<int64_t>::max();
  for (const auto& [name, status] : Deciding(in)) {
    if (status != nullptr && status->ready()) {
      ready_since = std::max(ready_since, status->state().running().started_at().seconds());
    } else {
      unready.push_back(name);
      unready_since = std::min(unready_since, UnreadySince(status, start));
    }
  }
  if (unready.empty()) unready_since = 0;
  if (pod.phase() == kSucceeded)
    return {.status = "False", .reason = "PodCompleted", .since = unready_since};
  if (pod.phase() == kFailed)
    return {.status = "False", .reason = "PodFailed", .since = unready_since};
  if (unready.empty()) return {.since = ready_since};
  return {.status = "False",
          .reason = "ContainersNotReady",
          .message = Names("containers with unready", unready),
          .since = unready_since};
}

/// ContainersReady, and the readiness gates: conditions that other clients set in the API object.
ConditionValue JudgeReady(const ConditionInputs& in, const ConditionValue& containers_ready) {
  if (containers_ready.status != "True") return containers_ready;
  std::string message;
  for (const auto& gate : in.pod.spec().readiness_gates()) {
    const auto& all = in.pod.status().conditions();
    const auto it = std::find_if(all.begin(), all.end(),
                                 [&](const auto& c) { return c.type() == gate.condition_type(); });
    if (it != all.end() && it->status() == "True") continue;
    if (!message.empty()) message += ", ";
    message += it == all.end() ? "corresponding condition of pod readiness gate \"" +
                                     gate.condition_type() + "\" does not exist."
                               : "the status of pod readiness gate \"" + gate.condition_type() +
                                     "\" is not \"True\", but " + it->status();
  }
  // With readiness gates the time is not known: the condition changes now.
  if (message.empty())
    return in.pod.spec().readiness_gates().empty() ? containers_ready : ConditionValue();
  return {"False", "ReadinessGatesNotReady", message};
}

/// Status of the condition in the last status; "False" without one.
std::string LastStatusOf(const ConditionInputs& in, std::string_view type) {
  if (in.previous == nullptr) return "False";
  for (const auto& before : in.previous->conditions())
    if (before.type() == type) return before.status();
  return "False";
}

ConditionValue JudgeAllRestarting(const ConditionInputs& in, const kube::PodStatus& status) {
  if (status.phase() == kSucceeded) return {"False", "PodCompleted", ""};
  if (status.phase() == kFailed) return {"False", "PodFailed", ""};
  if (!in.restarting) return {.status = "False"};
  return {"True", "RestartAllContainersStarted", "container exited with restart policy rule"};
}

void Add(const ConditionInputs& in, std::string_view type, const ConditionValue& value,
         kube::PodStatus& status) {
  auto* condition = status.add_conditions();
  condition->set_type(std::string(type));
  condition->set_status(value.status);
  if (!value.reason.empty()) condition->set_reason(value.reason);
  if (!value.message.empty()) condition->set_message(value.message);
  if (in.pod.metadata().generation() > 0)
    condition->set_observed_generation(in.pod.metadata().generation());
  SetTime(condition->mutable_last_transition_time(), ToNanos(in.now));
  if (in.previous == nullptr) {
    const bool is_past =
        value.since > 0 && value.since < condition->last_transition_time().seconds();
    if (is_past) condition->mutable_last_transition_time()->set_seconds(value.since);
    return;
  }
  for (const auto& before : in.previous->conditions())
    if (before.type() == type && before.status() == value.status)
      *condition->mutable_last_transition_time() = before.last_transition_time();
}

}  // namespace

void AddConditions(const ConditionInputs& in, kube::PodStatus& status) {
  for (const auto& other : in.pod.status().conditions())
    if (std::find(kOwnConditions.begin(), kOwnConditions.end(), other.type()) ==
        kOwnConditions.end())
      *status.add_conditions() = other;
  if (!in.disrupted.empty())
    Add(in, "DisruptionTarget", {"True", "TerminationByKubelet", in.disrupted}, status);
  if (in.resize_refused)
    Add(in, "PodResizePending", {"True", std::string(kResizeReason), std::string(kResizeMessage)},
        status);
  ConditionValue sandbox{.status = "False"};
  if (in.sandbox_as_shown) {
    sandbox.status = LastStatusOf(in, "PodReadyToStartContainers");
  } else if (in.observed != nullptr &&
             cri::CheckSandbox(in.pod, *in.observed) == cri::SandboxCheck::kUsable)
    sandbox = {.since = in.observed->sandboxes(0).created_at_ns() / 1'000'000'000};
  if (in.sandbox_condition) Add(in, "PodReadyToStartContainers", sandbox, status);
  Add(in, "Initialized", JudgeInitialized(in, status), status);
  const ConditionValue containers = JudgeContainersReady(in, status);
  Add(in, "Ready", JudgeReady(in, containers), status);
  Add(in, "ContainersReady", containers, status);
  Add(in, "PodScheduled", {.since = status.start_time().seconds()}, status);
  if (kube::MayRestartAll(in.pod)) {
    Add(in, kAllRestarting, JudgeAllRestarting(in, status), status);
    status.mutable_conditions()->rbegin()->clear_observed_generation();
  }
}

}  // namespace splitlet::status
