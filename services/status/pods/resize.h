#pragma once

/// The status of a resize: this node does not resize running pods, and shows the resize as
/// infeasible.
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

/// Labels of metrics: those of a kubelet with the feature gate off.
inline constexpr std::string_view kResizeMetricReason = "infeasible";
inline constexpr std::string_view kResizeMetricDetail = "feature_gate_off";

/// Sets the resources of the containers of `pod` to those that `previous` shows as allocated.
/// Leaves out containers that started before the pod was admitted; 0: that time is unknown. True:
/// something was changed.
bool TakeAllocated(const kube::PodStatus& previous, int64_t admitted_at_wall_ns, kube::Pod& pod);

/// Whether `status` shows a pending resize.
bool HasPendingResize(const kube::PodStatus& status);
/// Whether `status` shows a pending resize that `previous` does not; null: no last status.
bool IsNewResize(const kube::PodStatus* previous, const kube::PodStatus& status);
/// Message of the event ResizeInfeasible: the wanted resources, as a kubelet writes them.
std::string ResizeText(const kube::Pod& asked);

}  // namespace splitlet::status
