// The services on the fakes of the simulated node, and the calls between them.

#include "libs/apiclient/limited_transport.h"
#include "libs/cri/stranded_calls.h"
#include "libs/daemon/event_record.h"
#include "libs/http/fake_caller.h"
#include "libs/peers/desired_owner.h"
#include "services/config-source/config_source_service.h"
#include "services/config-source/make_sources.h"
#include "services/config-source/sources/http/fake_http_fetcher.h"
#include "services/gc/gc_service.h"
#include "services/gc/measure/fake_tree_meter.h"
#include "services/gc/protect/oom/fake_kernel_log.h"
#include "services/gc/protect/shutdown/fake_shutdown_source.h"
#include "services/pleg/pleg_service.h"
#include "services/pod-worker/pod_worker_service.h"
#include "services/status/status_service.h"
#include "services/sync-loop/sync_loop_service.h"
#include "splitlet/v1/records.pb.h"
#include "splitlet/v1/services.pb.h"
#include "tests/simulation/api_server.h"
#include "tests/simulation/node.h"
#include "tests/simulation/pull_watch.h"
#include "tests/simulation/shell.h"

namespace splitlet::simulation {
namespace {

constexpr const char* kNode = "sim";
constexpr const char* kStateId = "state-1";
const std::string kAnnotation = fmt::format("{}/{}", kStateId, kNode);

template <class R>
bus::Table<R> Own(Process& process, const char* table) {
  return *bus::Own<R>(process.shell().bus, table);
}
template <class R>
bus::View<R> View(Process& process, const char* table) {
  return *bus::ViewOf<R>(process.shell().bus, table);
}

/// Like libs/daemon/api_server.h; null: this node has no API server.
std::unique_ptr<apiclient::Transport> Limited(SimNode& node, Process& process) {
  if (node.api() == nullptr) return nullptr;
  return std::make_unique<apiclient::LimitedTransport>(
      node.api()->Connect(process.shell().owner), process.shell().loop,
      std::make_unique<apiclient::RateLimiter>(node.clock(), 50, 100));
}

class ConfigSource final : public Process {
 public:
  explicit ConfigSource(SimNode& node) : Process(node, "config-source") {
    config_source::ConfigSourceConfig config;
    config.node_name = kNode;
    config.static_pod_path = "/manifests";
    config.records_directory = "/state/config-source";
    // Different in each start, as in a real process.
    auto seed = static_cast<uint64_t>(node.clock().Now().monotonic.count());
    apiclient::WaitUntil api_wait = nullptr;
    if (ApiServer* const api = node.api(); api != nullptr) {
      config.kubeconfig = "/kubeconfig";
      seed = api->NextSeed();
      api_wait = api->Waiting();
    }
    const auto metrics = std::make_shared<config_source::ConfigMetrics>(shell().env.metrics);
    auto sources =
        config_source::MakeSources({.env = shell().env,
                                    .files = node.files(),
                                    .watcher = std::make_unique<fs::FakeFileWatcher>(node.files()),
                                    .fetcher = std::make_unique<config_source::FakeHttpFetcher>(),
                                    .api = Limited(node, *this),
                                    .metrics = metrics,
                                    .seed = seed,
                                    .api_wait = api_wait},
                                   config);
    service = std::make_unique<config_source::ConfigSourceService>(config_source::ConfigSourceDeps{
        .env = shell().env,
        .metrics = metrics,
        .records = std::make_shared<fs::RecordStore>(
            node.files(), node.clock(), fs::RecordStore::Options{config.records_directory}),
        .sources = std::move(sources),
        .table = Own<v1::DesiredRecord>(*this, "desired"),
        .workers = View<v1::WorkerRecord>(*this, "workers"),
        .events = shell().events,
        .seed = seed});
  }
  void Start() override { service->Start(); }
  std::string Complaint() const override {
    for (const auto& source : service->GetSources())
      if (!source.complete) return fmt::format("source {}: {}", source.name, source.reason);
    return service->GetHealth().reason;
  }
  std::unique_ptr<config_source::ConfigSourceService> service;
};

/// The query of three services to config-source before a destructive act.
class AskedConfigSource final : public peers::DesiredOwner {
 public:
  explicit AskedConfigSource(SimNode& node) : node_(node) {}
  using DesiredOwner::Knows;
  StatusOr<bool> Knows(const std::string& uid, const std::string& source,
                       const Deadline& deadline) override {
    const auto pod = GetPod(uid, source, deadline);
    if (!pod.ok()) return pod.status();
    return *pod != nullptr;
  }
  StatusOr<Record> Find(const std::string& uid, const Deadline& deadline) override {
    return GetPod(uid, "", deadline);
  }

 private:
  StatusOr<Record> GetPod(const std::string& uid, const std::string& source,
                          const Deadline& deadline) {
    return node_.Call<StatusOr<Record>>(
        "config-source", deadline,
        [uid, source](Process& target, const std::function<void(StatusOr<Record>)>& done) {
          auto pod = static_cast<ConfigSource&>(target).service->GetPod(uid, source);
          done(pod.ok() ? StatusOr<Record>(Record(std::move(*pod)))
                        : StatusOr<Record>(pod.status()));
        });
  }

  SimNode& node_;
};

/// Commands pass through the node, which checks those of hooks.
class WatchedCalls final : public cri::LongCalls {
 public:
  WatchedCalls(SimNode& node, exec::Strands& strands)
      : node_(node),
        strands_(strands),
        calls_(node.runtime(), strands),
        pulls_([&node](const std::string& what) { node.Report(what); }) {}
  void BeginStopContainer(const cri::ContainerId& id, int64_t grace_seconds, Deadline deadline,
                          Stopped done) override {
    node_.OnStop(id);
    calls_.BeginStopContainer(id, grace_seconds, std::move(deadline), std::move(done));
  }
  void BeginPullImage(const cri::PullOrder& order, Deadline deadline, Pulled done) override {
    const int pull = pulls_.Begin(order.image, deadline.cancel);
    node_.OnPull();
    calls_.BeginPullImage(order, std::move(deadline),
                          [this, pull, done = std::move(done)](const StatusOr<std::string>& ref) {
                            pulls_.End(pull);
                            node_.OnPulled(ref.status());
                            done(ref);
                          });
  }
  void BeginExecSync(const cri::ContainerId& id, const cri::ExecCommand& command, Deadline deadline,
                     Executed done) override {
    node_.OnCommand(id, command.words.at(0));
    strands_.Run(fmt::format("command/{}", ++last_),
                 [this, id, words = command.words, deadline = std::move(deadline),
                  done = std::move(done)] { done(node_.Exec(id, words, deadline)); });
  }

 private:
  SimNode& node_;
  exec::Strands& strands_;
  cri::StrandedCalls calls_;
  PullWatch pulls_;
  int last_ = 0;
};

class PodWorker final : public Process {
 public:
  explicit PodWorker(SimNode& node)
      : Process(node, "pod-worker"),
        owner_(node),
        calls_(node, shell().strands),
        api_(Limited(node, *this)),
        jitter_(node.api() == nullptr ? 1 : node.api()->NextSeed()) {
    if (api_ != nullptr)
      objects_ =
          std::make_unique<pod_worker::ApiCache>(pod_worker::ApiContext{.clock = node.clock(),
                                                                        .loop = shell().loop,
                                                                        .strands = shell().strands,
                                                                        .transport = *api_,
                                                                        .random = jitter_,
                                                                        .log = Log(node.sink())},
                                                 pod_worker::ChangeDetection::kWatch);
    pod_worker::Config config;
    config.node = {.name = kNode,
                   .annotation = kAnnotation,
                   .memory_bytes = 64LL << 30,
                   .resolver_config = "",
                   .pod_logs_dir = "/logs/pods",
                   .container_links_dir = "/logs/containers",
                   .pod_roots = {"/state/pods", "/kubelet"},
                   .seccomp_dir = "/kubelet/seccomp"};
    config.run_dir = "/run";
    config.state_dir = "/state";
    config.cgroups = {.enabled = true, .layout = cgroup::FakeKernel::V2(), .pod_pids = 64};
    config.sync_frequency = node.sync_frequency();
    config.parallel_pulls = 3;
    service = std::make_unique<pod_worker::PodWorkerService>(
        pod_worker::Deps{.env = shell().env,
                         .runtime_strands = shell().strands,
                         .bus = shell().bus,
                         .table = Own<v1::WorkerRecord>(*this, "workers"),
                         .desired = View<v1::DesiredRecord>(*this, "desired"),
                         .podstatus = View<v1::PodStatusRecord>(*this, "podstatus"),
                         .runtime = {.reader = node.runtime(),
                                     .runner = node.runtime(),
                                     .remover = node.runtime(),
                                     .images = node.runtime(),
                                     .long_calls = calls_,
                                     .read_tail = nullptr},
                         .disk = {.files = node.files(),
                                  .mounts = node.mounts(),
                                  .ownership = node.ownership(),
                                  .read_within = nullptr},
                         .owner = owner_,
                         .events = shell().events,
                         .http = http_,
                         .kernel = &node.kernel(),
                         .api_objects = objects_.get()},
        config);
    http_.answer = [&node](const http::Exchange& asked) {
      node.OnProbed(asked.url.substr(asked.url.rfind('/') + 1));
      return http::Outcome{.code = 200};
    };
  }
  void Start() override {
    CHECK(service->PrepareCgroups().ok());
    service->Start();
    if (objects_ != nullptr)
      objects_->Start([this](const std::string& uid) { service->OnObjectsChanged(uid); });
  }

 private:
  http::FakeCaller http_;
  AskedConfigSource owner_;
  WatchedCalls calls_;
  std::unique_ptr<apiclient::Transport> api_;  // null: this node has no API server
  Random jitter_;
  std::unique_ptr<pod_worker::ApiCache> objects_;  // null: no API server

 public:
  std::unique_ptr<pod_worker::PodWorkerService> service;  // ends before the objects that it uses
};

class SyncLoopWorkers final : public peers::GrantClient {
 public:
  explicit SyncLoopWorkers(SimNode& node) : node_(node) {}
  Status UpdatePod(const v1::UpdatePodRequest& request, const Deadline& deadline,
                   const std::string& traceparent) override {
    return node_.Call<Status>(
        "pod-worker", deadline,
        [request, traceparent](Process& target, std::function<void(Status)> done) {
          static_cast<PodWorker&>(target).service->OnUpdatePod(request, std::move(done),
                                                               traceparent);
        });
  }
  Status KillPod(const v1::KillPodRequest& request, const Deadline& deadline,
                 const std::string& traceparent) override {
    if (request.node_shutdown()) node_.OnAskedToEnd(request.uid());
    const bool evicts = request.evict() && !request.node_shutdown();
    if (evicts) node_.OnEvict(request.uid());
    const Status ended =
        node_
            .Call<StatusOr<v1::KillPodReply>>(
                "pod-worker", deadline,
                [request, traceparent](Process& target,
                                       std::function<void(StatusOr<v1::KillPodReply>)> done) {
                  static_cast<PodWorker&>(target).service->OnKillPod(request, std::move(done),
                                                                     traceparent);
                })
            .status();
    if (evicts && ended.ok()) node_.OnEvictionTaken(request.uid());
    return ended;
  }

 private:
  SimNode& node_;
};

class SyncLoop final : public Process {
 public:
  explicit SyncLoop(SimNode& node) : Process(node, "sync-loop") {
    sync_loop::SyncLoopConfig config;
    config.node_name = kNode;
    config.node_annotation = kAnnotation;
    config.admissions_dir = "/run/sync-loop/admission";
    config.kernel_release = "6.1.0";
    service = std::make_unique<sync_loop::SyncLoopService>(
        sync_loop::SyncLoopDeps{.env = shell().env,
                                .files = node.files(),
                                .table = Own<v1::AdmissionRecord>(*this, "admission"),
                                .desired = View<v1::DesiredRecord>(*this, "desired"),
                                .workers = View<v1::WorkerRecord>(*this, "workers"),
                                .runtime = View<v1::RuntimeRecord>(*this, "runtime"),
                                .pressure = View<v1::PressureRecord>(*this, "pressure"),
                                .podstatus = View<v1::PodStatusRecord>(*this, "podstatus"),
                                .worker = std::make_unique<SyncLoopWorkers>(node),
                                .config_source = std::make_unique<AskedConfigSource>(node),
                                .events = shell().events},
        config);
  }
  void Start() override { service->Start(); }
  std::unique_ptr<sync_loop::SyncLoopService> service;
};

class Pleg final : public Process {
 public:
  explicit Pleg(SimNode& node) : Process(node, "pleg") {
    service = std::make_unique<pleg::PlegService>(
        pleg::PlegDeps{.env = shell().env,
                       .reader = node.runtime(),
                       .read_tail = nullptr,
                       .sources = {},
                       .table = Own<v1::RuntimeRecord>(*this, "runtime"),
                       .bus = shell().bus},
        pleg::PlegConfig{});
  }
  void Start() override { service->Start(); }
  std::unique_ptr<pleg::PlegService> service;
};

/// The simulation reports only pleg's view of the runtime; every process counts as healthy.
class StatusPeers final : public peers::PeerHealth {
 public:
  explicit StatusPeers(SimNode& node) : node_(node) {}
  StatusOr<peers::PeerAnswer> Ask(const std::string& process, Deadline deadline) override {
    return node_.Call<StatusOr<peers::PeerAnswer>>(
        process, deadline,
        [](Process& target, const std::function<void(StatusOr<peers::PeerAnswer>)>& done) {
          peers::PeerAnswer answer;
          if (const auto* pleg = dynamic_cast<Pleg*>(&target)) {
            const auto health = pleg->service->GetPlegHealth();
            answer.runtime = peers::RuntimeState{.known = health.conditions_size() > 0,
                                                 .features = health.features()};
            for (const auto& condition : health.conditions())
              answer.runtime->conditions.push_back({.type = condition.type(),
                                                    .reason = condition.reason(),
                                                    .message = condition.message(),
                                                    .status = condition.status()});
          }
          done(std::move(answer));
        });
  }

 private:
  SimNode& node_;
};

/// Which pods have ended, by pod-worker's records.
class Finished final : public status::FinishedPods {
 public:
  explicit Finished(SimNode& node) : node_(node) {}
  StatusOr<std::map<std::string, int64_t>> List(const Deadline& deadline) override {
    using Pods = StatusOr<std::map<std::string, int64_t>>;
    return node_.Call<Pods>(
        "pod-worker", deadline, [](Process& target, const std::function<void(Pods)>& done) {
          std::map<std::string, int64_t> finished;
          for (const auto& worker : static_cast<PodWorker&>(target).service->GetWorkers())
            if (worker.state() == v1::FINISHED) finished[worker.uid()] = worker.incarnation();
          done(std::move(finished));
        });
  }

 private:
  SimNode& node_;
};

class StatusProcess final : public Process {
 public:
  explicit StatusProcess(SimNode& node) : Process(node, "status") {
    status::StatusConfig config;
    config.node_name = kNode;
    config.root_dir = "/kubelet";
    status::StatusDeps deps{
        .env = shell().env,
        .files = node.files(),
        .table = Own<v1::PodStatusRecord>(*this, "podstatus"),
        .desired = View<v1::DesiredRecord>(*this, "desired"),
        .admission = View<v1::AdmissionRecord>(*this, "admission"),
        .workers = View<v1::WorkerRecord>(*this, "workers"),
        .runtime = View<v1::RuntimeRecord>(*this, "runtime"),
        .pressure = View<v1::PressureRecord>(*this, "pressure"),
        .peers = std::make_unique<StatusPeers>(node),
        .list_addresses = [] {
          return std::vector<node::InterfaceAddress>{{.interface = "eth0", .address = "192.0.2.1"}};
        }};
    if (ApiServer* const api = node.api(); api != nullptr) {
      for (auto* const way : {&deps.node_api, &deps.lease_api, &deps.pods_api})
        *way = api->Connect(shell().owner);
      deps.api_wait = api->Waiting();
      deps.finished = std::make_shared<Finished>(node);
      deps.owner = std::make_shared<AskedConfigSource>(node);
      config.in_cluster = true;
      config.node = {.name = kNode, .port = 10250};
      config.seed = api->NextSeed();
    }
    service = std::make_unique<status::StatusService>(std::move(deps), config);
  }
  void Start() override { service->Start(); }
  void OnEvent(const daemon::PodEvent& event) override {
    service->OnEvents({daemon::RecordOf(event)});
  }
  std::unique_ptr<status::StatusService> service;
};

class GcWorkers final : public peers::HoldClient {
 public:
  explicit GcWorkers(SimNode& node) : node_(node) {}
  StatusOr<peers::Hold> HoldForRemoval(const peers::HoldWishes& wishes,
                                       Deadline deadline) override {
    v1::HoldRequest request;
    request.set_request_id(wishes.request_id);
    for (const auto& uid : wishes.uids) request.add_uids(uid);
    for (const auto& id : wishes.container_ids) request.add_container_ids(id);
    for (const auto& id : wishes.sandbox_ids) request.add_sandbox_ids(id);
    const auto reply = node_.Call<StatusOr<v1::HoldReply>>(
        "pod-worker", deadline,
        [request](Process& target, std::function<void(StatusOr<v1::HoldReply>)> done) {
          static_cast<PodWorker&>(target).service->OnHoldForRemoval(request, std::move(done));
        });
    if (!reply.ok()) return reply.status();
    return peers::Hold{
        .id = reply->hold_id(),
        .uids = {reply->uids().begin(), reply->uids().end()},
        .container_ids = {reply->container_ids().begin(), reply->container_ids().end()},
        .sandbox_ids = {reply->sandbox_ids().begin(), reply->sandbox_ids().end()},
        .stopped_sandbox_ids = {reply->stopped_sandbox_ids().begin(),
                                reply->stopped_sandbox_ids().end()}};
  }
  Status ReleaseHold(const std::string& hold_id, Deadline deadline) override {
    return node_.Call<Status>("pod-worker", deadline,
                              [hold_id](Process& target, const std::function<void(Status)>& done) {
                                static_cast<PodWorker&>(target).service->OnReleaseHold(hold_id);
                                done(OkStatus());
                              });
  }
  StatusOr<bool> TakeDownVolumes(const std::string& uid, Deadline deadline) override {
    using Answer = StatusOr<pod_worker::Progress>;
    const auto gone = node_.Call<Answer>(
        "pod-worker", deadline, [uid](Process& target, const std::function<void(Answer)>& done) {
          static_cast<PodWorker&>(target).service->OnTakeDownVolumes(uid, done);
        });
    if (!gone.ok()) return gone.status();
    return *gone == pod_worker::Progress::kDone;
  }

 private:
  SimNode& node_;
};

class Gc final : public Process {
 public:
  explicit Gc(SimNode& node) : Process(node, "gc") {
    gc::GcConfig config;
    config.node_name = kNode;
    config.state_id = kStateId;
    config.pods_dir = "/state/pods";
    config.pod_logs_dir = "/logs/pods";
    config.links_dir = "/logs/containers";
    config.records_dir = "/run/gc/facts";
    config.evictions_dir = "/run/gc/victims";
    config.shutdown_dir = "/run/gc/shutdown";
    config.shutdown_groups = node.shutdown_groups();
    config.root_dir = "/kubelet";
    config.eviction_hard = node.eviction_hard();
    config.evict_static_pods = true;
    config.pressure_transition = 30s;
    config.volume_stats_period = Duration{0};  // no process requests stats here
    config.log_max_bytes = 0;                  // the containers of this runtime write nothing
    auto& runtime = node.runtime();
    service = std::make_unique<gc::GcService>(
        gc::GcDeps{
            .env = shell().env,
            .files = node.files(),
            .calls = {.reader = runtime,
                      .remover = runtime,
                      .images = runtime,
                      .logs = runtime,
                      .stats = runtime,
                      .stop_sandbox =
                          [&runtime](const cri::SandboxId& id, Deadline deadline) {
                            return runtime.StopPodSandbox(id, std::move(deadline));
                          },
                      .stop_container =
                          [&runtime](const cri::ContainerId& id, int64_t grace, Deadline deadline) {
                            return runtime.StopContainer(id, grace, std::move(deadline));
                          },
                      .pid = [] { return std::nullopt; }},
            .compress = nullptr,
            .meter = std::make_unique<gc::FakeTreeMeter>(disk_),
            .kernel_log = std::make_unique<gc::FakeKernelLog>(kernel_log_),
            .memory_alarm = nullptr,
            .shutdown = std::make_unique<gc::FakeShutdownSource>(node.machine()),
            .workers_client = std::make_unique<GcWorkers>(node),
            .kills = std::make_unique<SyncLoopWorkers>(node),
            .desired_client = std::make_unique<AskedConfigSource>(node),
            .pressure = Own<v1::PressureRecord>(*this, "pressure"),
            .desired = View<v1::DesiredRecord>(*this, "desired"),
            .workers = View<v1::WorkerRecord>(*this, "workers"),
            .runtime = View<v1::RuntimeRecord>(*this, "runtime"),
            .events = shell().events},
        config);
  }
  void Start() override { service->Start(); }
  std::unique_ptr<gc::GcService> service;

 private:
  gc::FakeTreeMeter::Disk disk_;
  gc::FakeKernelLog::State kernel_log_;
};

template <class P>
void Add(SimNode& node, const std::string& name) {
  node.AddKind(name, [](SimNode& n) { return std::make_unique<P>(n); });
}

}  // namespace

void AddServices(SimNode& node) {
  Add<ConfigSource>(node, "config-source");
  Add<SyncLoop>(node, "sync-loop");
  Add<PodWorker>(node, "pod-worker");
  Add<Pleg>(node, "pleg");
  Add<StatusProcess>(node, "status");
  Add<Gc>(node, "gc");
}

}  // namespace splitlet::simulation
