#include "services/pod-worker/pod/probe_results.h"

#include <algorithm>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "k8s.io/api/core/v1/probe.pb.h"
#include "libs/base/status.h"

namespace splitlet::pod_worker {

namespace core = k8s::io::api::core::v1;

std::string_view NameOf(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::kStartup: return "startup";
    case ProbeKind::kReadiness: return "readiness";
    case ProbeKind::kLiveness: return "liveness";
  }
  UNREACHABLE();
}

std::string_view TitleOf(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::kStartup: return "Startup";
    case ProbeKind::kReadiness: return "Readiness";
    case ProbeKind::kLiveness: return "Liveness";
  }
  UNREACHABLE();
}

std::optional<ProbeKind> ProbeKindOf(std::string_view name) {
  for (const ProbeKind kind : kProbeKinds)
    if (NameOf(kind) == name) return kind;
  return std::nullopt;
}

const core::Probe* FindProbe(const kube::Container& container, ProbeKind kind) {
  switch (kind) {
    case ProbeKind::kStartup:
      return container.has_startup_probe() ? &container.startup_probe() : nullptr;
    case ProbeKind::kReadiness:
      return container.has_readiness_probe() ? &container.readiness_probe() : nullptr;
    case ProbeKind::kLiveness:
      return container.has_liveness_probe() ? &container.liveness_probe() : nullptr;
  }
  UNREACHABLE();
}

bool HasProbes(const kube::Container& container) {
  return std::ranges::any_of(kProbeKinds,
                             [&](ProbeKind kind) { return FindProbe(container, kind) != nullptr; });
}

bool HasProbes(const kube::Pod& pod) {
  const auto any = [](const auto& containers) {
    return std::any_of(containers.begin(), containers.end(),
                       [](const kube::Container& container) { return HasProbes(container); });
  };
  return any(pod.spec().containers()) || any(pod.spec().init_containers());
}

std::optional<bool> ResultOf(const ProbeResultsById& results, const std::string& container_id,
                             ProbeKind kind) {
  const auto container = results.find(container_id);
  if (container == results.end()) return std::nullopt;
  const auto result = container->second.find(kind);
  return result == container->second.end() ? std::nullopt : std::optional(result->second);
}

bool IsUnhealthy(const ProbeResultsById& results, const std::string& container_id) {
  return ResultOf(results, container_id, ProbeKind::kLiveness) == false ||
         ResultOf(results, container_id, ProbeKind::kStartup) == false;
}

}  // namespace splitlet::pod_worker
