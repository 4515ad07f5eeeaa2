#pragma once

/// `unwanted`: at rest nothing runs that no manifest wants. Made by AllRules.
/// Threads: one.
/// Errors:  none.

#include "chaos/rules/rule.h"

namespace splitlet::chaos {

/// Judges by what the runtime runs.
class UnwantedRule final : public Rule {
 public:
  using Rule::Rule;
  void AfterAll(const Snapshot& snapshot, std::vector<Violation>& found) const override;
};

}  // namespace splitlet::chaos
