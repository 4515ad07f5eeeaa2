#include "libs/base/random.h"
#include "libs/config/kubelet_config.h"
#include "libs/cri/event_stream.h"
#include "libs/cri/grpc_runtime.h"
#include "libs/daemon/run_service.h"
#include "libs/daemon/service.h"
#include "libs/fs/tail_reader.h"
#include "libs/rpc/rpc.h"
#include "services/pleg/config.h"
#include "services/pleg/pleg_service.h"
#include "services/pleg/rpc.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pleg {
namespace {

StatusOr<std::unique_ptr<daemon::Service>> MakePleg(daemon::ServiceContext& context) {
  ASSIGN_OR_RETURN(const auto config, LoadPlegConfig(context.config(), context.flags()),
                   "configuration");
  ASSIGN_OR_RETURN(auto table, bus::Own<v1::RuntimeRecord>(context.bus(), "runtime"),
                   "table runtime");
  const Clock& clock = context.clock();
  const auto channel = rpc::ConnectEndpoint(config.runtime_endpoint);
  auto reader = std::make_unique<cri::GrpcRuntime>(channel, clock, context.metrics(),
                                                   cri::CallLimits{config.request_timeout});
  std::vector<NamedSource> sources;
  if (config.event_streams) {
    sources.push_back({"cri", std::make_unique<cri::StreamThread>(
                                  cri::MakeCriEventStream(channel, clock), clock)});
    sources.push_back({"containerd", std::make_unique<cri::StreamThread>(
                                         cri::MakeContainerdEventStream(channel, clock), clock)});
  }
  PlegDeps deps{.env = context.env(),
                .reader = *reader,
                .read_tail = fs::MakeTailReader({context.flags().root_dir + "/pods",
                                                 context.flags().state_dir + "/pods",
                                                 context.config().pod_logs_dir}),
                .sources = std::move(sources),
                .table = std::move(table),
                .bus = context.bus(),
                .seed = RandomSeed()};
  auto service = std::make_unique<PlegService>(std::move(deps), config);
  return ServePleg(context.loop(), std::move(reader), std::move(service));
}

}  // namespace

/// Called by services/main.cc.
int Main(int argc, char** argv) { return daemon::RunService("pleg", argc, argv, MakePleg); }

}  // namespace splitlet::pleg
