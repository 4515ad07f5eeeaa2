#pragma once

/// `room`: the pods that run fit into the node's processors, and no two of them have one host port.
/// Made by AllRules.
/// Threads: one.
/// Errors:  none.

#include "chaos/rules/rule.h"

namespace splitlet::chaos {

/// Judges by what the runtime runs.
class RoomRule final : public Rule {
 public:
  using Rule::Rule;
  void OnInspected(const Snapshot& snapshot) override;
};

}  // namespace splitlet::chaos
