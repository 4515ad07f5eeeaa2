#pragma once

/// Which files of a pod count for a signal, and what the node can free for the signal before a pod
/// has to go.
/// Threads: pure.
/// Errors: none.
/// Source: docs/behaviour/eviction.md, "Disks"; kubelet HasDedicatedImageFs, KEP-4191.

#include <string>

#include "services/gc/measure/disk_layout.h"

namespace splitlet::gc {

/// The files of a pod that count for a signal.
struct DiskScope {
  bool layers = true, rest = true;  // `layers`: what its containers wrote; `rest`: logs and volumes
  bool operator==(const DiskScope&) const = default;
};
DiskScope ScopeOfSignal(const std::string& signal, const DiskLayout& layout);

struct NodeReclaim {
  bool containers = false, images = false;
  bool any() const { return containers || images; }
  bool operator==(const NodeReclaim&) const = default;
};
/// The removals that can help a signal before a pod is evicted.
NodeReclaim ReclaimFor(const std::string& signal, const DiskLayout& layout);

}  // namespace splitlet::gc
