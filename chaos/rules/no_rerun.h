#pragma once

/// `no-rerun`: a pod that may run once does not start twice in one incarnation. Made by AllRules.
/// Threads: one.
/// Errors:  none.

#include "chaos/rules/rule.h"

namespace splitlet::chaos {

/// Decides by the lines that the containers themselves wrote.
class NoRerunRule final : public Rule {
 public:
  using Rule::Rule;
  void OnInspected(const Snapshot& snapshot) override;
};

}  // namespace splitlet::chaos
