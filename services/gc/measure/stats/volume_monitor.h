#pragma once

/// Measures in the background how much the volumes of running pods hold, each once in a period.
/// In:    views `desired` and `runtime`; a timer.
/// Owns:  the last stats of each pod's volumes; which volumes are being measured.
/// Out:   kubelet_volume_stats_*.
/// Killed at any line: the next start measures all volumes again.
/// Threads: loop thread. Directories of this machine are measured on the strand "volumes", one
/// after the other. The server of a claim may hang: the claims of each pod have a strand of their
/// own, for a few pods at the same time.
/// Errors: a volume that cannot be measured has no stats; a volume that hangs keeps its last stats.
/// Source: docs/behaviour/node-api.md, "Volumes".

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "libs/bus/typed.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/exec/periodic.h"
#include "libs/node/pod_place.h"
#include "services/gc/config.h"
#include "services/gc/measure/stats/volume_metrics.h"
#include "services/gc/measure/stats/volumes.h"

namespace splitlet::v1 {
class DesiredRecord;
class RuntimeRecord;
class VolumeStats;
}  // namespace splitlet::v1

namespace splitlet::gc {

struct MeasuredVolume {
  std::shared_ptr<const v1::VolumeStats> stats;
  bool local = false;  // counts as ephemeral storage of the pod
};
using MeasuredVolumes = std::map<std::string, std::vector<MeasuredVolume>>;  // by UID

class VolumeMonitor {
 public:
  struct Deps {
    exec::Env env;
    VolumeSources sources;
    const bus::View<v1::DesiredRecord>& desired;
    const bus::View<v1::RuntimeRecord>& runtime;
  };
  /// A new pod is measured after at most this time.
  static constexpr Duration kTick = std::chrono::seconds{10};
  /// Pods whose claims are measured at the same time: each may hold a thread while a server hangs.
  static constexpr int64_t kMaxWithClaims = 16;

  VolumeMonitor(Deps deps, const GcConfig& config);
  VolumeMonitor(const VolumeMonitor&) = delete;
  VolumeMonitor& operator=(const VolumeMonitor&) = delete;

  void Start();
  MeasuredVolumes Get() const;

 private:
  /// The volumes of a pod that have a claim, or all its other volumes.
  struct Part {
    std::string uid;
    bool claims = false;
    auto operator<=>(const Part&) const = default;
  };
  struct Job {
    Part part;
    std::string name_space;
    std::vector<VolumeToMeasure> volumes;
  };
  struct Measured {
    Clock::Time at;
    std::string name_space;
    std::vector<MeasuredVolume> volumes;
  };
  void OnTimer();
  std::vector<Job> Due();
  bool IsDue(const Part& part) const;
  void Start(const Job& job);
  /// On a strand.
  static std::vector<MeasuredVolume> Measure(const VolumeSources& sources,
                                             const node::PodRoots& roots,
                                             prometheus::Family<prometheus::Histogram>& seconds,
                                             const Job& job);
  void OnMeasured(const Job& job, std::vector<MeasuredVolume> volumes);
  void PutMetrics();

  Deps deps_;
  const GcConfig& config_;
  VolumeMetrics metrics_;
  std::map<Part, Measured> parts_;
  std::set<Part> under_way_;
  using Claim = std::pair<std::string, std::string>;  // namespace, name
  std::map<Claim,
           std::vector<std::pair<prometheus::Family<prometheus::Gauge>*, prometheus::Gauge*>>>
      shown_;
  exec::Periodic timer_;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::gc
