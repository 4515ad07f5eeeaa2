#pragma once

/// Fields of a pod without effect on this node, because their feature gates are off. They are
/// removed where a pod enters splitlet, so that no other code needs the gates.
/// Threads: pure functions, any; nothing fails.
/// Source: docs/configuration.md, "Feature gates"; kubelet's own use of each gate.

#include <string>
#include <vector>

#include "libs/kube/pod_types.h"

namespace splitlet::kube {

/// Which gates are off.
struct GatesOff {
  bool restart_rules = false;      // ContainerRestartRules
  bool restart_all = false;        // RestartAllContainersOnContainerExits
  bool env_files = false;          // EnvFiles
  bool hostname_override = false;  // HostnameOverride
  bool stop_signals = false;       // ContainerStopSignals
};

/// Removes the fields from `pod`. Returns a line for each kind of removed field, which names its
/// gate.
std::vector<std::string> TakeOutGatedFields(Pod& pod, const GatesOff& off);

}  // namespace splitlet::kube
