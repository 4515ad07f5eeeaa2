#pragma once

/// A rule: a property of a node that must hold under every fault. Each rule is a class of its own;
/// Checker feeds them all, in the order of AllRules.
/// Threads: one.
/// Errors:  none; a broken rule is a violation.

#include <string>
#include <vector>

#include "chaos/node/node.h"
#include "chaos/rules/disturbances.h"
#include "chaos/rules/findings.h"
#include "chaos/rules/stops.h"
#include "chaos/rules/unrun_containers.h"
#include "chaos/rules/violation.h"
#include "chaos/rules/wanted_pods.h"

namespace splitlet::chaos {

/// Data that the rules share, and where they report. All members outlive the rules.
struct RuleContext {
  const Scenario& scenario;
  Node& node;
  const WantedPods& pods;
  const Disturbances& disturbances;
  const UnrunContainers& unrun;
  const Stops& stops;
  Findings& findings;
};

class Rule {
 public:
  explicit Rule(const RuleContext& context) : context_(context) {}
  virtual ~Rule() = default;
  Rule(const Rule&) = delete;
  Rule& operator=(const Rule&) = delete;

  /// Called for every inspection; the snapshot marks sources that did not answer.
  virtual void OnInspected(const Snapshot&) {}
  /// The first pods run as they should, and no fault has begun.
  virtual void OnSettled(const Snapshot&) {}
  /// All faults have ended: reports what is still wrong. Runtime and status answered.
  virtual void AtRest(const Snapshot&, std::vector<Violation>& /*found*/) const {}
  /// Reports leftovers of unwanted pods; called after AtRest, when the last pod is gone.
  virtual void AfterAll(const Snapshot&, std::vector<Violation>& /*found*/) const {}

 protected:
  const RuleContext& context() const { return context_; }

 private:
  const RuleContext context_;
};

}  // namespace splitlet::chaos
