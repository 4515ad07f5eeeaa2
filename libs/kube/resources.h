#pragma once

/// Sums of what containers and pods request and may use. Any thread.
/// Errors: INVALID_ARGUMENT for a quantity that does not parse (a valid pod has none).
/// Source: docs/behaviour/resources.md.

#include <map>
#include <string>
#include <string_view>

#include "libs/base/status.h"
#include "libs/kube/pod_types.h"
#include "libs/kube/quantity.h"

namespace splitlet::kube {

inline constexpr std::string_view kCpu = "cpu";
inline constexpr std::string_view kMemory = "memory";
inline constexpr std::string_view kEphemeralStorage = "ephemeral-storage";
inline constexpr std::string_view kHugePagesPrefix = "hugepages-";

/// By name of the resource.
using Resources = std::map<std::string, Quantity>;

StatusOr<Resources> RequestsOf(const ResourceRequirements& requirements);
StatusOr<Resources> LimitsOf(const ResourceRequirements& requirements);

void AddTo(Resources& sum, const Resources& more);
void MaxInto(Resources& most, const Resources& other);
/// Zero when absent.
Quantity Of(const Resources& resources, std::string_view name);

/// Containers and sidecars together, or the greatest phase of the init containers; pod-level values
/// replace the sums; overhead comes on top.
StatusOr<Resources> PodRequests(const Pod& pod);
/// The same of limits; overhead only where there is a limit.
StatusOr<Resources> PodLimits(const Pod& pod);
/// Without pod-level values and overhead.
StatusOr<Resources> ContainersRequests(const Pod& pod);

/// cpu, memory and huge pages may be set for the pod as a whole.
bool IsPodLevelResource(std::string_view name);

enum class QosClass { kBestEffort, kBurstable, kGuaranteed };
std::string_view Name(QosClass qos);  // "BestEffort", ...

/// status.qosClass where it is set, else from the spec.
StatusOr<QosClass> QosOf(const Pod& pod);
StatusOr<QosClass> ComputeQos(const Pod& pod);

}  // namespace splitlet::kube
