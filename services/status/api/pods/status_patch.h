#pragma once

/// Merges our status of a pod into the status that the API has, and makes the patch. Pure.
/// Threads: any.
/// Errors: none.
/// Source: docs/behaviour/status.md, "To the API server".

#include <string>

#include "libs/kube/pod_types.h"

namespace splitlet::status {

struct MergeOptions {
  /// The object is a mirror pod: the start time and the terminal phase of an earlier incarnation
  /// may be overwritten.
  bool mirror = false;
  /// Conditions whose status is unchanged keep the API's transition times. Ours may be those of a
  /// restart of this process.
  bool keep_times = false;
};

/// Keeps the conditions and fields that others own; never leaves a terminal phase in the API.
kube::PodStatus MergeStatus(const kube::PodStatus& at_server, const kube::PodStatus& ours,
                            const MergeOptions& options);

/// JSON of a strategic merge patch that names the UID; empty: nothing differs.
std::string MakeStatusPatch(const std::string& uid, const kube::PodStatus& from,
                            const kube::PodStatus& to);

}  // namespace splitlet::status
