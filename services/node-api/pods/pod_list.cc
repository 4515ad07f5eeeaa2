#include "services/node-api/pods/pod_list.h"

#include <algorithm>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/encode.h"

namespace splitlet::node_api {
namespace {

std::string ListOf(const std::vector<std::string>& items) {
  std::string text = R"({"kind":"PodList","apiVersion":"v1","metadata":{},"items":)";
  if (items.empty()) return text + "null}";
  text += '[';
  for (const auto& item : items) {
    if (text.back() != '[') text += ',';
    text += item;
  }
  return text + "]}";
}

bool IsRunning(const v1::ContainerRecord& container) {
  return container.state() == v1::ContainerRecord::RUNNING;
}

}  // namespace

std::string PodListJson(const std::vector<PodSeen>& pods) {
  std::vector<std::string> items;
  for (const PodSeen& seen : pods)
    if (const auto pod = PodOf(seen)) items.push_back(kube::ToJson(*pod));
  return ListOf(items);
}

std::string RunningPodsJson(const std::vector<std::shared_ptr<const v1::RuntimeRecord>>& pods) {
  std::vector<std::string> items;
  for (const auto& record : pods) {
    const v1::ObservedPod& seen = record->pod();
    if (std::ranges::none_of(seen.containers(), IsRunning)) continue;
    kube::Pod pod;
    pod.mutable_metadata()->set_name(seen.name());
    pod.mutable_metadata()->set_namespace_(seen.namespace_());
    pod.mutable_metadata()->set_uid(seen.uid());
    for (const auto& container : seen.containers()) {
      if (!IsRunning(container)) continue;
      auto& shown = *pod.mutable_spec()->add_containers();
      shown.set_name(container.name());
      shown.set_image(container.image());
    }
    items.push_back(kube::ToJson(pod));
  }
  return ListOf(items);
}

}  // namespace splitlet::node_api
