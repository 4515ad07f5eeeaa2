#pragma once

/// Kills orphans (pods that run although no source wants them) and reports unmanaged pods (pods in
/// the runtime that another program made).
/// In:    a tick of SyncLoopService; answers of config-source and pod-worker.
/// Owns:  the suspects of the last passes (OrphanWatch), kills in flight, the last failure of each
/// suspect, the unmanaged pods.
/// Out:   KillPod to pod-worker, after config-source answered that it does not want the pod.
/// Killed at any line: nothing is lost; the next start makes two passes again.
/// Threads: loop thread; the calls run on strands.
/// Errors: logged once for each code, counted; a pod that was not killed is a suspect again.
/// Source: docs/safety.md, rules 8 and 10.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/bus/typed.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/peers/desired_owner.h"
#include "libs/peers/pod_worker_client.h"
#include "services/sync-loop/admission/admission_store.h"
#include "services/sync-loop/metrics.h"
#include "services/sync-loop/orphans/orphan_watch.h"
#include "services/sync-loop/pods/known_pods.h"

namespace splitlet::sync_loop {

class OrphanKiller {
 public:
  struct Deps {
    exec::Env env;
    peers::DesiredOwner& config_source;
    peers::GrantClient& worker;
    const bus::View<v1::DesiredRecord>& desired;
    const bus::View<v1::WorkerRecord>& workers;
    const bus::View<v1::RuntimeRecord>& runtime;
    const KnownPods& known;
    const AdmissionStore& store;
    SyncLoopMetrics& metrics;
  };
  OrphanKiller(const Deps& deps, OrphanOptions options);

  void OnTick();
  /// The suspects of this pass; none while a view is incomplete.
  std::vector<Suspect> Suspects() const;
  /// Keys of runtime pods that another program made.
  const std::set<std::string>& unmanaged() const { return unmanaged_; }

 private:
  /// The views and the saved admissions allow a pass.
  bool IsAllKnown() const;
  OrphanInput InputOf(const std::string& key) const;
  void FindOrphans();
  void Kill(const Suspect& suspect);
  void OnKilled(const Suspect& suspect, const Status& status);
  void ReportFailure(const Suspect& suspect, const Status& status);
  void ReportUnmanaged();

  Deps deps_;
  OrphanOptions options_;
  OrphanWatch watch_;
  std::set<std::string> killing_;
  std::map<std::string, StatusCode> failures_;  // suspect -> code of its last failure
  std::set<std::string> unmanaged_, reported_unmanaged_;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::sync_loop
