#pragma once

/// Everything pod-worker knows of one pod: the state behind the record in `workers`, and what is
/// being done for it.
/// Threads: the loop's.
/// Errors:  none.
/// Units:   as the names say.
/// Source:  docs/behaviour/termination.md, "States of a worker"; docs/safety.md, rules 14, 15, 19
///          and 20.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/cancel.h"
#include "libs/base/clock.h"
#include "libs/base/log.h"
#include "libs/cri/incarnation.h"
#include "libs/kube/pod_bytes.h"
#include "services/pod-worker/pod/activity.h"
#include "services/pod-worker/pod/events.h"
#include "services/pod-worker/pod/kill.h"
#include "services/pod-worker/pod/post_start.h"
#include "services/pod-worker/pod/probe_results.h"
#include "services/pod-worker/pod/restarts.h"
#include "services/pod-worker/pod/termination.h"
#include "services/pod-worker/pod/traits.h"
#include "services/pod-worker/pod/trouble.h"
#include "services/pod-worker/pod/user_ids.h"
#include "services/pod-worker/pod/worker_state.h"

namespace splitlet::v1 {
class ObservedPod;
}

namespace splitlet::pod_worker {

struct Grant {
  int64_t incarnation = 0, generation = 0;
  std::string source;
  kube::PodBytes pod;       // empty when the incarnation is finished
  std::string traceparent;  // of the change that it came with; may be empty
  /// From the check of the grant until the first sync takes it, so that both share one parsing.
  std::shared_ptr<const kube::Pod> parsed = nullptr;
  kube::ParsedPod Parsed() const { return {pod, parsed}; }
  void DropPod() {
    pod = {};
    parsed = nullptr;
  }
};

/// The last grant of this pod that no retry can change.
struct RefusedGrant {
  int64_t generation = 0;  // that is refused by every start of this version; 0: none
  std::string why;         // empty: none was refused
  bool operator==(const RefusedGrant&) const = default;
};

/// How far a pod that no source wants has left the table.
enum class Removal {
  kNone,
  kRemoved,    // its record says that no source wants it
  kForgotten,  // its record has left the table; it is still remembered here
};

struct WorkerTimes {
  int64_t start_wall_ns = 0;
  Clock::Time started_at;  // for the active deadline
  Clock::Time granted_at;  // of this process, for metrics
  Clock::Time last_action;
  Clock::Time ending_since;      // of this process, for metrics
  Clock::Time unmounting_since;  // its termination waits for programs that hold its volumes
  Clock::Time finished_at;
};

/// The memory that a sync of the incarnation leaves for the next one.
struct SyncMemory {
  std::shared_ptr<const v1::ObservedPod> known_running;  // null: everything is asked
  KilledSince killed;
  std::string pod_ip;  // of the newest sandbox, as last seen; may be empty
  int failures = 0;
  bool synced_once = false;
};

struct Worker {
  std::string uid, name, name_space, source;
  int64_t incarnation = 0;
  std::string traceparent;  // of the last change that was asked for; may be empty
  std::optional<Grant> grant, next;
  RefusedGrant refused;  // since the last one that was taken
  PodTraits traits;
  WorkerState state = WorkerState::kSyncing;
  bool started = false;  // passed the wait for another pod of its full name
  uint64_t arrival = 0;
  std::string waits_for;

  // The end.
  Kill kill;
  Removal removal = Removal::kNone;
  bool orphan = false;
  std::vector<std::string> sandbox_ids;  // of an orphan
  Termination termination;
  std::map<std::string, Clock::Time> answers;  // to kills, by request id

  WorkerTimes times;
  // What is being done.
  Activity activity = Activity::kIdle;
  void On(ActivityEvent event) { activity = Next(activity, event); }
  std::shared_ptr<CancelToken> ending = std::make_shared<CancelToken>();
  RestartState restarts;
  SyncMemory syncs;
  cri::StartedAttempts started_attempts;
  std::map<std::string, WaitingReason> waiting_reasons;  // by container
  PostStart post_start;
  PodTrouble trouble;
  int missing_passes = 0;
  std::optional<UserIds> user_ids;  // on disk before anything runs with them, until the end
  ProbeResultsById probes;          // on disk
};

/// It was started in another boot, or by another agent: only wall time shows how long ago.
void BackdateStart(int64_t start_wall_ns, Worker& worker);
/// For log lines.
LogField TraceField(const Worker& worker);
/// For events.
PodRef RefOf(const Worker& worker);

}  // namespace splitlet::pod_worker
