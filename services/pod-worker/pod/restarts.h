#pragma once

/// State of the containers of a pod that ended, wait or are to be replaced.
/// Threads: values.
/// Errors:  none.
/// Source:  docs/behaviour/pod-sync.md; docs/safety.md, rule 5.

#include <map>
#include <optional>
#include <set>
#include <string>

#include "libs/base/clock.h"
#include "services/pod-worker/pod/crash_backoff.h"

namespace splitlet::pod_worker {

/// How containers are restarted; the value behind SavedPodRestarts.
struct RestartState {
  CrashBackoff backoff;
  std::set<std::string> replacing;
  /// preStop hooks that may have begun, by id of the container: not to be begun again.
  std::map<std::string, Clock::Time> pre_stops = {};
  /// The incarnation is over.
  void Clear() {
    backoff.Clear();
    replacing.clear();
    pre_stops.clear();
  }
};

/// Reason of a container that was stopped to be replaced and that the runtime still has. Shown only
/// while that container is the newest one seen, so that no reader takes it for ended for good.
inline constexpr const char* kContainerCreating = "ContainerCreating";
/// The reason for which a container waits, as its status shows it.
struct WaitingReason {
  enum class Cause { kOther, kPostStartHook };  // status decides by it
  std::string reason, message;
  std::optional<Clock::Time> back_off_until;
  Cause cause = Cause::kOther;
};

/// Ids of containers that a signal from outside has ended -> when that was seen first.
using KilledSince = std::map<std::string, Clock::Time>;

}  // namespace splitlet::pod_worker
