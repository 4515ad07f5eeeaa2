#pragma once

/// Pods as their status has them, at the node or at the API server, and what was told of them
/// there. Called by LocalNode and ApiServer.
/// Threads: pure functions, any.
/// Errors: INVALID_ARGUMENT for what is no such list.

#include <string>
#include <vector>

#include "chaos/node/node.h"
#include "libs/kube/pod_types.h"

namespace splitlet::chaos {

/// Phase, readiness and containers.
void ReadStatus(const kube::PodStatus& status, ReportedPod& pod);

/// A PodList as JSON.
StatusOr<std::vector<ReportedPod>> ParsePodList(const std::string& json);

/// An EventList as JSON: for each pod that it is about, all of them together.
StatusOr<std::vector<SeenEvents>> ParseEventList(const std::string& json);

}  // namespace splitlet::chaos
