#pragma once

/// Collects garbage, protects the node from running out of something, and answers what the node
/// uses. This class builds the rooms and routes: each input goes to the part whose state it
/// changes.
/// In:    timers of the parts; views `desired`, `workers`, `runtime`; calls Gc.Run, Gc.GetReport
/// and NodeStats.GetNodeStats; logind's PrepareForShutdown; the kernel's log (/dev/kmsg) and its
/// alarm of memory. NodeImages.ListImages goes to the runtime without this class.
/// Owns:  table `pressure`: key `node` -> signals, conditions, whether the node shuts down. The
/// parts own the state: GarbageCollector, NodeProtector, VolumeMonitor, StatsReader.
/// Out:   puts to `pressure`; holds of pod-worker; removals in the runtime and on disk; KillPod;
/// events of pods and of the node.
/// Killed at any line: the next round lists everything again and goes on; what a shutdown or an
/// eviction has begun is on disk for this boot.
/// Threads: loop thread only.
/// Errors: in the report of a round.
/// Source: docs/safety.md, rules 8, 10 and 25.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "libs/base/log.h"
#include "libs/bus/typed.h"
#include "libs/cgroup/memory_alarm.h"
#include "libs/cri/cri.h"
#include "libs/daemon/service.h"
#include "libs/exec/env.h"
#include "libs/exec/exec.h"
#include "libs/fs/file_system.h"
#include "libs/peers/desired_owner.h"
#include "libs/peers/pod_worker_client.h"
#include "services/gc/collect/garbage_collector.h"
#include "services/gc/collect/report.h"
#include "services/gc/config.h"
#include "services/gc/measure/stats/stats_reader.h"
#include "services/gc/measure/stats/volume_monitor.h"
#include "services/gc/metrics.h"
#include "services/gc/node_events.h"
#include "services/gc/protect/node_protector.h"
#include "services/gc/runtime_calls.h"

namespace splitlet::gc {

struct GcDeps {
  exec::Env env;
  fs::FileSystem& files;
  RuntimeCalls calls;
  Compress compress;
  std::unique_ptr<TreeMeter> meter;
  std::unique_ptr<KernelLog> kernel_log;
  std::unique_ptr<cgroup::MemoryAlarm> memory_alarm;  // null: the configuration asks for none
  std::unique_ptr<ShutdownSource> shutdown;
  std::unique_ptr<peers::HoldClient> workers_client;
  std::unique_ptr<peers::KillClient> kills;
  std::unique_ptr<peers::DesiredOwner> desired_client;
  bus::Table<v1::PressureRecord> pressure;
  bus::View<v1::DesiredRecord> desired;
  bus::View<v1::WorkerRecord> workers;
  bus::View<v1::RuntimeRecord> runtime;
  daemon::EventRecorder& events;
};

class GcService {
 public:
  using Done = GarbageCollector::Done;
  GcService(GcDeps deps, GcConfig config);

  void Start();
  daemon::Health GetHealth() const;
  /// See GarbageCollector.
  void Run(bool dry_run, Done done) { collector_.Run(dry_run, std::move(done)); }
  Report GetReport() const { return collector_.GetReport(); }
  void GetStats(bool details, StatsReader::Done done) { stats_.Read(details, std::move(done)); }

 private:
  GarbageCollector::Deps CollectorDeps();
  NodeProtector::Deps ProtectorDeps();
  StatsReader::Deps StatsDeps();
  void Subscribe();

  GcDeps deps_;
  const GcConfig config_;
  GcMetrics metrics_;
  NodeEvents node_events_;
  GarbageCollector collector_;
  NodeProtector protector_;
  VolumeMonitor volumes_;
  StatsReader stats_;
};

}  // namespace splitlet::gc
