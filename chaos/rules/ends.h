#pragma once

/// `ends`: at rest each pod that must end has run, and has ended as the scenario expects. Made by
/// AllRules.
/// Threads: one.
/// Errors:  none.

#include "chaos/rules/rule.h"

namespace splitlet::chaos {

/// Failed is also correct for a pod whose container ended before its process ran, or through a
/// fault.
class EndsRule final : public Rule {
 public:
  using Rule::Rule;
  void AtRest(const Snapshot& snapshot, std::vector<Violation>& found) const override;

 private:
  void CheckPhase(const WantedPod& pod, const ReportedPod& reported,
                  std::vector<Violation>& found) const;
  /// A pod created when nothing of an earlier incarnation was left has run since.
  void CheckStarted(const WantedPod& pod, const ReportedPod& reported, const Snapshot& snapshot,
                    std::vector<Violation>& found) const;
};

}  // namespace splitlet::chaos
