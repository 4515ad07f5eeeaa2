#include <grpcpp/impl/codegen/service_type.h>

#include <cstdlib>
#include <optional>
#include <random>

#include "libs/apiclient/client_metrics.h"
#include "libs/cri/cgroup_driver.h"
#include "libs/cri/checkpoint.h"
#include "libs/cri/grpc_runtime.h"
#include "libs/cri/grpc_streaming.h"
#include "libs/cri/network_config.h"
#include "libs/daemon/api_server.h"
#include "libs/daemon/lock_file.h"
#include "libs/daemon/run_service.h"
#include "libs/dbus/connection.h"
#include "libs/exec/periodic.h"
#include "libs/exec/strand_pool.h"
#include "libs/fs/inotify_watcher.h"
#include "libs/fs/shared_mount.h"
#include "libs/fs/tail_reader.h"
#include "libs/http/async_client.h"
#include "libs/node/pod_place.h"
#include "libs/rpc/rpc.h"
#include "services/pod-worker/api/checkpoint_rpc.h"
#include "services/pod-worker/api/rpc.h"
#include "services/pod-worker/api/stream_rpc.h"
#include "services/pod-worker/cgroups/driver_choice.h"
#include "services/pod-worker/node/pod_cidr.h"
#include "services/pod-worker/objects/folder_objects.h"
#include "services/pod-worker/pod_worker_service.h"
#include "services/pod-worker/sync/limited_runner.h"
#include "splitlet/v1/pod_worker_records.pb.h"
#include "splitlet/v1/services.pb.h"

namespace splitlet::pod_worker {
namespace {

/// Calls to the runtime that run at the same time, and how many more may hang. Stops and pulls hold
/// no thread.
constexpr size_t kRuntimeThreads = 32;
constexpr size_t kHungThreads = 480;
constexpr Duration kRetryThreads = 1s;
/// Seconds after which a call is taken to hang. Long, because a task also waits for its turn at the
/// runtime: threads for those who wait would only wait too.
constexpr int kHangsAfter = 30;
/// For calls that make something when the process is to end: cut off, containerd calls a container
/// failed that it was about to start.
constexpr Duration kStopGrace = 3s;
/// For the runtime to name its driver of cgroups; at boot it may not be up yet.
constexpr Duration kAskLimit = 5s;

struct Process final : daemon::Service {
  Process(daemon::ServiceContext& context, const Config& config, daemon::RuntimeLock lock)
      : loop(context.loop()),
        runtime_lock(std::move(lock)),
        runtime(rpc::ConnectEndpoint(config.runtime_endpoint), context.clock(), context.metrics(),
                {.request = config.request_timeout}),
        runner({runtime, runtime, context.clock(), context.loop()}),
        http(context.clock()),
        streaming(
            cri::MakeGrpcStreaming(rpc::ConnectEndpoint(config.runtime_endpoint), context.clock())),
        checkpointer(cri::MakeGrpcCheckpointer(rpc::ConnectEndpoint(config.runtime_endpoint),
                                               context.clock())),
        network(cri::MakeGrpcNetworkConfig(rpc::ConnectEndpoint(config.runtime_endpoint),
                                           context.clock(), context.metrics())),
        slices(context.clock(), dbus::ConnectTo(context.clock(), dbus::SystemBusAddress())),
        owner(peers::MakeDesiredOwner(context.clock(), context.Peer("config-source"))),
        runtime_strands({.max_threads = kRuntimeThreads,
                         .slow_threads = kHungThreads,
                         .slow_rounds = kHangsAfter}) {}
  void Start() override {
    workers->Start();
    machine->Start();
    pod_cidr->Start();
    if (objects) objects->Start([this] { workers->OnObjectsChanged(); });
    if (api_objects)
      api_objects->Start([this](const std::string& uid) { workers->OnObjectsChanged(uid); });
  }
  void BeginStop() override {
    workers->BeginStop();
    ending->Cancel();
    loop.RunAfter(kStopGrace, [this] { runtime.GiveUp(); });
  }
  /// Answers of long calls come on other threads, and go to the service.
  void WaitStopped() override {
    runtime_strands.Stop();
    runtime.EndLongCalls();
    http.Stop();
  }
  std::function<std::shared_ptr<const ObjectSource>()> ObjectsView() const {
    if (!objects) return {};
    return [this] { return objects->View(); };
  }
  daemon::Health GetHealth() const override { return workers->GetHealth(); }
  std::vector<std::string> Notes() const override {
    auto notes = workers->Notes();
    if (objects) notes.insert(notes.end(), objects->Notes().begin(), objects->Notes().end());
    return notes;
  }
  void DiscardRecord(const std::string& uid, Discarded done) override {
    workers->DiscardRecord(uid, std::move(done));
  }
  std::vector<grpc::Service*> GrpcServices() override {
    return {calls.get(), streams.get(), checkpoints.get()};
  }

  exec::EventLoop& loop;
  daemon::RuntimeLock runtime_lock;
  cri::GrpcRuntime runtime;
  LimitedRunner runner;
  http::AsyncClient http;
  fs::RealMounts mounts;
  fs::RealOwnership ownership;
  std::unique_ptr<cri::Streaming> streaming;
  std::unique_ptr<cri::Checkpointer> checkpointer;
  std::unique_ptr<cri::NetworkConfig> network;
  const std::shared_ptr<CancelToken> ending = std::make_shared<CancelToken>();
  cgroup::RealKernel kernel;
  cgroup::SystemdSlices slices;
  std::unique_ptr<MachineSetup> machine;
  std::unique_ptr<peers::DesiredOwner> owner;
  std::unique_ptr<FolderObjects> objects;  // null: this node has none
  Random api_jitter{RandomSeed()};
  std::unique_ptr<apiclient::Transport> api;  // null: this node has no API server
  std::optional<ApiContext> api_context;      // null: the same
  std::unique_ptr<ApiCache> api_objects;      // null: the same
  std::unique_ptr<PodCidr> pod_cidr;
  std::unique_ptr<process::Programs> programs;
  std::unique_ptr<PodWorkerService> workers;
  exec::StrandPool runtime_strands;  // ends before what it uses
  exec::Periodic retry{loop, kRetryThreads, [this] { runtime_strands.Retry(); }};
  std::unique_ptr<grpc::Service> calls, streams, checkpoints;
};

/// A pod with no running container has neither streams nor checkpoints.
bool HasLivePod(const PodWorkerService& workers, const std::string& uid) {
  for (const v1::WorkerRecord& worker : workers.GetWorkers())
    if (worker.uid() == uid)
      return worker.state() == v1::SYNCING || worker.state() == v1::TERMINATING;
  return false;
}

Status ConnectApi(daemon::ServiceContext& context, const Config& config, Process& p) {
  ASSIGN_OR_RETURN(p.api, daemon::ConnectApi(context), "objects of pods");
  if (p.api == nullptr) return OkStatus();
  p.api_context.emplace(
      ApiContext{.clock = context.clock(),
                 .loop = context.loop(),
                 .strands = context.strands(),
                 .transport = *p.api,
                 .random = p.api_jitter,
                 .log = context.log(),
                 .content = daemon::ApiContentOf(context.config()),
                 .metrics = std::make_shared<apiclient::ClientMetrics>(context.metrics())});
  p.api_objects = std::make_unique<ApiCache>(
      *p.api_context, ChangeDetectionOf(context.config().api.change_detection),
      [providers = config.credential_providers](const kube::Pod& pod) {
        return MayNeedAccount(providers, pod);
      });
  return OkStatus();
}

void MakePodCidr(daemon::ServiceContext& context, const Config& config, Process& p) {
  p.pod_cidr =
      std::make_unique<PodCidr>(PodCidr::Deps{.clock = context.clock(),
                                              .loop = context.loop(),
                                              .strands = p.runtime_strands,
                                              .runtime = *p.network,
                                              .log = context.log(),
                                              .ending = p.ending,
                                              .api = p.api_context ? &*p.api_context : nullptr},
                                PodCidr::Settings{.node_name = config.node.name,
                                                  .configured = context.config().api.pod_cidr,
                                                  .call_limit = config.request_timeout});
}

/// Without it only what a container mounts for others is missing.
void ShareRoot(daemon::ServiceContext& context, const std::string& root_dir) {
  Status shared = context.files().MakeDirs(root_dir, 0750);
  if (shared.ok()) shared = fs::MakeShared(root_dir);
  if (!shared.ok())
    context.log().Warn("root directory is not a shared mount: Bidirectional propagation disabled",
                       {{"path", root_dir}, KV("err", shared)});
}

/// The gRPC services that other processes call.
void MakeServices(daemon::ServiceContext& context, Process& p) {
  const auto has_pod = [&workers = *p.workers](const std::string& uid) {
    return HasLivePod(workers, uid);
  };
  p.calls = MakeRpc(context.loop(), *p.workers);
  p.streams = MakeStreamRpc({.clock = context.clock(),
                             .loop = context.loop(),
                             .strands = p.runtime_strands,
                             .reader = p.runtime,
                             .streaming = *p.streaming,
                             .exec = p.runtime,
                             .has_pod = has_pod,
                             .log = context.log()});
  p.checkpoints = MakeCheckpointRpc(
      {.loop = context.loop(),
       .strands = p.runtime_strands,
       .maker = CheckpointMaker({.clock = context.clock(),
                                 .reader = p.runtime,
                                 .checkpointer = *p.checkpointer,
                                 .files = context.files(),
                                 .folder = context.flags().root_dir + "/checkpoints",
                                 .least_timeout = std::chrono::duration_cast<std::chrono::seconds>(
                                     context.config().runtime_request_timeout),
                                 .ending = p.ending}),
       .has_pod = has_pod});
}

/// Programs of a killed pod-worker are recognised by its state directory, which only one process
/// uses.
void MakePrograms(daemon::ServiceContext& context, const Config& config, Process& p) {
  const auto mark = process::MakeProgramMark(context.files(), config.state_dir + "/pod-worker");
  context.log().LogIfError(mark.kept, "save the mark of volume programs");
  p.programs = std::make_unique<process::RealPrograms>(process::RealPrograms::Options{
      .clock = context.clock(), .mark = mark.text, .on_ended = [&p](const std::string& uid) {
        p.loop.Post([&p, uid] { p.workers->OnVolumeProgramEnded(uid); });
      }});
}

/// Reads the tails of termination messages and logs.
fs::TailReader TailsOfPods(const NodeInfo& node) {
  return fs::MakeTailReader(
      {node::PodsBelow(node.pod_roots.root_dir), node.pod_roots.marks_dir, node.pod_logs_dir});
}

/// As it is in force: the runtime's driver of cgroups goes before the file's.
config::KubeletConfig KubeletConfigOf(daemon::ServiceContext& context) {
  config::KubeletConfig kubelet = context.config();
  const daemon::Flags& flags = context.flags();
  if (!kubelet.HasPodCgroups(!flags.kubeconfig.empty())) return kubelet;
  const auto ask = [&] {
    return cri::AskCgroupDriver(rpc::ConnectEndpoint(kubelet.container_runtime_endpoint),
                                context.clock(), After(context.clock(), kAskLimit));
  };
  Metrics metrics(context.metrics());  // of the families that the service has, too
  kubelet.cgroup_driver = ChooseDriver({.ask = ask,
                                        .configured = kubelet.cgroup_driver,
                                        .kept_path = flags.state_dir + "/pod-worker/cgroup-driver",
                                        .metrics = metrics},
                                       context.files(), context.log());
  return kubelet;
}

/// Table and views are moved in by the caller.
struct Tables {
  bus::Table<v1::WorkerRecord> workers;
  bus::View<v1::DesiredRecord> desired;
  bus::View<v1::PodStatusRecord> podstatus;
};

StatusOr<Tables> OpenTables(daemon::ServiceContext& context) {
  ASSIGN_OR_RETURN(auto workers, bus::Own<v1::WorkerRecord>(context.bus(), "workers"),
                   "table workers");
  ASSIGN_OR_RETURN(auto desired, bus::ViewOf<v1::DesiredRecord>(context.bus(), "desired"),
                   "view desired");
  ASSIGN_OR_RETURN(auto podstatus, bus::ViewOf<v1::PodStatusRecord>(context.bus(), "podstatus"),
                   "view podstatus");
  return Tables{std::move(workers), std::move(desired), std::move(podstatus)};
}

Deps WorkerDeps(daemon::ServiceContext& context, const Config& config, Tables tables, Process& p) {
  return {.env = context.env(),
          .runtime_strands = p.runtime_strands,
          .bus = context.bus(),
          .table = std::move(tables.workers),
          .desired = std::move(tables.desired),
          .podstatus = std::move(tables.podstatus),
          .runtime = {.reader = p.runtime,
                      .runner = p.runner,
                      .remover = p.runtime,
                      .images = p.runtime,
                      .long_calls = p.runner,
                      .read_tail = TailsOfPods(config.node)},
          .disk = {.files = context.files(),
                   .mounts = p.mounts,
                   .ownership = p.ownership,
                   .read_within = fs::ReadWithin},
          .owner = *p.owner,
          .events = context.events(),
          .http = p.http,
          .seed = std::random_device{}(),
          .objects = p.ObjectsView(),
          .kernel = &p.kernel,
          .slices = &p.slices,
          .run_program = process::RunProgram,
          .api_objects = p.api_objects.get(),
          .programs = p.programs.get()};
}

StatusOr<std::unique_ptr<daemon::Service>> MakePodWorker(daemon::ServiceContext& context) {
  ASSIGN_OR_RETURN(auto config,
                   LoadConfig(context.flags(), KubeletConfigOf(context), context.files()),
                   "configuration");
  if (const char* const home = std::getenv("HOME"); home != nullptr) config.home = home;
  ASSIGN_OR_RETURN(auto lock, daemon::RuntimeLock::Take(config.runtime_endpoint, "pod-worker"),
                   "lock of the runtime");
  ASSIGN_OR_RETURN(auto tables, OpenTables(context), "tables of the bus");
  auto process = std::make_unique<Process>(context, config, std::move(lock));
  Process& p = *process;
  if (!config.objects_path.empty())
    p.objects =
        std::make_unique<FolderObjects>(FolderObjects::Deps{.loop = context.loop(),
                                                            .strands = context.strands(),
                                                            .files = context.files(),
                                                            .watcher = fs::MakeInotifyWatcher(),
                                                            .log = context.log()},
                                        config.objects_path);
  RETURN_IF_ERROR(ConnectApi(context, config, p), "--kubeconfig");
  MakePodCidr(context, config, p);
  if (config.machine.checked_sysctls)
    RETURN_IF_ERROR(EnsureSysctls(context.files(), fs::WriteInPlace, SysctlRule::kCheck),
                    "protectKernelDefaults");
  if (config.machine.shared_root) ShareRoot(context, config.node.pod_roots.root_dir);
  p.machine =
      std::make_unique<MachineSetup>(MachineSetup::Deps{.loop = context.loop(),
                                                        .strands = context.strands(),
                                                        .files = context.files(),
                                                        .write = fs::WriteInPlace,
                                                        .mounts = p.mounts,
                                                        .run = process::RunProgram,
                                                        .events = context.events(),
                                                        .log = context.log(),
                                                        .node_name = config.node.name,
                                                        .root_dir = config.node.pod_roots.root_dir},
                                     config.machine);
  MakePrograms(context, config, p);
  Deps deps = WorkerDeps(context, config, std::move(tables), p);
  p.workers = std::make_unique<PodWorkerService>(std::move(deps), std::move(config));
  RETURN_IF_ERROR(p.workers->PrepareCgroups(), "cgroups of pods");
  MakeServices(context, p);
  return process;
}

}  // namespace

/// Called by services/main.cc.
int Main(int argc, char** argv) {
  return daemon::RunService("pod-worker", argc, argv, MakePodWorker);
}

}  // namespace splitlet::pod_worker
