#include "services/sync-loop/admission/preemption.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "k8s.io/api/core/v1/pod.pb.h"

namespace splitlet::sync_loop {
namespace {

using Pods = std::vector<ActivePod>;

int64_t RequestOf(const ActivePod& pod, const std::string& resource) {
  if (resource == "pods") return 1;
  const auto it = pod.requests.find(resource);
  return it == pod.requests.end() ? 0 : it->second;
}

/// The amounts that are still missing without the pods in `gone`.
Needs Without(const Needs& needs, const Pods& gone) {
  Needs left;
  for (const auto& [resource, amount] : needs) {
    int64_t missing = amount;
    for (const auto& pod : gone) missing -= RequestOf(pod, resource);
    if (missing > 0) left.emplace_back(resource, missing);
  }
  return left;
}

/// 0: this pod alone frees enough. Each resource that it does not hold adds 1.
double Distance(const ActivePod& pod, const Needs& needs) {
  double distance = 0;
  for (const auto& [resource, amount] : needs) {
    const double missing =
        static_cast<double>(std::max<int64_t>(0, amount - RequestOf(pod, resource)));
    distance += missing * missing / (static_cast<double>(amount) * static_cast<double>(amount));
  }
  return distance;
}

/// Takes the nearest pod again and again; of equally near pods the smallest. All candidates
/// together must free enough.
Pods Nearest(Pods candidates, Needs needs) {
  Pods chosen;
  while (!needs.empty() && !candidates.empty()) {
    const auto rank = [&needs](const ActivePod& pod) {
      return std::tuple(Distance(pod, needs), RequestOf(pod, "memory"), RequestOf(pod, "cpu"),
                        pod.key);
    };
    const auto best =
        std::min_element(candidates.begin(), candidates.end(),
                         [&rank](const auto& a, const auto& b) { return rank(a) < rank(b); });
    chosen.push_back(*best);
    needs = Without(needs, {*best});
    candidates.erase(best);
  }
  return chosen;
}

Pods Together(Pods a, const Pods& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Pods OfClass(const Pods& pods, kube::QosClass qos) {
  Pods of;
  std::copy_if(pods.begin(), pods.end(), std::back_inserter(of),
               [qos](const auto& pod) { return pod.qos == qos; });
  return of;
}

}  // namespace

Needs FindNeeds(const AdmissionInput& input, const NodeLoad& load) {
  Needs needs;
  if (input.node == nullptr || input.node->allocatable.empty()) return needs;
  const auto& allocatable = input.node->allocatable;
  const auto pods = allocatable.find("pods");
  const int64_t max_pods = pods == allocatable.end() ? input.max_pods : pods->second;
  const int64_t count = static_cast<int64_t>(load.pods());
  if (count + 1 > max_pods) needs.emplace_back("pods", count + 1 - max_pods);
  for (const auto& [resource, requested] : input.requests.amounts) {
    const auto it = allocatable.find(resource);
    if (it == allocatable.end() && IsExtended(resource)) continue;
    if (input.devices != nullptr && input.devices->contains(resource)) continue;
    const int64_t missing =
        requested + load.Used(resource) - (it == allocatable.end() ? 0 : it->second);
    if (missing > 0) needs.emplace_back(resource, missing);
  }
  return needs;
}

bool MayPreempt(const kube::Pod& pod, const ActivePod& other) {
  if (kube::IsCritical(pod) && !other.critical) return true;
  return pod.spec().has_priority() && other.priority && pod.spec().priority() > *other.priority;
}

std::optional<std::vector<ActivePod>> ChooseVictims(const Needs& needs,
                                                    const std::vector<ActivePod>& candidates) {
  if (!Without(needs, candidates).empty()) return std::nullopt;
  const Pods best_effort = OfClass(candidates, kube::QosClass::kBestEffort);
  const Pods burstable = OfClass(candidates, kube::QosClass::kBurstable);
  const Pods guaranteed = OfClass(candidates, kube::QosClass::kGuaranteed);
  const Pods from_guaranteed =
      Nearest(guaranteed, Without(needs, Together(burstable, best_effort)));
  const Pods from_burstable =
      Nearest(burstable, Without(needs, Together(best_effort, from_guaranteed)));
  const Pods from_best_effort =
      Nearest(best_effort, Without(needs, Together(from_burstable, from_guaranteed)));
  return Together(Together(from_best_effort, from_burstable), from_guaranteed);
}

std::string NoVictimsMessage(const Needs& needs) {
  std::string list;
  for (const auto& [resource, amount] : needs)
    list += fmt::format("(res: {}, q: {}), ", resource, amount);
  return fmt::format(
      "Unexpected error while attempting to recover from admission failure: preemption: error "
      "finding a set of pods to "
      "preempt: no set of running pods found to reclaim resources: [{}]",
      list);
}

}  // namespace splitlet::sync_loop
