#pragma once

/// Sandboxes that the runtime has stopped for a pod that ended, their network with them: gc need
/// not have the network plugins run once more before it removes one.
/// In:      stops, from PodTerminator; listings, from RemovalHolds.
/// Owns:    the ids.
/// Out:     nothing.
/// Killed:  forgotten; gc stops once more what it removes.
/// Threads: the loop's.
/// Errors:  none.
/// Source:  docs/behaviour/garbage-collection.md, "Containers and sandboxes".

#include <set>
#include <string>
#include <vector>

#include "libs/cri/cri.h"

namespace splitlet::pod_worker {

class StoppedSandboxes {
 public:
  /// A stop begins: earlier knowledge does not count for what it leaves behind.
  void OnBegun(const std::vector<std::string>& ids);
  /// It has succeeded.
  void OnStopped(const std::vector<std::string>& ids);
  bool Contains(const std::string& id) const { return ids_.contains(id); }
  /// Forgets each sandbox that `all`, the runtime's list, lacks or shows as ready.
  void KeepOnly(const std::vector<cri::Sandbox>& all);

 private:
  std::set<std::string> ids_;
};

}  // namespace splitlet::pod_worker
