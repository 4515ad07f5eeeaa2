#pragma once

/// `grace`: from TERM to the end a container takes no more than the grace period, and from the
/// removal of its pod no less. Made by AllRules.
/// Threads: one.
/// Errors:  none.

#include "chaos/rules/rule.h"

namespace splitlet::chaos {

/// The time in which a fault hit what stops containers is excused.
class GraceRule final : public Rule {
 public:
  using Rule::Rule;
  void OnInspected(const Snapshot& snapshot) override;

 private:
  void CheckStop(const EndedStop& ended, const Snapshot& snapshot) const;
};

}  // namespace splitlet::chaos
