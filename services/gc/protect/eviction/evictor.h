#pragma once

/// Ends pods when the node runs out of something, or when they pass their own limits of local
/// storage: first what nobody needs is removed, then one pod goes, then the node is looked at
/// again.
/// In:    each pass of PressureMonitor, changes of `desired` and `workers`, ends of its own rounds.
/// Owns:  Step, the threshold that is acted on; Evictions owns who is on his way.
/// Out:   rounds of garbage collection, victims, the node event EvictionThresholdMet.
/// Killed at any line: what was not decided is decided anew from the next pass; an eviction is on disk
/// (victims.h).
/// Threads: loop thread; what blocks runs on a strand of its own.
/// Errors: figures that cannot be read end the pass; the next one begins anew.
/// Source: docs/behaviour/eviction.md; docs/safety.md, rules 3 and 8.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "services/gc/measure/disk_layout.h"
#include "services/gc/measure/usage.h"
#include "services/gc/node_events.h"
#include "services/gc/protect/eviction/active_pods.h"
#include "services/gc/protect/eviction/evictions.h"
#include "services/gc/protect/eviction/reclaim.h"
#include "services/gc/protect/pressure/pressure_monitor.h"
#include "services/gc/protect/pressure/thresholds.h"

namespace splitlet::gc {

class Evictor {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    fs::FileSystem& files;
    UsageSources usage;
    cri::Images& images;
    peers::KillClient& pod_worker;
    const bus::View<v1::DesiredRecord>& desired;
    const bus::View<v1::WorkerRecord>& workers;
    daemon::EventRecorder& events;
    NodeEvents& node_events;
    GcMetrics& metrics;
    const Log& log;
    /// Frees what it can of this; then calls back.
    std::function<void(NodeReclaim what, std::function<void()> done)> reclaim;
    std::function<void()> inspect_again;  // a pass soon
  };
  Evictor(const Deps& deps, const GcConfig& config);

  void Start() { evictions_.Start(); }
  void OnPass(const Pass& pass);
  void OnDesired(const bus::View<v1::DesiredRecord>::Change& change) { pods_.OnDesired(change); }
  void OnWorkers() { evictions_.OnWorkers(); }

 private:
  enum class Step {
    kIdle,       // the next pass decides
    kMeasuring,  // figures are read, for own limits or for the ranking
    kFreeing,    // rounds of garbage collection
    kLooking,    // they have ended; the next pass says whether they were enough
  };

  void MeasureLimits();
  void OnLimitsMeasured(const std::vector<ActivePods::Limited>& pods,
                        const StatusOr<Usages>& usages);
  void ActOnThreshold();
  void FindLayout();
  void Free();
  void OnFreed();
  void MeasurePods();
  void OnPodsMeasured(std::vector<Candidate> pods, const StatusOr<Usages>& usages);
  /// Logged when it is another trouble than the last.
  void NoteUnread(const Status& why);
  /// Likewise, for each pod.
  void NoteUnmeasured(const Candidate& pod, const std::string& why);
  void Evict(const Candidate& pod, const std::string& signal, PendingEviction eviction);
  void End() { step_ = Step::kIdle; }

  Deps deps_;
  const GcConfig& config_;
  ActivePods pods_;
  Evictions evictions_;
  Step step_ = Step::kIdle;
  Pass pass_;  // the one that is acted on
  Threshold threshold_;
  Clock::Time freed_at_;
  std::optional<DiskLayout> layout_;
  std::map<std::string, Clock::Time> measure_next_;  // own limits, by UID
  bool told_nobody_ = false;
  std::string unread_;                             // why, as last logged
  std::map<std::string, std::string> unmeasured_;  // likewise, by UID
};

}  // namespace splitlet::gc
