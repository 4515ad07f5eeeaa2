#pragma once

/// `unwanted`: at rest no container runs without a manifest or API object. Made by AllRules.
/// Threads: one.
/// Errors:  none.

#include "chaos/rules/rule.h"

namespace splitlet::chaos {

/// Decides by the runtime's list.
class UnwantedRule final : public Rule {
 public:
  using Rule::Rule;
  void AfterAll(const Snapshot& snapshot, std::vector<Violation>& found) const override;
};

}  // namespace splitlet::chaos
