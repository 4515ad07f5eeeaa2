#pragma once

/// `grace`: from TERM to its end a container takes at most the grace period; from the removal of
/// its pod at least the grace period. Made by AllRules.
/// Threads: one.
/// Errors:  none.

#include "chaos/rules/rule.h"

namespace splitlet::chaos {

/// Excuses the time in which a fault delayed the processes that stop containers.
class GraceRule final : public Rule {
 public:
  using Rule::Rule;
  void OnInspected(const Snapshot& snapshot) override;

 private:
  void CheckStop(const EndedStop& ended, const Snapshot& snapshot) const;
};

}  // namespace splitlet::chaos
