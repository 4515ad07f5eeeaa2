#pragma once

/// A change of resources in a pod that runs, which this node does not make: what is shown instead.
/// Threads: pure, any.
/// Errors: none; a quantity that does not parse differs from every other.
/// Source: docs/behaviour/status.md, "Containers".

#include <string>
#include <string_view>

#include "libs/kube/pod_types.h"

namespace splitlet::status {

inline constexpr std::string_view kResizeReason = "Infeasible";
inline constexpr std::string_view kResizeMessage =
    "This node does not resize pods: the resources stay as they were admitted";

/// Of both in metrics: what a kubelet says that resizes no pods at all.
inline constexpr std::string_view kResizeMetricReason = "infeasible";
inline constexpr std::string_view kResizeMetricDetail = "feature_gate_off";

/// Gives the containers of `pod` back what they had in `previous`, which was told of it, unless
/// they began before the pod was admitted; 0: not known when that was. True: they had something
/// else.
bool TakeAllocated(const kube::PodStatus& previous, int64_t admitted_at_wall_ns, kube::Pod& pod);

/// Whether `status` shows a resize as waiting.
bool HasPendingResize(const kube::PodStatus& status);
/// Whether it shows one that `previous` did not; null: there was none.
bool IsNewResize(const kube::PodStatus* previous, const kube::PodStatus& status);
/// What the event ResizeInfeasible says: the resources that are asked for, as a kubelet writes
/// them.
std::string ResizeText(const kube::Pod& asked);

}  // namespace splitlet::status
