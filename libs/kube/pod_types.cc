#include "libs/kube/pod_types.h"

#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::kube {

std::string FullName(const Pod& pod) {
  return FullName(pod.metadata().name(), pod.metadata().namespace_());
}

std::string PodKey(const Pod& pod) {
  return PodKey(pod.metadata().namespace_(), pod.metadata().name());
}

PodUid UidOf(const Pod& pod) { return PodUid(pod.metadata().uid()); }

std::string AnnotationOf(const Pod& pod, std::string_view key) {
  const auto& annotations = pod.metadata().annotations();
  const auto it = annotations.find(std::string(key));
  return it == annotations.end() ? std::string() : it->second;
}

std::string SourceOf(const Pod& pod) {
  std::string source = AnnotationOf(pod, kConfigSource);
  return source.empty() ? std::string(kApiSource) : source;
}

bool IsStatic(const Pod& pod) { return IsStaticSource(SourceOf(pod)); }

bool IsMirror(const Pod& pod) {
  return pod.metadata().annotations().contains(std::string(kConfigMirror));
}

bool IsCritical(const Pod& pod) {
  return IsStatic(pod) || IsMirror(pod) || pod.spec().priority() >= kSystemCriticalPriority;
}

bool IsSidecar(const Container& init_container) {
  return init_container.restart_policy() == "Always";
}

}  // namespace splitlet::kube
