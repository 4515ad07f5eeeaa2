#pragma once

/// The part of a sync that makes the sandbox of a pod, or finds out how it was made.
/// In:      SyncPass, when containers are to be started.
/// Owns:    for one sync, the runtime handler, the isolation and the cgroup of the pod.
/// Out:     the cgroup of the pod, RunPodSandbox, and events for what does not work.
/// Killed:  the next sync finds the sandbox by its attempt number.
/// Threads: that of the sync.
/// Errors:  each has its event.
/// Source:  docs/behaviour/pod-sync.md, "Steps".

#include <cstdint>
#include <set>
#include <string>

#include "libs/base/status.h"
#include "libs/cri/cri.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/objects/runtime_choice.h"
#include "services/pod-worker/pod/events.h"
#include "services/pod-worker/runtime_config/isolation.h"
#include "services/pod-worker/sync/sync_outcome.h"

namespace runtime::v1 {
class PodSandboxConfig;
}

namespace splitlet::pod_worker {

class SandboxMaker {
 public:
  struct Context {
    const SyncDeps& deps;
    const SyncInput& input;
    const kube::Pod& pod;
    PodEvents& events;
  };
  SandboxMaker(Context context, SyncOutcome& out)
      : deps_(context.deps),
        input_(context.input),
        pod_(context.pod),
        events_(context.events),
        out_(out) {}

  /// Of the pod's persistent volumes, before Configure.
  void SetVolumeGroups(std::set<int64_t> groups) { isolation_.volume_groups = std::move(groups); }
  /// The configuration that the sandbox was made with, or is to be made with. `make`: it is to be
  /// made: then its cgroup is there afterwards, and what is wrong with its DNS is reported.
  StatusOr<runtime::v1::PodSandboxConfig> Configure(uint32_t attempt, bool make);
  /// With its addresses, if it has some.
  StatusOr<cri::Sandbox> Create(const runtime::v1::PodSandboxConfig& config, uint32_t attempt);
  const Isolation& isolation() const { return isolation_; }

 private:
  Deadline Soon(int times = 1) const { return After(deps_.clock, deps_.request_timeout * times); }
  bool Ending() const { return input_.ending->cancelled(); }
  Status FindCgroup(bool make);
  Status ChooseHandler(bool make);
  StatusOr<runtime::v1::PodSandboxConfig> MakeConfig(uint32_t attempt, bool make);
  StatusOr<cri::SandboxId> Run(const runtime::v1::PodSandboxConfig& config, uint32_t attempt);
  Status Fail(const Status& why);

  const SyncDeps& deps_;
  const SyncInput& input_;
  const kube::Pod& pod_;
  PodEvents& events_;
  SyncOutcome& out_;
  RuntimeChoice runtime_;
  Isolation isolation_;
  std::string cgroup_parent_;
};

}  // namespace splitlet::pod_worker
