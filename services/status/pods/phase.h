#pragma once

/// Computes the phase of a pod from its container statuses. Pure.
/// Threads: any.
/// Errors: none.
/// Source: docs/behaviour/status.md, "Phase".

#include <string_view>

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

}  // namespace splitlet::status
