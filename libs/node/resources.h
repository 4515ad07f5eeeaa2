#pragma once

/// Computes the resources that pods may use, and eviction thresholds, with pure functions, in
/// bytes.
/// Errors: INVALID_ARGUMENT with key and reason.
/// Source: docs/behaviour/node.md; docs/behaviour/garbage-collection.md, "Pressure".

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "libs/base/status.h"
#include "libs/kube/resources.h"
#include "libs/node/machine.h"

namespace splitlet::node {

/// Limits of the configuration.
struct NodeLimits {
  int64_t max_pods = 110;
  int64_t pods_per_core = 0;                                                    // 0: no limit
  std::map<std::string, std::string> system_reserved = {}, kube_reserved = {};  // quantities
  std::string reserved_cpus = {};  // "0-1"; replaces the reserved amount of CPU
  std::map<std::string, std::string> eviction_hard = {};  // "memory.available" -> "100Mi", "10%"
};

struct NodeResources {
  kube::Resources capacity, allocatable;
};

/// Computes allocatable: capacity minus both reservations and the hard eviction thresholds, at
/// least zero. INVALID_ARGUMENT: the reservations exceed the capacity.
StatusOr<NodeResources> ComputeNodeResources(const Machine& machine, const NodeLimits& limits);

/// Parses "100Mi", or "10%" of the capacity. nullopt for 0% and 100%, which switch a signal off.
StatusOr<std::optional<kube::Quantity>> ThresholdAmount(const std::string& threshold,
                                                        int64_t capacity);

}  // namespace splitlet::node
