#pragma once

/// Evicts pods when the node runs out of a resource, or when a pod exceeds its own limits of local
/// storage. For a resource it first frees unused things, then evicts one pod, then inspects the
/// node again.
/// In:    each pass of PressureMonitor, changes of `desired` and `workers`, the ends of the rounds
/// that it started.
/// Owns:  Step and the threshold that it acts on. Evictions owns the pending evictions.
/// Out:   rounds of garbage collection, evictions, the node event EvictionThresholdMet.
/// Killed at any line: the next start decides again from its first pass; a chosen pod is saved
/// (evictions.h).
/// Threads: loop thread; blocking calls on a strand of their own.
/// Errors: stats that cannot be read end the pass; the next pass starts again.
/// Source: docs/behaviour/eviction.md; docs/safety.md, rules 3 and 8.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "services/gc/measure/disk_layout.h"
#include "services/gc/measure/usage.h"
#include "services/gc/node_events.h"
#include "services/gc/protect/eviction/active_pods.h"
#include "services/gc/protect/eviction/evictions.h"
#include "services/gc/protect/eviction/reclaim.h"
#include "services/gc/protect/pressure/pressure_monitor.h"
#include "services/gc/protect/pressure/thresholds.h"
#include "services/gc/protect/repeated_failure.h"

namespace splitlet::gc {

class Evictor {
 public:
  struct Deps {
    exec::Env env;
    fs::FileSystem& files;
    UsageSources usage;
    cri::Images& images;
    peers::KillClient& pod_worker;
    const bus::View<v1::DesiredRecord>& desired;
    const bus::View<v1::WorkerRecord>& workers;
    daemon::EventRecorder& events;
    NodeEvents& node_events;
    GcMetrics& metrics;
    /// Frees what it can; then calls back.
    std::function<void(NodeReclaim what, std::function<void()> done)> reclaim;
    std::function<void()> inspect_again;  // starts another pass
  };
  Evictor(const Deps& deps, const GcConfig& config);

  void Start() { evictions_.Start(); }
  void OnPass(const Pass& pass);
  void OnDesired(const bus::View<v1::DesiredRecord>::Change& change) { pods_.OnDesired(change); }
  void OnWorkers() { evictions_.OnWorkers(); }

 private:
  enum class Step {
    kIdle,        // the next pass decides
    kMeasuring,   // stats are read, for limits of pods or for the ranking
    kFreeing,     // rounds of garbage collection run
    kInspecting,  // the rounds have ended; the next pass shows whether they freed enough
  };

  void MeasureLimits();
  void OnLimitsMeasured(const std::vector<ActivePods::Limited>& pods,
                        const StatusOr<Usages>& usages);
  void ActOnThreshold();
  void FindLayout();
  void OnLayout(const StatusOr<DiskLayout>& found);
  void Free();
  void OnFreed();
  void MeasurePods();
  void OnPodsMeasured(std::vector<Candidate> pods, const StatusOr<Usages>& usages);
  /// Logs the error when its code differs from the last one's.
  void NoteUnread(const Status& why);
  /// Logs the reason when it differs from the last one of the pod.
  void NoteUnmeasured(const Candidate& pod, const std::string& why);
  void Evict(const Candidate& pod, const std::string& signal, PendingEviction eviction);
  void End() { step_ = Step::kIdle; }

  Deps deps_;
  const GcConfig& config_;
  ActivePods pods_;
  Evictions evictions_;
  Step step_ = Step::kIdle;
  Pass pass_;  // the pass that is acted on
  Threshold threshold_;
  Clock::Time freed_at_;
  std::optional<DiskLayout> layout_;
  std::map<std::string, Clock::Time> measure_next_;  // for limits of pods, by UID
  bool logged_no_candidate_ = false;
  RepeatedFailure usage_failure_, layout_failure_;
  std::map<std::string, std::string> unmeasured_;  // reasons as last logged, by UID
  const exec::Asker asker_;                        // the last member: its end stops all callbacks
};

}  // namespace splitlet::gc
