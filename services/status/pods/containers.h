#pragma once

/// Computes the API statuses of containers from the records of the runtime, the record of the
/// worker and the last status. Pure: no I/O, no clock.
/// Threads: any.
/// Errors: none; a missing record means unknown, not stopped.
/// Units: times in the API are whole seconds.
/// Source: docs/behaviour/status.md, "Containers"; docs/safety.md, rules 20 to 22.

#include <map>
#include <string>
#include <vector>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/pod_types.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::status {

namespace core = k8s::io::api::core::v1;

/// Inputs for the statuses of all containers of a pod.
struct ContainerInputs {
  const kube::Pod& pod;
  const v1::ObservedPod* observed = nullptr;  // nullptr: unknown
  const v1::WorkerRecord* worker = nullptr;   // of this incarnation
  const kube::PodStatus* previous = nullptr;  // of this incarnation
  const kube::PodStatus* mirror = nullptr;    // what the mirror pod of a static pod shows
  bool covers = false;       // a container that `observed` lacks is gone, not merely unseen
  bool workers_live = true;  // false: the flags ready and started may fall, but not rise
  bool deleted = false;      // the pod is deleted: no container starts again
  bool restarting = false;   // all containers restart: a missing one was removed for that
  const v1::NodeFeatures* features = nullptr;  // of the runtime
};

struct ContainerStatuses {
  std::vector<kube::ContainerStatus> init;                // in the order of the spec
  std::vector<kube::ContainerStatus> regular, ephemeral;  // by name
};

ContainerStatuses ComputeContainers(const ContainerInputs& in);

/// For a pod whose worker is done: each container without a known end becomes Terminated, never
/// with success.
void CloseContainers(const kube::Pod& pod, ContainerStatuses& statuses);

/// A container has exited by a rule that restarts all containers of the pod. The record of that
/// container is removed last.
bool AllRestart(const kube::Pod& pod, const v1::ObservedPod* observed);

/// At least one regular container has a record in the newest ready sandbox.
bool IsInitialized(const kube::Pod& pod, const v1::ObservedPod* observed);

/// The termination that a status shows as its state or last state; nullptr: none.
const core::ContainerStateTerminated* EndOf(const kube::ContainerStatus& status);

/// nullptr: no status in `list` has this name.
template <class List>
const kube::ContainerStatus* FindByName(const List& list, const std::string& name) {
  for (const auto& status : list)
    if (status.name() == name) return &status;
  return nullptr;
}

/// Nanoseconds to whole seconds, into an API time.
template <class ApiTime>
void SetTime(ApiTime* time, int64_t nanoseconds) {
  time->set_seconds(nanoseconds / 1'000'000'000);
  time->set_nanos(0);
}

}  // namespace splitlet::status
