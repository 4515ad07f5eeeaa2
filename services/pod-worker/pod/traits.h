#pragma once

/// Properties of a pod that the loop needs often.
/// Threads: values and pure functions, any.
/// Errors:  none.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "libs/kube/pod_types.h"
#include "services/pod-worker/pod/class_requests.h"

namespace splitlet::pod_worker {

/// Properties of the granted pod.
struct PodTraits {
  std::string uid, name, name_space;
  bool is_static = false;
  bool runs_once = false;  // restart policy Never
  bool deleted = false;    // has a deletion timestamp
  std::optional<int64_t> deletion_grace, spec_grace, active_deadline;
  /// When it was started, as the status of an API pod shows it: by the agent that had the node
  /// then.
  std::optional<int64_t> shown_start_ns;  // wall
  size_t containers = 0;
  std::set<std::string> inits, ephemerals;  // names of such containers
  bool has_probes = false;
  bool shows_objects = false;   // in volumes, which a sync brings up to date
  bool user_namespace = false;  // one of its own
  bool host_network = false;
  ClassRequests class_requests;    // what it adds to the cgroups above its own
  std::string unsupported_fields;  // of what it asks for; for people
};
PodTraits TraitsOf(const kube::Pod& pod);

}  // namespace splitlet::pod_worker
