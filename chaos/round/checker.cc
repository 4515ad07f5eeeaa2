#include "chaos/round/checker.h"

#include <fmt/format.h>

#include <utility>

#include "chaos/rules/all_rules.h"

namespace splitlet::chaos {

Checker::Checker(const Scenario& scenario, Node& node)
    : node_(node),
      stops_(node, disturbances_),
      rules_(AllRules({.scenario = scenario,
                       .node = node,
                       .pods = pods_,
                       .disturbances = disturbances_,
                       .unrun = unrun_,
                       .stops = stops_,
                       .findings = findings_})) {}

void Checker::OnPut(const PodToRun& pod, const Snapshot& last) {
  stops_.OnPut(pods_.Find(pod.name), pod, last);
  pods_.Put(pod, node_.FullName(pod.name), last);
}

void Checker::OnRemoved(const std::string& name, WallTime at, const Snapshot& last) {
  const WantedPod* pod = pods_.Find(name);
  if (pod == nullptr) return;
  stops_.OnRemoved(*pod, at, last);
  pods_.Remove(name);
}

void Checker::OnInspected(const Snapshot& snapshot) {
  if (snapshot.runtime_answered) {
    unrun_.OnInspected(snapshot);
    stops_.OnInspected(snapshot);
  }
  for (const auto& rule : rules_) rule->OnInspected(snapshot);
  stops_.ForgetEnded();
}

void Checker::OnSettled(const Snapshot& snapshot) {
  for (const auto& rule : rules_) rule->OnSettled(snapshot);
}

std::vector<Violation> Checker::AtRest(const Snapshot& snapshot) const {
  std::vector<Violation> found;
  if (!snapshot.runtime_answered)
    found.push_back(MakeViolation("runs", "runtime", "does not answer"));
  if (!snapshot.status_answered)
    found.push_back(MakeViolation("status", "status", "does not answer"));
  if (!found.empty()) return found;
  for (const auto& rule : rules_) rule->AtRest(snapshot, found);
  for (auto& leftover : AfterAll(snapshot)) found.push_back(std::move(leftover));
  return found;
}

std::vector<Violation> Checker::AfterAll(const Snapshot& snapshot) const {
  std::vector<Violation> found;
  for (const auto& rule : rules_) rule->AfterAll(snapshot, found);
  return found;
}

std::vector<Violation> Checker::StillRunning() const {
  std::vector<Violation> found;
  for (const auto& [id, stop] : stops_.all())
    if (!stop.may_live)
      found.push_back(
          MakeViolation("unwanted", stop.pod,
                        fmt::format("container {} still runs after its pod was removed or changed",
                                    id.substr(0, 12))));
  return found;
}

}  // namespace splitlet::chaos
