#pragma once

/// The steps of a round, drawn from scenario and seed, in order of time. The same seed gives the
/// same steps on every machine. Made by Engine.
/// Threads: values.
/// Errors: none.
/// Units: durations from the start of the round.

#include <cstdint>
#include <string>
#include <vector>

#include "chaos/scenario/scenario.h"

namespace splitlet::chaos {

/// An effect on the node: a fault with one target.
struct Action {
  FaultKind kind = FaultKind::kKill;
  std::string target;  // a process, a folder, a pod (web-3), "node"
  struct Point {
    std::string name, term;
  };
  std::vector<Point> points;  // the points that express the fault
  uint64_t bytes = 0;
  Duration lasting{0};  // duration; 0: the fault ends immediately
};
/// For people: "pause pleg for 5s".
std::string Describe(const Action& action);
/// Key of faults that count as one while they overlap: the effect ends with the last of them.
std::string KeyOf(const Action& action);

struct Step {
  enum class Kind { kCreate, kDelete, kUpdate, kBegin, kEnd };
  Duration at{0};
  Kind kind = Kind::kBegin;
  // The pod of a create, update or delete step: template and number.
  size_t pod_template = 0;
  int number = 0;
  // The fault of a kBegin or kEnd step.
  Action action;
};

struct Plan {
  std::vector<Step> steps;
};
Plan MakePlan(const Scenario& scenario, uint64_t seed);

/// The plan as text, a line for each step.
std::string PlanText(const Scenario& scenario, const Plan& plan);

/// The pod's name: "web-3".
std::string PodName(const PodTemplate& pod, int number);

/// Fail points beside calls of the runtime.
const std::vector<std::string>& RuntimeCalls();

}  // namespace splitlet::chaos
