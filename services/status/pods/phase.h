#pragma once

/// The phase of a pod and its conditions from its container statuses. Pure.
/// Threads: any.
/// Errors: none.
/// Source: docs/behaviour/status.md, "Phase" and "Conditions".

#include <string>

#include "libs/base/clock.h"
#include "services/status/pods/containers.h"

namespace splitlet::status {

inline constexpr std::string_view kPending = "Pending";
inline constexpr std::string_view kRunning = "Running";
inline constexpr std::string_view kSucceeded = "Succeeded";
inline constexpr std::string_view kFailed = "Failed";

inline bool IsTerminal(std::string_view phase) { return phase == kSucceeded || phase == kFailed; }

struct PhaseInputs {
  const kube::Pod& pod;
  const ContainerStatuses& containers;
  bool initialized = false;  // a regular container exists in the active sandbox
  bool terminal = false;     // all containers were stopped for good
};
std::string_view ComputePhase(const PhaseInputs& in);

struct ConditionInputs {
  const kube::Pod& pod;
  const ContainerStatuses& containers;
  const v1::ObservedPod* observed = nullptr;
  bool sandbox_as_shown = false;  // the pod ends, and its worker has not looked at it yet
  // For transition times. Without it, as after a start of the process, they are what the records
  // show; what they do not show begins now.
  const kube::PodStatus* previous = nullptr;
  bool restarting = false;      // all containers begin anew
  bool resize_refused = false;  // other resources are wanted than the pod has
  bool sandbox_condition = true;
  std::string disrupted;  // message of DisruptionTarget; empty: no such condition
  WallTime now;
};
inline constexpr std::string_view kAllRestarting = "AllContainersRestarting";
/// Appends to `status`, whose phase is set: first what others wrote into the API object, then our
/// own.
void AddConditions(const ConditionInputs& in, kube::PodStatus& status);

}  // namespace splitlet::status
