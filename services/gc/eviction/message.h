#pragma once

/// What an evicted pod is told.
/// Threads: pure.
/// Errors: none.
/// Source: docs/behaviour/eviction.md, "What the pod shows"; kubelet eviction evictionMessage.

#include <optional>
#include <string>

#include "services/gc/eviction/ranking.h"

namespace splitlet::gc {

inline constexpr std::string_view kEvicted = "Evicted";

/// "The node was low on resource: memory. Threshold quantity: ..., available: .... Container ..."
std::string EvictionMessage(const Threshold& threshold, const PressureSignal* signal,
                            const Candidate& victim);

}  // namespace splitlet::gc
