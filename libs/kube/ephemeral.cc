#include "libs/kube/ephemeral.h"

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/base/status.h"

namespace splitlet::kube {

std::vector<Container> EphemeralContainersOf(const PodSpec& spec) {
  std::vector<Container> containers;
  for (const auto& ephemeral : spec.ephemeral_containers()) {
    const std::string bytes = ephemeral.ephemeral_container_common().SerializeAsString();
    CHECK(containers.emplace_back().ParseFromString(bytes));
  }
  return containers;
}

std::string TargetOf(const PodSpec& spec, const std::string& ephemeral) {
  for (const auto& one : spec.ephemeral_containers())
    if (one.ephemeral_container_common().name() == ephemeral) return one.target_container_name();
  return "";
}

}  // namespace splitlet::kube
