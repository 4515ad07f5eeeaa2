#pragma once

/// Which containers, sandboxes, directories and links go.
/// Threads: pure.
/// Errors: none.
/// Source: docs/safety.md, rules 10 and 25; docs/behaviour/garbage-collection.md, "Containers and
/// sandboxes" and "Directories and logs".

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "services/gc/collect/containers/inventory.h"
#include "services/gc/collect/containers/removal_scope.h"
#include "services/gc/config.h"

namespace splitlet::gc {

struct Removal {
  std::string name;  // id, or path
  std::string uid;   // of the pod; empty: of none
  std::string reason;
  bool ask = false;     // config-source has to say first that it does not know the pod
  std::string source;   // of the pod, where a sandbox names it: the one that has to be complete
  std::string tree;     // of a pod directory: what its mark names
  std::string blocked;  // of a pod directory: what its volumes left there, which has to go first;
                        // it is in `kept` and counted until it has
};

struct RemovalPlan {
  std::vector<Removal> containers;  // of one name: oldest first
  std::vector<Removal> sandboxes;
  std::vector<Removal> log_dirs;  // names
  std::vector<Removal> pod_dirs;  // UIDs
  std::vector<Removal> links;     // paths
  std::vector<std::string> kept;  // what was left and why, one line each
  size_t unmanaged_pods = 0;      // in the runtime
  size_t blocked_pod_dirs = 0;    // of pods that are gone, with those that may go after all
  std::map<std::string, std::string> stuck;  // of Inventory::stuck_before what is as it was
  /// Containers in unknown state of pods that no record speaks of.
  std::set<std::string> unknown;
};

/// A pod as runtime and disk show it.
struct PodTraces {
  bool ours = false;
  std::string source;  // from its mark or the annotation of a sandbox; empty: not known
};
/// What a pod's owners say.
using ScopeOf = std::function<Scope(const std::string& uid, const PodTraces& traces)>;

/// A line for a pod's directory that stays.
std::string OrphanText(const std::string& uid, const std::string& why);

RemovalPlan ComputeRemovals(const Inventory& inventory, const ScopeOf& scope_of,
                            const GcConfig& config, WallTime now);

}  // namespace splitlet::gc
