#pragma once

/// Decides which pods may run on this node, and sends pod-worker the calls that follow. This class
/// routes: each input goes to the parts whose state it changes.
/// In:    `desired`, `runtime`, `workers`, `pressure`, the node's record in `podstatus`; a tick
/// every 2 s; Resync calls.
/// Owns:  table `admission`: pod UID -> admitted, or rejected or waiting, with reason and message.
/// The parts own the state: KnownPods, AdmissionStore, PreemptionVictims, PodAdmitter, GrantSender,
/// OrphanKiller.
/// Out:   puts to `admission`; UpdatePod and KillPod to pod-worker; events of rejections.
/// Killed at any line: a decision is on disk before it is in the table, and in the table before the
/// grant; the next start reads the decisions, compares, and sends what is missing.
/// Threads: loop thread only.
/// Errors: in GetState and GetHealth.
/// Source: docs/safety.md, rules 6 to 12, 14 and 15.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/bus/typed.h"
#include "libs/daemon/service.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/exec/periodic.h"
#include "libs/peers/desired_owner.h"
#include "libs/peers/pod_worker_client.h"
#include "services/sync-loop/admission/admission_store.h"
#include "services/sync-loop/admission/pod_admitter.h"
#include "services/sync-loop/admission/preemption_victims.h"
#include "services/sync-loop/config.h"
#include "services/sync-loop/grants/grant_sender.h"
#include "services/sync-loop/metrics.h"
#include "services/sync-loop/orphans/orphan_killer.h"
#include "services/sync-loop/pods/known_pods.h"

namespace splitlet::sync_loop {

inline constexpr Duration kTick = std::chrono::seconds{2};

struct SyncLoopDeps {
  exec::Env env;
  fs::FileSystem& files;
  bus::Table<v1::AdmissionRecord> table;
  bus::View<v1::DesiredRecord> desired;
  bus::View<v1::WorkerRecord> workers;
  bus::View<v1::RuntimeRecord> runtime;
  bus::View<v1::PressureRecord> pressure;
  bus::View<v1::PodStatusRecord> podstatus;
  std::unique_ptr<peers::GrantClient> worker;
  std::unique_ptr<peers::DesiredOwner> config_source;
  daemon::EventRecorder& events;
};

/// What GetState returns; splitletctl shows it.
struct LoopView {
  size_t admitted = 0, rejected = 0, waiting = 0;
  std::string waiting_reason;                   // of the first pod that waits
  std::vector<std::string> orphans, unmanaged;  // UIDs
};

class SyncLoopService {
 public:
  SyncLoopService(SyncLoopDeps deps, const SyncLoopConfig& config);

  void Start();
  daemon::Health GetHealth() const;
  LoopView GetState() const;
  /// A line for each pod whose saved admission cannot be read.
  std::vector<std::string> Notes() const;
  /// Moves that file away: then the pod is decided as one without an admission. NOT_FOUND: the pod
  /// has no unreadable admission.
  void DiscardRecord(const std::string& uid,
                     std::function<void(StatusOr<std::vector<std::string>>)> done);
  /// Compares all pods again immediately.
  void OnResync();

 private:
  void FollowViews();
  void OnAdmissionsRead();
  void OnDesiredChanged(const bus::View<v1::DesiredRecord>::Change& change);
  void OnWorkersChanged(const bus::View<v1::WorkerRecord>::Change& change);
  void OnRuntimeChanged(const bus::View<v1::RuntimeRecord>::Change& change);
  void OnViewState();
  void OnTick();
  void OnSaved(const std::string& key);
  void KillVictims(const AdmissionStore::Entry& entry);
  void SetGauges();

  SyncLoopDeps deps_;
  SyncLoopMetrics metrics_;
  KnownPods known_;
  AdmissionStore store_;
  PreemptionVictims victims_;
  GrantSender grants_;
  PodAdmitter admitter_;
  OrphanKiller orphans_;
  exec::Periodic tick_;
};

}  // namespace splitlet::sync_loop
