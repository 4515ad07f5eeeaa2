#pragma once

/// `restarts`: at rest the reported restart count agrees with the runtime and with the starts that
/// the container itself wrote down. Made by AllRules.
/// Threads: one.
/// Errors:  none.

#include "chaos/rules/rule.h"

namespace splitlet::chaos {

/// Checks pods that are reported Running.
class RestartsRule final : public Rule {
 public:
  using Rule::Rule;
  void AtRest(const Snapshot& snapshot, std::vector<Violation>& found) const override;

 private:
  void CheckPod(const WantedPod& pod, const ReportedPod& reported, const Snapshot& snapshot,
                std::vector<Violation>& found) const;
};

}  // namespace splitlet::chaos
