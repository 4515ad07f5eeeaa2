#pragma once

/// Containers that the runtime ended before their process ran: they count as attempts but wrote no
/// line. Filled by Checker, read by the rules.
/// Threads: one.
/// Errors:  none.

#include <map>
#include <set>
#include <string>
#include <utility>

#include "chaos/node/node.h"

namespace splitlet::chaos {

class UnrunContainers {
 public:
  /// Call when the runtime answered.
  void OnInspected(const Snapshot& snapshot);
  /// Attempts of this container of the pod that never ran.
  int Count(const std::string& uid, const std::string& container) const;
  /// A container in this status never ran.
  bool IsIn(const ReportedPod& reported) const;

 private:
  std::map<std::pair<std::string, std::string>, std::set<std::string>> ids_;  // UID and name
};

}  // namespace splitlet::chaos
