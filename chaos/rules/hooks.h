#pragma once

/// `hooks`: no hook begins twice in a container, and hooks do begin. Made by AllRules.
/// Threads: one.
/// Errors:  none.

#include "chaos/rules/rule.h"

namespace splitlet::chaos {

/// Decides by the lines that the hooks themselves wrote.
class HooksRule final : public Rule {
 public:
  using Rule::Rule;
  void OnInspected(const Snapshot& snapshot) override;
  void AtRest(const Snapshot& snapshot, std::vector<Violation>& found) const override;
};

}  // namespace splitlet::chaos
