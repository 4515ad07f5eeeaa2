#include "services/pod-worker/control/hold.h"

#include <map>
#include <utility>

#include "libs/cri/labels.h"
#include "libs/kube/pod_types.h"

namespace splitlet::pod_worker {
namespace {

/// Its status rests on what is on disk, not on what the runtime still has.
bool IsOver(PodNeed pod) { return pod == PodNeed::kNothing || pod == PodNeed::kRemains; }

}  // namespace

HoldAnswer ComputeHold(const HoldWishes& wishes, const std::vector<cri::Sandbox>& sandboxes,
                       const std::vector<cri::Container>& containers,
                       const std::function<PodNeed(const std::string& uid)>& need) {
  HoldAnswer answer;
  const auto grant = [&](const std::string& id, const std::string& uid,
                         std::vector<std::string>& list) {
    list.push_back(id);
    answer.held_uids.insert(uid);
  };
  for (const std::string& uid : wishes.uids)
    if (need(uid) == PodNeed::kNothing) grant(uid, uid, answer.removable.uids);

  // Newest first in both lists: the first of a name is the one an unfinished pod counts on.
  const std::set<std::string> asked_containers(wishes.container_ids.begin(),
                                               wishes.container_ids.end());
  std::set<std::pair<std::string, std::string>> names;
  std::set<std::string> busy_sandboxes;
  for (const auto& container : containers) {
    const std::string uid = cri::LabelOf(container.labels, kube::kPodUidLabel);
    const bool newest = names.emplace(uid, container.name).second;
    const PodNeed pod = need(uid);
    const bool over = IsOver(pod);
    // A container that was made for a pod that is over is not started.
    const bool left_over = container.state == cri::ContainerState::kCreated && over;
    const bool dead = container.state == cri::ContainerState::kExited || left_over;
    // gc stops it first, like the worker before it makes a successor.
    const bool unknown = container.state == cri::ContainerState::kUnknown;
    const bool free = (dead || unknown) && asked_containers.contains(container.id.str()) &&
                      pod != PodNeed::kEverything && (over || !newest);
    if (!dead && !free) busy_sandboxes.insert(container.sandbox_id.str());
    if (free) grant(container.id.str(), uid, answer.removable.container_ids);
  }

  const std::set<std::string> asked_sandboxes(wishes.sandbox_ids.begin(), wishes.sandbox_ids.end());
  std::set<std::string> pods;
  for (const auto& sandbox : sandboxes) {
    const bool newest = pods.insert(sandbox.pod_uid).second;
    const bool dead =
        sandbox.state == cri::SandboxState::kNotReady && !busy_sandboxes.contains(sandbox.id.str());
    if (!dead || !asked_sandboxes.contains(sandbox.id.str())) continue;
    const PodNeed pod = need(sandbox.pod_uid);
    if (pod == PodNeed::kEverything || (!IsOver(pod) && newest)) continue;
    grant(sandbox.id.str(), sandbox.pod_uid, answer.removable.sandbox_ids);
  }
  return answer;
}

}  // namespace splitlet::pod_worker
