#include "libs/apiclient/client.h"
#include "libs/base/processes.h"
#include "libs/config/kubelet_config.h"
#include "libs/daemon/api_server.h"
#include "libs/daemon/flags.h"
#include "libs/daemon/run_service.h"
#include "libs/daemon/service.h"
#include "libs/exec/periodic.h"
#include "libs/exec/strand_pool.h"
#include "libs/http/async_client.h"
#include "libs/node/cpu_topology.h"
#include "libs/node/machine.h"
#include "libs/node/system_info.h"
#include "libs/peers/peer_health.h"
#include "libs/process/run_program.h"
#include "services/node-api/auth/review_transport.h"
#include "services/node-api/logs/container_log.h"
#include "services/node-api/metrics/process_metrics.h"
#include "services/node-api/node_api_service.h"

namespace splitlet::node_api {
namespace {

/// A connection to the API server, and the reviewer that uses it.
struct ApiServer {
  std::unique_ptr<apiclient::Transport> transport;
  std::unique_ptr<apiclient::Client> client;
  std::unique_ptr<Reviewer> reviewer;
};

StatusOr<std::shared_ptr<Reviewer>> ConnectReviewer(daemon::ServiceContext& context) {
  auto server = std::make_shared<ApiServer>();
  ASSIGN_OR_RETURN(auto transport, daemon::ConnectApi(context), "reviews");
  if (transport == nullptr) return std::shared_ptr<Reviewer>();
  server->transport =
      std::make_unique<ReviewTransport>(context.clock(), std::move(transport), context.metrics());
  server->client = std::make_unique<apiclient::Client>(
      context.clock(), *server->transport,
      apiclient::Client::Options{.content = daemon::ApiContentOf(context.config())});
  server->reviewer = MakeReviewer(*server->client);
  return std::shared_ptr<Reviewer>(server, server->reviewer.get());
}

MachineLabels ReadMachineLabels(daemon::ServiceContext& context) {
  const node::SystemInfo system = node::ReadSystemInfo(context.files());
  const auto machine = node::ReadMachine(context.files(), context.flags().root_dir);
  node::CpuTopology topology;
  if (machine.ok()) topology = node::ReadCpuTopology(context.files(), machine->online);
  return {.machine_id = system.machine_id,
          .system_uuid = system.system_uuid,
          .boot_id = system.boot_id,
          .cpus = machine.ok() ? machine->cpus : 0,
          .cores = topology.cores,
          .sockets = topology.sockets,
          .kernel_version = system.kernel_version,
          .os_image = system.os_image,
          .version = std::string(daemon::Version())};
}

constexpr uint64_t kMaxConfigBytes = 1 << 20;
/// How long a log request waits for a thread when the system has none left.
constexpr Duration kRetryThreads = std::chrono::seconds{5};

/// The service, the HTTP client that scrapes metrics (it outlives the requests), and the threads
/// that read logs.
class Process final : public daemon::Service {
 public:
  Process(std::shared_ptr<http::AsyncClient> http, exec::EventLoop& loop)
      : http_(std::move(http)), retry_(loop, kRetryThreads, [this] { log_strands_.Retry(); }) {}
  exec::Strands& log_strands() { return log_strands_; }
  void SetService(std::unique_ptr<NodeApiService> service) { service_ = std::move(service); }
  void Start() override { service_->Start(); }
  daemon::Health GetHealth() const override { return service_->GetHealth(); }
  void BeginStop() override { service_->BeginStop(); }
  void WaitStopped() override {
    service_->WaitStopped();
    log_strands_.Stop();
    http_->Stop();
  }
  std::vector<std::string> Notes() const override { return service_->Notes(); }
  std::vector<grpc::Service*> GrpcServices() override { return service_->GrpcServices(); }

 private:
  const std::shared_ptr<http::AsyncClient> http_;
  std::unique_ptr<NodeApiService> service_;
  // Declared after service_: its threads end before the service is destroyed.
  exec::StrandPool log_strands_{{.max_threads = LogStreams::kMaxStreams}};
  exec::Periodic retry_;
};

/// Empty without --config.
StatusOr<std::string> ReadConfigFile(daemon::ServiceContext& context) {
  const std::string& file = context.flags().config_file;
  if (file.empty()) return std::string();
  return context.files().Read(file, kMaxConfigBytes);
}

/// True in packages and compose, where every process has the port in its row.
bool HasKnownPort(const daemon::Flags& flags) {
  const ProcessRow* const own = FindProcess("node-api");
  return own != nullptr && flags.http_address.ends_with(fmt::format(":{}", own->port));
}

StatusOr<std::unique_ptr<daemon::Service>> MakeNodeApi(daemon::ServiceContext& context) {
  ASSIGN_OR_RETURN(const std::string content, ReadConfigFile(context), "--config");
  ASSIGN_OR_RETURN(auto config, LoadNodeApiConfig(context.config(), context.flags(), content),
                   "configuration");
  auto& bus = context.bus();
  ASSIGN_OR_RETURN(auto desired, bus::ViewOf<v1::DesiredRecord>(bus, "desired"), "view desired");
  ASSIGN_OR_RETURN(auto status, bus::ViewOf<v1::PodStatusRecord>(bus, "podstatus"),
                   "view podstatus");
  ASSIGN_OR_RETURN(auto runtime, bus::ViewOf<v1::RuntimeRecord>(bus, "runtime"), "view runtime");
  ASSIGN_OR_RETURN(auto reviewer, ConnectReviewer(context), "API server");
  auto http = std::make_shared<http::AsyncClient>(context.clock());
  auto process = std::make_unique<Process>(http, context.loop());
  const auto peer = [&context](const std::string& name) { return context.Peer(name); };
  const std::shared_ptr<peers::PeerHealth> health = peers::MakePeerHealth(context.clock(), peer);
  NodeApiDeps deps{.clock = context.clock(),
                   .loop = context.loop(),
                   .strands = context.strands(),
                   .log_strands = process->log_strands(),
                   .files = context.files(),
                   .views = {std::move(desired), std::move(status), std::move(runtime)},
                   .reviewer = std::move(reviewer),
                   .pod_calls = MakePodCalls(context.clock(), context.Peer("pod-worker")),
                   .stats = MakeStatsSource(context.clock(), context.Peer("gc")),
                   .processes = MakeProcessMetrics({.clock = context.clock(),
                                                    .strands = context.strands(),
                                                    .caller = *http,
                                                    .peer = peer,
                                                    .fixed_ports = HasKnownPort(context.flags())}),
                   .levels = MakeLevelTarget(context.clock(), peer),
                   .process_names = ProcessNames(),
                   .ask_sync_loop =
                       [health](const Deadline& deadline) {
                         const auto answer = health->Ask("sync-loop", deadline);
                         if (!answer.ok()) return answer.status();
                         return answer->healthy ? OkStatus() : Unavailable("{}", answer->reason);
                       },
                   .log_files = logs::MakeLogFiles(),
                   .container_files =
                       [dir = config.pod_logs_dir](const std::string& container_id) {
                         return logs::MakeLogFiles(OpenerOfContainer(dir, container_id));
                       },
                   .watch_log = logs::MakeLogWatch,
                   .start_server = https::StartServer,
                   .machine = ReadMachineLabels(context),
                   .run_program = process::RunProgram,
                   .read_within = ReadBelow,
                   .hold_below = HoldBelow,
                   .secret = fmt::format("{:016x}{:016x}", RandomSeed(), RandomSeed()),
                   .log = context.log(),
                   .metrics = context.metrics()};
  process->SetService(std::make_unique<NodeApiService>(std::move(deps), std::move(config)));
  return process;
}

}  // namespace

/// Called by services/main.cc.
int Main(int argc, char** argv) { return daemon::RunService("node-api", argc, argv, MakeNodeApi); }

}  // namespace splitlet::node_api
