#pragma once

/// The cgroups of pods: made and limited before a pod gets its sandbox, taken down when nothing of
/// the pod is left. Only what is marked is ever taken down: one of a kubelet's pod gets its mark
/// when the pod is taken over.
/// In:      pods as PodSync, TerminationRunner and CgroupKeeper have them.
/// Owns:    the marks, "<run>/pod-worker/cgroups/<uid>": the path, on disk before the cgroup.
/// Killed:  a pod without sandbox gets its cgroup made and limited again; a mark without a pod is
///          found by CgroupKeeper.
/// Threads: any, one call for a pod at a time; calls block on files.
/// Errors:  each names the file; a mark that names no cgroup of its pod is FAILED_PRECONDITION.
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
#include "services/pod-worker/runtime_config/node_info.h"

namespace splitlet::pod_worker {

/// The cgroup of what is reserved for others; it is theirs, and only limited here.
struct ReservedCgroup {
  std::string of;          // "System", "Kube"
  cgroup::Name name = {};  // in the tree
  cgroup::Limits limits = {};
};

struct CgroupSettings {
  bool enabled = false;  // not: pods of before keep theirs, new ones are placed by the runtime
  std::optional<cgroup::Layout> layout = {};  // nothing: this process sees no whole hierarchy
  cgroup::Driver driver = cgroup::Driver::kCgroupfs;  // of new ones; a mark says that of its own
  cgroup::Name root = {};
  cgroup::Limits node_limits = {};  // of all pods together
  bool enforced = false;            // they keep what is reserved, and the node is told so
  std::vector<ReservedCgroup> reserved = {};
  int64_t pod_pids = -1;  // below 1: no limit
};

class PodCgroups {
 public:
  struct Deps {
    cgroup::Kernel* kernel;  // null: none
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
  /// The cgroups above those of pods, and the limits of what is reserved. At start; refused where
  /// they cannot be made.
  Status Prepare() const;
  const CgroupSettings& settings() const { return settings_; }
  /// What all pods may use together.
  Status LimitAll() const;
  /// Of the classes, and the memory that is kept for them; all is tried, the first error told.
  Status SetShares(const ClassRequests& requests) const;
  /// For the pod's sandbox, which is about to be made: its cgroup_parent; empty: the runtime places
  /// it. One that could not be limited is logged.
  StatusOr<std::string> Ensure(const kube::Pod& pod) const;
  /// Of a pod that runs: one that bears its name and no mark, as a kubelet leaves it, is ours from
  /// now on, so that the pod's next containers are in it and it ends with the pod.
  Status Adopt(const kube::Pod& pod) const;
  /// For containers in the sandbox that the pod has.
  StatusOr<std::string> ParentOf(const std::string& uid) const;
  /// It was made here, and is there no more.
  StatusOr<bool> IsGone(const std::string& uid) const;
  /// Nothing of it runs any more, and it has to stay: it competes with no pod for CPU.
  Status LowerShares(const std::string& uid) const;
  /// Idempotent. FAILED_PRECONDITION while processes still end.
  Status Destroy(const std::string& uid) const;
  /// UIDs of all pods that have one of ours.
  StatusOr<std::vector<std::string>> ListMarked() const;

 private:
  StatusOr<std::optional<cgroup::Name>> ReadMark(const std::string& uid) const;
  std::string MarkOf(const std::string& uid) const { return deps_.marks_dir + "/" + uid; }
  cgroup::Name InTree(const cgroup::Name& name) const {
    return cgroup::InTree(settings_.driver, name);
  }
  /// Does one of the tree's calls, and measures it.
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
