#pragma once

/// Feeds the rules with steps of the round and snapshots of the node. Called by Engine.
/// Owns:    the rules and their inputs: wanted pods, faults, containers that must stop.
/// Threads: one.
/// Errors:  none; a broken rule is a violation, announced once for each subject.
/// Source:  docs/reliability.md, "What must hold".

#include <memory>
#include <string>
#include <vector>

#include "chaos/node/node.h"
#include "chaos/rules/disturbances.h"
#include "chaos/rules/findings.h"
#include "chaos/rules/rule.h"
#include "chaos/rules/stops.h"
#include "chaos/rules/unrun_containers.h"
#include "chaos/rules/violation.h"
#include "chaos/rules/wanted_pods.h"

namespace splitlet::chaos {

class Checker {
 public:
  Checker(const Scenario& scenario, Node& node);
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;

  void OnPut(const PodToRun& pod, const Snapshot& last);
  void OnRemoved(const std::string& name, WallTime at, const Snapshot& last);
  void OnBegin(const Action& action, WallTime at) { disturbances_.Begin(action, at); }
  void OnEnd(const Action& action, WallTime at) { disturbances_.End(action, at); }
  /// Call after every inspection of the node.
  void OnInspected(const Snapshot& snapshot);
  /// The first pods run as they should, so the rule `unharmed` applies from now on.
  void OnSettled(const Snapshot& snapshot);

  /// Violations after the last fault ended; empty: none.
  std::vector<Violation> AtRest(const Snapshot& snapshot) const;
  /// Violations after every pod was removed; empty: none.
  std::vector<Violation> AfterAll(const Snapshot& snapshot) const;
  /// Violations that inspections found since the last call.
  std::vector<Violation> Take() { return findings_.Take(); }
  /// Containers that still run although their pod was removed or changed.
  std::vector<Violation> StillRunning() const;

 private:
  Node& node_;
  WantedPods pods_;
  Disturbances disturbances_;
  UnrunContainers unrun_;
  Stops stops_;
  Findings findings_;
  std::vector<std::unique_ptr<Rule>> rules_;
};

}  // namespace splitlet::chaos
