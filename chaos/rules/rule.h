#pragma once

/// A rule: what must hold of a node, whatever breaks. Each rule is a class of its own; Checker
/// feeds them all, in the order of AllRules.
/// Threads: one.
/// Errors:  none; what breaks a rule is a violation.

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

/// The data that the rules judge by, and where they report. All members outlive the rules.
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

  /// Every inspection; what did not answer is marked in the snapshot.
  virtual void OnInspected(const Snapshot&) {}
  /// The pods of the start are as they should be; no fault yet.
  virtual void OnSettled(const Snapshot&) {}
  /// Nothing is broken any more: adds what is not as it should be. Runtime and status answered.
  virtual void AtRest(const Snapshot&, std::vector<Violation>& /*found*/) const {}
  /// Adds what is left of pods that are not wanted; after AtRest, and after the last pod went.
  virtual void AfterAll(const Snapshot&, std::vector<Violation>& /*found*/) const {}

 protected:
  const RuleContext& context() const { return context_; }

 private:
  const RuleContext context_;
};

}  // namespace splitlet::chaos
