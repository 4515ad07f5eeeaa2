#pragma once

/// Environment variables with the addresses of services, named after the services.
/// Threads: pure, any.
/// Errors:  none.
/// Source:  docs/behaviour/objects.md, "Services"; kubelet envvars.FromServices.

#include <map>
#include <string>
#include <vector>

#include "services/pod-worker/objects/object_source.h"

namespace splitlet::pod_worker {

/// Services without a cluster IP give no variables.
std::map<std::string, std::string> ServiceVariables(
    const std::vector<ObjectPtr<Service>>& services);

}  // namespace splitlet::pod_worker
