#pragma once

/// Computes what one sync of a pod has to do, from the wanted pod and the observed pod.
/// Threads: pure functions, any.
/// Errors:  none; a pod that cannot be brought up shows in the doing.
/// Source:  docs/behaviour/pod-sync.md; docs/safety.md, rule 17.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libs/cri/incarnation.h"
#include "libs/kube/pod_types.h"
#include "services/pod-worker/pod/container_stop.h"
#include "services/pod-worker/probes/probe.h"

namespace splitlet::v1 {
class ContainerRecord;
class ObservedPod;
}  // namespace splitlet::v1

namespace splitlet::pod_worker {

enum class ContainerKind {
  kRegular,
  kInit,
  kSidecar,  // an init container with restartPolicy Always
  kEphemeral,
};

struct ContainerStart {
  std::string name;
  ContainerKind kind = ContainerKind::kRegular;
  /// A created container of the same hash in the right sandbox: from just before a crash; it is
  /// started as it is.
  std::string created_id;
  /// Created or unknown records of the name that must be gone before a new attempt.
  std::vector<std::string> remove;
  /// In the present incarnation. Unset: there is no record of it.
  std::optional<uint32_t> restart_count;
  /// Over all incarnations. Unset: there is no record at all; the log directory knows.
  std::optional<uint32_t> attempt;
  /// The newest exited record, for the crash-loop back-off; empty id without one.
  std::string exited_id;
  int64_t exited_at_ns = 0;
};

struct PodActions {
  std::optional<uint32_t> create_sandbox_attempt;  // set: make a sandbox with this attempt number
  bool sandbox_changed = false;                    // worth the event SandboxChanged
  bool kill_pod = false;                           // stop all containers and sandboxes first
  std::string sandbox_id;  // the one to start containers in, when none is made
  std::vector<ContainerStop> stop;
  std::vector<ContainerStart> start_ephemeral, start_init, start;  // in spec order
  /// A sidecar is among the starts, and others wait for nothing but that it runs: no event reports
  /// that, so the pod is synced again immediately.
  bool sidecar_first = false;
  std::vector<std::string> remove;  // init records that are not needed
  /// Init containers that run again in the next sandbox: nothing that they did counts.
  std::vector<std::string> forget;
};

/// `replacing`: ids of containers that were stopped to be replaced; their names start again
/// whatever the policy. `probes`: a container whose liveness or startup probe has failed is
/// stopped.
PodActions ComputePodActions(const kube::Pod& pod, const v1::ObservedPod& seen,
                             const std::set<std::string>& replacing = {},
                             const ProbeResultsById& probes = {});

/// The pod is stopped and nothing is made any more. Where its containers do not show it, because
/// one of them never ran, as when a `Never` pod loses its sandbox too early, it has failed.
bool EndsForGood(const PodActions& todo);

}  // namespace splitlet::pod_worker
