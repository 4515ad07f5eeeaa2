#pragma once

/// Parses statuses of pods, of the node or of the API server, and events of the API server. Called
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

/// An EventList as JSON, added up for each pod.
StatusOr<std::vector<SeenEvents>> ParseEventList(const std::string& json);

}  // namespace splitlet::chaos
