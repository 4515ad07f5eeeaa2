#pragma once

/// Removes what ended pods leave behind and what nobody uses, and says how much room there is.
/// It routes: each input goes to the part whose state it changes.
/// In:    timers (containers 1 min, images 5 min, signals 10 s), views `desired`, `workers`,
/// `runtime`, Gc.Run calls.
/// Owns:  table `pressure`: key `node` -> signals and conditions. The parts own the state:
/// RoundQueue, ContainerGc, ImageCollector, LogRotation, LogTruncation, PressureMonitor,
/// Evictor, GracefulShutdown, VolumeMonitor, RemovalLog.
/// Out:   puts to `pressure`; holds of pod-worker; removals in the runtime and on disk; ends of
/// pods that have to go; events of the node.
/// Killed at any line: the next round lists everything anew and goes on; a directory moved aside is
/// emptied then; a hold that nobody releases ends after 60 s.
/// Threads: loop thread only.
/// Errors: in the report of a round.
/// Source: docs/safety.md, rules 8, 10 and 25.

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "libs/base/log.h"
#include "libs/bus/typed.h"
#include "libs/cgroup/memory_alarm.h"
#include "libs/cri/cri.h"
#include "libs/daemon/service.h"
#include "libs/exec/exec.h"
#include "libs/exec/periodic.h"
#include "libs/fs/file_system.h"
#include "libs/peers/desired_owner.h"
#include "libs/peers/pod_worker_client.h"
#include "services/gc/collect/containers/container_gc.h"
#include "services/gc/collect/images/image_collector.h"
#include "services/gc/collect/logs/log_rotation.h"
#include "services/gc/collect/logs/log_truncation.h"
#include "services/gc/collect/removal_log.h"
#include "services/gc/collect/report.h"
#include "services/gc/collect/round_queue.h"
#include "services/gc/config.h"
#include "services/gc/measure/stats/stats_reader.h"
#include "services/gc/measure/stats/volume_monitor.h"
#include "services/gc/metrics.h"
#include "services/gc/node_events.h"
#include "services/gc/protect/eviction/evictor.h"
#include "services/gc/protect/oom/oom_watcher.h"
#include "services/gc/protect/pressure/pressure_monitor.h"
#include "services/gc/protect/shutdown/graceful_shutdown.h"

namespace splitlet::gc {

struct GcDeps {
  const Clock& clock;
  exec::EventLoop& loop;
  exec::Strands& strands;
  fs::FileSystem& files;
  cri::Reader& reader;
  cri::Remover& remover;
  cri::Images& images;
  cri::Logs& logs;
  cri::Stats& stats;
  Compress compress;
  StopSandbox stop_sandbox;
  StopContainer stop_container;
  std::function<std::optional<int64_t>()> runtime_pid;  // on a strand; nothing: not known
  std::unique_ptr<TreeMeter> meter;
  std::unique_ptr<KernelLog> kernel_log;
  std::unique_ptr<cgroup::MemoryAlarm> memory_alarm;  // null: nobody asks for it
  std::unique_ptr<ShutdownSource> shutdown;
  std::unique_ptr<peers::HoldClient> workers_client;
  std::unique_ptr<peers::KillClient> kills;
  std::unique_ptr<peers::DesiredOwner> desired_client;
  Duration volume_stats_period;  // not above 0: volumes are not measured
  bus::Table<v1::PressureRecord> pressure;
  bus::View<v1::DesiredRecord> desired;
  bus::View<v1::WorkerRecord> workers;
  bus::View<v1::RuntimeRecord> runtime;
  Log log;
  prometheus::Registry& metrics;
  daemon::EventRecorder& events;
};

class GcService {
 public:
  using Done = std::function<void(StatusOr<Report>)>;
  GcService(GcDeps deps, GcConfig config);

  void Start();
  daemon::Health GetHealth() const;
  /// One round of everything, after those that run or wait. RESOURCE_EXHAUSTED when too many wait.
  void Run(bool dry_run, Done done);
  /// What the last round of each kind did, in one.
  Report GetReport() const;
  void GetStats(bool details, StatsReader::Done done) { stats_.Read(details, std::move(done)); }

 private:
  void OnRuntimeChange(const v1::RuntimeRecord& record);
  void OnRemovalTimer();
  void OnImageTimer();
  void RunSoon();
  void MakeRoom(NodeReclaim what, std::function<void()> done);

  GcDeps deps_;
  const GcConfig config_;
  GcMetrics metrics_;
  NodeEvents node_events_;
  RemovalLog removal_log_;
  RoundQueue rounds_;
  bool soon_ = false;  // a round of remains is to come before its time
  ContainerGc containers_;
  ImageCollector images_;
  LogRotation logs_;
  LogTruncation log_truncation_;
  exec::Periodic removal_timer_, image_timer_;
  PressureMonitor pressure_;
  Evictor evictor_;
  GracefulShutdown shutdown_;
  OomWatcher oom_;
  VolumeMonitor volumes_;
  StatsReader stats_;
};

}  // namespace splitlet::gc
