#pragma once

/// `room`: running pods fit into the node's CPUs, and no two of them use the same host port. Made
/// by AllRules.
/// Threads: one.
/// Errors:  none.

#include "chaos/rules/rule.h"

namespace splitlet::chaos {

/// Decides by the runtime's list.
class RoomRule final : public Rule {
 public:
  using Rule::Rule;
  void OnInspected(const Snapshot& snapshot) override;
};

}  // namespace splitlet::chaos
