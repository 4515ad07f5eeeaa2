#pragma once

/// What an evicted pod is told, and what its event says to programs.
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
                            const Candidate& victim);

using Annotations = std::map<std::string, std::string>;
/// "starved_resource", and who uses more of it than it requests: "offending_containers",
/// "offending_containers_usage", each separated by commas and empty for none, "offending_pod",
/// "offending_pod_usage".
Annotations EvictionAnnotations(const Threshold& threshold, const Candidate& victim);

}  // namespace splitlet::gc
