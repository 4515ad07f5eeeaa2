#pragma once

/// Kills and terminates pods: inspects what runs, stops containers in their order, stops the
/// sandboxes, settles how the pod has ended, and tears down what belonged to it alone. Also stops
/// containers of a pod that goes on.
/// In:      Kill for each order; Inspect, StopContainers and TearDown when it is the pod's turn;
///          answers of the runtime.
/// Owns:    nothing; how far the termination is, is in Termination of each worker.
/// Out:     preStop hooks, each marked on disk before it begins; stops through CRI; the events
///          Killing, FailedPreStopHook and FailedKillPod; what is to be saved and put, to
///          WorkerStore.
/// Killed:  the next start inspects the pod again and goes on under the same deadline.
/// Threads: the loop's; inspections and stops of sandboxes run on the pod's strand; no thread waits
///          for the stop of a container.
/// Errors:  shown in the worker's record; tried again after about 2 s.
/// Source:  docs/behaviour/termination.md; docs/safety.md, rules 19 and 20.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/base/status.h"
#include "libs/daemon/service.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "services/pod-worker/cgroups/pod_cgroups.h"
#include "services/pod-worker/hooks/hook_runner.h"
#include "services/pod-worker/metrics/metrics.h"
#include "services/pod-worker/pod/kill.h"
#include "services/pod-worker/pod/node_info.h"
#include "services/pod-worker/pod/pod_advancer.h"
#include "services/pod-worker/pod/termination.h"
#include "services/pod-worker/pod/workers.h"
#include "services/pod-worker/records/disk_records.h"
#include "services/pod-worker/records/worker_store.h"
#include "services/pod-worker/termination/pod_runtime.h"
#include "services/pod-worker/termination/pre_stop.h"
#include "services/pod-worker/termination/stopped_sandboxes.h"
#include "services/pod-worker/volumes/volume_manager.h"

namespace splitlet::pod_worker {

class PodTerminator {
 public:
  struct Deps {
    exec::Env env;
    const PodRuntime& runtime;
    VolumeManager& volumes;
    const PodCgroups& cgroups;
    const NodeInfo& node;
    daemon::EventRecorder& events;
    Metrics& metrics;
    Random& random;
    Workers& workers;
    WorkerStore& store;
    HookRunner& hooks;
    const DiskRecords& records;
    StoppedSandboxes& stopped_sandboxes;
    /// These containers do not run any more.
    std::function<void(const std::string& uid, const std::set<std::string>& ids)> on_ended;
    PodAdvancer& pods;
  };
  explicit PodTerminator(Deps deps) : deps_(std::move(deps)) {}

  /// Adds an order to the kill of the worker. True when something is to be saved.
  bool Kill(Worker& worker, const KillOrder& order);
  /// Inspects the pod, and stops what runs. The worker is busy until OnStepEnded.
  void Inspect(Worker& worker);
  /// The worker is busy already.
  void StopContainers(Worker& worker, StopSteps run);
  /// Tears down what belonged to the pod alone. The worker is busy until OnStepEnded.
  void TearDown(Worker& worker);
  /// Cancels stops. A stop that is given up from now on is no failure.
  void BeginStop();

 private:
  struct StopAnswer {
    std::string uid;
    int64_t incarnation = 0;
    std::string container_id;
    Status status;
  };
  void OnInspected(const std::string& uid, StatusOr<v1::ObservedPod> seen);
  void BeginHooks(Worker& worker, std::vector<PreStop> hooks);
  void OnHooksSaved(const std::string& uid, const std::vector<PreStop>& hooks, const Status& saved);
  void BeginHook(Worker& worker, const PreStop& hook);
  struct HookAnswer {
    std::string uid;
    int64_t incarnation = 0;
    std::string container_id, name;
  };
  void OnHookEnded(const HookAnswer& answer, const Status& status);
  void WatchHooks(const Worker& worker);
  void OnTimeOver(const std::string& uid, int64_t incarnation);
  void FailHook(const Worker& worker, const std::string& container, const Status& why);
  void FinishCancelled(const std::string& uid);
  void BeginStep(Worker& worker);
  void StopContainer(const Worker& worker, const Termination::Order& order);
  void OnStopped(const StopAnswer& answer);
  void OnAllStopped(Worker& worker);
  void StopSandboxes(const Worker& worker, std::vector<std::string> errors);
  void OnSandboxesStopped(const std::string& uid, const std::vector<std::string>& errors,
                          StatusOr<v1::ObservedPod> left);
  /// On the pod's strand.
  StatusOr<Progress> TearDownPod(const std::string& uid, const std::string& source) const;
  StatusOr<Progress> TearDownOrphan(const std::string& uid, const std::string& source) const;
  void OnTornDown(const std::string& uid, const StatusOr<Progress>& cleaned);
  void OnUnmounting(Worker& worker);
  void Settle(Worker& worker) const;
  void Fail(Worker& worker, const std::string& why);
  Worker& Busy(const std::string& uid) const;

  const Deps deps_;
  bool stopping_ = false;
};

}  // namespace splitlet::pod_worker
