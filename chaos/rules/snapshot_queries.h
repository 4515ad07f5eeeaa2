#pragma once

/// Questions that several rules ask of a snapshot.
/// Threads: any; pure.
/// Errors:  none.

#include <string>
#include <vector>

#include "chaos/node/node.h"

namespace splitlet::chaos {

/// Longest delay of an inspection on a busy machine.
inline constexpr Duration kSlack = 500ms;

/// Containers of this full name in this state.
std::vector<const SeenContainer*> ContainersOf(const Snapshot& snapshot,
                                               const std::string& full_name,
                                               SeenContainer::State state);
bool IsRunning(const Snapshot& snapshot, const std::string& container_id);
/// The pod of this full name, preferring a running one; null: `pods` has none.
const ReportedPod* FindPod(const std::vector<ReportedPod>& pods, const std::string& full_name);
/// The pod in the node's own status.
const ReportedPod* ReportedOf(const Snapshot& snapshot, const std::string& full_name);
/// True if neither a status nor a ready sandbox of the pod is left.
bool IsGone(const Snapshot& snapshot, const std::string& full_name);
/// True for "Succeeded" and "Failed".
bool IsTerminal(const std::string& phase);
/// "containerd://0123" gives "0123".
std::string BareId(const std::string& id);

}  // namespace splitlet::chaos
