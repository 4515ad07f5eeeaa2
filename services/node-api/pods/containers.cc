#include "services/node-api/pods/containers.h"

#include <algorithm>

#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::node_api {
namespace {

bool Has(const auto& list, const std::string& name) {
  return std::ranges::any_of(list, [&](const auto& each) { return each.name() == name; });
}

}  // namespace

Sort FindContainer(const kube::Pod& pod, const std::string& name) {
  if (Has(pod.spec().containers(), name)) return Sort::kRegular;
  if (Has(pod.spec().init_containers(), name)) return Sort::kInit;
  for (const auto& each : pod.spec().ephemeral_containers())
    if (each.ephemeral_container_common().name() == name) return Sort::kEphemeral;
  return Sort::kNone;
}

bool HasTerminal(const kube::Pod& pod, const std::string& name) {
  for (const auto* list : {&pod.spec().containers(), &pod.spec().init_containers()})
    for (const auto& each : *list)
      if (each.name() == name) return each.tty();
  for (const auto& each : pod.spec().ephemeral_containers())
    if (each.ephemeral_container_common().name() == name)
      return each.ephemeral_container_common().tty();
  return false;
}

}  // namespace splitlet::node_api
