#pragma once

/// Usage of each pod and container: gc's stats, joined with pleg's records by id.
/// Threads: any; nothing fails.
/// Source: docs/behaviour/node-api.md, "Figures".

#include <cstdint>
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
  v1::UsageStats usage;  // from its cgroup, else from the runtime
  uint64_t layer_bytes = 0;
  std::optional<uint64_t> layer_inodes;
  std::optional<v1::LogStats> log;
  std::optional<uint64_t> nano_cores;
};

struct PodUse {
  std::string name_space, name, uid;
  int64_t started_at_ns = 0;             // start time of the sandbox
  std::vector<ContainerUse> containers;  // the running containers
  v1::UsageStats usage;                  // from its cgroup, else the sum of its containers
  std::optional<uint64_t> nano_cores;
  v1::PodStats stats;  // network, volumes and other values from gc
};

using RuntimeRecords = std::vector<std::shared_ptr<const v1::RuntimeRecord>>;
/// Pods with a running container, sorted by name.
std::vector<PodUse> UseOfPods(const StatsSnapshot& stats, const RuntimeRecords& records);

/// The whole machine, as the cgroup "/".
v1::UsageStats UsageOfNode(const v1::NodeUsageStats& node);

/// Names of rates in StatsSnapshot.
std::string PodKey(const std::string& uid);
std::string SystemKey(const std::string& name);
std::optional<uint64_t> RateOf(const StatsSnapshot& stats, const std::string& key);

}  // namespace splitlet::node_api
