#include "services/status/node/conditions.h"

#include <algorithm>

#include "libs/base/status.h"

namespace splitlet::status {
namespace {

v1::NodeCondition Make(std::string_view type, std::string_view status, std::string reason,
                       std::string message) {
  v1::NodeCondition condition;
  condition.set_type(std::string(type));
  condition.set_status(std::string(status));
  condition.set_reason(std::move(reason));
  condition.set_message(std::move(message));
  return condition;
}

struct PressureText {
  std::string_view type;
  const char *true_reason, *true_message, *false_reason, *false_message;
};
constexpr PressureText kPressures[] = {
    {"MemoryPressure", "KubeletHasInsufficientMemory", "kubelet has insufficient memory available",
     "KubeletHasSufficientMemory", "kubelet has sufficient memory available"},
    {"DiskPressure", "KubeletHasDiskPressure", "kubelet has disk pressure",
     "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
    {"PIDPressure", "KubeletHasInsufficientPID", "kubelet has insufficient PID available",
     "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
};

v1::NodeCondition Pressure(const PressureText& text, const v1::PressureRecord* pressure) {
  if (pressure == nullptr)
    return Make(text.type, "Unknown", "NodeStatusUnknown", "gc has not reported yet");
  const auto& all = pressure->conditions();
  const bool met = std::find(all.begin(), all.end(), text.type) != all.end();
  return met ? Make(text.type, "True", text.true_reason, text.true_message)
             : Make(text.type, "False", text.false_reason, text.false_message);
}

void AddRuntime(const peers::RuntimeState& runtime, std::vector<std::string>& problems) {
  if (!runtime.known) {
    problems.emplace_back("container runtime status check may not have completed yet");
    return;
  }
  if (runtime.down) problems.emplace_back("container runtime is down");
  for (const std::string type : {"RuntimeReady", "NetworkReady"}) {
    const auto it = std::find_if(runtime.conditions.begin(), runtime.conditions.end(),
                                 [&](const auto& condition) { return condition.type == type; });
    const bool missing = it == runtime.conditions.end();
    if (!missing && it->status) continue;
    problems.push_back(fmt::format("container runtime {}not ready: {}=false reason:{} message:{}",
                                   type == "NetworkReady" ? "network " : "", type,
                                   missing ? "" : it->reason, missing ? "" : it->message));
  }
}

std::string Joined(const std::vector<std::string>& problems) {
  if (problems.size() == 1) return problems.front();
  std::string text = "[";
  for (size_t i = 0; i < problems.size(); ++i) text += (i > 0 ? ", " : "") + problems[i];
  return text + "]";
}

v1::NodeCondition Ready(const NodeConditionInputs& in) {
  std::vector<std::string> problems;
  const auto missing = in.ledger.Unanswered();
  AddRuntime(in.runtime, problems);
  for (const auto& one : missing) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(one.limit).count();
    // pleg's own errors say what is wrong, in the kubelet's words.
    std::vector<std::string> errors = {
        fmt::format("{} has not answered for {}s: {}", one.process, seconds, one.reason)};
    if (one.process == "pleg" && !in.runtime.pleg_errors.empty()) errors = in.runtime.pleg_errors;
    for (auto& problem : errors)
      if (std::ranges::find(problems, problem) == problems.end())
        problems.push_back(std::move(problem));
  }
  if (!in.storage_problem.empty()) problems.push_back(in.storage_problem);
  if (in.pressure != nullptr && in.pressure->shutting_down())
    problems.emplace_back("node is shutting down");
  if (!in.missing_capacity.empty()) {
    std::string text = "missing node capacity for resources: ";
    for (size_t i = 0; i < in.missing_capacity.size(); ++i)
      text += (i > 0 ? ", " : "") + in.missing_capacity[i];
    problems.push_back(std::move(text));
  }
  if (problems.empty())
    return Make("Ready", "True", "KubeletReady", "kubelet is posting ready status");
  return Make("Ready", "False", "KubeletNotReady", Joined(problems));
}

}  // namespace

AnswerLedger::AnswerLedger(const std::map<std::string, Duration>& limits, Duration max_gap)
    : max_gap_(max_gap) {
  for (const auto& [process, limit] : limits) entries_[process].limit = limit;
}

void AnswerLedger::OnGood(const std::string& process, Clock::Time now) {
  Entry& entry = entries_[process];
  entry.asked = Duration{0};
  entry.last = now;
  entry.reason.clear();
}

void AnswerLedger::OnBad(const std::string& process, Clock::Time now, std::string reason) {
  Entry& entry = entries_[process];
  if (entry.last && now - entry.last <= max_gap_) entry.asked += now - entry.last;
  entry.last = now;
  entry.reason = std::move(reason);
}

std::vector<AnswerLedger::Missing> AnswerLedger::Unanswered() const {
  std::vector<Missing> missing;
  for (const auto& [process, entry] : entries_)
    if (entry.asked >= entry.limit)
      missing.push_back({.process = process, .reason = entry.reason, .limit = entry.limit});
  return missing;
}

Duration AnswerLedger::AskedWithoutAnswer(const std::string& process) const {
  const auto it = entries_.find(process);
  return it == entries_.end() ? Duration{0} : it->second.asked;
}

std::vector<v1::NodeCondition> ComputeNodeConditions(const NodeConditionInputs& in) {
  std::vector<v1::NodeCondition> conditions;
  for (const auto& text : kPressures) conditions.push_back(Pressure(text, in.pressure));
  conditions.push_back(Ready(in));
  for (auto& condition : conditions) {
    condition.set_since_wall_ns(ToNanos(in.now));
    for (const auto& before : in.before)
      if (before.type() == condition.type() && before.status() == condition.status())
        condition.set_since_wall_ns(before.since_wall_ns());
  }
  return conditions;
}

bool IsRuntimeReady(const peers::RuntimeState& runtime) {
  std::vector<std::string> problems;
  AddRuntime(runtime, problems);
  return problems.empty();
}

std::vector<v1::NodeCondition> ConditionsToRecord(
    const std::map<std::string, std::string>& recorded,
    const std::vector<v1::NodeCondition>& conditions) {
  std::vector<v1::NodeCondition> changed;
  for (const auto& condition : conditions) {
    if (condition.status() == "Unknown") continue;
    const auto last = recorded.find(condition.type());
    const bool records =
        last == recorded.end() ? condition.type() != "Ready" : last->second != condition.status();
    if (records) changed.push_back(condition);
  }
  return changed;
}

std::string ConditionEvent(const v1::NodeCondition& condition) {
  const bool met = condition.status() == "True";
  if (condition.type() == "Ready") return met ? "NodeReady" : "NodeNotReady";
  if (condition.type() == "MemoryPressure")
    return met ? "NodeHasInsufficientMemory" : "NodeHasSufficientMemory";
  if (condition.type() == "DiskPressure")
    return met ? "NodeHasDiskPressure" : "NodeHasNoDiskPressure";
  if (condition.type() == "PIDPressure")
    return met ? "NodeHasInsufficientPID" : "NodeHasSufficientPID";
  return {};
}

}  // namespace splitlet::status
