#pragma once

/// Lists of pods as the API has them.
/// Threads: any; nothing fails.
/// Source: docs/behaviour/node-api.md, "Pods".

#include <memory>
#include <string>
#include <vector>

#include "services/node-api/pods/pod_views.h"

namespace splitlet::node_api {

/// A PodList; one whose record cannot be read is left out.
std::string PodListJson(const std::vector<PodSeen>& pods);
/// Of what runs: identity, names and images of containers, nothing more.
std::string RunningPodsJson(const std::vector<std::shared_ptr<const v1::RuntimeRecord>>& pods);

}  // namespace splitlet::node_api
