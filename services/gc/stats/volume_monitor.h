#pragma once

/// How much the volumes of pods that run hold, measured again and again in the background.
/// In:    views `desired` and `runtime`; a timer.
/// Owns:  the last figures of each pod's volumes.
/// Out:   kubelet_volume_stats_*.
/// Killed at any line: they are measured anew.
/// Threads: loop thread; what blocks on the strand "volumes", one volume after the other.
/// Errors: a volume that cannot be measured has no figures.
/// Source: docs/behaviour/node-api.md, "Volumes".

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libs/bus/typed.h"
#include "libs/exec/exec.h"
#include "libs/exec/periodic.h"
#include "services/gc/config.h"
#include "services/gc/stats/volume_metrics.h"
#include "services/gc/stats/volumes.h"

namespace splitlet::v1 {
class DesiredRecord;
class RuntimeRecord;
class VolumeFigures;
}  // namespace splitlet::v1

namespace splitlet::gc {

struct MeasuredVolume {
  std::shared_ptr<const v1::VolumeFigures> figures;
  bool local = false;  // counts as ephemeral storage of the pod
};
using MeasuredVolumes = std::map<std::string, std::vector<MeasuredVolume>>;  // by UID

class VolumeMonitor {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    VolumeSources sources;
    const bus::View<v1::DesiredRecord>& desired;
    const bus::View<v1::RuntimeRecord>& runtime;
    prometheus::Registry& metrics;
    Duration period;  // of each volume; not above 0: none is measured
  };
  /// A pod that is new is measured after at most this.
  static constexpr Duration kTick = std::chrono::seconds{10};

  VolumeMonitor(Deps deps, const GcConfig& config);
  VolumeMonitor(const VolumeMonitor&) = delete;
  VolumeMonitor& operator=(const VolumeMonitor&) = delete;

  void Start();
  MeasuredVolumes Get() const;

 private:
  struct Job {
    std::string uid, name_space;
    std::vector<VolumeToMeasure> volumes;
  };
  struct Pod {
    Clock::Time measured_at;
    std::string name_space;
    std::vector<MeasuredVolume> volumes;
  };
  struct Result {
    Job job;
    std::vector<MeasuredVolume> volumes;
  };
  void OnTimer();
  std::vector<Job> Due();
  Result Measure(Job job) const;
  void OnMeasured(std::vector<Result> results);
  void PutMetrics();

  Deps deps_;
  const GcConfig& config_;
  VolumeMetrics metrics_;
  std::map<std::string, Pod> pods_;                   // by UID
  using Claim = std::pair<std::string, std::string>;  // namespace, name
  std::map<Claim,
           std::vector<std::pair<prometheus::Family<prometheus::Gauge>*, prometheus::Gauge*>>>
      shown_;
  bool measuring_ = false;
  exec::Periodic timer_;
};

}  // namespace splitlet::gc
