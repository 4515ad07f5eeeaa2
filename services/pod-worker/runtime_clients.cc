#include "services/pod-worker/runtime_clients.h"

#include "libs/cri/grpc_streaming.h"
#include "libs/rpc/rpc.h"

namespace splitlet::pod_worker {

RuntimeClients::RuntimeClients(daemon::ServiceContext& context, const Config& config)
    : runtime(rpc::ConnectEndpoint(config.runtime_endpoint), context.clock(), context.metrics(),
              {.request = config.request_timeout}),
      runner({runtime, runtime, context.clock(), context.loop()}),
      streaming(
          cri::MakeGrpcStreaming(rpc::ConnectEndpoint(config.runtime_endpoint), context.clock())),
      checkpointer(cri::MakeGrpcCheckpointer(rpc::ConnectEndpoint(config.runtime_endpoint),
                                             context.clock())),
      network(cri::MakeGrpcNetworkConfig(rpc::ConnectEndpoint(config.runtime_endpoint),
                                         context.clock(), context.metrics())) {}

}  // namespace splitlet::pod_worker
