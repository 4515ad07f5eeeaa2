#pragma once

/// Decides for each wanted pod whether it may run on this node, one turn for all that wait.
/// In:    changes of what is known, from SyncLoopService; the node's record and its pressure.
/// Owns:  which pods wait and for what; the room of the node.
/// Out:   decisions to AdmissionStore, which saves and puts them; events of refusals.
/// Killed at any line: a pod whose decision is not on disk is decided again.
/// Threads: loop thread only.
/// Errors: a pod that cannot be decided waits, and its reason is shown by GetState.
/// Source: docs/safety.md, rules 12, 13 and 29.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/bus/typed.h"
#include "libs/daemon/service.h"
#include "libs/exec/exec.h"
#include "libs/exec/work_queue.h"
#include "services/sync-loop/admission/admission_store.h"
#include "services/sync-loop/admission/room.h"
#include "services/sync-loop/admission/rules.h"
#include "services/sync-loop/admission/victims.h"
#include "services/sync-loop/config.h"
#include "services/sync-loop/grants/grant_sender.h"
#include "services/sync-loop/known_pods.h"
#include "services/sync-loop/metrics.h"

namespace splitlet::v1 {
class PodStatusRecord;
class PressureRecord;
class WorkerRecord;
}  // namespace splitlet::v1

namespace splitlet::sync_loop {

/// How long static pods wait for the node's record after the start.
inline constexpr Duration kNodeWait = std::chrono::seconds{3};
/// A refusal for labels or taints stands when it still holds after this: the node's record may lag
/// behind the API.
inline constexpr Duration kLabelsWait = std::chrono::seconds{3};
/// How long the first pods of a source wait for the others of it, so that their order and not that
/// of their files decides. A source that stays incomplete holds up nothing for longer.
inline constexpr Duration kSourceWait = std::chrono::seconds{3};

class PodAdmitter {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    const bus::View<v1::DesiredRecord>& desired;
    const bus::View<v1::WorkerRecord>& workers;
    const bus::View<v1::PressureRecord>& pressure;
    const bus::View<v1::PodStatusRecord>& podstatus;
    const KnownPods& known;
    AdmissionStore& store;
    Victims& victims;
    const GrantSender& grants;
    daemon::EventRecorder& events;
    SyncLoopMetrics& metrics;
    const Log& log;
  };
  PodAdmitter(const Deps& deps, const SyncLoopConfig& config);

  void Start();
  /// Decides `key` soon, together with what else comes in this turn of the loop.
  void DecideSoon(const std::string& key);
  /// The same for all that wait: something may have come free, or become known.
  void DecideAllWaiting();
  void OnNodeChanged();
  /// What pod-worker knows of the node; nullptr: nothing.
  void OnDevices(const v1::WorkerRecord* record);
  /// Its record is there, or changed.
  void OnDesired(const std::string& key);
  /// From one generation to a later one. An admitted pod is not judged again; what the node lacks
  /// for it now is told.
  void OnEdited(const std::string& key, const v1::DesiredRecord& before,
                const v1::DesiredRecord& after);
  /// Its record was taken away by its owner.
  void OnDesiredGone(const std::string& key);
  void OnSaved(const std::string& key);
  /// What it holds of the node may be something else than before: its record, its worker, a call
  /// for it, or that it is a victim has changed.
  void OnHolderChanged(const std::string& key) { room_.OnChanged(key); }
  /// Adds up again what all pods hold.
  void CheckRoom();
  /// Forgets the admissions of pods that nobody wants and nothing works for.
  void ForgetOldAdmissions();

  /// Why nothing can be decided; empty when it can.
  std::string WhyNotDeciding() const;
  /// It holds some of the node's room.
  bool HoldsRoom(const std::string& key) const;
  size_t waiting() const { return waiting_.size(); }
  /// Of the first pod that waits; empty when none does.
  std::string WaitingReason() const;

 private:
  struct Waiting {
    std::string why;
    std::optional<Clock::Time> mismatch_since;  // labels or taints do not suit
  };
  struct Decision {
    std::optional<Refusal> refusal;  // nothing: admitted
    bool waits = false;              // refused for now only
    PodRequests requests;
    std::vector<ActivePod> victims;
  };

  void OnWaitOver(const std::string& key);
  void DecidePending();
  /// The pods of this turn in the order in which they are decided.
  std::vector<std::string> TakePending();
  bool NeedsDecision(const std::string& key, const PodDigest& digest) const;
  /// Nothing: decided, or nothing to decide. Else what it waits for; so below.
  std::string TryDecide(const std::string& key);
  std::string TryDecideByNode(const std::string& key, const PodDigest& digest);
  std::string WhyNodeUnknown(const PodDigest& digest) const;
  /// For a pod that lacks room: it pushes out others, waits, or is refused.
  std::string TryDecideWithoutRoom(const std::string& key, const PodDigest& digest,
                                   const AdmissionInput& input, Decision& decision);
  /// Turns a refusal into victims, or says what it has to wait for.
  std::string MakeRoom(const AdmissionInput& input, const NodeLoad& load, Decision& decision);
  std::string WhyWaits(const std::string& key, const PodDigest& digest);
  std::string WhyRefusalWaits(const std::string& key, const PodDigest& digest,
                              const Refusal& refusal);
  /// The other pods of its source are known too, or have had their time.
  bool IsSourceKnown(const PodDigest& digest);
  /// Of this boot, from a live view; else nullptr.
  std::shared_ptr<const v1::PressureRecord> Pressure() const;
  RoomInput LoadOfNode() const { return {deps_.known, deps_.store, deps_.victims, deps_.grants}; }
  void Decide(const std::string& key, const PodDigest& digest, const Decision& decision);
  v1::SavedAdmission MakeFact(const PodDigest& digest, const Decision& decision) const;
  void ReportDecision(const std::string& key, const PodDigest& digest, const Decision& decision);
  /// Under complete views: nobody wants the pod and nothing works for it.
  bool IsOver(const std::string& key) const;

  Deps deps_;
  SysctlPolicy sysctls_;
  std::string node_name_;
  Amounts devices_;  // of device plugins: how many pods may be given
  int64_t max_pods_;
  bool pod_resources_;  // the feature gate PodLevelResources
  bool offline_start_;
  std::optional<NodeDigest> node_;
  Clock::Time started_;

  std::set<std::string> pending_;  // to be decided in this turn
  bool turn_posted_ = false;
  HeldRoom room_;
  std::map<std::string, Waiting> waiting_;      // what was undecided at the end of its last turn
  std::map<std::string, Clock::Time> sources_;  // whose pods are not all known -> since when
  std::set<std::string> known_sources_;         // the others: nobody waits for them any more
  std::set<std::string> removed_;  // their record was taken away by its owner, in this start
  exec::WorkQueue waits_;
};

}  // namespace splitlet::sync_loop
