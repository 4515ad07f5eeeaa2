#pragma once

/// Phases of a pod's status.
/// Threads: pure functions, any; nothing fails.
/// Source:  Kubernetes API, "Pod Lifecycle", "Pod phase".

#include <string_view>

namespace splitlet::kube {

inline constexpr std::string_view kPending = "Pending";
inline constexpr std::string_view kRunning = "Running";
inline constexpr std::string_view kSucceeded = "Succeeded";
inline constexpr std::string_view kFailed = "Failed";

/// True if no container of the pod runs or will run again.
inline bool IsTerminalPhase(std::string_view phase) {
  return phase == kSucceeded || phase == kFailed;
}

}  // namespace splitlet::kube
