#pragma once

/// What each pod and container uses: gc's figures by the ids that pleg knows.
/// Threads: any; nothing fails.
/// Source: docs/behaviour/node-api.md, "Figures".

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "services/node-api/pods/pod_views.h"
#include "services/node-api/stats/stats_cache.h"

namespace splitlet::node_api {

struct ContainerUse {
  std::string name, id, image;
  int64_t started_at_ns = 0;
  uint64_t cpu_ns = 0, working_set = 0, layer_bytes = 0;
  std::optional<uint64_t> nano_cores;
};

struct PodUse {
  std::string name_space, name, uid;
  int64_t started_at_ns = 0;             // of its sandbox
  std::vector<ContainerUse> containers;  // that run
  uint64_t cpu_ns() const;
  uint64_t working_set() const;
  std::optional<uint64_t> nano_cores() const;
};

using RuntimeRecords = std::vector<std::shared_ptr<const v1::RuntimeRecord>>;
/// Pods with a container that runs; by name.
std::vector<PodUse> UseOfPods(const Figures& figures, const RuntimeRecords& records);

}  // namespace splitlet::node_api
