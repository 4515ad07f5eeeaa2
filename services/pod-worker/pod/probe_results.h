#pragma once

/// The probes that a container has, and how they stand.
/// Threads: values and pure functions, any.
/// Errors:  none.
/// Source:  docs/behaviour/probes.md.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "libs/kube/pod_types.h"

namespace k8s::io::api::core::v1 {
class Probe;
}

namespace splitlet::pod_worker {

/// In the order in which they begin.
enum class ProbeKind { kStartup, kReadiness, kLiveness };
inline constexpr ProbeKind kProbeKinds[] = {ProbeKind::kStartup, ProbeKind::kReadiness,
                                            ProbeKind::kLiveness};
/// "startup", as in records and files.
std::string_view NameOf(ProbeKind kind);
/// "Startup", as in events and metrics.
std::string_view TitleOf(ProbeKind kind);
std::optional<ProbeKind> ProbeKindOf(std::string_view name);

/// nullptr: the container has none of that kind.
const k8s::io::api::core::v1::Probe* FindProbe(const kube::Container& container, ProbeKind kind);
bool HasProbes(const kube::Container& container);
bool HasProbes(const kube::Pod& pod);

/// Results as they stand in `workers`: by container id. An absent result is unknown.
using ProbeResultsById = std::map<std::string, std::map<ProbeKind, bool>>;
std::optional<bool> ResultOf(const ProbeResultsById& results, const std::string& container_id,
                             ProbeKind kind);

/// Whether the container was or is to be stopped because of a probe.
bool IsUnhealthy(const ProbeResultsById& results, const std::string& container_id);

}  // namespace splitlet::pod_worker
