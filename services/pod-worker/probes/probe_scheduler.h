#pragma once

/// Which probes there are, and when each of them runs: one timer for all, no thread for any.
/// In:      OnSeen after each look at a pod that is synced; OnEnding, Forget; Wake when results are
///          published; answers of probers.
/// Owns:    the probes of running containers, those under way among them.
/// Out:     runs of probes; the events Unhealthy and ProbeWarning; series prober_*; what runs come
///          to, to ProbeResults.
/// Killed:  runs under way are forgotten. The next start goes on in the step of before, which is in
///          the file of results; what has no step yet begins spread over its period.
/// Threads: the loop's.
/// Errors:  a probe that cannot be run says nothing of its container; an event tells.
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

/// A pod and what was seen of it.
struct ProbedPod {
  const kube::Pod& pod;
  const v1::ObservedPod& seen;  // of the present incarnation
};

class ProbeScheduler {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    Prober &commands, &network;
    ProbeResults& results;
    daemon::EventRecorder& events;
    Metrics& metrics;
    const Log& log;
    Random& random;
    const std::vector<std::string>& node_ips;  // now: of pods of the host's network
  };
  explicit ProbeScheduler(Deps deps);

  /// Probes what runs, and no more what does not.
  void OnSeen(const ProbedPod& pod);
  /// Its containers are being stopped: only sidecars are still watched for their life; readiness is
  /// told to the end.
  void OnEnding(const std::string& uid);
  /// These containers of a pod that ends do not run any more; a sync sees it by itself.
  void OnEnded(const std::string& uid, const std::set<std::string>& container_ids);
  /// Nothing of the pod runs any more.
  void Forget(const std::string& uid);
  /// A container that has started is probed further at once.
  void Wake(const std::string& uid);
  /// No more runs begin.
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
    Clock::Time due, begun;
    uint64_t run = 0;   // under way; 0: none
    int tries = 0;      // of this run that said nothing
    bool slow = false;  // when it last ran
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
  /// All of the pod for which `gone` holds.
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
