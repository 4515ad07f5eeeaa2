#pragma once

/// `resurrected`: a pod that the API server no longer has does not run. Forced deletion removes the
/// object first; once all containers of that pod have ended, none of them starts again. Made by
/// AllRules.
/// Owns:    which pods left the API server.
/// Threads: one.
/// Errors:  none.

#include <set>
#include <string>

#include "chaos/rules/rule.h"

namespace splitlet::chaos {

/// The runtime is listed before the server. So the rule checks containers of a pod that has just
/// left the server only at the next inspection.
class ResurrectedRule final : public Rule {
 public:
  using Rule::Rule;
  void OnInspected(const Snapshot& snapshot) override;

 private:
  void CheckRuntime(const Snapshot& snapshot);
  void RecordServer(const Snapshot& snapshot);

  // UIDs of pods at the API server, without mirror pods.
  std::set<std::string> served_, left_server_;
  // State of a pod deleted by force: containers still run, or none runs any more.
  std::set<std::string> forced_running_, forced_over_;
};

}  // namespace splitlet::chaos
