#pragma once

/// Container statuses of the API from what the runtime shows, what the worker notes, and the last
/// status. Pure: no I/O, no clock.
/// Threads: any.
/// Errors: none; what is missing is unknown, not stopped.
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

/// What the statuses of all containers of a pod rest on.
struct ContainerInputs {
  const kube::Pod& pod;
  const v1::ObservedPod* observed = nullptr;  // nullptr: nothing is known
  const v1::WorkerRecord* worker = nullptr;   // of this incarnation
  const kube::PodStatus* previous = nullptr;  // of this incarnation
  const kube::PodStatus* mirror = nullptr;    // of a static pod, for flags that `previous` lacks
  bool covers = false;       // what `observed` does not hold is gone, not merely unseen
  bool workers_live = true;  // else flags are kept or lowered, never raised
  bool deleted = false;      // asked to go: nothing is started again
  bool restarting = false;   // all containers: what is gone was removed to begin anew
  const v1::NodeFeatures* features = nullptr;  // of the runtime
};

struct ContainerStatuses {
  std::vector<kube::ContainerStatus> init;                // in the order of the spec
  std::vector<kube::ContainerStatus> regular, ephemeral;  // by name
};

ContainerStatuses ComputeContainers(const ContainerInputs& in);

/// Everything that has not ended when the worker was done becomes Terminated, with no claim of
/// success.
void CloseContainers(const kube::Pod& pod, ContainerStatuses& statuses);

/// An end that is seen says that all containers of the pod begin anew: that record goes last.
bool AllRestart(const kube::Pod& pod, const v1::ObservedPod* observed);

/// Some regular container has a record in the newest ready sandbox.
bool IsInitialized(const kube::Pod& pod, const v1::ObservedPod* observed);

/// Nanoseconds to whole seconds, into an API time.
template <class ApiTime>
void SetTime(ApiTime* time, int64_t nanoseconds) {
  time->set_seconds(nanoseconds / 1'000'000'000);
  time->set_nanos(0);
}

}  // namespace splitlet::status
