#pragma once

/// The parts that pod-worker is made of, floor by floor. Each floor builds its parts from those
/// below; a part calls upwards only through PodAdvancer and the functions that its Deps name.
/// Threads: made and destroyed on the loop.
/// Errors:  none.
/// Source:  services/pod-worker/README.md, "Floors".

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "libs/base/log.h"
#include "libs/base/random.h"
#include "libs/bus/typed.h"
#include "libs/cri/cri.h"
#include "libs/cri/long_calls.h"
#include "libs/cri/observe.h"
#include "libs/daemon/service.h"
#include "libs/exec/env.h"
#include "libs/peers/desired_owner.h"
#include "libs/plugins/plugin_registry.h"
#include "services/pod-worker/api_objects/pod_objects.h"
#include "services/pod-worker/cgroups/cgroup_keeper.h"
#include "services/pod-worker/cgroups/pod_cgroups.h"
#include "services/pod-worker/config.h"
#include "services/pod-worker/control/gone_pods.h"
#include "services/pod-worker/control/grant_checker.h"
#include "services/pod-worker/control/pod_loop.h"
#include "services/pod-worker/control/recovery/desired_confirmation.h"
#include "services/pod-worker/control/recovery/found_incarnations.h"
#include "services/pod-worker/control/recovery/left_volumes.h"
#include "services/pod-worker/control/recovery/recovery.h"
#include "services/pod-worker/control/recovery/unreadable_records.h"
#include "services/pod-worker/control/removal_holds.h"
#include "services/pod-worker/control/request_handler.h"
#include "services/pod-worker/control/static_pod_start_gate.h"
#include "services/pod-worker/drivers/driver_connections.h"
#include "services/pod-worker/drivers/driver_metrics.h"
#include "services/pod-worker/drivers/driver_registry.h"
#include "services/pod-worker/hooks/hook_runner.h"
#include "services/pod-worker/images/puller.h"
#include "services/pod-worker/metrics/metrics.h"
#include "services/pod-worker/node/node_addresses.h"
#include "services/pod-worker/node/node_record.h"
#include "services/pod-worker/pod/workers.h"
#include "services/pod-worker/probes/exec_prober.h"
#include "services/pod-worker/probes/network_prober.h"
#include "services/pod-worker/probes/probe_scheduler.h"
#include "services/pod-worker/probes/results.h"
#include "services/pod-worker/records/disk_records.h"
#include "services/pod-worker/records/worker_store.h"
#include "services/pod-worker/sync/resync_timer.h"
#include "services/pod-worker/sync/sync_outcome.h"
#include "services/pod-worker/sync/sync_runner.h"
#include "services/pod-worker/termination/pod_runtime.h"
#include "services/pod-worker/termination/pod_terminator.h"
#include "services/pod-worker/termination/stopped_sandboxes.h"
#include "services/pod-worker/user_namespaces/user_ids.h"
#include "services/pod-worker/volumes/volume_manager.h"

namespace splitlet::v1 {
class DesiredRecord;
class PodStatusRecord;
class WorkerRecord;
}  // namespace splitlet::v1

namespace splitlet::pod_worker {

/// The calls of the container runtime.
struct RuntimeCalls {
  cri::Reader& reader;
  cri::Runner& runner;
  cri::Remover& remover;
  cri::Images& images;
  cri::LongCalls& long_calls;
  cri::TailReader read_tail;  // for termination messages
};

/// The files and mounts of the node.
struct Disk {
  fs::FileSystem& files;
  fs::Mounts& mounts;
  fs::Ownership& ownership;
  fs::WithinReader read_within;
};

/// How the plugins of the node are found and called.
struct PluginCalls {
  plugins::RegistrationClient& registration;
  std::function<std::unique_ptr<fs::FileWatcher>()> make_watcher;
  /// DriverConnections::Connect.
  std::function<std::shared_ptr<csi::DriverCalls>(const std::string& socket_path,
                                                  std::function<void(const csi::CallEnd&)> on_end)>
      connect;
};

struct Deps {
  exec::Env env;  // strands: files and short calls, never held up by the runtime
  /// Calls to the runtime for one pod, but for stops and pulls, which hold no thread. Such a call
  /// may last as long as a network plugin takes to give up, and holds its thread all the time: the
  /// pool admits others beside those that last long.
  exec::Strands& runtime_strands;
  bus::Bus& bus;
  bus::Table<v1::WorkerRecord> table;
  bus::View<v1::DesiredRecord> desired;
  bus::View<v1::PodStatusRecord> podstatus;
  RuntimeCalls runtime;
  Disk disk;
  peers::DesiredOwner& owner;  // config-source, asked before a destructive act
  daemon::EventRecorder& events;
  http::Caller& http;  // of servers in pods, for probes and hooks
  uint64_t seed = 1;   // of jitter
  std::function<std::shared_ptr<const ObjectSource>()> objects = {};  // empty: this node has none
  cgroup::Kernel* kernel = nullptr;                                   // of cgroups; null: none
  cgroup::Slices* slices = nullptr;                                   // of systemd; null: none
  process::ProgramRunner run_program = process::RunProgram;           // of plugins
  ApiCache* api_objects = nullptr;  // of API pods; null: this node has no API server
  /// Programs that mount volumes; their ends go to OnVolumeProgramEnded. null: no volume kind uses
  /// a long program.
  process::Programs* programs = nullptr;
  std::optional<PluginCalls> plugins = std::nullopt;  // unset: no plugin registers
};

struct GroundParts;

/// The plugins of the node, which know no pod.
struct PluginParts {
  explicit PluginParts(GroundParts& ground);
  PluginParts(const PluginParts&) = delete;
  PluginParts& operator=(const PluginParts&) = delete;
  void Start();

  DriverMetrics driver_metrics;
  DriverRegistry drivers;
  std::optional<plugins::PluginRegistry> registry;  // unset: no plugin registers
};

/// The parts that all others use: values, files, the runtime and the kernel.
struct GroundParts {
  GroundParts(Deps deps, Config config);
  GroundParts(const GroundParts&) = delete;
  GroundParts& operator=(const GroundParts&) = delete;
  /// For calls to the runtime instead of files.
  exec::Env RuntimeEnv() const {
    return {.clock = deps.env.clock,
            .loop = deps.env.loop,
            .strands = deps.runtime_strands,
            .log = deps.env.log,
            .metrics = deps.env.metrics};
  }

  Deps deps;
  const Config config;
  DiskRecords records;
  PullRecords pull_records;
  const NodeCredentials node_credentials;
  Metrics metrics;
  cri::Observer observer;
  NodeRecord node_record;
  PluginParts plugins;
  VolumeManager volumes;
  PodCgroups cgroups;
  const SyncDeps sync;
  PodRuntime runtime;
  StoppedSandboxes stopped_sandboxes;
  Random random;
  Workers workers;
  PodObjects objects;
  UserIdRanges user_ids;
};

/// The parts that carry out a step for a pod: images, probes, hooks, syncs and terminations.
struct StepParts {
  /// `loop` is called only after it is connected.
  StepParts(GroundParts& ground, PodLoop& loop);
  StepParts(const StepParts&) = delete;
  StepParts& operator=(const StepParts&) = delete;

  NodeAddresses addresses;
  WorkerStore store;
  CredentialProviders providers;
  ImagePuller puller;
  ProbeResults probe_results;
  ExecProber exec_prober;
  NetworkProber network_prober;
  ProbeScheduler probes;
  HookRunner hooks;
  ResyncTimer resyncs;
  PodTerminator terminator;
  SyncRunner syncs;
};

/// The parts that decide whether and why something is done for a pod.
struct ControlParts {
  /// Functions of the service for the results of these parts.
  struct Calls {
    std::function<Worker&(std::unique_ptr<Worker>)> add;
    std::function<void(DiskRecords::All& records)> on_read;
    std::function<void(const std::vector<cri::Sandbox>& sandboxes,
                       const std::vector<cri::Container>& containers)>
        on_listed;
    std::function<void(const std::string& key, const DiskRecords::All& left)> on_discarded;
  };
  /// `loop` is called only after it is connected.
  ControlParts(GroundParts& ground, StepParts& steps, PodLoop& loop, Calls calls);
  ControlParts(const ControlParts&) = delete;
  ControlParts& operator=(const ControlParts&) = delete;

  RemovalHolds holds;
  LeftVolumes left_volumes;
  UnreadableRecords unreadable;
  StaticPodStartGate gate;
  DesiredConfirmation confirmation;
  FoundIncarnations found;
  GonePods gone;
  GrantChecker checker;
  RequestHandler requests;
  Recovery recovery;
  CgroupKeeper keeper;
};

PodLoop::Deps PodLoopDeps(GroundParts& ground, StepParts& steps, ControlParts& control);

}  // namespace splitlet::pod_worker
