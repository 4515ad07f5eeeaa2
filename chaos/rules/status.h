#pragma once

/// `status`: at rest the node's own status of each wanted pod agrees with the runtime, and no other
/// pod has one. Made by AllRules.
/// Threads: one.
/// Errors:  none.

#include "chaos/rules/rule.h"

namespace splitlet::chaos {

/// The rule `ends` checks the phase of pods that must end.
class StatusRule final : public Rule {
 public:
  using Rule::Rule;
  void AtRest(const Snapshot& snapshot, std::vector<Violation>& found) const override;
  void AfterAll(const Snapshot& snapshot, std::vector<Violation>& found) const override;

 private:
  void CheckPod(const WantedPod& pod, const Snapshot& snapshot,
                std::vector<Violation>& found) const;
};

}  // namespace splitlet::chaos
