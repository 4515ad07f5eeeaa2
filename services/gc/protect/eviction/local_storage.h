#pragma once

/// Limits of local storage that pods set themselves: of a volume, of the pod, of a container.
/// Threads: pure.
/// Errors: none; a limit that cannot be parsed was refused with the pod.
/// Source: docs/behaviour/eviction.md, "Limits of a pod's own"; kubelet eviction
/// localStorageEviction.

#include <optional>
#include <set>
#include <string>

#include "services/gc/protect/eviction/ranking.h"

namespace splitlet::gc {

/// The measurements that a check of the pod's own limits needs.
struct LocalLimits {
  std::set<std::string> volumes;  // emptyDirs with a limit above zero
  bool pod_or_containers = false;
  bool any() const { return !volumes.empty() || pod_or_containers; }
};
LocalLimits LocalLimitsOf(const kube::Pod& pod);

struct Exceeded {
  std::string signal;  // "emptydirfs.limit"
  std::string message;
  bool operator==(const Exceeded&) const = default;
};
/// The first exceeded limit, in the order volume, pod, container.
std::optional<Exceeded> FindExceeded(const kube::Pod& pod, const PodUsage& usage,
                                     bool own_image_fs);

}  // namespace splitlet::gc
