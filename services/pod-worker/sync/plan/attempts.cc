#include "services/pod-worker/sync/plan/attempts.h"

#include <algorithm>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/restart_policy.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

using v1::ContainerRecord;
using v1::ObservedPod;

bool IsRemembered(const kube::Pod& pod, const kube::Container& container) {
  return kube::RestartPolicyOf(pod, container) != "Always";
}

void NumberAttempts(const ObservedPod& seen, int64_t incarnation, const cri::Begun& begun,
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

}  // namespace splitlet::pod_worker
