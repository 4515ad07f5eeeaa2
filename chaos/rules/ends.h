#pragma once

/// `ends`: at rest each pod that must end has ended as the scenario expects, and it did run. Made
/// by AllRules.
/// Threads: one.
/// Errors:  none.

#include "chaos/rules/rule.h"

namespace splitlet::chaos {

/// Failed is right, too, for a pod whose container was ended before its process ran, or by a fault.
class EndsRule final : public Rule {
 public:
  using Rule::Rule;
  void AtRest(const Snapshot& snapshot, std::vector<Violation>& found) const override;

 private:
  void CheckPhase(const WantedPod& pod, const ReportedPod& reported,
                  std::vector<Violation>& found) const;
  /// A pod that was put when nothing was left of an earlier incarnation has run since.
  void CheckStarted(const WantedPod& pod, const ReportedPod& reported, const Snapshot& snapshot,
                    std::vector<Violation>& found) const;
};

}  // namespace splitlet::chaos
