#pragma once

/// Computes the conditions of a pod from its phase and its container statuses. Pure.
/// Threads: any.
/// Errors: none.
/// Source: docs/behaviour/status.md, "Conditions".

#include <string>
#include <string_view>

#include "libs/base/clock.h"
#include "services/status/pods/containers.h"

namespace splitlet::status {

inline constexpr std::string_view kAllRestarting = "AllContainersRestarting";

struct ConditionInputs {
  const kube::Pod& pod;
  const ContainerStatuses& containers;
  const v1::ObservedPod* observed = nullptr;
  bool sandbox_as_shown = false;  // the pod ends, and its worker has not inspected it yet
  // For transition times. Without it, as after a restart of status, the records give the times; a
  // time that they do not give is now.
  const kube::PodStatus* previous = nullptr;
  bool restarting = false;      // all containers restart
  bool resize_refused = false;  // the pod keeps other resources than are wanted
  bool sandbox_condition = true;
  std::string disrupted;  // message of DisruptionTarget; empty: no such condition
  WallTime now;
};
/// Appends conditions to `status`, whose phase is set: first those of other clients in the API
/// object, then ours.
void AddConditions(const ConditionInputs& in, kube::PodStatus& status);

}  // namespace splitlet::status
