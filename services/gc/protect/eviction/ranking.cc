#include "services/gc/protect/eviction/ranking.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/resources.h"

namespace splitlet::gc {
namespace {

constexpr std::string_view kCriticalClasses[] = {"system-node-critical", "system-cluster-critical"};

/// Usage of a tree that is too large to count: its pod is evicted first.
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

/// Compared in order; the candidate with the smaller keys is evicted first.
using Keys = std::array<int64_t, 4>;

Keys MemoryKeys(const Candidate& candidate) {
  if (!candidate.usage.has_memory) return {0, 0, 0, 0};
  const int64_t over =
      candidate.usage.memory_bytes() - RequestOf(*candidate.pod, kube::kMemory).Value();
  return {1, over > 0 ? 0 : 1, candidate.pod->spec().priority(), -over};
}

Keys StorageKeys(const Candidate& candidate, DiskScope scope) {
  if (!candidate.usage.has_disk) return {0, 0, 0, 0};
  const DiskStats used = candidate.usage.disk(scope.layers, scope.rest);
  const int64_t over =
      used.more ? kMost : used.bytes - RequestOf(*candidate.pod, kube::kEphemeralStorage).Value();
  return {1, over > 0 ? 0 : 1, candidate.pod->spec().priority(), -over};
}

/// Pods do not request inodes. As in a kubelet, the storage request in bytes counts here too.
Keys InodeKeys(const Candidate& candidate, DiskScope scope) {
  if (!candidate.usage.has_disk) return {0, 0, 0, 0};
  const DiskStats used = candidate.usage.disk(scope.layers, scope.rest);
  const int64_t over =
      used.more ? kMost : used.inodes - RequestOf(*candidate.pod, kube::kEphemeralStorage).Value();
  return {1, used.inodes > 0 ? 0 : 1, candidate.pod->spec().priority(), -over};
}

Keys PidKeys(const Candidate& candidate) {
  const auto& processes = candidate.usage.processes;
  return {candidate.pod->spec().priority(), processes ? 1 : 0, -processes.value_or(0), 0};
}

Keys KeysOf(Starved resource, DiskScope scope, const Candidate& candidate) {
  switch (resource) {
    case Starved::kMemory: return MemoryKeys(candidate);
    case Starved::kStorage: return StorageKeys(candidate, scope);
    case Starved::kInodes: return InodeKeys(candidate, scope);
    case Starved::kPids: return PidKeys(candidate);
  }
  UNREACHABLE();
}

}  // namespace

bool HasPodLevelResources(const kube::Pod& pod) {
  const auto& resources = pod.spec().resources();
  return resources.requests_size() > 0 || resources.limits_size() > 0;
}

kube::Quantity RequestOf(const kube::Pod& pod, std::string_view resource) {
  if (resource == kube::kEphemeralStorage && HasPodLevelResources(pod)) return {};
  const auto requests = kube::PodRequests(pod);
  return requests.ok() ? kube::Of(*requests, resource) : kube::Quantity();
}

void Rank(Starved resource, DiskScope scope, std::vector<Candidate>& candidates) {
  std::vector<std::pair<Keys, Candidate>> keyed;
  keyed.reserve(candidates.size());
  for (auto& candidate : candidates) {
    const Keys keys = KeysOf(resource, scope, candidate);
    keyed.emplace_back(keys, std::move(candidate));
  }
  std::ranges::stable_sort(keyed, {}, &std::pair<Keys, Candidate>::first);
  candidates.clear();
  for (auto& entry : keyed) candidates.push_back(std::move(entry.second));
}

bool MayBeEvicted(const kube::Pod& pod, bool static_pods_too) {
  if (kube::IsMirror(pod)) return false;
  if (pod.spec().priority() >= kube::kSystemCriticalPriority) return false;
  if (!kube::IsStatic(pod)) return true;
  // No admission controller resolves the priority class of a static pod.
  return static_pods_too && std::ranges::find(kCriticalClasses, pod.spec().priority_class_name()) ==
                                std::ranges::end(kCriticalClasses);
}

int64_t GraceSeconds(const kube::Pod& pod, bool hard, int64_t most) {
  if (hard) return 1;
  int64_t seconds = most;
  if (pod.spec().has_termination_grace_period_seconds())
    seconds = std::min(seconds, pod.spec().termination_grace_period_seconds());
  return std::max<int64_t>(1, seconds);
}

}  // namespace splitlet::gc
