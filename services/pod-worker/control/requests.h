#pragma once

/// Decides what a request about a pod leads to; RequestHandler carries it out.
/// In:      RequestHandler, for each UpdatePod, KillPod and desired record.
/// Owns:    nothing.
/// Threads: pure functions, any.
/// Errors:  none; a refusal is an action.
/// Source:  docs/safety.md, rules 10, 15, 16 and 19.

#include <compare>
#include <cstdint>
#include <optional>

#include "services/pod-worker/pod/worker_state.h"

namespace splitlet::pod_worker {

/// Both only grow.
struct GrantNumber {
  int64_t incarnation = 0, generation = 0;
  auto operator<=>(const GrantNumber&) const = default;
};

/// The state of a pod when a request comes.
struct PodView {
  struct OfWorker {
    int64_t incarnation = 0;
    WorkerState state = WorkerState::kSyncing;
    bool orphan = false;              // ends containers without record, made after `incarnation`
    bool busy = false;                // something is being done
    bool saving = false;              // something of it is on its way to the disk
    std::optional<int64_t> granted;   // the generation
    std::optional<GrantNumber> next;  // of the grant that waits for the end of this incarnation
  };
  std::optional<OfWorker> worker;
  std::optional<int64_t> found;  // without a worker: the incarnation that runtime or files show
};

enum class GrantAction {
  kRefuseOver,        // this incarnation is over
  kAnswer,            // taken already
  kRefuseBelowFound,  // the runtime shows a later incarnation
  kEndFound,          // what an earlier incarnation left is ended first; the grant waits
  kBegin,             // a worker begins
  kAnswerWaiting,     // one that is as new waits already
  kWait,              // the present incarnation is ended; the grant waits
  kUpdate,            // the pod goes on with another generation
  kShorten,           // it ends: a spec cannot bring it back, a deletion may leave it less time
};
GrantAction DecideGrant(const PodView& view, const GrantNumber& grant);

enum class KillAction {
  kRefuseUnknown,  // no such incarnation
  kAnswerOver,     // it has ended: a later one is there
  kRefuseNotYet,   // an earlier incarnation has not ended
  kAnswerAgain,    // the same request gets the same answer
  kEndUngranted,   // wanted by config-source, and never granted: it ends before it began
  kEnd,
};
struct KillQuestion {
  int64_t incarnation = 0;
  bool answered = false;           // a request of this id
  std::optional<int64_t> desired;  // the incarnation that config-source shows
};
KillAction DecideKill(const PodView& view, const KillQuestion& question);

/// A kill of containers without a record.
enum class OrphanAction {
  kRefuseDesired,  // a source knows the pod
  kRefuseWorker,   // its worker ends it
  kRefuseSaving,   // later
  kEnd,            // a worker begins that ends them
  kEndSooner,      // one has begun: it may get less time
};
OrphanAction DecideOrphanKill(const PodView& view, bool desired);

enum class DesiredAction {
  kNone,
  kPublishLater,  // the record is of an earlier incarnation: its sender may not know that it is
                  // over
  kPublish,       // wanted in an incarnation that is over: its sender may not know
  kEndForLater,   // the record of a later incarnation ends this one
  kEnd,       // REMOVED or a deletion timestamp; if it changes nothing, the end is published again
  kTryLater,  // the worker of an earlier incarnation is finished, and not at rest
  kEndUngranted,  // over before it was granted
};
struct DesiredQuestion {
  int64_t incarnation = 0;
  bool over = false;  // REMOVED or a deletion timestamp: never taken back
};
DesiredAction DecideDesired(const PodView& view, const DesiredQuestion& question);

}  // namespace splitlet::pod_worker
