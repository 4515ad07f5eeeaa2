#pragma once

/// The process status: what the API shows of pods and of the node, and the events.
/// In:    views desired, admission, workers, runtime, pressure; answers of the other processes to
/// health calls; events
///        recorded by all of them; a pass over everything each 10 s.
/// Owns:  table `podstatus`: pod UID -> API status with version; key `node` -> NodeRecord.
/// Out:   puts to `podstatus`.
/// Killed at any line: nothing is lost but the events; the next start computes every record again
/// from its views. Threads: loop thread only. Errors: as said at each. Source: DESIGN.md rules 20
/// to 24; status spec.

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
#include "libs/exec/periodic.h"
#include "libs/fs/file_system.h"
#include "libs/node/addresses.h"
#include "libs/peers/peer_health.h"
#include "services/status/config.h"
#include "services/status/event_store.h"
#include "services/status/metrics.h"
#include "services/status/node_conditions.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::status {

struct StatusDeps {
  const Clock& clock;
  exec::EventLoop& loop;
  exec::Strands& strands;
  fs::FileSystem& files;
  bus::Table<v1::PodStatusRecord> table;
  bus::View<v1::DesiredRecord> desired;
  bus::View<v1::AdmissionRecord> admission;
  bus::View<v1::WorkerRecord> workers;
  bus::View<v1::RuntimeRecord> runtime;
  bus::View<v1::PressureRecord> pressure;
  std::unique_ptr<peers::PeerHealth> peers;
  node::ListAddresses list_addresses;  // on a strand
  Log log;
  prometheus::Registry& metrics;
};

class StatusService {
 public:
  StatusService(StatusDeps deps, StatusConfig config);
  ~StatusService();
  StatusService(const StatusService&) = delete;
  StatusService& operator=(const StatusService&) = delete;

  void Start();
  daemon::Health GetHealth() const;

  /// Computed from what is known now; "node" is the node. NOT_FOUND for a pod that is not wanted
  /// here; UNAVAILABLE before the views were live once.
  StatusOr<std::unique_ptr<v1::PodStatusRecord>> GetPodStatus(const std::string& uid);
  /// Computes every record again, now.
  void Flush();
  void OnEvents(std::vector<v1::EventRecord> events);
  std::vector<v1::EventRecord> ListEvents(const std::string& uid) const;

 private:
  struct Known {
    Clock::Time put_at;
    std::string phase;
    std::vector<std::string> waiting;  // reasons of its containers, as counted
    std::string traceparent;           // of the last change that had one
  };

  void OnDesired(const bus::View<v1::DesiredRecord>::Change& change);
  void OnViewState();
  void OnRuntimeState();
  void OnReconcileTimer();
  void OnMachine(const StatusOr<node::Machine>& machine);
  void OnAddresses(const StatusOr<std::vector<std::string>>& addresses);
  void OnAnswer(const std::string& process, const StatusOr<peers::PeerAnswer>& answer);

  /// Desired and workers were live once, or pod-worker has been away for long.
  bool MayPublish() const;
  /// Since the start, so that nobody waits any more for a process that is away.
  bool WaitedLong() const;
  /// It was complete once. Before, a pod without record is unknown.
  bool KnowsWorkers() const;
  bool KnowsRuntime() const;
  /// Too little for a first status of a pod: it would take back what was told before the start.
  bool KnowsTooLittle(const std::string& key, bool removed) const;
  void MarkChanged(const std::string& key, const std::string& traceparent);
  void MarkAll();
  void FlushSoon();
  void FlushChanged();
  void Refresh(const std::string& key);
  void PutPodStatus(const std::string& key, const v1::PodStatusRecord* before,
                    v1::PodStatusRecord record);
  void CountChange(const v1::PodStatusRecord& record, const kube::PodStatus* before,
                   const kube::PodStatus& after);
  /// Counts the pod by phase and its containers by what they wait for.
  void SetSeen(const std::string& key, const kube::PodStatus& status);
  bool ListingCovers(const std::string& key, const v1::WorkerRecord* worker) const;
  /// Refused, and certain to have no grant; what was told once stands.
  bool IsRejected(const std::string& key, const v1::AdmissionRecord* admission,
                  const v1::WorkerRecord* worker, const kube::PodStatus* previous) const;
  void RemovePod(const std::string& key, const std::string& traceparent);
  void TellComplete();

  void ReadMachineSoon();
  void ReadAddressesSoon();
  void AskPeers();
  void Ask(const std::string& process);
  /// Pods wait for what it has not been able to say.
  void AskSoon(const std::string& process);
  void RefreshNode();
  void PutNode(v1::NodeRecord node);
  void RecordNodeEvents(const std::vector<v1::NodeCondition>& after);

  StatusDeps deps_;
  StatusConfig config_;
  StatusMetrics metrics_;
  EventStore events_;
  AnswerLedger ledger_;
  peers::RuntimeState runtime_state_;
  std::optional<node::Machine> machine_;
  std::optional<node::NodeResources> resources_;
  std::vector<std::string> addresses_;  // the last ones that were found
  std::string address_problem_;
  std::string machine_problem_ = "the machine has not been read yet";
  std::vector<v1::NodeCondition> node_conditions_;
  Clock::Time started_at_;
  std::map<std::string, Known> known_;
  std::set<std::string> changed_;
  std::set<std::string> await_listing_;  // a container, or all of the pod, is unseen
  bool flush_posted_ = false;
  bool asks_soon_ = false;
  bool could_publish_ = false;
  bool workers_were_live_ = false;
  bool workers_were_complete_ = false;
  bool runtime_was_complete_ = false;
  std::shared_ptr<bool> alive_;
  std::unique_ptr<exec::Periodic> reconcile_;
};

}  // namespace splitlet::status
