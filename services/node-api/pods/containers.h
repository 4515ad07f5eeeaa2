#pragma once

/// Containers in the spec of a pod.
/// Threads: any; nothing fails.

#include <string>

#include "libs/kube/pod_types.h"

namespace splitlet::node_api {

enum class Sort { kNone, kInit, kRegular, kEphemeral };
Sort FindContainer(const kube::Pod& pod, const std::string& name);
/// True if the container's spec sets tty, so that its streams are a terminal.
bool HasTerminal(const kube::Pod& pod, const std::string& name);

}  // namespace splitlet::node_api
