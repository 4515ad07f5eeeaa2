#include "libs/cgroup/memory_alarm.h"
#include "libs/config/kubelet_config.h"
#include "libs/daemon/run_service.h"
#include "libs/daemon/service.h"
#include "libs/dbus/connection.h"
#include "libs/fs/gzip.h"
#include "libs/fs/state_id.h"
#include "libs/peers/pod_worker_client.h"
#include "services/gc/config.h"
#include "services/gc/gc_service.h"
#include "services/gc/protect/shutdown/logind.h"
#include "services/gc/rpc.h"
#include "services/gc/runtime_calls.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::gc {
namespace {

StatusOr<GcConfig> ReadConfig(daemon::ServiceContext& context) {
  ASSIGN_OR_RETURN(const auto fresh, fs::RandomStateId(context.files()), "state id");
  ASSIGN_OR_RETURN(const auto state_id,
                   fs::EnsureStateId(context.files(), context.flags().state_dir, fresh),
                   "state id");
  return LoadGcConfig(context.config(), context.flags(), state_id);
}

StatusOr<std::unique_ptr<daemon::Service>> MakeGc(daemon::ServiceContext& context) {
  ASSIGN_OR_RETURN(auto config, ReadConfig(context), "configuration");
  ASSIGN_OR_RETURN(const auto runtime, ConnectRuntime(context, config), "runtime");
  ASSIGN_OR_RETURN(auto pressure, bus::Own<v1::PressureRecord>(context.bus(), "pressure"),
                   "table pressure");
  ASSIGN_OR_RETURN(auto desired, bus::ViewOf<v1::DesiredRecord>(context.bus(), "desired"),
                   "view desired");
  ASSIGN_OR_RETURN(auto workers, bus::ViewOf<v1::WorkerRecord>(context.bus(), "workers"),
                   "view workers");
  ASSIGN_OR_RETURN(auto pods, bus::ViewOf<v1::RuntimeRecord>(context.bus(), "runtime"),
                   "view runtime");
  GcDeps deps{
      .env = context.env(),
      .files = context.files(),
      .calls = CallsOf(runtime, context.config().container_runtime_endpoint),
      .compress = fs::GzipFile,
      .meter = MakeTreeMeter(),
      .kernel_log = MakeKernelLog(),
      .memory_alarm =
          context.config().kernel_memcg_notification ? cgroup::MakeMemoryAlarm() : nullptr,
      .shutdown = MakeLogind(dbus::ConnectTo(context.clock(), dbus::SystemBusAddress())),
      .workers_client = peers::MakeHoldClient(context.clock(), context.Peer("pod-worker")),
      .kills = peers::MakeKillClient(context.clock(), context.Peer("pod-worker")),
      .desired_client = peers::MakeDesiredOwner(context.clock(), context.Peer("config-source")),
      .pressure = std::move(pressure),
      .desired = std::move(desired),
      .workers = std::move(workers),
      .runtime = std::move(pods),
      .events = context.events()};
  return ServeGc(context, std::make_unique<GcService>(std::move(deps), std::move(config)), runtime);
}

}  // namespace

/// Called by services/main.cc.
int Main(int argc, char** argv) { return daemon::RunService("gc", argc, argv, MakeGc); }

}  // namespace splitlet::gc
