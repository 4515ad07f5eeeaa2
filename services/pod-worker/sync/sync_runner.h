#pragma once

/// Syncs pods: begins a sync, applies its outcome to the worker, and hands on what it asks for:
/// stops, pulls, the next sync, the kill of a pod that has completed.
/// In:      Begin when it is the pod's turn; outcomes of syncs.
/// Owns:    nothing; what a sync leaves for the next is in each worker.
/// Out:     one SyncPass for a pod at a time; a file before containers are replaced; the terminal
///          status of a pod that has completed, to WorkerStore.
/// Killed:  the next sync inspects the pod again. A container to be replaced is on disk as such
///          before it stops.
/// Threads: the loop's; syncs run on the pod's strand.
/// Errors:  shown in the worker's record; tried again with a back-off.
/// Source:  docs/behaviour/pod-sync.md; docs/safety.md, rules 14, 16, 17 and 20.

#include <functional>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/daemon/service.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "services/pod-worker/hooks/hook_runner.h"
#include "services/pod-worker/images/puller.h"
#include "services/pod-worker/metrics/metrics.h"
#include "services/pod-worker/pod/container_stop.h"
#include "services/pod-worker/pod/pod_advancer.h"
#include "services/pod-worker/pod/workers.h"
#include "services/pod-worker/records/disk_records.h"
#include "services/pod-worker/records/worker_store.h"
#include "services/pod-worker/sync/resync_timer.h"
#include "services/pod-worker/sync/sync_outcome.h"

namespace splitlet::pod_worker {

class SyncRunner {
 public:
  struct Deps {
    exec::Env env;
    const SyncDeps& sync;
    /// The objects that the pod sees; null: none.
    std::function<std::shared_ptr<const ObjectSource>(const Worker& worker)> objects;
    const std::vector<std::string>& node_ips;  // as they are now
    const DiskRecords& records;
    Metrics& metrics;
    Random& random;
    const Workers& workers;
    WorkerStore& store;
    ImagePuller& puller;
    HookRunner& hooks;
    daemon::EventRecorder& events;
    ResyncTimer& resyncs;
    /// The pod has completed: it is ended. The caller saves it.
    std::function<void(Worker& worker)> end;
    /// Stops these containers of a pod that goes on; the step lasts until they are stopped.
    std::function<void(Worker& worker, StopSteps steps)> stop_containers;
    PodAdvancer& pods;
  };
  explicit SyncRunner(Deps deps) : deps_(std::move(deps)) {}

  /// The worker is busy until OnStepEnded. `listing` is null for an inspection that shares no
  /// listing.
  void Begin(Worker& worker, std::shared_ptr<const cri::PodListing> listing);

 private:
  void OnSynced(const std::string& uid, SyncOutcome outcome, Duration took);
  void ApplyOutcome(Worker& worker, SyncOutcome& outcome, Duration took);
  void ApplyWaitingReasons(Worker& worker, SyncOutcome& outcome);
  void ApplyError(Worker& worker, const SyncOutcome& outcome);
  void BeginPostStart(Worker& worker, const StartedContainer& started);
  struct Hooked {
    std::string uid;
    int64_t incarnation = 0;
    StartedContainer container;
  };
  void OnPostStart(const Hooked& hooked, const Status& status);
  void Schedule(Worker& worker, const SyncOutcome& outcome);
  void Complete(Worker& worker, const SyncOutcome& outcome);
  void StopReplaced(Worker& worker, SyncOutcome& outcome);

  const Deps deps_;
};

}  // namespace splitlet::pod_worker
