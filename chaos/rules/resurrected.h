#pragma once

/// `resurrected`: nothing runs of a pod that the API server no longer has. The object of a pod that
/// was deleted by force goes first; once all its containers have ended, nothing of it begins again.
/// Made by AllRules.
/// Owns:    which pods left the API server.
/// Threads: one.
/// Errors:  none.

#include <set>
#include <string>

#include "chaos/rules/rule.h"

namespace splitlet::chaos {

/// The runtime is listed before the server. So containers of a pod that has just left the server
/// are judged only at the next inspection.
class ResurrectedRule final : public Rule {
 public:
  using Rule::Rule;
  void OnInspected(const Snapshot& snapshot) override;

 private:
  void CheckRuntime(const Snapshot& snapshot);
  void RecordServer(const Snapshot& snapshot);

  // All by UID at the API server; mirror pods are left out.
  std::set<std::string> served_, left_server_;
  // Pods deleted by force: something still runs; nothing runs any more.
  std::set<std::string> forced_running_, forced_over_;
};

}  // namespace splitlet::chaos
