#pragma once

/// The environment that services give: their addresses, under names made of theirs.
/// Threads: pure, any.
/// Errors:  none.
/// Source:  docs/behaviour/objects.md, "Services"; kubelet envvars.FromServices.

#include <map>
#include <string>
#include <vector>

#include "services/pod-worker/objects/object_source.h"

namespace splitlet::pod_worker {

/// Of services with an address of the cluster; others give none.
std::map<std::string, std::string> ServiceVariables(
    const std::vector<ObjectPtr<Service>>& services);

}  // namespace splitlet::pod_worker
