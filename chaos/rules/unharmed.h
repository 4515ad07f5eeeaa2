#pragma once

/// `unharmed`: a pod that the scenario calls unharmed keeps its containers and its readiness. Made
/// by AllRules.
/// Owns:    the containers of those pods after the start.
/// Threads: one.
/// Errors:  none.

#include <map>
#include <string>

#include "chaos/rules/rule.h"

namespace splitlet::chaos {

/// Applies from OnSettled until the pod is changed.
class UnharmedRule final : public Rule {
 public:
  using Rule::Rule;
  void OnSettled(const Snapshot& snapshot) override;
  void OnInspected(const Snapshot& snapshot) override;

 private:
  struct Settled {
    int version = 0;                                // version of the pod; a new version starts the
                                                    // check again
    std::map<std::string, std::string> containers;  // container name -> id
  };
  void CheckPod(const WantedPod& pod, const Settled& settled, const Snapshot& snapshot) const;

  std::map<std::string, Settled> settled_;  // settled pods by short name
};

}  // namespace splitlet::chaos
