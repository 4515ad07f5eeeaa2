#pragma once

/// Checks of pod-worker before it runs a pod, for the safety of the node, whatever the pod's
/// source. They cover names that become files and directories, paths that must stay inside their
/// folder, and ranges of ids and amounts. They do not repeat an API server's rules for new pods
/// (validation.h, for manifests): a server changes pods after its checks, keeps old pods, and gains
/// rules with time, so stored pods may violate today's rules.
/// Threads: pure, any.
/// Errors:  all violations, in the order of the fields.
/// Source:  docs/safety.md, rule 14; docs/behaviour/pod-sync.md, "What is refused".

#include <vector>

#include "libs/kube/pod_types.h"
#include "libs/kube/validation.h"

namespace splitlet::kube {

/// Empty: the pod may run.
std::vector<FieldError> CheckRunnable(const Pod& pod);

}  // namespace splitlet::kube
