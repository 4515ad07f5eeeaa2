#pragma once

/// Decides which containers, sandboxes, directories and links are removed.
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
  std::string uid;   // UID of the pod; empty: it belongs to no pod
  std::string reason;
  bool ask = false;     // config-source must confirm first that it does not know the pod
  std::string source;   // the pod's source, which has to be complete
  std::string tree;     // pod directory only: the path that its mark names
  std::string blocked;  // pod directory only: leftovers of volumes that have to go first; the
                        // directory stays in `kept` and is counted until they have
};

struct RemovalPlan {
  std::vector<Removal> containers;  // of each name the oldest first
  std::vector<Removal> sandboxes;
  std::vector<Removal> log_dirs;  // names
  std::vector<Removal> pod_dirs;  // UIDs
  std::vector<Removal> links;     // paths
  std::vector<std::string> kept;  // what stays, and why; one line each
  size_t unmanaged_pods = 0;      // in the runtime
  size_t blocked_pod_dirs = 0;    // directories of gone pods, with those that may still go
  std::map<std::string, std::string>
      stuck;  // the part of Inventory::stuck_before that is unchanged
  /// Containers in unknown state whose pod has no record.
  std::set<std::string> unknown;
};

/// A pod as runtime and disk show it.
struct PodTraces {
  bool ours = false;
  std::string source;  // from its mark or the annotation of a sandbox; empty: not known
};
/// Decides from the records of a pod's owners.
using ScopeOf = std::function<Scope(const std::string& uid, const PodTraces& traces)>;

/// The line in `kept` for a pod directory that stays.
std::string OrphanText(const std::string& uid, const std::string& why);

RemovalPlan ComputeRemovals(const Inventory& inventory, const ScopeOf& scope_of,
                            const GcConfig& config, WallTime now);

}  // namespace splitlet::gc
