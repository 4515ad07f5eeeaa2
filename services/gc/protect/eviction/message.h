#pragma once

/// The message of an evicted pod, and the annotations of its event.
/// Threads: pure.
/// Errors: none.
/// Source: docs/behaviour/eviction.md, "What the pod shows"; kubelet eviction evictionMessage.

#include <map>
#include <string>

#include "services/gc/protect/eviction/ranking.h"

namespace splitlet::gc {

inline constexpr std::string_view kEvicted = "Evicted";

/// "The node was low on resource: memory. Threshold quantity: ..., available: .... Container ..."
std::string EvictionMessage(const Threshold& threshold, const PressureSignal* signal,
                            const Candidate& evicted);

using Annotations = std::map<std::string, std::string>;
/// "starved_resource"; "offending_containers" and "offending_containers_usage": the containers that
/// use more than they request, separated by commas, empty for none; "offending_pod" and
/// "offending_pod_usage": a pod that does.
Annotations EvictionAnnotations(const Threshold& threshold, const Candidate& evicted);

}  // namespace splitlet::gc
