#pragma once

/// pod-worker: builds its parts, and routes what comes in to the part that owns the state.
/// In:      grants and kills from sync-loop; kills, holds and TakeDownVolumes from gc; the view
///          `desired`; the node's record in `podstatus`; pleg's signal `pod-changed`; changes of
///          objects that pods name; ends of programs that mount and unmount; sockets of plugins.
/// Owns:    table `workers`: pod UID -> state, deadlines, what containers wait for, the terminal
///          status and the last observation. WorkerStore puts it.
/// Out:     what its parts do: puts to `workers`; sandboxes and containers in the runtime; pod
///          directories; Kubernetes events.
/// Killed:  at any line: the records show which pods are granted or ending, the runtime shows how
///          far they are; the next start goes on from there, with one sandbox, one container per
///          name, the same attempt numbers and the same deadline.
/// Threads: loop thread only, except what is said to run on a strand.
/// Errors:  as each method says.
/// Source:  docs/design.md, "The calls"; docs/safety.md, rules 3 and 14 to 20.

#include <memory>
#include <string>
#include <vector>

#include "libs/exec/periodic.h"
#include "services/pod-worker/api/pod_calls.h"
#include "services/pod-worker/parts.h"

namespace splitlet::pod_worker {

class PodWorkerService final : public PodCalls {
 public:
  PodWorkerService(Deps deps, Config config);
  ~PodWorkerService() override;

  /// The cgroups above those of pods, before Start. Blocks; the process does not start without.
  Status PrepareCgroups() const { return ground_.cgroups.Prepare(); }
  void Start();
  /// Gives up stops and pulls, which the next start begins again where they were. Nothing new is
  /// begun; calls that make something run to their end.
  void BeginStop();
  daemon::Health GetHealth() const;

  void OnUpdatePod(const v1::UpdatePodRequest& request, DoneStatus done,
                   const std::string& traceparent = {}) override;
  void OnKillPod(const v1::KillPodRequest& request, Done<v1::KillPodReply> done,
                 const std::string& traceparent = {}) override;
  void OnHoldForRemoval(const v1::HoldRequest& request, Done<v1::HoldReply> done) override;
  void OnReleaseHold(const std::string& hold_id) override;
  void OnTakeDownVolumes(const std::string& uid, const Done<Progress>& done) override;
  std::vector<v1::WorkerRecord> GetWorkers() const override;

  /// Objects that pods name have changed: pods that wait for one are inspected again, and pods that
  /// show some in volumes.
  void OnObjectsChanged() { loop_.OnObjectsChanged(); }
  /// The same of one pod.
  void OnObjectsChanged(const std::string& uid) { loop_.OnObjectsChanged(uid); }
  /// A program that the pod's volumes were waiting for has ended.
  void OnVolumeProgramEnded(const std::string& uid);
  void OnPodChanged(const std::string& uid) { loop_.OnPodChanged(uid); }  // pleg's signal

  /// Pods whose files cannot be read, a line each.
  std::vector<std::string> Notes() const { return control_.unreadable.Notes(); }
  /// Puts these files aside; then the other records decide what the pod is. NOT_FOUND: all can be
  /// read.
  void DiscardRecord(const std::string& uid, Done<std::vector<std::string>> done);

 private:
  ControlParts::Calls Calls();
  void OnRead(DiskRecords::All& records);
  void OnRuntimeListed(const std::vector<cri::Sandbox>& sandboxes,
                       const std::vector<cri::Container>& containers);
  void OnDesired(const std::string& key, const std::shared_ptr<const v1::DesiredRecord>& record,
                 bool present, const std::string& traceparent = {});
  void OnNode();
  /// The other records of the pod count now, as after a start.
  void OnDiscarded(const std::string& key, const DiskRecords::All& left);
  Worker& Add(std::unique_ptr<Worker> worker);
  void Collect();
  Status MayServe(const std::string& uid) const;

  GroundParts ground_;
  PodLoop loop_;
  StepParts steps_;
  ControlParts control_;
  exec::Periodic collect_, missing_, keep_room_;
};

}  // namespace splitlet::pod_worker
