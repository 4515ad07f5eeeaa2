#pragma once

/// Which preStop hooks begin before containers get their stop signal.
/// Threads: pure functions, any.
/// Errors:  none; a hook that cannot be run has its error in its call.
/// Source:  docs/behaviour/hooks.md; docs/safety.md, rule 19.

#include <map>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/hooks/hook_call.h"
#include "services/pod-worker/pod/container_stop.h"

namespace splitlet::pod_worker {

struct PreStop {
  ContainerStop container;
  HookCall call;
  bool begun_before = false;  // a sleep that goes on
};
struct PreStopQuestion {
  const kube::Pod* pod = nullptr;  // null: its hooks are not known
  const std::vector<ContainerStop>& stops;
  const std::map<std::string, Clock::Time>& begun;  // by id of the container, from the disk too
  std::string pod_ip;
  Clock::Time now;
};
/// A hook that has begun before is left out, except for the rest of a sleep.
std::vector<PreStop> PreStopHooks(const PreStopQuestion& question);

}  // namespace splitlet::pod_worker
