#pragma once

/// `unharmed`: a pod that the scenario calls unharmed keeps its containers and stays ready. Made by
/// AllRules.
/// Owns:    the containers of those pods after the start.
/// Threads: one.
/// Errors:  none.

#include <map>
#include <string>

#include "chaos/rules/rule.h"

namespace splitlet::chaos {

/// Counts from OnSettled, until the pod is changed.
class UnharmedRule final : public Rule {
 public:
  using Rule::Rule;
  void OnSettled(const Snapshot& snapshot) override;
  void OnInspected(const Snapshot& snapshot) override;

 private:
  struct Settled {
    int version = 0;                                // of the pod; another one starts again
    std::map<std::string, std::string> containers;  // name -> id
  };
  void CheckPod(const WantedPod& pod, const Settled& settled, const Snapshot& snapshot) const;

  std::map<std::string, Settled> settled_;  // by short name
};

}  // namespace splitlet::chaos
