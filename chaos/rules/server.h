#pragma once

/// `server`: at rest the API server calls the node Ready and has each wanted pod once, as the node
/// reports it, and no pod that was removed. Made by AllRules.
/// Threads: one.
/// Errors:  none.

#include "chaos/rules/rule.h"

namespace splitlet::chaos {

/// Applies only to scenarios with an API server.
class ServerRule final : public Rule {
 public:
  using Rule::Rule;
  void AtRest(const Snapshot& snapshot, std::vector<Violation>& found) const override;
  void AfterAll(const Snapshot& snapshot, std::vector<Violation>& found) const override;

 private:
  void CheckPod(const WantedPod& pod, const Snapshot& snapshot,
                std::vector<Violation>& found) const;
};

}  // namespace splitlet::chaos
