#pragma once

/// What one sync of a pod has to do, computed from what should be and what the runtime showed.
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
#include "services/pod-worker/probes/probe.h"

namespace splitlet::v1 {
class ContainerRecord;
class ObservedPod;
}  // namespace splitlet::v1

namespace splitlet::pod_worker {

/// No pod waits for longer, whatever it says: some 30 years still fit into what counts nanoseconds,
/// here and in a runtime.
inline constexpr int64_t kMaxGrace = 1'000'000'000;

struct ContainerStop {
  std::string id, name;
  std::string message;    // of the event `Killing`
  bool replaced = false;  // another attempt follows whatever the restart policy
  /// Its own, where a probe names one. Unset: the pod's.
  std::optional<int64_t> grace_seconds = std::nullopt;
  bool announced = false;  // the event has been told
  bool aside = false;      // nobody waits for its end but the pod
  bool operator==(const ContainerStop&) const = default;
};

struct ContainerStart {
  std::string name;
  bool init = false;
  bool sidecar = false;
  bool ephemeral = false;
  /// A created container of the same hash in the right sandbox: from just before a crash; it is
  /// started as it is.
  std::string created_id;
  /// Created or unknown records of the name that must be gone before a new attempt.
  std::vector<std::string> remove;
  /// Of the present incarnation. Unset: there is no record of it.
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
  /// A sidecar is among the starts, and others wait for nothing but that it runs: nobody reports
  /// that, so the pod is looked at again at once.
  bool sidecar_first = false;
  std::vector<std::string> remove;  // init records nobody needs
  /// Init containers that begin anew in the next sandbox: nothing of what they did counts.
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

/// Gives what is made the numbers after all that `seen` holds of any incarnation, and adds to what
/// has to be removed first what earlier incarnations never started.
void NumberAttempts(const v1::ObservedPod& seen, int64_t incarnation, const cri::Begun& begun,
                    PodActions& todo);

/// Whether a container that has begun is remembered: one that is not always started again.
bool IsRemembered(const kube::Pod& pod, const kube::Container& container);

/// The newest record of a container name; nullptr without one.
const v1::ContainerRecord* NewestRecord(const v1::ObservedPod& seen, const std::string& name);

/// The first address of the newest sandbox; empty without one.
std::string PodIpOf(const v1::ObservedPod& seen);

/// Would this container be started again after what its newest record says? nullptr: no record.
bool ShouldRestart(const kube::Pod& pod, const kube::Container& container,
                   const v1::ContainerRecord* newest);

/// Ended badly: exit code not 0, killed for memory, or unknown.
bool HasFailed(const v1::ContainerRecord& record);

/// "Succeeded" or "Failed" when nothing of the pod will ever run again by itself; else empty.
std::string TerminalPhase(const kube::Pod& pod, const v1::ObservedPod& seen,
                          const std::set<std::string>& replacing = {});

/// The phase with which a pod that was ended is left. Static pods are not forced into a terminal
/// one: may be empty.
std::string PhaseAfterKill(const kube::Pod& pod, const v1::ObservedPod& seen);

bool AnyRunning(const v1::ObservedPod& seen);

}  // namespace splitlet::pod_worker
