#pragma once

/// The probes of running containers, and when each of them runs. All probes share one timer; no
/// probe holds a thread.
/// In:      OnSeen after each sync has read the pod from the runtime; OnEnding, Forget; Wake when
///          results are published; answers of probers.
/// Owns:    the probes of running containers, and which of them run now.
/// Out:     runs of probes; the events Unhealthy and ProbeWarning; metrics prober_*; states of
///          probes to ProbeResults.
/// Killed:  runs under way are forgotten. The next start keeps the step of each probe, which is in
///          the file of results; probes without a step begin spread over their period.
/// Threads: the loop's.
/// Errors:  a probe that cannot be run changes no state; an event reports it.
/// Source:  docs/behaviour/probes.md; docs/design.md, "Threads and time".

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/daemon/service.h"
#include "libs/exec/env.h"
#include "libs/exec/work_queue.h"
#include "services/pod-worker/pod/events.h"
#include "services/pod-worker/probes/probe_metrics.h"
#include "services/pod-worker/probes/prober.h"
#include "services/pod-worker/probes/results.h"

namespace splitlet::v1 {
class ContainerRecord;
class ObservedPod;
}  // namespace splitlet::v1

namespace splitlet::pod_worker {

/// A pod and its state in the runtime.
struct ProbedPod {
  const kube::Pod& pod;
  const v1::ObservedPod& seen;  // of the present incarnation
};

class ProbeScheduler {
 public:
  struct Deps {
    exec::Env env;
    Prober &commands, &network;
    ProbeResults& results;
    daemon::EventRecorder& events;
    Metrics& metrics;
    Random& random;
    const std::vector<std::string>& node_ips;  // kept current; for pods on the host's network
  };
  explicit ProbeScheduler(Deps deps);

  /// Probes the containers that run, and stops probing the others.
  void OnSeen(const ProbedPod& pod);
  /// The pod's containers are being stopped. Liveness probes continue for sidecars only; readiness
  /// probes continue for all containers.
  void OnEnding(const std::string& uid);
  /// These containers of a terminating pod have stopped. (Of other pods OnSeen shows it.)
  void OnEnded(const std::string& uid, const std::set<std::string>& container_ids);
  /// No container of the pod runs any more.
  void Forget(const std::string& uid);
  /// Schedules the probes that waited for the startup probe of a container.
  void Wake(const std::string& uid);
  /// Begins no other run.
  void BeginStop() { stopping_ = true; }

 private:
  struct Probe {
    std::shared_ptr<const PodRef> pod;
    std::string container, id;
    ProbeKind kind = ProbeKind::kReadiness;
    bool sidecar = false;
    bool waits_for_startup = false;  // the container has a startup probe, and this is another
    ProbeTiming timing;
    StatusOr<ProbeAction> action;
    ProbeState state;
    Clock::Time due, began;
    uint64_t run = 0;   // under way; 0: none
    int tries = 0;      // of this run, that ended with kError
    bool slow = false;  // the last run was
    std::unique_ptr<ProbeSeries> series;
  };
  /// "<uid>/<container>/<kind>".
  using Probes = std::map<std::string, Probe>;

  struct Target;
  void Adopt(const Target& target, const kube::Container& container);
  void Add(const Target& target, const kube::Container& container, ProbeKind kind);
  void Inherit(const Target& target, Probe& probe);
  void HoldStarted(const Target& target, Probe& probe);
  void Schedule(const std::string& key, const Probe& probe);
  bool MayRun(const Probe& probe) const;
  void OnDue(const std::string& key);
  void Begin(const std::string& key, Probe& probe);
  void OnAnswer(const std::string& key, uint64_t run, ProbeAnswer answer);
  void Report(const Probe& probe, const ProbeAnswer& answer) const;
  void Take(Probe& probe, bool success, const std::string& text);
  /// Erases the pod's probes for which `gone` is true.
  template <class Gone>
  void EraseIf(const std::string& uid, const Gone& gone);

  const Deps deps_;
  const Clock::Time started_;
  Probes probes_;
  exec::WorkQueue due_;
  uint64_t last_run_ = 0;
  bool stopping_ = false;
};

}  // namespace splitlet::pod_worker
