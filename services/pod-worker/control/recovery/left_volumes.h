#pragma once

/// Tears down volumes that outlived their pod: they were left when its termination was over, or it
/// had none here, and nothing of the pod uses them.
/// In:      TakeDownVolumes from gc, for a pod that a hold of it names; ends of programs that mount
///          and unmount.
/// Owns:    for which pods such a program is waited for.
/// Out:     an inspection of the pod in the runtime; its volumes are torn down.
/// Killed:  gc finds what is left and asks again.
/// Threads: the loop's; inspection and volumes on the pod's strand, behind what waits there.
/// Errors:  FAILED_PRECONDITION: no hold names the pod, it is not over, no mark shows that it is of
///          this node, or something of it may use its volumes; UNAVAILABLE: its strand is busy; the
///          runtime's, and those of the volumes.
/// Source:  docs/behaviour/termination.md, "Orphans"; docs/safety.md, rules 10 and 25.

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "libs/base/status.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "services/pod-worker/pod/pod_advancer.h"
#include "services/pod-worker/termination/pod_runtime.h"
#include "services/pod-worker/volumes/volume_manager.h"

namespace splitlet::pod_worker {

class LeftVolumes {
 public:
  using Done = std::function<void(StatusOr<Progress>)>;
  struct Deps {
    exec::Env env;
    const PodRuntime& runtime;
    VolumeManager& volumes;
    const PodAdvancer& pods;
    /// Nothing of the pod is needed any more.
    std::function<bool(const std::string& uid)> is_over;
  };
  explicit LeftVolumes(Deps deps) : deps_(std::move(deps)) {}

  /// `done` on any thread.
  void TearDown(const std::string& uid, const Done& done);
  void OnProgramEnded(const std::string& uid);

 private:
  void Begin(const std::string& uid, const Done& done);
  StatusOr<Progress> TearDownNow(const std::string& uid) const;

  const Deps deps_;
  std::set<std::string> under_way_;
};

}  // namespace splitlet::pod_worker
