#include "libs/base/random.h"
#include "libs/bus/typed.h"
#include "libs/config/kubelet_config.h"
#include "libs/daemon/api_server.h"
#include "libs/daemon/run_service.h"
#include "libs/daemon/service.h"
#include "libs/peers/desired_owner.h"
#include "libs/process/look_up_host.h"
#include "services/status/rpc.h"
#include "services/status/status_service.h"

namespace splitlet::status {
namespace {

/// Not limited: node and lease never wait. Pods and events have limiters of their own
/// (StatusConfig).
StatusOr<std::unique_ptr<apiclient::Transport>> ConnectApi(daemon::ServiceContext& context,
                                                           const std::string& kubeconfig) {
  return daemon::ConnectApi(context, {.kubeconfig = kubeconfig, .limited = false});
}

StatusOr<std::unique_ptr<daemon::Service>> MakeStatusService(daemon::ServiceContext& context) {
  auto& bus = context.bus();
  ASSIGN_OR_RETURN(auto table, bus::Own<v1::PodStatusRecord>(bus, "podstatus"), "table podstatus");
  ASSIGN_OR_RETURN(auto desired, bus::ViewOf<v1::DesiredRecord>(bus, "desired"), "view desired");
  ASSIGN_OR_RETURN(auto admission, bus::ViewOf<v1::AdmissionRecord>(bus, "admission"),
                   "view admission");
  ASSIGN_OR_RETURN(auto workers, bus::ViewOf<v1::WorkerRecord>(bus, "workers"), "view workers");
  ASSIGN_OR_RETURN(auto runtime, bus::ViewOf<v1::RuntimeRecord>(bus, "runtime"), "view runtime");
  ASSIGN_OR_RETURN(auto pressure, bus::ViewOf<v1::PressureRecord>(bus, "pressure"),
                   "view pressure");
  auto peers = peers::MakePeerHealth(
      context.clock(), [&context](const std::string& process) { return context.Peer(process); });
  StatusDeps deps{.env = context.env(),
                  .files = context.files(),
                  .table = std::move(table),
                  .desired = std::move(desired),
                  .admission = std::move(admission),
                  .workers = std::move(workers),
                  .runtime = std::move(runtime),
                  .pressure = std::move(pressure),
                  .peers = std::move(peers),
                  .list_addresses = node::ListInterfaceAddresses,
                  .resolve_name = node::Remembering([](const std::string& name) {
                    return process::LookUpHost(process::RunProgram, name);
                  })};
  if (const daemon::Flags& flags = context.flags(); !flags.kubeconfig.empty()) {
    ASSIGN_OR_RETURN(deps.node_api, ConnectApi(context, flags.kubeconfig),
                     "API client of the node");
    ASSIGN_OR_RETURN(deps.lease_api, ConnectApi(context, flags.kubeconfig),
                     "API client of the lease");
    ASSIGN_OR_RETURN(deps.pods_api, ConnectApi(context, flags.kubeconfig),
                     "API client of the pods");
    if (!flags.bootstrap_kubeconfig.empty()) {
      ASSIGN_OR_RETURN(deps.bootstrap_api, ConnectApi(context, flags.bootstrap_kubeconfig),
                       "API client of the bootstrap kubeconfig");
    }
    deps.images = peers::MakeNodeImages(context.clock(), context.Peer("gc"));
    deps.finished = MakeFinishedPods(context.clock(), context.Peer("pod-worker"));
    deps.owner = peers::MakeDesiredOwner(context.clock(), context.Peer("config-source"));
  }
  auto config = LoadStatusConfig(context.config(), context.flags());
  config.seed = RandomSeed();
  return ServeStatus(context.loop(),
                     std::make_unique<StatusService>(std::move(deps), std::move(config)));
}

}  // namespace

/// Called by services/main.cc.
int Main(int argc, char** argv) {
  return daemon::RunService("status", argc, argv, MakeStatusService);
}

}  // namespace splitlet::status
