#pragma once

/// Finds the containers whose waiting reason is over.
/// Threads: pure functions, any.
/// Errors:  none.
/// Source:  docs/behaviour/pod-sync.md, "Reasons and events".

#include <set>
#include <string>

namespace splitlet::v1 {
class ObservedPod;
}

namespace splitlet::pod_worker {

struct WaitingInput {
  const v1::ObservedPod& seen;
  const std::set<std::string>& replacing;     // ids of containers that were stopped to be replaced
  const std::set<std::string>& failed_hooks;  // ids of containers whose postStart hook has failed
};
/// Names of containers that run, or have ended without being replaced. Not of a container that
/// replaces another: a reader may have seen the end of that one only.
std::set<std::string> NoLongerWaiting(const WaitingInput& input);

}  // namespace splitlet::pod_worker
