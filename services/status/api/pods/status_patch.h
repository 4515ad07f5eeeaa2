#pragma once

/// What becomes of a pod's status in the API when ours is written over it, and the patch that does
/// it. Pure.
/// Threads: any.
/// Errors: none.
/// Source: docs/behaviour/status.md, "To the API server".

#include <string>

#include "libs/kube/pod_types.h"

namespace splitlet::status {

struct MergeOptions {
  /// Of a static pod: a start and an end that an earlier life showed are no floor.
  bool mirror = false;
  /// Times of conditions that say the same stay as the API has them: ours are from after a start.
  bool keep_times = false;
};

/// Conditions of others and what others fill stay; a terminal phase there is a floor.
kube::PodStatus MergeStatus(const kube::PodStatus& at_server, const kube::PodStatus& ours,
                            const MergeOptions& options);

/// JSON of a strategic merge patch that names the UID; empty: they say the same.
std::string MakeStatusPatch(const std::string& uid, const kube::PodStatus& from,
                            const kube::PodStatus& to);

}  // namespace splitlet::status
