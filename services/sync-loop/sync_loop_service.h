#pragma once

/// Decides which pods may run here and tells pod-worker, by comparing what is wanted with what is.
/// In:    `desired`, `runtime`, `workers`, `pressure`, the node's record in `podstatus`; a tick
/// every 2 s; Resync calls. Owns:  table `admission`: pod UID -> admitted, or rejected or waiting,
/// with reason and message. Out:   puts to `admission`; UpdatePod and KillPod to pod-worker; events
/// of rejections. Killed at any line: a verdict is on disk before it is in the table, and in the
/// table before the grant; the next start reads the verdicts, compares, and sends what is missing.
/// Threads: loop thread only. Errors: in GetState and GetHealth.
/// Source: sync-loop spec; DESIGN.md, rules 6 to 12, 14 and 15.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/bus/desired_owner.h"
#include "libs/bus/typed.h"
#include "libs/daemon/service.h"
#include "libs/exec/exec.h"
#include "libs/exec/work_queue.h"
#include "services/sync-loop/admission/admission_store.h"
#include "services/sync-loop/admission/load.h"
#include "services/sync-loop/admission/preemption.h"
#include "services/sync-loop/admission/rules.h"
#include "services/sync-loop/config.h"
#include "services/sync-loop/grants/grant_sender.h"
#include "services/sync-loop/metrics.h"
#include "services/sync-loop/orphans/orphan_watch.h"
#include "services/sync-loop/pod_digests.h"
#include "services/sync-loop/pod_worker_client.h"

namespace splitlet::v1 {
class PodStatusRecord;
class PressureRecord;
}  // namespace splitlet::v1

namespace splitlet::sync_loop {

inline constexpr Duration kTick = std::chrono::seconds{2};
/// How long static pods wait for the node's record after the start.
inline constexpr Duration kNodeWait = std::chrono::seconds{3};
/// A refusal for labels or taints stands when it still holds after this: the node's record may lag
/// behind the API.
inline constexpr Duration kLabelsWait = std::chrono::seconds{3};

/// How long the first pods of a source wait for the others of it, so that their order and not that
/// of their files decides. A source that stays incomplete holds up nothing for longer.
inline constexpr Duration kSourceWait = std::chrono::seconds{3};

/// For the queue of waits: no pod has this key.
inline constexpr std::string_view kAllKeys = "(all)";

inline constexpr std::string_view kPreempting = "Preempting";
inline constexpr std::string_view kPreemptingMessage = "Preempted in order to admit critical pod";

struct SyncLoopDeps {
  const Clock& clock;
  exec::EventLoop& loop;
  exec::Strands& strands;
  fs::FileSystem& files;
  bus::Table<v1::AdmissionRecord> table;
  bus::View<v1::DesiredRecord> desired;
  bus::View<v1::WorkerRecord> workers;
  bus::View<v1::RuntimeRecord> runtime;
  bus::View<v1::PressureRecord> pressure;
  bus::View<v1::PodStatusRecord> podstatus;
  std::unique_ptr<WorkerClient> worker;
  std::unique_ptr<bus::DesiredOwner> config_source;
  Log log;
  prometheus::Registry& metrics;
  daemon::EventRecorder& events;
};

/// What splitletctl shows.
struct LoopView {
  size_t admitted = 0, rejected = 0, waiting = 0;
  std::string waiting_reason;                 // of the first one
  std::vector<std::string> orphans, foreign;  // UIDs
};

class SyncLoopService {
 public:
  SyncLoopService(SyncLoopDeps deps, SyncLoopConfig config);

  void Start();
  daemon::Health GetHealth() const;
  LoopView GetState() const;
  /// Pods whose file cannot be read, a line each.
  std::vector<std::string> Notes() const;
  /// Puts that file aside: then the pod is judged as one without a verdict. NOT_FOUND: all can be
  /// read.
  void DiscardRecord(const std::string& uid,
                     std::function<void(StatusOr<std::vector<std::string>>)> done);
  /// Compares everything again at once.
  void OnResync();

 private:
  struct Decision {
    std::optional<Refusal> refusal;  // nothing: admitted
    bool waits = false;              // refused for now only
    Claim claim;
    std::vector<ActivePod> victims;
  };
  // Inputs.
  void OnDesiredChanged(const bus::View<v1::DesiredRecord>::Change& change);
  void OnWorkersChanged(const bus::View<v1::WorkerRecord>::Change& change);
  void OnRuntimeChanged(const bus::View<v1::RuntimeRecord>::Change& change);
  void OnNodeChanged();
  void OnViewState();
  void OnWaitOver(const std::string& key);
  void OnTick();
  void OnResyncDue(const std::string& key);
  void OnSaved(const std::string& key);

  // Judging (judging.cc; room.cc for what a pod finds taken).
  void JudgeSoon(const std::string& key);
  void JudgeAllWaiting();
  void JudgePending();
  /// Why nothing can be judged; empty when it can.
  std::string WhyNotJudging() const;
  /// Nothing: decided, or nothing to decide. Else what it waits for.
  std::string Judge(const std::string& key);
  bool NeedsVerdict(const std::string& key, const PodFacts& facts) const;
  std::string WhyWaits(const std::string& key, const PodFacts& facts);
  /// The other pods of its source are known too, or have had their time.
  bool IsSourceKnown(const PodFacts& facts);
  std::string JudgeByNode(const std::string& key, const PodFacts& facts);
  /// For a pod that lacks room: it pushes out others, waits, or is refused. As Judge.
  std::string JudgeWithoutRoom(const std::string& key, const PodFacts& facts,
                               const AdmissionInput& input, Decision& decision);
  Room ComputeRoom() const;
  Standing StandingOf(const std::string& key) const;
  Claim ClaimOfCounted(const std::string& key) const;
  /// Without what a static pod of the same full name holds, which ends before this one starts.
  NodeLoad WithoutNamesakes(const std::string& key, const PodFacts& facts) const;
  /// Younger API pods leave `claim` to it in this turn.
  void Await(const std::string& key, const Claim& claim) { room_.awaited.emplace_back(key, claim); }
  std::string WhyRefusalWaits(const std::string& key, const Refusal& refusal);
  void Decide(const std::string& key, const PodFacts& facts, const Decision& decision);
  std::vector<std::string> Pressure() const;

  // Room for critical pods (preempting.cc).
  bool IsPreempted(const std::string& key) const;
  /// From now on the victims of a saved verdict are told to end.
  void TakeVictims(const AdmissionBook::Entry& entry);
  std::vector<ActivePod> Candidates(const kube::Pod& critical) const;
  /// Turns a refusal into victims, or tells what it has to wait for.
  std::string MakeRoom(const AdmissionInput& input, Decision& decision);

  // Telling pod-worker.
  void MakeDue(const std::string& key, const std::string& traceparent);
  NextCall Compare(const std::string& key) const;
  std::optional<OutgoingCall> Build(const std::string& key, const NextCall& what);
  bool OnAnswered(const std::string& key, const OutgoingCall& call, const Status& status);
  std::string NewRequestId(const std::string& key);

  // What nobody wants (cleanup.cc).
  void LookForOrphans();
  std::vector<OrphanWatch::Suspect> Suspects() const;
  void Kill(const OrphanWatch::Suspect& suspect);
  void OnKilled(const OrphanWatch::Suspect& suspect, const Status& status);
  void ReportForeign();
  void ForgetOldAdmissions();
  /// Under complete views: nobody wants the pod and nothing works for it.
  bool IsOver(const std::string& key) const;
  void SetGauges();

  const WorkerFacts* WorkerOf(const std::string& key) const;
  bool IsRunning(const std::string& key) const;
  bool HasStopped(const std::string& key, int64_t incarnation) const;

  SyncLoopDeps deps_;
  SyncLoopConfig config_;
  SyncLoopMetrics metrics_;
  SysctlPolicy sysctls_;
  OrphanOptions orphan_options_;
  Random random_;

  std::map<std::string, PodFacts> pods_;        // `desired`
  std::map<std::string, WorkerFacts> workers_;  // `workers`
  std::map<std::string, RuntimeFacts> runtime_;
  std::optional<NodeFacts> node_;

  AdmissionBook book_;
  std::set<std::string> pending_;                // to be judged in this turn
  std::map<std::string, std::string> waiting_;   // key -> for what
  Room room_;                                    // of this turn
  std::map<std::string, int64_t> preempted_;     // victims of saved verdicts: key -> incarnation
  std::map<std::string, Clock::Time> mismatch_;  // key -> since when labels or taints do not suit
  std::map<std::string, Clock::Time> sources_;   // whose pods are not all known -> since when
  std::set<std::string> known_sources_;          // the others: nobody waits for them any more
  bool judge_posted_ = false;
  Clock::Time started_;

  std::map<std::string, std::string> sync_due_;  // key -> trace of what made it due; may be empty
  WorkerCalls calls_;
  exec::WorkQueue resyncs_;
  uint64_t last_request_ = 0;

  std::set<std::string> removed_;  // their record was taken away by its owner, in this start
  OrphanWatch orphans_;
  std::set<std::string> foreign_, told_foreign_;
  std::set<std::string> killing_;
  exec::WorkQueue rejudge_;
  exec::Periodic tick_;
};

}  // namespace splitlet::sync_loop
