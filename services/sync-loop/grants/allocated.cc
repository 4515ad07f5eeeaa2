#include "services/sync-loop/grants/allocated.h"

#include <map>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/pod_types.h"

namespace splitlet::sync_loop {
namespace {

template <class Containers>
void CopyResources(const Containers& from, Containers& to) {
  std::map<std::string, const kube::Container*> by_name;
  for (const auto& container : from) by_name[container.name()] = &container;
  for (auto& container : to) {
    const auto it = by_name.find(container.name());
    if (it != by_name.end()) *container.mutable_resources() = it->second->resources();
  }
}

}  // namespace

StatusOr<std::string> WithAllocated(const std::string& wanted, const std::string& admitted) {
  if (wanted == admitted) return wanted;
  kube::Pod pod, as_admitted;
  if (!pod.ParseFromString(wanted) || !as_admitted.ParseFromString(admitted))
    return InvalidArgument("its record in `desired` or its saved admission is not a pod");
  CopyResources(as_admitted.spec().containers(), *pod.mutable_spec()->mutable_containers());
  CopyResources(as_admitted.spec().init_containers(),
                *pod.mutable_spec()->mutable_init_containers());
  if (as_admitted.spec().has_resources())
    *pod.mutable_spec()->mutable_resources() = as_admitted.spec().resources();
  return pod.SerializeAsString();
}

}  // namespace splitlet::sync_loop
