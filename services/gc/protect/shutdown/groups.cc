#include "services/gc/protect/shutdown/groups.h"

#include <algorithm>

#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::gc {
namespace {

constexpr int32_t kNodeCriticalPriority = kube::kSystemCriticalPriority + 1000;

}  // namespace

int32_t PriorityOf(const kube::Pod& pod) {
  if (pod.spec().has_priority()) return pod.spec().priority();
  const std::string& name = pod.spec().priority_class_name();
  if (name == "system-node-critical") return kNodeCriticalPriority;
  if (name == "system-cluster-critical") return kube::kSystemCriticalPriority;
  return 0;
}

size_t GroupOf(const ShutdownGroups& groups, int32_t priority) {
  const auto above = std::ranges::upper_bound(groups, priority, {}, &ShutdownGroup::priority);
  return above == groups.begin() ? 0 : static_cast<size_t>(above - groups.begin()) - 1;
}

int64_t ShutdownGrace(const kube::Pod& pod, int64_t group_seconds) {
  int64_t seconds = group_seconds;
  if (pod.spec().has_termination_grace_period_seconds())
    seconds = std::min(seconds, pod.spec().termination_grace_period_seconds());
  return std::max<int64_t>(1, seconds);
}

}  // namespace splitlet::gc
