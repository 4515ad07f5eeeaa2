#pragma once

/// Values that every part of the start of containers reads: the pod, its sandbox, and the work of
/// the sync before.
/// Threads: that of the sync.
/// Errors:  none.
/// Source:  docs/behaviour/pod-sync.md, "Steps".

#include <map>
#include <string>
#include <vector>

#include "libs/kube/pod_types.h"
#include "services/pod-worker/pod/events.h"
#include "services/pod-worker/records/started_attempts.h"
#include "services/pod-worker/runtime_config/isolation.h"
#include "services/pod-worker/sync/sync_outcome.h"

namespace runtime::v1 {
class PodSandboxConfig;
}

namespace splitlet::pod_worker {

struct StartContext {
  const SyncDeps& deps;
  const SyncInput& input;
  const kube::Pod& pod;
  PodEvents& events;
  const runtime::v1::PodSandboxConfig& sandbox_config;
  const std::map<std::string, std::string>& volumes;  // volume -> host path
  const std::string& pod_dir;
  std::string sandbox_id;
  std::vector<std::string> ips;  // of the sandbox
  Isolation isolation;

  bool Ending() const { return input.ending->cancelled(); }
  Deadline Soon() const { return After(deps.clock, deps.request_timeout); }
  /// For a call that is not begun any more once the pod ends.
  Deadline SoonUnlessEnding() const { return {Soon().at, input.ending}; }
  PodIncarnation ThisPod() const { return {pod.metadata().uid(), input.incarnation}; }
};

}  // namespace splitlet::pod_worker
