#include <grpcpp/impl/codegen/service_type.h>

#include <cstdlib>
#include <random>

#include "libs/daemon/lock_file.h"
#include "libs/daemon/run_service.h"
#include "libs/dbus/connection.h"
#include "libs/exec/periodic.h"
#include "libs/exec/strand_pool.h"
#include "libs/fs/inotify_watcher.h"
#include "libs/fs/tail_reader.h"
#include "libs/http/async_client.h"
#include "libs/node/pod_place.h"
#include "libs/plugins/grpc_registration_client.h"
#include "services/pod-worker/api/services.h"
#include "services/pod-worker/cgroups/runtime_driver.h"
#include "services/pod-worker/node_setup.h"
#include "services/pod-worker/object_sources.h"
#include "services/pod-worker/pod_worker_service.h"
#include "services/pod-worker/runtime_clients.h"
#include "splitlet/v1/pod_worker_records.pb.h"
#include "splitlet/v1/records.pb.h"

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

struct Process final : daemon::Service {
  Process(daemon::ServiceContext& context, const Config& config, daemon::RuntimeLock lock)
      : loop(context.loop()),
        runtime_lock(std::move(lock)),
        clients(context, config),
        http(context.clock()),
        registration(context.clock(), loop),
        drivers(context.clock(), loop),
        slices(context.clock(), dbus::ConnectTo(context.clock(), dbus::SystemBusAddress())),
        owner(peers::MakeDesiredOwner(context.clock(), context.Peer("config-source"))),
        objects(context, config),
        runtime_strands({.max_threads = kRuntimeThreads,
                         .slow_threads = kHungThreads,
                         .slow_rounds = kHangsAfter}) {}
  void Start() override {
    workers->Start();
    node->Start();
    objects.Start([this] { workers->OnObjectsChanged(); },
                  [this](const std::string& uid) { workers->OnObjectsChanged(uid); });
  }
  void BeginStop() override {
    workers->BeginStop();
    ending->Cancel();
    loop.RunAfter(kStopGrace, [this] { clients.runtime.GiveUp(); });
  }
  /// Answers of long calls come on other threads, and go to the service.
  void WaitStopped() override {
    runtime_strands.Stop();
    clients.runtime.EndLongCalls();
    http.Stop();
    drivers.Stop();
  }
  daemon::Health GetHealth() const override { return workers->GetHealth(); }
  std::vector<std::string> Notes() const override {
    auto notes = workers->Notes();
    for (auto& note : objects.Notes()) notes.push_back(std::move(note));
    return notes;
  }
  void DiscardRecord(const std::string& uid, Discarded done) override {
    workers->DiscardRecord(uid, std::move(done));
  }
  std::vector<grpc::Service*> GrpcServices() override {
    std::vector<grpc::Service*> all;
    for (const auto& service : services) all.push_back(service.get());
    return all;
  }

  exec::EventLoop& loop;
  daemon::RuntimeLock runtime_lock;
  RuntimeClients clients;
  http::AsyncClient http;
  plugins::GrpcRegistrationClient registration;
  DriverConnections drivers;
  fs::RealMounts mounts;
  fs::RealOwnership ownership;
  const std::shared_ptr<CancelToken> ending = std::make_shared<CancelToken>();
  cgroup::RealKernel kernel;
  cgroup::SystemdSlices slices;
  std::unique_ptr<peers::DesiredOwner> owner;
  ObjectSources objects;
  std::unique_ptr<NodeSetup> node;
  std::unique_ptr<process::Programs> programs;
  std::unique_ptr<PodWorkerService> workers;
  exec::StrandPool runtime_strands;  // ends before what it uses
  exec::Periodic retry{loop, kRetryThreads, [this] { runtime_strands.Retry(); }};
  std::vector<std::unique_ptr<grpc::Service>> services;
};

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

StatusOr<Deps> WorkerDeps(daemon::ServiceContext& context, const Config& config, Process& p) {
  ASSIGN_OR_RETURN(auto table, bus::Own<v1::WorkerRecord>(context.bus(), "workers"),
                   "table workers");
  ASSIGN_OR_RETURN(auto desired, bus::ViewOf<v1::DesiredRecord>(context.bus(), "desired"),
                   "view desired");
  ASSIGN_OR_RETURN(auto podstatus, bus::ViewOf<v1::PodStatusRecord>(context.bus(), "podstatus"),
                   "view podstatus");
  cri::GrpcRuntime& runtime = p.clients.runtime;
  const NodeInfo& node = config.node;
  return Deps{
      .env = context.env(),
      .runtime_strands = p.runtime_strands,
      .bus = context.bus(),
      .table = std::move(table),
      .desired = std::move(desired),
      .podstatus = std::move(podstatus),
      .runtime = {.reader = runtime,
                  .runner = p.clients.runner,
                  .remover = runtime,
                  .images = runtime,
                  .long_calls = p.clients.runner,
                  .read_tail = fs::MakeTailReader({node::PodsBelow(node.pod_roots.root_dir),
                                                   node.pod_roots.marks_dir, node.pod_logs_dir})},
      .disk = {.files = context.files(),
               .mounts = p.mounts,
               .ownership = p.ownership,
               .read_within = fs::ReadWithin},
      .owner = *p.owner,
      .events = context.events(),
      .http = p.http,
      .seed = std::random_device{}(),
      .objects = p.objects.FolderView(),
      .kernel = &p.kernel,
      .slices = &p.slices,
      .run_program = process::RunProgram,
      .api_objects = p.objects.api_objects(),
      .programs = p.programs.get(),
      .plugins = PluginCalls{.registration = p.registration,
                             .make_watcher = fs::MakeInotifyWatcher,
                             .connect = [&p](const std::string& socket_path,
                                             std::function<void(const csi::CallEnd&)> on_end) {
                               return p.drivers.Connect(socket_path, std::move(on_end));
                             }}};
}

ServiceDeps DepsOfServices(daemon::ServiceContext& context, Process& p) {
  return {.env = context.env(),
          .runtime_strands = p.runtime_strands,
          .pods = *p.workers,
          .reader = p.clients.runtime,
          .exec = p.clients.runtime,
          .streaming = *p.clients.streaming,
          .checkpointer = *p.clients.checkpointer,
          .files = context.files(),
          .checkpoints_dir = context.flags().root_dir + "/checkpoints",
          .least_checkpoint_timeout = std::chrono::duration_cast<std::chrono::seconds>(
              context.config().runtime_request_timeout),
          .ending = p.ending};
}

StatusOr<std::unique_ptr<daemon::Service>> MakePodWorker(daemon::ServiceContext& context) {
  ASSIGN_OR_RETURN(auto config,
                   LoadConfig(context.flags(), WithRuntimeDriver(context), context.files()),
                   "configuration");
  if (const char* const home = std::getenv("HOME"); home != nullptr) config.home = home;
  ASSIGN_OR_RETURN(auto lock, daemon::RuntimeLock::Take(config.runtime_endpoint, "pod-worker"),
                   "lock of the runtime");
  auto process = std::make_unique<Process>(context, config, std::move(lock));
  Process& p = *process;
  RETURN_IF_ERROR(p.objects.Connect(context, config), "--kubeconfig");
  if (Status ready = NodeSetup::Prepare(context, config); !ready.ok()) return ready;
  p.node = std::make_unique<NodeSetup>(NodeSetup::Deps{.context = context,
                                                       .runtime_strands = p.runtime_strands,
                                                       .network = *p.clients.network,
                                                       .mounts = p.mounts,
                                                       .api = p.objects.api(),
                                                       .ending = p.ending},
                                       config);
  MakePrograms(context, config, p);
  ASSIGN_OR_RETURN(Deps deps, WorkerDeps(context, config, p), "tables of the bus");
  p.workers = std::make_unique<PodWorkerService>(std::move(deps), std::move(config));
  RETURN_IF_ERROR(p.workers->PrepareCgroups(), "cgroups of pods");
  p.services = MakeServices(DepsOfServices(context, p));
  return process;
}

}  // namespace

/// Called by services/main.cc.
int Main(int argc, char** argv) {
  return daemon::RunService("pod-worker", argc, argv, MakePodWorker);
}

}  // namespace splitlet::pod_worker
