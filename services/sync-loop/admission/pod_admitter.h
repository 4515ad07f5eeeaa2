#pragma once

/// Asks decision.h about each pending pod, all in one turn, and carries the decisions out. The
/// timers of pods that wait are here.
/// In:    changes of pods, from SyncLoopService; the node's record and its pressure.
/// Owns:  which pods are pending, and why each one waits; the allocated resources of the node.
/// Out:   decisions to AdmissionStore, which saves and puts them; events of refusals.
/// Killed at any line: a pod whose decision is not on disk is decided again.
/// Threads: loop thread only.
/// Errors: a pod that cannot be decided waits; GetState shows why.
/// Source: docs/safety.md, rules 12, 13 and 29.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/bus/typed.h"
#include "libs/daemon/service.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/exec/work_queue.h"
#include "services/sync-loop/admission/admission_store.h"
#include "services/sync-loop/admission/allocated_resources.h"
#include "services/sync-loop/admission/decision.h"
#include "services/sync-loop/admission/old_admissions.h"
#include "services/sync-loop/admission/preemption_victims.h"
#include "services/sync-loop/config.h"
#include "services/sync-loop/metrics.h"
#include "services/sync-loop/pods/known_pods.h"

namespace splitlet::v1 {
class PodStatusRecord;
class PressureRecord;
class WorkerRecord;
}  // namespace splitlet::v1

namespace splitlet::sync_loop {

/// How long static pods wait for the node's record after the start.
inline constexpr Duration kNodeWait = std::chrono::seconds{3};
/// How long the first pods of a source wait for its other pods, so that the order of the pods and
/// not that of their files decides. A source that stays incomplete delays its pods no longer.
inline constexpr Duration kSourceWait = std::chrono::seconds{3};

class PodAdmitter {
 public:
  struct Deps {
    exec::Env env;
    const bus::View<v1::DesiredRecord>& desired;
    const bus::View<v1::WorkerRecord>& workers;
    const bus::View<v1::PressureRecord>& pressure;
    const bus::View<v1::PodStatusRecord>& podstatus;
    const KnownPods& known;
    AdmissionStore& store;
    PreemptionVictims& victims;
    /// pod-worker may have taken a grant of the pod that its record does not show yet.
    std::function<bool(const std::string& key)> may_be_granted;
    daemon::EventRecorder& events;
    SyncLoopMetrics& metrics;
  };
  PodAdmitter(const Deps& deps, const SyncLoopConfig& config);

  void Start();
  /// Decides `key` together with all else that comes in this turn of the loop.
  void DecideSoon(const std::string& key);
  /// Decides all pods that wait: resources may be free now, or a record known.
  void DecideAllWaiting();
  void OnNodeChanged();
  /// pod-worker's record of the node; nullptr: there is none.
  void OnDevices(const v1::WorkerRecord* record);
  /// The pod's record is new or changed.
  void OnDesired(const std::string& key);
  /// From the pod `before` to one of a later generation. An admitted pod is not decided again; an
  /// event reports features that it now lacks.
  void OnEdited(const std::string& key, const kube::PodBytes& before);
  /// The owner of `desired` removed the pod's record.
  void OnDesiredGone(const std::string& key);
  void OnSaved(const std::string& key);
  /// The resources that the pod holds may have changed: with its record, its worker, a call for it,
  /// or its choice as a victim.
  void OnHolderChanged(const std::string& key) { allocated_.OnChanged(key); }
  /// Sums up again what all pods hold.
  void CheckAllocated();
  /// Forgets the admissions of pods that no source wants and that have no worker.
  void ForgetOldAdmissions();

  /// Why no pod can be decided; nothing: they can.
  std::optional<Wait> WhyNotDeciding() const;
  bool HoldsResources(const std::string& key) const;
  size_t waiting() const { return waiting_.size(); }
  /// Why the first waiting pod waits; empty when none waits.
  std::string WaitingReason() const;

 private:
  struct Waiting {
    Wait why;
    std::optional<Clock::Time> mismatch_since;
  };

  void OnWaitOver(const std::string& key);
  void DecidePending();
  /// The pods of this turn in the order in which they are decided.
  std::vector<std::string> TakePending();
  PodInput InputOf(const std::string& key, const PodDigest& digest) const;
  Decision DecideOne(const std::string& key, const PodInput& input);
  Decision DecideByNodeNow(const std::string& key, const PodInput& input) const;
  /// The other pods of the source are known too, or kSourceWait is over.
  bool IsSourceKnown(const PodDigest& digest);
  /// The record of this boot, from a live view; else nullptr.
  std::shared_ptr<const v1::PressureRecord> Pressure() const;
  AllocationInput AllocationOf() const {
    return {deps_.known, deps_.store, deps_.victims, deps_.may_be_granted};
  }
  void CarryOut(const std::string& key, const PodDigest& digest, const Decision& decision);
  void Save(const std::string& key, const PodDigest& digest, const Decision& decision);
  v1::SavedAdmission MakeAdmission(const PodDigest& digest, const Decision& decision) const;
  void ReportDecision(const std::string& key, const PodDigest& digest, const Decision& decision);
  void ReportVictims(const PodDigest& preemptor, const Decision& decision);
  Retention RetentionOf(const std::string& key, int64_t incarnation) const;

  Deps deps_;
  const NodeSettings settings_;
  Amounts devices_;  // of device plugins: the number of devices that pods may be given
  std::optional<NodeDigest> node_;
  Clock::Time started_;

  std::set<std::string> pending_;  // to be decided in this turn
  bool turn_posted_ = false;
  AllocatedResources allocated_;
  std::map<std::string, Waiting> waiting_;      // undecided, or decided to wait
  std::map<std::string, Clock::Time> sources_;  // incomplete ones -> since when they are waited for
  std::set<std::string> known_sources_;         // no pod waits for these any more
  std::set<std::string> removed_;               // the owner removed their records, in this start
  exec::WorkQueue waits_;
};

}  // namespace splitlet::sync_loop
