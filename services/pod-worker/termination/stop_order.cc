#include "services/pod-worker/termination/stop_order.h"

#include <algorithm>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/pod_types.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

namespace {

bool MayRun(const v1::ContainerRecord& record) {
  return record.state() == v1::ContainerRecord::RUNNING ||
         record.state() == v1::ContainerRecord::UNKNOWN;
}

ContainerStop StopOf(const v1::ContainerRecord& record) {
  return {record.id(), record.name(), fmt::format("Stopping container {}", record.name()), false};
}

bool IsEphemeral(const kube::Pod* pod, const std::string& name) {
  if (pod == nullptr) return false;
  const auto& all = pod->spec().ephemeral_containers();
  return std::any_of(all.begin(), all.end(), [&name](const auto& one) {
    return one.ephemeral_container_common().name() == name;
  });
}

}  // namespace

std::vector<std::vector<ContainerStop>> StopOrder(const kube::Pod* pod,
                                                  const v1::ObservedPod& seen) {
  std::vector<std::string> sidecars;
  if (pod != nullptr)
    for (const auto& init : pod->spec().init_containers())
      if (kube::IsSidecar(init)) sidecars.push_back(init.name());
  std::vector<std::vector<ContainerStop>> steps(1);
  std::vector<ContainerStop> aside;
  for (const auto& record : seen.containers()) {
    const bool sidecar =
        std::find(sidecars.begin(), sidecars.end(), record.name()) != sidecars.end();
    if (!MayRun(record) || sidecar) continue;
    (IsEphemeral(pod, record.name()) ? aside : steps[0]).push_back(StopOf(record));
  }
  for (auto name = sidecars.rbegin(); name != sidecars.rend(); ++name) {
    std::vector<ContainerStop> step;
    for (const auto& record : seen.containers())
      if (MayRun(record) && record.name() == *name) step.push_back(StopOf(record));
    steps.push_back(std::move(step));
  }
  std::erase_if(steps, [](const auto& step) { return step.empty(); });
  if (steps.empty() && !aside.empty()) steps.emplace_back();
  for (auto& stop : aside) {
    stop.aside = true;
    steps.front().push_back(std::move(stop));
  }
  return steps;
}

bool MayUseVolumes(const v1::ObservedPod& seen) {
  return !StopOrder(nullptr, seen).empty() ||
         std::ranges::any_of(seen.sandboxes(), [](const auto& sandbox) {
           return sandbox.state() == v1::SandboxRecord::READY;
         });
}

}  // namespace splitlet::pod_worker
