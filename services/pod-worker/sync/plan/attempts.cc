#include "services/pod-worker/sync/plan/attempts.h"

#include <algorithm>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/ephemeral.h"
#include "libs/kube/restart_policy.h"
#include "services/pod-worker/pod/observed.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

using v1::ContainerRecord;
using v1::ObservedPod;

bool IsRemembered(const kube::Pod& pod, const kube::Container& container) {
  return kube::RestartPolicyOf(pod, container) != "Always";
}

void NumberAttempts(const ObservedPod& seen, int64_t incarnation, const cri::StartedAttempts& begun,
                    PodActions& todo) {
  if (todo.create_sandbox_attempt)
    for (const auto& sandbox : seen.sandboxes())
      todo.create_sandbox_attempt = std::max(*todo.create_sandbox_attempt, sandbox.attempt() + 1);
  for (auto* list : {&todo.start_ephemeral, &todo.start_init, &todo.start}) {
    for (ContainerStart& start : *list) {
      const auto take = [&start](uint32_t attempt) {
        start.attempt = std::max(start.attempt.value_or(0), attempt);
      };
      if (const auto known = begun.find(start.name); known != begun.end())
        take(known->second.attempt + 1);
      for (const auto& record : seen.containers()) {
        if (record.name() != start.name) continue;
        const bool created = record.state() == ContainerRecord::CREATED;
        const bool ended = record.state() == ContainerRecord::EXITED;
        take(created ? record.attempt() : record.attempt() + 1);
        if (cri::IsEarlier(record.incarnation(), incarnation) && !ended)
          start.remove.push_back(record.id());
      }
      // The number of one that is started as it is was in use when it was remembered.
      for (const auto& record : seen.containers())
        if (!start.created_id.empty() && record.id() == start.created_id)
          start.attempt = record.attempt();
    }
  }
}

cri::StartedAttempts WithUnremembered(const kube::Pod& pod, const ObservedPod& present,
                                      cri::StartedAttempts begun) {
  const auto learn = [&](const kube::Container& container, bool remembered) {
    const auto* newest = NewestRecord(present, container.name());
    if (!remembered || newest == nullptr) return;
    if (newest->state() == ContainerRecord::CREATED) return;
    auto& known = begun[container.name()];
    if (known.begun_at_ns != 0 && known.attempt >= newest->attempt()) return;
    known = {newest->attempt(), newest->restart_count(), newest->created_at_ns()};
  };
  for (const auto* list : {&pod.spec().init_containers(), &pod.spec().containers()})
    for (const auto& container : *list) learn(container, IsRemembered(pod, container));
  for (const auto& container : kube::EphemeralContainersOf(pod.spec())) learn(container, true);
  return begun;
}

}  // namespace splitlet::pod_worker
