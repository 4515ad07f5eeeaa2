#pragma once

/// Sums of requests and limits of containers and pods. Any thread.
/// Errors: INVALID_ARGUMENT: malformed quantity, which a valid pod does not have.
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

/// By resource name.
using Resources = std::map<std::string, Quantity>;

StatusOr<Resources> RequestsOf(const ResourceRequirements& requirements);
StatusOr<Resources> LimitsOf(const ResourceRequirements& requirements);

void AddTo(Resources& sum, const Resources& more);
void MaxInto(Resources& most, const Resources& other);
/// Zero if absent.
Quantity Of(const Resources& resources, std::string_view name);

/// Containers and sidecars together, or the largest phase of the init containers; pod-level values
/// replace the sums; overhead is added.
StatusOr<Resources> PodRequests(const Pod& pod);
/// Limits by the same rules; overhead is only added to an existing limit.
StatusOr<Resources> PodLimits(const Pod& pod);
/// Without pod-level values and overhead.
StatusOr<Resources> ContainersRequests(const Pod& pod);

/// True for cpu, memory and huge pages, which a pod may set at pod level.
bool IsPodLevelResource(std::string_view name);

enum class QosClass { kBestEffort, kBurstable, kGuaranteed };
std::string_view Name(QosClass qos);  // "BestEffort" and so on

/// status.qosClass if set, else computed from the spec.
StatusOr<QosClass> QosOf(const Pod& pod);
StatusOr<QosClass> ComputeQos(const Pod& pod);

}  // namespace splitlet::kube
