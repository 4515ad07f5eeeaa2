#pragma once

/// Stops sandboxes, each once: the runtime runs the network plugins for every stop, also of a
/// sandbox that is stopped.
/// Killed: forgotten; what is stopped already is stopped once more.
/// Threads: any; Stop blocks.
/// Errors:  the runtime's.
/// Source:  docs/behaviour/garbage-collection.md, "Containers and sandboxes".

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "libs/cri/cri.h"

namespace splitlet::v1 {
class SandboxRecord;
}

namespace splitlet::pod_worker {

class SandboxStops {
 public:
  explicit SandboxStops(cri::Runner& runner) : runner_(runner) {}

  /// `sandbox`: as it was seen. One that is seen ready is stopped whatever was done before.
  Status Stop(const v1::SandboxRecord& sandbox, const Deadline& deadline);
  /// It was stopped here, its network with it.
  bool IsStopped(const std::string& id) const;
  /// The others are forgotten. `all`: what the runtime lists.
  void KeepOnly(const std::vector<cri::Sandbox>& all);

 private:
  cri::Runner& runner_;
  mutable std::mutex mutex_;
  std::set<std::string> stopped_;  // ids; guarded by mutex_
};

}  // namespace splitlet::pod_worker
