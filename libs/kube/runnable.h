#pragma once

/// What pod-worker needs of a pod so that running it is safe for the node, whoever has stored the
/// pod: names that become files and directories, paths that stay where they belong, ids and amounts
/// that the code below can hold. An API server's rules for creating a pod are not repeated here: it
/// changes pods after its own checks, lets old ones stay as they are, and gains rules with time, so
/// that what it has stored is no more what these rules would take (validation.h has them, for
/// manifests).
/// Threads: pure, any.
/// Errors:  all that are found, in the order of the fields.
/// Source:  docs/safety.md, rule 14; docs/behaviour/pod-sync.md, "What is refused".

#include <vector>

#include "libs/kube/pod_types.h"
#include "libs/kube/validation.h"

namespace splitlet::kube {

/// Empty for a pod that may run.
std::vector<FieldError> CheckRunnable(const Pod& pod);

}  // namespace splitlet::kube
