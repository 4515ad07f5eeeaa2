#pragma once

/// Parses pod and node statuses of the node or the API server, and events of the API server. Called
/// by LocalNode and ApiServer.
/// Threads: pure functions, any.
/// Errors: INVALID_ARGUMENT for another document.

#include <string>
#include <vector>

#include "chaos/node/node.h"
#include "libs/kube/pod_types.h"

namespace splitlet::chaos {

/// Phase, readiness and containers.
void ReadStatus(const kube::PodStatus& status, ReportedPod& pod);

/// A PodList as JSON.
StatusOr<std::vector<ReportedPod>> ParsePodList(const std::string& json);

/// An EventList as JSON, with one sum for each pod.
StatusOr<std::vector<SeenEvents>> ParseEventList(const std::string& json);

}  // namespace splitlet::chaos
