#include "libs/logs/choose_container.h"

#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::logs {
namespace {

const kube::ContainerStatus* FindStatus(const kube::PodStatus& status, const std::string& name) {
  for (const auto* statuses : {&status.init_container_statuses(), &status.container_statuses(),
                               &status.ephemeral_container_statuses()})
    for (const auto& container : *statuses)
      if (container.name() == name) return &container;
  return nullptr;
}

/// Why there is no log to read yet.
std::string WhyNot(const kube::ContainerStatus& status) {
  if (status.state().has_terminated()) return "is terminated";
  const std::string& reason = status.state().waiting().reason();
  if (!status.state().has_waiting()) return "is waiting to start - no logs yet";
  if (reason == "ErrImagePull") return "is waiting to start: image can't be pulled";
  if (reason == "ImagePullBackOff") return "is waiting to start: trying and failing to pull image";
  return "is waiting to start: " + reason;
}

}  // namespace

StatusOr<ChosenContainer> ChooseContainer(const kube::Pod& pod, const std::string& container,
                                          bool previous) {
  const std::string& name = pod.metadata().name();
  const kube::ContainerStatus* status = FindStatus(pod.status(), container);
  if (status == nullptr)
    return NotFound("container \"{}\" in pod \"{}\" is not available", container, name);
  const std::string& last = status->last_state().terminated().container_id();
  if (previous) {
    if (last.empty())
      return FailedPrecondition("previous terminated container \"{}\" in pod \"{}\" not found",
                                container, name);
    return ChosenContainer{.id = last};
  }
  if (status->state().has_running())
    return ChosenContainer{.id = status->container_id(), .running = true};
  if (!status->state().terminated().container_id().empty())
    return ChosenContainer{.id = status->state().terminated().container_id()};
  if (!last.empty()) return ChosenContainer{.id = last};
  return FailedPrecondition("container \"{}\" in pod \"{}\" {}", container, name, WhyNot(*status));
}

}  // namespace splitlet::logs
