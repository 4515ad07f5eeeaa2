#include <grpcpp/impl/service_type.h>

#include <utility>

#include "libs/daemon/run_service.h"
#include "libs/daemon/service.h"
#include "libs/fs/state_id.h"
#include "services/sync-loop/rpc.h"
#include "services/sync-loop/sync_loop_service.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::sync_loop {
namespace {

class Process final : public daemon::Service {
 public:
  Process(daemon::ServiceContext& context, SyncLoopDeps deps, SyncLoopConfig config)
      : service_(std::move(deps), std::move(config)),
        rpc_(MakeSyncLoopRpc(context.loop(), service_)) {}
  void Start() override { service_.Start(); }
  daemon::Health GetHealth() const override { return service_.GetHealth(); }
  std::vector<std::string> Notes() const override { return service_.Notes(); }
  void DiscardRecord(const std::string& uid, Discarded done) override {
    service_.DiscardRecord(uid, std::move(done));
  }
  std::vector<grpc::Service*> GrpcServices() override { return {rpc_.get()}; }

 private:
  SyncLoopService service_;
  std::unique_ptr<grpc::Service> rpc_;
};

StatusOr<std::unique_ptr<daemon::Service>> MakeSyncLoop(daemon::ServiceContext& context) {
  ASSIGN_OR_RETURN(const auto fresh, fs::RandomStateId(context.files()), "random id");
  ASSIGN_OR_RETURN(const auto state_id,
                   fs::EnsureStateId(context.files(), context.flags().state_dir, fresh),
                   "identity of the state directory");
  ASSIGN_OR_RETURN(auto table, bus::Own<v1::AdmissionRecord>(context.bus(), "admission"),
                   "own table");
  ASSIGN_OR_RETURN(auto desired, bus::ViewOf<v1::DesiredRecord>(context.bus(), "desired"), "view");
  ASSIGN_OR_RETURN(auto workers, bus::ViewOf<v1::WorkerRecord>(context.bus(), "workers"), "view");
  ASSIGN_OR_RETURN(auto runtime, bus::ViewOf<v1::RuntimeRecord>(context.bus(), "runtime"), "view");
  ASSIGN_OR_RETURN(auto pressure, bus::ViewOf<v1::PressureRecord>(context.bus(), "pressure"),
                   "view");
  ASSIGN_OR_RETURN(auto podstatus, bus::ViewOf<v1::PodStatusRecord>(context.bus(), "podstatus"),
                   "view");
  SyncLoopDeps deps{
      .env = context.env(),
      .files = context.files(),
      .table = std::move(table),
      .desired = std::move(desired),
      .workers = std::move(workers),
      .runtime = std::move(runtime),
      .pressure = std::move(pressure),
      .podstatus = std::move(podstatus),
      .worker = peers::MakeGrantClient(context.clock(), context.Peer("pod-worker")),
      .config_source = peers::MakeDesiredOwner(context.clock(), context.Peer("config-source")),
      .events = context.events()};
  auto config = MakeSyncLoopConfig(context.flags(), context.config(), state_id);
  return std::make_unique<Process>(context, std::move(deps), std::move(config));
}

}  // namespace

/// Called by services/main.cc.
int Main(int argc, char** argv) {
  return daemon::RunService("sync-loop", argc, argv, MakeSyncLoop);
}

}  // namespace splitlet::sync_loop
