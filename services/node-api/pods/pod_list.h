#pragma once

/// Lists of pods as JSON of the Kubernetes API.
/// Threads: any; nothing fails.
/// Source: docs/behaviour/node-api.md, "Pods".

#include <memory>
#include <string>
#include <vector>

#include "services/node-api/pods/pod_views.h"

namespace splitlet::node_api {

/// A PodList; pods with unreadable records are left out.
std::string PodListJson(const std::vector<PodSeen>& pods);
/// Pods with running containers: identity, and names and images of the running containers only.
std::string RunningPodsJson(const std::vector<std::shared_ptr<const v1::RuntimeRecord>>& pods);

}  // namespace splitlet::node_api
