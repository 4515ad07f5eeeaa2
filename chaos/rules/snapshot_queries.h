#pragma once

/// Questions that several rules ask of a snapshot.
/// Threads: any; pure.
/// Errors:  none.

#include <string>
#include <vector>

#include "chaos/node/node.h"

namespace splitlet::chaos {

/// How late an inspection is at worst on a busy machine.
inline constexpr Duration kSlack = 500ms;

/// Containers of this full name in this state.
std::vector<const SeenContainer*> ContainersOf(const Snapshot& snapshot,
                                               const std::string& full_name,
                                               SeenContainer::State state);
bool IsRunning(const Snapshot& snapshot, const std::string& container_id);
/// The pod of this full name, a running one first; null: `pods` has none.
const ReportedPod* FindPod(const std::vector<ReportedPod>& pods, const std::string& full_name);
/// As the node's own status reports the pod.
const ReportedPod* ReportedOf(const Snapshot& snapshot, const std::string& full_name);
/// Neither a status nor a ready sandbox is left of the pod.
bool IsGone(const Snapshot& snapshot, const std::string& full_name);
/// "Succeeded" and "Failed".
bool IsTerminal(const std::string& phase);
/// "containerd://0123" -> "0123".
std::string BareId(const std::string& id);

}  // namespace splitlet::chaos
