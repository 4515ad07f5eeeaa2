#pragma once

/// Protects the node: it publishes what the node runs out of, evicts pods, reports kills of the
/// kernel for want of memory, and ends pods before the node shuts down. The parts own the work;
/// this class connects them.
/// In:    changes of `desired` and `workers`, from GcService.
/// Owns:  PressureMonitor, Evictor, GracefulShutdown, OomWatcher.
/// Out:   table `pressure`; KillPod; events of pods and of the node; `reclaim` and `on_full_disk`.
/// Killed at any line: see the parts.
/// Threads: loop thread only.
/// Errors: in the log, and in problem().
/// Source: docs/behaviour/eviction.md; docs/behaviour/node-shutdown.md.

#include <functional>
#include <memory>
#include <string>

#include "libs/base/log.h"
#include "libs/bus/typed.h"
#include "libs/cgroup/memory_alarm.h"
#include "libs/cri/cri.h"
#include "libs/daemon/service.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/fs/file_system.h"
#include "libs/peers/pod_worker_client.h"
#include "services/gc/config.h"
#include "services/gc/measure/tree_meter.h"
#include "services/gc/metrics.h"
#include "services/gc/node_events.h"
#include "services/gc/protect/eviction/evictor.h"
#include "services/gc/protect/oom/oom_watcher.h"
#include "services/gc/protect/pressure/pressure_monitor.h"
#include "services/gc/protect/shutdown/graceful_shutdown.h"

namespace splitlet::gc {

class NodeProtector {
 public:
  struct Deps {
    exec::Env env;
    fs::FileSystem& files;
    cri::Reader& reader;
    cri::Images& images;
    cri::Stats& stats;
    TreeMeter& meter;
    KernelLog& kernel_log;
    ShutdownSource& shutdown;
    std::unique_ptr<cgroup::MemoryAlarm> memory_alarm;  // null: see MemoryWatch
    peers::KillClient& pod_worker;
    bus::Table<v1::PressureRecord>& pressure;
    const bus::View<v1::DesiredRecord>& desired;
    const bus::View<v1::WorkerRecord>& workers;
    daemon::EventRecorder& events;
    NodeEvents& node_events;
    GcMetrics& metrics;
    /// Frees what it can; then calls back.
    std::function<void(NodeReclaim what, std::function<void()> done)> reclaim;
    std::function<void()> on_full_disk;
  };
  NodeProtector(Deps deps, const GcConfig& config);

  void Start();
  void OnDesired(const bus::View<v1::DesiredRecord>::Change& change);
  void OnWorkers();
  /// `desired` or `workers` became live or complete, or is so no longer.
  void OnViewState() { shutdown_.OnPods(); }
  /// Why nothing is measured; empty: it is.
  std::string problem() const { return pressure_.problem(); }

 private:
  PressureMonitor pressure_;
  Evictor evictor_;
  GracefulShutdown shutdown_;
  OomWatcher oom_;
};

}  // namespace splitlet::gc
