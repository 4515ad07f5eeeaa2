#pragma once

/// Nothing of a pod runs twice. Made by AllRules.
/// Threads: one.
/// Errors:  none.

#include "chaos/rules/rule.h"

namespace splitlet::chaos {

/// `one-container`: never two running containers of a name in a pod.
class OneContainerRule final : public Rule {
 public:
  using Rule::Rule;
  void OnInspected(const Snapshot& snapshot) override;
};

/// `one-sandbox`: never two ready sandboxes of a pod.
class OneSandboxRule final : public Rule {
 public:
  using Rule::Rule;
  void OnInspected(const Snapshot& snapshot) override;
};

/// `one-pod`: never containers of two UIDs under one full name. A pod deleted by force is exempt:
/// the next pod need not wait for its end.
class OnePodRule final : public Rule {
 public:
  using Rule::Rule;
  void OnInspected(const Snapshot& snapshot) override;
};

}  // namespace splitlet::chaos
