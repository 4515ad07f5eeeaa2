#pragma once

/// The decision about one pod: admitted, rejected, or waiting, and for what.
/// PodAdmitter gathers the input, asks once for each pending pod in a turn, and carries it out.
/// Threads: pure functions, any.
/// Errors: none; requests that cannot be parsed make their pod wait.
/// Source: docs/safety.md, rules 12 and 13; docs/behaviour/admission.md.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/clock.h"
#include "services/sync-loop/admission/load.h"
#include "services/sync-loop/admission/preemption.h"
#include "services/sync-loop/admission/rules.h"
#include "services/sync-loop/pods/pod_digests.h"

namespace splitlet::v1 {
class AdmissionRecord;
}

namespace splitlet::sync_loop {

/// A refusal for labels or taints stands when it still holds after this: the node's record may lag
/// behind the API.
inline constexpr Duration kLabelsWait = std::chrono::seconds{3};

/// Why a pod waits.
struct Wait {
  enum class Cause {
    kAdmissionsUnread,     // of all pods, after the start
    kWorkersIncomplete,    // the view `workers`
    kAdmissionUnreadable,  // the pod's file
    kWorkerUnreadable,     // the pod's record in `workers`
    kRequestsInvalid,      // detail: the error
    kEarlierIncarnation,
    kSourceIncomplete,  // detail: the source
    kNodeUnknown,
    kNodeUnregistered,
    kFeaturesUnknown,
    kTablesStale,         // from here on the detail is the reason of the refusal
    kLabelsUnregistered,  // labels and taints of the API server are not known
    kLabelsUnsettled,     // for kLabelsWait
    kNodeStale,
    kPreemption,
    kResources,
  };
  Cause cause = Cause::kAdmissionsUnread;
  std::string detail;
};
/// For splitletctl, health and logs.
std::string TextOf(const Wait& wait);

struct Decision {
  enum class Outcome {
    kUndecided,  // nothing is saved
    kAdmitted,
    kRejected,
    kWaiting,  // saved as WAITING: status shows the pod as Pending with the refusal
  };
  Outcome outcome = Outcome::kUndecided;
  Refusal refusal;           // of kRejected and kWaiting
  std::optional<Wait> wait;  // of kUndecided and kWaiting
  PodRequests requests;
  bool reserves = false;                      // younger API pods leave it `requests` in this turn
  std::vector<ActivePod> victims;             // of kAdmitted: the pods that are killed for it
  std::string lacking;                        // with victims: the first resource that was missing
  std::optional<Duration> retry_after;        // decide again then, even if nothing changes
  std::optional<Clock::Time> mismatch_since;  // labels or taints do not match since then
};
Decision Undecided(Wait wait);

/// All that is known of one pod.
struct PodInput {
  const PodDigest& pod;
  const WorkerDigest* worker = nullptr;           // nullptr: it has none
  bool running = false;                           // the runtime shows something of it running
  bool unreadable = false;                        // its saved admission
  const v1::AdmissionRecord* recorded = nullptr;  // the last decision about this UID
  bool recorded_before = false;                   // by an earlier start of sync-loop
  std::optional<Clock::Time> mismatch_since;      // as in the last Decision
};

/// Fixed for this process.
struct NodeSettings {
  SysctlPolicy sysctls;
  std::string node_name;
  int64_t max_pods = 110;
  bool pod_resources = true;   // the feature gate PodLevelResources
  bool offline_start = false;  // API pods may start before the server has the node
};

/// How far the other input can be trusted now.
struct Certainty {
  bool node_awaited = false;  // the node's record may still come: static pods wait for it too
  bool node_live = false;     // the view `podstatus`
  bool pods_live = false;     // the views `desired` and `workers`
};

/// All that is known of the node in this turn.
struct NodeInput {
  const NodeSettings& settings;
  const NodeDigest* node = nullptr;  // nullptr: not known
  Certainty certainty;
  const std::vector<std::string>& pressure;  // conditions of the node; empty when not known
  bool shutting_down = false;
  const Amounts& devices;  // of device plugins
  const Allocation& allocation;
  bool preempting = false;  // the victims of another pod have not terminated
  Clock::Time now;
  /// Asked only for a pod that does not fit: both go through many pods.
  std::function<NodeLoad()> load_without_namesakes;
  std::function<std::vector<ActivePod>(const kube::Pod& critical)> preemptable;
};

/// The pod's wanted incarnation has no decision that stands. The functions below are asked only
/// about such a pod.
bool NeedsDecision(const PodInput& input);
/// The decision that the records of the pod alone allow; nothing: the node has to be asked too.
std::optional<Decision> DecideByRecords(const PodInput& input);
/// The wanted incarnation has no worker, and nothing of the pod runs: its place among the first
/// pods of its source counts.
bool NeedsWholeSource(const PodInput& input);
Decision DecideByNode(const PodInput& input, const NodeInput& node);

}  // namespace splitlet::sync_loop
