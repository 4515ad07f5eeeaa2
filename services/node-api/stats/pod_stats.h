#pragma once

/// What each pod and container uses: gc's figures by the ids that pleg knows.
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
  v1::UsageStats usage;  // of its cgroup; without one what the runtime says
  uint64_t layer_bytes = 0;
  std::optional<uint64_t> layer_inodes;
  std::optional<v1::LogStats> log;
  std::optional<uint64_t> nano_cores;
};

struct PodUse {
  std::string name_space, name, uid;
  int64_t started_at_ns = 0;             // of its sandbox
  std::vector<ContainerUse> containers;  // that run
  v1::UsageStats usage;                  // of its cgroup; without one the sum of the containers'
  std::optional<uint64_t> nano_cores;
  v1::PodStats figures;  // network, volumes and what else gc says of it
};

using RuntimeRecords = std::vector<std::shared_ptr<const v1::RuntimeRecord>>;
/// Pods with a container that runs; by name.
std::vector<PodUse> UseOfPods(const Figures& figures, const RuntimeRecords& records);

/// The whole machine as if it were a cgroup, "/".
v1::UsageStats UsageOfNode(const v1::NodeUsageStats& node);

/// Names of rates in Figures.
std::string PodKey(const std::string& uid);
std::string SystemKey(const std::string& name);
std::optional<uint64_t> RateOf(const Figures& figures, const std::string& key);

}  // namespace splitlet::node_api
