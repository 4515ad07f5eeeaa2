#pragma once

/// Decides what happens next to each pod, and begins it: at most one thing at a time for a pod.
/// In:      wake-ups: changed records, answers of steps, probes and pulls, timers.
/// Owns:    when a pod is to be woken; whether `desired` is ready; whether the runtime answers.
/// Out:     syncs, terminations and what follows the end of an incarnation, each to its runner.
/// Killed:  the next start wakes every pod.
/// Threads: the loop's.
/// Errors:  none; what a step could not do is in the record of the worker.
/// Source:  docs/design.md, "The calls"; docs/safety.md, rules 14 to 20.

#include <memory>
#include <optional>
#include <string>

#include "libs/bus/typed.h"
#include "libs/cri/observe.h"
#include "libs/daemon/service.h"
#include "libs/exec/env.h"
#include "libs/exec/work_queue.h"
#include "services/pod-worker/api_objects/pod_objects.h"
#include "services/pod-worker/cgroups/cgroup_keeper.h"
#include "services/pod-worker/control/gone_pods.h"
#include "services/pod-worker/control/hold.h"
#include "services/pod-worker/control/recovery/recovery.h"
#include "services/pod-worker/control/recovery/unreadable_records.h"
#include "services/pod-worker/control/removal_holds.h"
#include "services/pod-worker/control/request_handler.h"
#include "services/pod-worker/control/static_pod_start_gate.h"
#include "services/pod-worker/images/puller.h"
#include "services/pod-worker/pod/pod_advancer.h"
#include "services/pod-worker/pod/workers.h"
#include "services/pod-worker/probes/probe_scheduler.h"
#include "services/pod-worker/probes/results.h"
#include "services/pod-worker/records/worker_store.h"
#include "services/pod-worker/sync/resync_timer.h"
#include "services/pod-worker/sync/sync_runner.h"
#include "services/pod-worker/termination/pod_terminator.h"
#include "services/pod-worker/user_namespaces/user_ids.h"

namespace splitlet::v1 {
class DesiredRecord;
class ObservedPod;
}  // namespace splitlet::v1

namespace splitlet::pod_worker {

class PodLoop final : public PodAdvancer {
 public:
  struct Deps {
    exec::Env env;
    const bus::View<v1::DesiredRecord>& desired;
    daemon::EventRecorder& events;
    Workers& workers;
    PodObjects& objects;
    UserIdRanges& user_ids;
    WorkerStore& store;
    ImagePuller& puller;
    ProbeScheduler& probes;
    ProbeResults& probe_results;
    ResyncTimer& resyncs;
    PodTerminator& terminator;
    SyncRunner& syncs;
    RemovalHolds& holds;
    UnreadableRecords& unreadable;
    StaticPodStartGate& gate;
    GonePods& gone;
    RequestHandler& requests;
    const Recovery& recovery;
    CgroupKeeper& keeper;
  };
  /// Made before the parts that call it as PodAdvancer.
  explicit PodLoop(const exec::Env& env);
  /// Called once, when all parts are made; before it no other function may be called.
  void Connect(const Deps& deps);

  void Advance(const std::string& uid) override { AdvanceWith(uid, nullptr); }
  void AdvanceAfter(const std::string& uid, Duration wait) override { due_.Add(uid, wait); }
  void AdvanceWith(const std::string& uid, std::shared_ptr<const cri::PodListing> listing) override;
  /// Every pod; those that may run are inspected together.
  void AdvanceAll();
  void OnStepEnded(Worker& worker, bool again) override;

  void OnPodChanged(const std::string& uid) override;
  /// Objects that pods name have changed: of every pod, or of one.
  void OnObjectsChanged();
  void OnObjectsChanged(const std::string& uid);
  /// The node has other addresses.
  void OnAddresses();
  /// The view `desired` is complete enough, or has had its time.
  void OnDesiredReady();
  void OnRuntimeAnswer(const std::string& trouble) override { runtime_trouble_ = trouble; }
  void OnSeen(Worker& worker, const v1::ObservedPod& seen) override;
  /// `decides`: a container has started, or has to be stopped.
  void OnProbed(const std::string& uid, bool decides);
  void OnPulled(Worker& worker, const PullResult& result);
  /// nullptr when the incarnation of the pull ends or is another one.
  Worker* WaitingFor(const PullRequest& pull) const;
  /// Nothing begins any more.
  void BeginStop() { stopping_ = true; }

  /// How much of the pod a removal has to leave.
  PodNeed NeedOf(const std::string& uid) const;
  bool IsHeld(const std::string& uid) const override {
    return static_cast<bool>(deps_->holds.HeldUntil(uid));
  }
  bool stopping() const { return stopping_; }
  const std::string& runtime_trouble() const { return runtime_trouble_; }

 private:
  Worker* Find(const std::string& uid) const { return deps_->workers.Find(uid); }
  void AdvanceSyncing(Worker& worker, std::shared_ptr<const cri::PodListing> listing);
  void BeginSync(Worker& worker, std::shared_ptr<const cri::PodListing> listing);
  static bool MustPassGate(const Worker& worker);
  void AwaitName(Worker& worker, const StaticPodStartGate::Wait& wait);
  void SetWaitsFor(Worker& worker, const std::string& text);
  void PassGate(Worker& worker);
  void GiveUserIds(Worker& worker);
  std::optional<Duration> DeadlineLeft(const Worker& worker) const;
  void EndPastDeadline(Worker& worker);
  void AfterFinish(Worker& worker);
  void ForgetProbes(Worker& worker);

  std::optional<const Deps> deps_;  // set by Connect
  exec::WorkQueue due_;
  bool desired_ready_ = false, stopping_ = false;
  std::string runtime_trouble_;  // empty: the runtime answers
};

}  // namespace splitlet::pod_worker
