#pragma once

/// The cgroups of pods: made and limited before a pod gets its sandbox, torn down when nothing of
/// the pod is left. Only marked cgroups are ever torn down; the cgroup of a kubelet's pod gets its
/// mark when the pod is taken over.
/// In:      pods, from the sync, the termination and CgroupKeeper.
/// Owns:    the marks: the file "<run>/pod-worker/cgroups/<uid>" holds the path of the cgroup, and
///          is on disk before the cgroup is made.
/// Killed:  the next sync of a pod without sandbox makes and limits its cgroup again; CgroupKeeper
///          finds a mark without a pod.
/// Threads: any, one call for a pod at a time; calls block on files.
/// Errors:  each names the file. FAILED_PRECONDITION: a mark does not name a cgroup of its pod.
/// Source:  docs/behaviour/cgroups.md; docs/safety.md, rule 10.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/log.h"
#include "libs/base/status.h"
#include "libs/cgroup/tree.h"
#include "libs/fs/file_system.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/cgroups/pod_limits.h"
#include "services/pod-worker/metrics/metrics.h"
#include "services/pod-worker/pod/node_info.h"

namespace splitlet::pod_worker {

/// A cgroup of the system or of Kubernetes daemons, with its reservation. pod-worker only limits
/// it.
struct ReservedCgroup {
  std::string of;  // "System", "Kube"
  cgroup::Name name = {};
  cgroup::Limits limits = {};
};

struct CgroupSettings {
  bool enabled = false;  // false: the runtime places new pods; cgroups made before are kept
  std::optional<cgroup::Layout> layout = {};          // unset: this process sees no whole hierarchy
  cgroup::Driver driver = cgroup::Driver::kCgroupfs;  // of new cgroups; a mark names its own
  cgroup::Name root = {};
  cgroup::Limits node_limits = {};  // of all pods together
  bool enforced = false;            // node_limits hold, and events of the node report it
  std::vector<ReservedCgroup> reserved = {};
  int64_t pod_pids = -1;  // below 1: no limit
};

class PodCgroups {
 public:
  struct Deps {
    cgroup::Kernel* kernel;  // null: this node has no cgroups to manage
    fs::FileSystem& files;
    const NodeInfo& node;
    const Clock& clock;
    Metrics& metrics;
    const Log& log;
    std::string marks_dir;
    cgroup::Slices* slices = nullptr;  // null: no systemd
  };
  PodCgroups(Deps deps, CgroupSettings settings);

  bool enabled() const { return settings_.enabled; }
  /// At start: makes the cgroups above those of pods, and limits the reserved ones.
  Status Prepare() const;
  const CgroupSettings& settings() const { return settings_; }
  /// Limits all pods together.
  Status LimitAll() const;
  /// CPU shares and protected memory of the QoS classes. Tries all, and returns the first error.
  Status SetShares(const ClassRequests& requests) const;
  /// Before the pod's sandbox is made. Returns its cgroup_parent; empty: the runtime places the
  /// sandbox. A cgroup that cannot be limited is logged and used.
  StatusOr<std::string> Ensure(const kube::Pod& pod) const;
  /// Marks the cgroup of a running pod that a kubelet has left: the pod's next containers go into
  /// it, and it is torn down with the pod.
  Status Adopt(const kube::Pod& pod) const;
  /// The cgroup_parent for containers in the pod's existing sandbox.
  StatusOr<std::string> ParentOf(const std::string& uid) const;
  /// The pod's cgroup is marked and no longer exists.
  StatusOr<bool> IsGone(const std::string& uid) const;
  /// The least CPU shares, for a cgroup that has to stay although its containers have stopped.
  Status LowerShares(const std::string& uid) const;
  /// Idempotent. FAILED_PRECONDITION while processes still end.
  Status Destroy(const std::string& uid) const;
  /// UIDs of all pods with a mark.
  StatusOr<std::vector<std::string>> ListMarked() const;

 private:
  StatusOr<std::optional<cgroup::Name>> ReadMark(const std::string& uid) const;
  std::string MarkOf(const std::string& uid) const { return deps_.marks_dir + "/" + uid; }
  cgroup::Name InTree(const cgroup::Name& name) const {
    return cgroup::InTree(settings_.driver, name);
  }
  /// Runs and times a call of the tree.
  template <class Call>
  Status Measured(const char* operation, const Call& call) const {
    const auto begin = deps_.clock.Now();
    const Status done = call();
    deps_.metrics.ObserveCgroup(operation, deps_.clock.Now() - begin);
    return done;
  }
  StatusOr<cgroup::Name> NameOf(const kube::Pod& pod) const;
  Status Mark(const std::string& uid, const cgroup::Name& name) const;
  Status EnforceReserved() const;
  Status KeepMemory(const ClassRequests& requests) const;
  Status Limit(const kube::Pod& pod, const cgroup::Name& name) const;

  const Deps deps_;
  const CgroupSettings settings_;
  std::optional<cgroup::Tree> tree_;
};

}  // namespace splitlet::pod_worker
