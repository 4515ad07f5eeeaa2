#pragma once

/// `terminal`: a pod with a terminal status runs nothing and stays terminal, at the API server too.
/// Made by AllRules.
/// Owns:    which pods have ended.
/// Threads: one.
/// Errors:  none.

#include <map>
#include <string>

#include "chaos/rules/rule.h"

namespace splitlet::chaos {

/// A pod with a fixed UID may have another incarnation after its removal.
class TerminalRule final : public Rule {
 public:
  using Rule::Rule;
  void OnInspected(const Snapshot& snapshot) override;

 private:
  struct Terminal {
    std::string pod, phase;  // pod: its short name
  };
  void CheckStatus(const Snapshot& snapshot);
  void CheckRuntime(const Snapshot& snapshot) const;
  void CheckServer(const Snapshot& snapshot);

  std::map<std::string, Terminal> terminal_;   // by UID
  std::map<std::string, std::string> served_;  // UID at the API server -> phase
};

}  // namespace splitlet::chaos
