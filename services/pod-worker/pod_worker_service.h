#pragma once

/// pod-worker: routes what comes in to the class that owns the state, and decides what happens next
/// to a pod.
/// In:      grants and kills from sync-loop, kills and holds from gc, the view `desired`, the
///          node's record in `podstatus`, pleg's signal `pod-changed`.
/// Owns:    table `workers`: pod UID -> state, deadlines, what containers wait for, the terminal
///          status and the last observation. WorkerStore puts it.
/// Out:     what its parts do: puts to `workers`; sandboxes and containers in the runtime; pod
///          directories; Kubernetes events.
/// Killed:  at any line: files say which pods are granted or ending, the runtime says how far they
///          are; the next start goes on from there, with one sandbox, one container per name, the
///          same attempt numbers and the same deadline.
/// Threads: loop thread only, except what is said to run on a strand.
/// Errors:  as each method says.
/// Source:  docs/design.md, "The calls"; docs/safety.md, rules 3 and 14 to 20.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/bus/typed.h"
#include "libs/cri/cri.h"
#include "libs/cri/long_calls.h"
#include "libs/cri/observe.h"
#include "libs/daemon/service.h"
#include "libs/exec/periodic.h"
#include "libs/exec/work_queue.h"
#include "libs/peers/desired_owner.h"
#include "services/pod-worker/cgroups/cgroup_keeper.h"
#include "services/pod-worker/cgroups/pod_cgroups.h"
#include "services/pod-worker/config.h"
#include "services/pod-worker/control/left_volumes.h"
#include "services/pod-worker/control/removal_holds.h"
#include "services/pod-worker/control/unreadable_records.h"
#include "services/pod-worker/hooks/hook_runner.h"
#include "services/pod-worker/images/puller.h"
#include "services/pod-worker/metrics/metrics.h"
#include "services/pod-worker/node/node_addresses.h"
#include "services/pod-worker/objects/pod_objects.h"
#include "services/pod-worker/probes/exec_prober.h"
#include "services/pod-worker/probes/network_prober.h"
#include "services/pod-worker/probes/probe_scheduler.h"
#include "services/pod-worker/probes/results.h"
#include "services/pod-worker/sync/pod_sync.h"
#include "services/pod-worker/sync/resync_timer.h"
#include "services/pod-worker/sync/sync_runner.h"
#include "services/pod-worker/termination/pod_runtime.h"
#include "services/pod-worker/termination/pod_terminator.h"
#include "services/pod-worker/user_namespaces/user_ids.h"
#include "services/pod-worker/records/disk_records.h"
#include "services/pod-worker/control/found_incarnations.h"
#include "services/pod-worker/control/static_pod_start_gate.h"
#include "services/pod-worker/control/gone_pods.h"
#include "services/pod-worker/control/grant_judge.h"
#include "services/pod-worker/control/desired_confirmation.h"
#include "services/pod-worker/control/recovery.h"
#include "services/pod-worker/control/request_handler.h"
#include "services/pod-worker/records/worker_store.h"
#include "services/pod-worker/pod/workers.h"

namespace splitlet::v1 {
class DesiredRecord;
class HoldReply;
class HoldRequest;
class KillPodReply;
class KillPodRequest;
class PodStatusRecord;
class UpdatePodRequest;
class WorkerRecord;
}  // namespace splitlet::v1

namespace splitlet::pod_worker {

struct Deps {
  const Clock& clock;
  exec::EventLoop& loop;
  exec::Strands& strands;  // files and short calls: never held up by the runtime
  /// What calls the runtime for one pod, but for stops and pulls, which hold no thread. Such a call
  /// may last as long as a network plugin takes to give up, and holds its thread all the time: the
  /// pool lets others in for those that last long.
  exec::Strands& runtime_strands;
  bus::Bus& bus;
  bus::Table<v1::WorkerRecord> table;
  bus::View<v1::DesiredRecord> desired;
  bus::View<v1::PodStatusRecord> podstatus;
  cri::Reader& reader;
  cri::Runner& runner;
  cri::Remover& remover;
  cri::Images& images;
  cri::LongCalls& long_calls;
  cri::TailReader read_tail;  // for termination messages
  fs::FileSystem& files;
  fs::Mounts& mounts;
  fs::Ownership& ownership;
  fs::WithinReader read_within;
  peers::DesiredOwner& owner;  // config-source, asked before a destructive act
  daemon::EventRecorder& events;
  prometheus::Registry& metrics;
  Log log;
  http::Caller& http;  // of servers in pods, for probes and hooks
  uint64_t seed = 1;   // of jitter
  std::function<std::shared_ptr<const ObjectSource>()> objects = {};  // empty: this node has none
  cgroup::Kernel* kernel = nullptr;                                   // of cgroups; null: none
  cgroup::Slices* slices = nullptr;                                   // of systemd; null: none
  process::ProgramRunner run_program = process::RunProgram;           // of plugins
  ApiCache* api_objects = nullptr;  // of API pods; null: this node has no API server
  /// Of volumes, which tell OnVolumeProgramEnded; null: none is mounted by a program that may last.
  process::Programs* programs = nullptr;
};

class PodWorkerService {
 public:
  template <class R>
  using Done = std::function<void(StatusOr<R>)>;
  using DoneStatus = std::function<void(Status)>;

  PodWorkerService(Deps deps, Config config);
  ~PodWorkerService();
  PodWorkerService(const PodWorkerService&) = delete;
  PodWorkerService& operator=(const PodWorkerService&) = delete;

  /// The cgroups above those of pods, before Start. Blocks; the process does not start without.
  Status PrepareCgroups() const { return cgroups_.Prepare(); }
  void Start();
  /// Gives up stops and pulls, which the next start begins again where they were. Nothing new is
  /// begun; calls that make something run to their end.
  void BeginStop();
  daemon::Health GetHealth() const;

  /// `traceparent`: of the change that is called for; what is done for it carries it.
  /// Answers when the grant is on disk. UNAVAILABLE before the files are read; FAILED_PRECONDITION
  /// for an incarnation that is over or a pod whose file cannot be read.
  void OnUpdatePod(const v1::UpdatePodRequest& request, DoneStatus done,
                   const std::string& traceparent = {});
  /// Objects that pods name have changed: those that wait for one are looked at again, and those
  /// that show some in volumes.
  void OnObjectsChanged();
  /// The same of one pod.
  void OnObjectsChanged(const std::string& uid);
  /// A program that the pod's volumes were waiting for has ended.
  void OnVolumeProgramEnded(const std::string& uid) {
    Advance(uid);
    left_volumes_.OnProgramEnded(uid);
  }
  /// Answers when the deadline is on disk.
  void OnKillPod(const v1::KillPodRequest& request, Done<v1::KillPodReply> done,
                 const std::string& traceparent = {});
  void OnHoldForRemoval(const v1::HoldRequest& request, Done<v1::HoldReply> done);
  void OnReleaseHold(const std::string& hold_id) {
    CHECK(deps_.loop.IsCurrent());
    holds_.OnReleaseHold(hold_id);
  }
  /// UNAVAILABLE before the runtime is listed; else as LeftVolumes says.
  void OnTakeDownVolumes(const std::string& uid, const LeftVolumes::Done& done) {
    CHECK(deps_.loop.IsCurrent());
    if (const Status may = MayServe(uid); !may.ok()) return done(may);
    if (!recovery_.is_listed()) return done(Unavailable("the runtime has not been listed yet"));
    left_volumes_.TakeDown(uid, done);
  }
  void OnPodChanged(const std::string& uid) {  // pleg's signal
    const Worker* worker = Find(uid);
    if (worker != nullptr && worker->state == WorkerState::kSyncing) Advance(uid);
  }
  std::vector<v1::WorkerRecord> GetWorkers() const;
  /// Pods whose files cannot be read, a line each.
  std::vector<std::string> Notes() const { return unreadable_.Notes(); }
  /// Puts these files aside; then the pod is what the rest says. NOT_FOUND: all can be read.
  void DiscardRecord(const std::string& uid, Done<std::vector<std::string>> done);

 private:
  // Start.
  void OnRead(DiskRecords::All& records);
  void OnRuntimeListed(const std::vector<cri::Sandbox>& sandboxes,
                       const std::vector<cri::Container>& containers);
  void OnDesiredReady();

  // Memory.
  Worker* Find(const std::string& uid) const { return workers_.Find(uid); }
  Worker& Add(std::unique_ptr<Worker> worker);
  void Collect();
  Status MayServe(const std::string& uid) const;
  void OnDesired(const std::string& key, const std::shared_ptr<const v1::DesiredRecord>& record,
                 bool present, const std::string& traceparent = {});

  void OnAddresses();

  // What happens next to a pod.
  /// `listing`: of a look that was asked for together with others; null for every other.
  void Advance(const std::string& uid, std::shared_ptr<const cri::PodListing> listing = nullptr);
  void AdvanceAll();
  bool MayStart(Worker& worker);
  bool HasUserIds(Worker& worker);
  void OnNameInspected(const std::string& uid, bool gone);
  bool PastDeadline(Worker& worker);

  Worker* WaitingFor(const PullRequest& pull) const;
  void OnPulled(Worker& worker, const PullResult& result);

  void OnSeen(Worker& worker, const v1::ObservedPod& seen);
  void OnProbed(const std::string& uid, bool decides);
  void ForgetProbes(Worker& worker) {
    probes_.Forget(worker.uid);
    worker.probes.clear();
  }

  void OnStepEnded(Worker& worker, bool again);
  void AfterFinish(Worker& worker);

  /// What the other files say of the pod counts now, as after a start.
  void OnDiscarded(const std::string& key, const DiskRecords::All& left);
  PodNeed NeedOf(const std::string& uid) const;

  Deps deps_;
  const Config config_;
  DiskRecords records_;
  PullRecords pull_records_;
  const NodeCredentials node_credentials_;
  Metrics metrics_;
  cri::Observer observer_;
  VolumeManager volumes_;
  PodCgroups cgroups_;
  PodSync sync_;
  PodStop stop_;
  StoppedSandboxes stopped_sandboxes_;
  Random random_;
  Workers workers_;
  PodObjects objects_;
  NodeAddresses addresses_;
  WorkerStore store_;
  CredentialProviders providers_;
  ImagePuller puller_;
  RemovalHolds holds_;
  LeftVolumes left_volumes_;
  UnreadableRecords unreadable_;
  FullNameGate gate_;
  OwnerQuestion owner_;
  FoundIncarnations found_;
  GonePods gone_;
  ProbeResults probe_results_;
  ExecProber exec_prober_;
  NetworkProber network_prober_;
  ProbeScheduler probes_;
  HookRunner hooks_;
  RegularLooks looks_;
  TerminationRunner termination_;
  SyncRunner syncs_;
  UserIdRanges user_ids_;
  GrantJudge judge_;
  RequestHandler requests_;
  Recovery recovery_;
  CgroupKeeper keeper_;
  exec::WorkQueue due_;
  exec::Periodic collect_, missing_, keep_room_;

  bool desired_ready_ = false, stopping_ = false;
  std::string runtime_trouble_;  // empty: the runtime answers
};

}  // namespace splitlet::pod_worker
