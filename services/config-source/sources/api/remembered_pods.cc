#include "services/config-source/sources/api/remembered_pods.h"

#include <algorithm>

#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::config_source {

std::string WhyNotOffline(const kube::Pod& pod) {
  const auto& meta = pod.metadata();
  if (meta.has_deletion_timestamp()) return "it was being deleted";
  const auto& owners = meta.owner_references();
  const bool stateful = std::any_of(owners.begin(), owners.end(), [](const auto& owner) {
    return owner.kind() == "StatefulSet";
  });
  if (stateful && kube::AnnotationOf(pod, kOfflineStart) != "true")
    return "it belongs to a StatefulSet, and its successor may run on another node";
  return {};
}

}  // namespace splitlet::config_source
