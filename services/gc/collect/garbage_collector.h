#pragma once

/// Collects the garbage of the node: containers, sandboxes and directories of ended pods, unused
/// images, and logs. The parts own the work; this class decides when a round runs.
/// In:    timers (containers every minute, images every 5 min), changes of `runtime`, `workers` and
/// the state of `desired`, orders of GcService: Run, Free, OnFullDisk.
/// Owns:  RoundQueue, ContainerGc, ImageCollector, LogRotation, LogTruncation, RemovalLog; whether
/// an early round is due.
/// Out:   removals in the runtime and on disk; holds of pod-worker; log lines, metrics, node
/// events.
/// Killed at any line: the next round lists everything again and goes on. A directory that was
/// moved aside is emptied then. A hold that is not released ends after 60 s.
/// Threads: loop thread only.
/// Errors: in the report of a round.
/// Source: docs/safety.md, rules 8, 10 and 25.

#include <functional>
#include <string>

#include "libs/base/log.h"
#include "libs/bus/typed.h"
#include "libs/cri/cri.h"
#include "libs/daemon/service.h"
#include "libs/exec/ask.h"
#include "libs/exec/env.h"
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
#include "services/gc/metrics.h"
#include "services/gc/node_events.h"

namespace splitlet::gc {

/// The kinds of objects that a round of Free removes.
struct FreeOrder {
  bool containers = false, images = false;
};

class GarbageCollector {
 public:
  using Done = std::function<void(StatusOr<Report>)>;
  struct Deps {
    exec::Env env;
    fs::FileSystem& files;
    cri::Reader& reader;
    cri::Remover& remover;
    cri::Images& images;
    cri::Logs& logs;
    Compress compress;
    StopSandbox stop_sandbox;
    StopContainer stop_container;
    peers::HoldClient& pod_worker;
    peers::DesiredOwner& config_source;
    const bus::View<v1::DesiredRecord>& desired;
    const bus::View<v1::WorkerRecord>& workers;
    const bus::View<v1::RuntimeRecord>& runtime;
    daemon::EventRecorder& events;
    NodeEvents& node_events;
    GcMetrics& metrics;
  };
  GarbageCollector(const Deps& deps, const GcConfig& config);

  void Start();
  void OnRuntime(const bus::View<v1::RuntimeRecord>::Change& change);
  void OnWorker(const bus::View<v1::WorkerRecord>::Change& change);
  void OnDesiredState() { images_.OnDesiredState(); }
  void OnFullDisk() { log_truncation_.OnFullDisk(); }

  /// Runs a round of everything, after the rounds that run or wait. RESOURCE_EXHAUSTED when too
  /// many wait.
  void Run(bool dry_run, Done done);
  /// Runs a round that frees what it can before a pod has to go; `done` when the round has ended. A
  /// full queue frees most of it anyway: then `done` comes without a round.
  void Free(FreeOrder order, std::function<void()> done);
  /// The last round of containers and the last round of images, in one report.
  Report GetReport() const;
  /// Why the runtime could not be listed; empty: it could.
  std::string RuntimeProblem() const { return containers_.RuntimeProblem(); }

 private:
  void OnRemovalTimer();
  void OnImageTimer();
  void RunSoon();
  void RunIfCrashLoop(const v1::RuntimeRecord& record);

  exec::EventLoop& loop_;
  const bus::View<v1::WorkerRecord>& workers_;
  const GcConfig& config_;
  RemovalLog removal_log_;
  RoundQueue rounds_;
  bool soon_ = false;  // a round of containers comes before its time
  ContainerGc containers_;
  ImageCollector images_;
  LogRotation logs_;
  LogTruncation log_truncation_;
  exec::Periodic removal_timer_, image_timer_;
  const exec::Asker asker_;  // the last member: its end stops all callbacks
};

}  // namespace splitlet::gc
