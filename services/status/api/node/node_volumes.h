#pragma once

/// The volumes in the status of a Node. Pure.
/// Threads: values.
/// Errors:  none.
/// Source:  docs/behaviour/node.md, "Volumes in use"; kubelet volumesInUse setter.

#include <optional>
#include <string>
#include <vector>

#include "libs/kube/pod_types.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::status {

/// The list for the Node: sorted and unique. No value: pod-worker does not know all volumes yet, so
/// the list of the Node must not change. `worker`: the record `node`; null: there is none.
std::optional<std::vector<std::string>> VolumesInUse(const v1::WorkerRecord* worker);

/// The list that the Node shows: sorted and unique.
std::vector<std::string> ShownVolumesInUse(const kube::Node& node);

}  // namespace splitlet::status
