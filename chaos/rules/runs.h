#pragma once

/// `runs`: at rest each pod that must run has one ready sandbox and each of its containers once.
/// Made by AllRules.
/// Threads: one.
/// Errors:  none.

#include "chaos/rules/rule.h"

namespace splitlet::chaos {

/// Decides by the runtime's list.
class RunsRule final : public Rule {
 public:
  using Rule::Rule;
  void AtRest(const Snapshot& snapshot, std::vector<Violation>& found) const override;

 private:
  void CheckPod(const WantedPod& pod, const Snapshot& snapshot,
                std::vector<Violation>& found) const;
};

}  // namespace splitlet::chaos
